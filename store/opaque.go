package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// addOpaque prepares an entry of an unknown kind. Its raw line contains the type, ID,
// parent and time a second time; they are updated to match the entry. The line is not
// changed if they match already, as for an entry that was copied from another session.
func (c *chain) addOpaque(e firn.Entry) error {
	if err := clean(&e); err != nil {
		return err
	}
	o := *e.Body.(*firn.Opaque)
	held, err := parseLine(o.Raw)
	switch {
	case err != nil:
		return err
	case o.Type == "":
		o.Type = held.kind
	case o.Type != held.kind:
		return fmt.Errorf("its type is %q and that of its line %q: %w", o.Type, held.kind, firn.ErrInvalid)
	}
	if o.Type == firn.KindHeader {
		return fmt.Errorf("a header cannot be opaque: %w", firn.ErrInvalid)
	}
	if e.Extra.Get("timestamp") != nil {
		return fmt.Errorf("an extra field of an opaque entry must not be called timestamp: %w", firn.ErrInvalid)
	}
	if e.Time.IsZero() {
		e.Time = held.time
	}
	if err := c.setTime(&e); err != nil {
		return err
	}
	if err := c.linkEntry(&e); err != nil {
		return err
	}
	if !held.matchesEntry(&e) {
		if o.Raw, err = held.encode(&e); err != nil {
			return err
		}
	}
	e.Body, e.Extra = &o, nil
	c.push(e)
	return nil
}

// line is the parsed raw line of an opaque entry.
type line struct {
	kind       firn.Kind
	id, parent firn.EntryID
	time       time.Time
	// types, ids and parents count how often the line has each of these members.
	types, ids, parents int
	// rest are the other members.
	rest firn.Fields
	// lines is set if the raw line contains a newline.
	lines bool
}

// parseLine parses a raw line. It must be a JSON object.
func parseLine(raw []byte) (line, error) {
	l := line{lines: bytes.IndexByte(raw, '\n') >= 0}
	r := rawjson.New(raw)
	if !r.Object() {
		return l, fmt.Errorf("its line is not a JSON object: %w", firn.ErrInvalid)
	}
	for r.Member() {
		switch r.KeyText() {
		case "type":
			if kind := textOf(&r); l.types == 0 { // the first one wins
				l.kind = firn.Kind(kind)
			}
			l.types++
		case "id":
			l.id = firn.EntryID(textOf(&r))
			l.ids++
		case "parentId":
			l.parent = firn.EntryID(textOf(&r))
			l.parents++
		case "timestamp":
			if t, err := time.Parse(time.RFC3339Nano, textOf(&r)); err == nil {
				l.time = stamp(t)
			}
		default:
			l.rest = append(l.rest, firn.Field{Name: r.KeyText(), Value: r.Raw()})
		}
	}
	if err := r.End(); err != nil {
		return l, fmt.Errorf("its line is not valid JSON (%w): %w", err, firn.ErrInvalid)
	}
	return l, nil
}

// textOf consumes a value. It returns "" if the value is not a string.
func textOf(r *rawjson.Reader) string {
	s, ok := r.Text()
	if !ok {
		r.Skip()
	}
	return s
}

// matchesEntry reports whether the line can be stored unchanged: it has the type, ID,
// parent and time of the entry and no newline.
func (l *line) matchesEntry(e *firn.Entry) bool {
	return l.types <= 1 && l.ids == 1 && l.id == e.ID && l.parents == 1 && l.parent == e.Parent &&
		l.time.Equal(e.Time) && len(e.Extra) == 0 && !l.lines
}

// encode encodes the line with the ID, parent, time and extra fields of the entry.
func (l *line) encode(e *firn.Entry) (json.RawMessage, error) {
	b := rawjson.AppendString([]byte(`{"type":`), string(l.kind))
	b = rawjson.AppendString(append(b, `,"id":`...), string(e.ID))
	if e.Parent == "" {
		b = append(b, `,"parentId":null`...)
	} else {
		b = rawjson.AppendString(append(b, `,"parentId":`...), string(e.Parent))
	}
	b = append(b, `,"timestamp":"`...)
	b = e.Time.AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, '"')
	rest := slices.DeleteFunc(l.rest, func(f firn.Field) bool { return e.Extra.Get(f.Name) != nil })
	for _, f := range append(rest, e.Extra...) {
		b = rawjson.AppendString(append(b, ','), f.Name)
		var err error
		if b, err = rawjson.AppendValue(append(b, ':'), f.Value); err != nil {
			return nil, fmt.Errorf("its member %q is not valid JSON (%w): %w", f.Name, err, firn.ErrInvalid)
		}
	}
	return append(b, '}'), nil
}

// kindOf returns the member "type" of a JSON object, if any.
func kindOf(raw []byte) string {
	r := rawjson.New(raw)
	if !r.Object() {
		return ""
	}
	for r.Member() {
		if r.KeyText() == "type" {
			return textOf(&r)
		}
		r.Skip()
	}
	return ""
}
