package cersei

import (
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// line is a decoded line. Its raw values are slices of the line.
type line struct {
	kind                     string
	uuid, session, cwd       string
	time                     time.Time
	sidechain                bool
	message, mark            []byte
	deleted                  string
	title                    string
	hasTitle                 bool
	source                   firn.Source
	summary                  string
	compacted                int64
	hasSummary, hasCompacted bool
	// bare is the message of a bare line.
	bare content
	// other are the unknown members.
	other firn.Fields
}

// readLine decodes a line. It fails with ErrCorrupt if the line is not a JSON object.
func readLine(raw []byte) (line, error) {
	var l line
	if err := rawjson.Valid(raw); err != nil {
		return l, fmt.Errorf("reading a line of Cersei: %w: %w", firn.ErrCorrupt, err)
	}
	r := rawjson.New(raw)
	for r.Object(); r.Member(); {
		if name := r.KeyText(); !l.member(name, &r) && !l.bare.member(name, &r) {
			l.other = append(l.other, firn.Field{Name: name, Value: rawjson.CleanLine(r.Raw())})
		}
	}
	return l, nil
}

// member reads a member of a transcript line. It returns false, with the value not
// consumed, if the member is unknown.
func (l *line) member(name string, r *rawjson.Reader) bool {
	switch name {
	case "type":
		return readString(&l.kind, r)
	case "uuid":
		return readString(&l.uuid, r)
	case "session_id", "sessionId":
		return readString(&l.session, r)
	case "cwd":
		return readString(&l.cwd, r)
	case "timestamp":
		return l.stamp(r)
	case "message":
		return capture(&l.message, r, rawjson.Object)
	case "is_sidechain", "isSidechain":
		b, ok := r.Bool()
		l.sidechain = l.sidechain || b
		return ok
	case "parent_uuid", "parentUuid": // Cersei ignores parents
		r.Skip()
		return true
	case "extra":
		return l.extra(r)
	}
	return l.rareMember(name, r)
}

// rareMember reads a member of a line that is not a message.
func (l *line) rareMember(name string, r *rawjson.Reader) bool {
	switch name {
	case "deleted_uuid":
		return readString(&l.deleted, r)
	case "title", "customTitle":
		l.hasTitle = readString(&l.title, r)
		return l.hasTitle
	case "source":
		return l.kind == kindTitle && readString((*string)(&l.source), r)
	case "summary":
		l.hasSummary = readString(&l.summary, r)
		return l.hasSummary
	case "messages_compacted":
		l.compacted, l.hasCompacted = r.Int()
		return l.hasCompacted
	}
	return false
}

// stamp reads a time in any form of RFC 3339.
func (l *line) stamp(r *rawjson.Reader) bool {
	before := *r
	text, ok := r.Text()
	t, err := time.Parse(time.RFC3339Nano, text)
	if !ok || err != nil {
		*r = before
		return false
	}
	l.time = t.UTC().Truncate(time.Millisecond)
	return true
}

// extra reads Cersei's map of additional data, including firn's mark.
func (l *line) extra(r *rawjson.Reader) bool {
	if r.Kind() != rawjson.Object {
		return false
	}
	raw := r.Raw()
	inner := rawjson.New(raw)
	others := 0
	for inner.Object(); inner.Member(); {
		if string(inner.Key()) == markName && capture(&l.mark, &inner, rawjson.Object) {
			continue
		}
		others++
		inner.Skip()
	}
	if others > 0 {
		l.other = append(l.other, firn.Field{Name: "extra", Value: rawjson.CleanLine(raw)})
	}
	return true
}

// isBare reports whether the line is a bare message.
func (l *line) isBare() bool { return l.kind == "" && l.bare.role != "" && l.bare.has }

// markName is the name of firn's member of the extra map.
const markName = "firn"

// mark is firn's metadata for a message, which Cersei preserves without reading it.
type mark struct {
	// compaction is set for a summary that replaces all messages before kept, the uuid of a
	// line. If kept is empty, no messages are kept.
	compaction bool
	kept       string
	tokens     int64
}

func readMark(raw []byte) (m mark) {
	r := rawjson.New(raw)
	if !r.Object() {
		return m
	}
	for r.Member() {
		ok := false
		switch string(r.Key()) {
		case "compaction":
			m.compaction, ok = r.Bool()
		case "first_kept":
			ok = readString(&m.kept, &r)
		case "tokens_before":
			m.tokens, ok = r.Int()
		}
		if !ok {
			r.Skip()
		}
	}
	return m
}

// readString reads a string into field. It returns false if the value is not a string.
func readString(field *string, r *rawjson.Reader) bool {
	s, ok := r.Text()
	if ok {
		*field = s
	}
	return ok
}

// capture stores a raw value of a kind. It returns false if the value is of another kind.
func capture(field *[]byte, r *rawjson.Reader, kind rawjson.Kind) bool {
	if r.Kind() != kind {
		return false
	}
	*field = r.Raw()
	return true
}
