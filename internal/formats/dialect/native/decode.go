package native

import (
	"encoding/json"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// decoder decodes one line.
type decoder struct {
	r rawjson.Reader
	// seen is the set of entry members read so far.
	seen member
	// room is the buffer that a message is decoded into.
	room *messageBuffer
	// link is the offset of the line's link in the hash chain; 0 if there is none. A link
	// belongs to the file, not to the entry.
	link int
}

// member is a set of members of an entry.
type member uint8

const (
	hasType member = 1 << iota
	hasID
	hasParent
	hasTarget
	hasKept
	hasTime
	// hasBody is set when the essential member of the entry was read.
	hasBody
	// hasTwice is set when a member that the tree depends on occurs twice or is not a
	// string. Readers disagree on what such an entry means, so it is opaque.
	hasTwice
)

// entry decodes the whole line. known is false if the type is unknown or an essential
// member is missing.
func (d *decoder) entry() (e firn.Entry, known bool) {
	body := d.newBody(firn.Kind(d.r.Lookahead("type")))
	if body == nil {
		d.r.Skip()
		return e, false
	}
	if !d.r.Object() {
		return e, false
	}
	e.Body = body
	header, _ := body.(*firn.Header)
	for d.r.Member() {
		if header != nil {
			d.headerMember(&e, header)
		} else {
			d.entryMember(&e)
		}
	}
	switch body.(type) {
	case *firn.Head, *firn.Title: // valid even without members of their own
		d.seen |= hasBody
	}
	return e, d.seen&hasBody != 0 && d.seen&hasTwice == 0
}

// newBody returns an empty body for an entry of this kind, or nil if the kind is unknown.
func (d *decoder) newBody(kind firn.Kind) firn.Body {
	switch kind {
	case firn.KindHeader:
		return &firn.Header{Version: 1} // version 1 had no version member
	case firn.KindMessage:
		d.room = new(messageBuffer)
		return &d.room.message
	case firn.KindCompaction:
		return &firn.Compaction{}
	case firn.KindBranchSummary:
		return &firn.BranchSummary{}
	case firn.KindTombstone:
		return &firn.Tombstone{}
	case firn.KindLabel:
		return &firn.Label{}
	case firn.KindTitle:
		return &firn.Title{}
	case firn.KindModelChange:
		return &firn.ModelChange{}
	case firn.KindThinkingChange:
		return &firn.ThinkingChange{}
	case firn.KindCustom:
		return &firn.Custom{}
	case firn.KindCustomMessage:
		return &firn.CustomMessage{}
	case firn.KindHead:
		return &firn.Head{}
	}
	return nil
}

// headerMember reads one member of a header.
func (d *decoder) headerMember(e *firn.Entry, h *firn.Header) {
	ok := false
	switch string(d.r.Key()) {
	case "type":
		d.markOnce(hasType)
		d.r.Skip()
		ok = true
	case "id":
		d.markOnce(hasID)
		if ok = text(&d.r, &h.Session); ok {
			d.seen |= hasBody
		}
	case "timestamp":
		ok = isoTime(&d.r, &e.Time)
	case "version":
		ok = integer(&d.r, &h.Version)
		h.Version = max(h.Version, 1)
	case "firn":
		ok = integer(&d.r, &h.Firn)
	case "cwd":
		ok = text(&d.r, &h.CWD)
	case "parentSession":
		ok = text(&d.r, &h.ParentSession)
	case "agent":
		ok = text(&d.r, &h.Agent)
	case "key":
		ok = text(&d.r, &h.Key)
	}
	if !ok {
		d.carry(&e.Extra)
	}
}

// entryMember reads one member of an entry other than a header.
func (d *decoder) entryMember(e *firn.Entry) {
	switch string(d.r.Key()) {
	case "type":
		d.markOnce(hasType)
		d.r.Skip()
	case "id":
		d.markOnce(hasID)
		if !text(&d.r, &e.ID) {
			d.seen |= hasTwice
			d.r.Skip()
		}
	case "parentId":
		d.markOnce(hasParent)
		if !text(&d.r, &e.Parent) && !d.r.Null() {
			d.seen |= hasTwice
			d.r.Skip()
		}
		if e.Parent == firn.Root {
			e.Parent = ""
		}
	case "timestamp":
		if !isoTime(&d.r, &e.Time) {
			d.carry(&e.Extra)
		}
	default:
		if !d.bodyMember(e.Body) {
			d.carry(&e.Extra)
		}
	}
}

// markOnce records a member that must occur only once.
func (d *decoder) markOnce(m member) {
	if d.seen&m != 0 {
		d.seen |= hasTwice
	}
	d.seen |= m
}

// bodyMember reads a member of the body. It returns false if the member does not belong to
// the body.
func (d *decoder) bodyMember(body firn.Body) bool {
	switch b := body.(type) {
	case *firn.Message:
		return d.messageEntry(b)
	case *firn.Compaction:
		return d.compaction(b)
	case *firn.BranchSummary:
		return d.branchSummary(b)
	case *firn.Tombstone:
		return d.tombstone(b)
	case *firn.Label:
		return d.label(b)
	case *firn.Title:
		return d.title(b)
	case *firn.ModelChange:
		return d.modelChange(b)
	case *firn.ThinkingChange:
		return d.thinkingChange(b)
	case *firn.Custom:
		return d.custom(b)
	case *firn.CustomMessage:
		return d.customMessage(b)
	case *firn.Head:
		return string(d.r.Key()) == "reason" && text(&d.r, &b.Reason)
	}
	return false
}

// carry stores a member that has no field in extra.
func (d *decoder) carry(extra *firn.Fields) {
	if d.link > 0 && d.r.Offset() > d.link {
		d.r.Skip()
		return
	}
	name := d.r.KeyText()
	if value := d.raw(); value != nil {
		*extra = append(*extra, firn.Field{Name: name, Value: value})
	}
}

// raw copies a value of any kind.
func (d *decoder) raw() json.RawMessage {
	value := d.r.Raw()
	if value == nil {
		return nil
	}
	if clean, changed := rawjson.Clean(value); changed {
		return clean
	}
	return append(json.RawMessage(nil), value...)
}

// The member readers set the field and return true if the value has the right type.
// Otherwise they leave the field and the reader unchanged.

func text[T ~string](r *rawjson.Reader, field *T) bool {
	s, ok := r.Text()
	if ok {
		*field = T(s)
	}
	return ok
}

func boolean(r *rawjson.Reader, field *bool) bool {
	b, ok := r.Bool()
	if ok {
		*field = b
	}
	return ok
}

func integer[T int | int64](r *rawjson.Reader, field *T) bool {
	start := *r
	n, ok := r.Int()
	if ok && int64(T(n)) != n {
		*r = start
		return false
	}
	if ok {
		*field = T(n)
	}
	return ok
}

func float(r *rawjson.Reader, field *float64) bool {
	f, ok := r.Float()
	if ok {
		*field = f
	}
	return ok
}

func isoTime(r *rawjson.Reader, field *time.Time) bool {
	start := *r
	b, ok := r.Bytes()
	if !ok {
		return false
	}
	t, ok := parseTime(b)
	if !ok {
		*r = start
		return false
	}
	*field = t
	return true
}

func epochTime(r *rawjson.Reader, field *time.Time) bool {
	start := *r
	ms, ok := r.Int()
	if ok && !epochOK(ms) {
		*r = start
		return false
	}
	if ok {
		*field = time.UnixMilli(ms).UTC()
	}
	return ok
}
