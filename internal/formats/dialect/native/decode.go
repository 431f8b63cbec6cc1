package native

import (
	"encoding/json"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// decoder reads one line.
type decoder struct {
	r rawjson.Reader
	// seen tells which members of the entry were there.
	seen member
	// room is where a message is put together.
	room *room
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
	// hasBody is set when what the entry makes no sense without is there.
	hasBody
	// hasTwice is set when a member that the tree depends on is there twice:
	// readers will not agree on which one counts, so we take no side.
	hasTwice
)

// entry reads the whole line. It is not known if the type is none of ours or
// the entry makes no sense.
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
	case *firn.Head, *firn.Title: // which say something even without a member of their own
		d.seen |= hasBody
	}
	return e, d.seen&hasBody != 0 && d.seen&hasTwice == 0
}

// newBody makes the body for an entry of that type, nil if it is none of ours.
func (d *decoder) newBody(kind firn.Kind) firn.Body {
	switch kind {
	case firn.KindHeader:
		return &firn.Header{Version: 1} // the first version did not say so
	case firn.KindMessage:
		d.room = new(room)
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
		d.once(hasType)
		d.r.Skip()
		ok = true
	case "id":
		d.once(hasID)
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

// entryMember reads one member of an entry that is no header.
func (d *decoder) entryMember(e *firn.Entry) {
	switch string(d.r.Key()) {
	case "type":
		d.once(hasType)
		d.r.Skip()
	case "id":
		d.once(hasID)
		if !text(&d.r, &e.ID) {
			d.seen |= hasTwice
			d.r.Skip()
		}
	case "parentId":
		d.once(hasParent)
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

// once notes a member that must be there only once.
func (d *decoder) once(m member) {
	if d.seen&m != 0 {
		d.seen |= hasTwice
	}
	d.seen |= m
}

// bodyMember reads a member that belongs to the body; false if it does not.
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

// carry keeps a member that has no field.
func (d *decoder) carry(extra *firn.Fields) {
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

// The readers of members: they set the field and return true if the value is
// of the right kind, else they leave both as they are.

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
	here := *r
	n, ok := r.Int()
	if ok && int64(T(n)) != n {
		*r = here
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
	here := *r
	b, ok := r.Bytes()
	if !ok {
		return false
	}
	t, ok := parseTime(b)
	if !ok {
		*r = here
		return false
	}
	*field = t
	return true
}

func epochTime(r *rawjson.Reader, field *time.Time) bool {
	here := *r
	ms, ok := r.Int()
	if ok && !epochOK(ms) {
		*r = here
		return false
	}
	if ok {
		*field = time.UnixMilli(ms).UTC()
	}
	return ok
}
