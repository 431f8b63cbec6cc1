package cersei

import (
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// line is a line as it stands in the file. Its raw values are parts of the
// line.
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
	// said is what a line of the bare form says itself.
	said content
	// other are the members that mean nothing to us.
	other firn.Fields
}

// readLine reads a line. One that is not a JSON object is an ErrCorrupt.
func readLine(raw []byte) (line, error) {
	var l line
	if err := rawjson.Valid(raw); err != nil {
		return l, fmt.Errorf("reading a line of Cersei: %w: %w", firn.ErrCorrupt, err)
	}
	r := rawjson.New(raw)
	for r.Object(); r.Member(); {
		if name := r.KeyText(); !l.member(name, &r) && !l.said.member(name, &r) {
			l.other = append(l.other, firn.Field{Name: name, Value: keep(r.Raw())})
		}
	}
	return l, nil
}

// member reads a member that lines of a transcript have; false, and the value
// is still there, if it is none.
func (l *line) member(name string, r *rawjson.Reader) bool {
	switch name {
	case "type":
		return into(&l.kind, r)
	case "uuid":
		return into(&l.uuid, r)
	case "session_id", "sessionId":
		return into(&l.session, r)
	case "cwd":
		return into(&l.cwd, r)
	case "timestamp":
		return l.stamp(r)
	case "message":
		return capture(&l.message, r, rawjson.Object)
	case "is_sidechain", "isSidechain":
		b, ok := r.Bool()
		l.sidechain = l.sidechain || b
		return ok
	case "parent_uuid", "parentUuid": // Cersei follows none
		r.Skip()
		return true
	case "extra":
		return l.extra(r)
	}
	return l.rare(name, r)
}

// rare reads a member of a line that is no message.
func (l *line) rare(name string, r *rawjson.Reader) bool {
	switch name {
	case "deleted_uuid":
		return into(&l.deleted, r)
	case "title", "customTitle":
		l.hasTitle = into(&l.title, r)
		return l.hasTitle
	case "source":
		return l.kind == kindTitle && into((*string)(&l.source), r)
	case "summary":
		l.hasSummary = into(&l.summary, r)
		return l.hasSummary
	case "messages_compacted":
		l.compacted, l.hasCompacted = r.Int()
		return l.hasCompacted
	}
	return false
}

// stamp reads a time in any form that RFC 3339 has.
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

// extra reads Cersei's map for whatever programs want to add, and our own mark
// in it.
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
		l.other = append(l.other, firn.Field{Name: "extra", Value: keep(raw)})
	}
	return true
}

// isBare reports whether the line is a message of the bare form.
func (l *line) isBare() bool { return l.kind == "" && l.said.role != "" && l.said.has }

// markName is the member of the extra map that is ours.
const markName = "firn"

// mark is what we note beside a message that Cersei keeps and does not read.
type mark struct {
	// compaction is set on a summary that stands for all before kept, which
	// is the uuid of a line; nothing is kept if it is empty.
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
			ok = into(&m.kept, &r)
		case "tokens_before":
			m.tokens, ok = r.Int()
		}
		if !ok {
			r.Skip()
		}
	}
	return m
}

// into reads a string into field; false if it is none.
func into(field *string, r *rawjson.Reader) bool {
	s, ok := r.Text()
	if ok {
		*field = s
	}
	return ok
}

// capture notes a raw value of a kind; false if it is of another.
func capture(field *[]byte, r *rawjson.Reader, kind rawjson.Kind) bool {
	if r.Kind() != kind {
		return false
	}
	*field = r.Raw()
	return true
}

// keep copies a raw value, clean and on one line.
func keep(raw []byte) []byte {
	kept, err := rawjson.AppendValue(nil, raw)
	if err != nil {
		return nil
	}
	return kept
}
