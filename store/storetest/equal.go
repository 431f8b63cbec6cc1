package storetest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"

	"firn.dev"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// diff describes the difference between two entries; it returns "" if they are equivalent.
// It ignores differences that encoding and decoding may introduce: nil and empty lists, nil
// and zero usage, white space in JSON, the bytes and the time of an erased entry, and the
// position of an opaque entry's ID, parent and time.
func diff(want, got firn.Entry) string {
	return cmp.Diff(normal(want), normal(got), same())
}

func same() cmp.Options {
	return cmp.Options{
		cmpopts.EquateEmpty(),
		cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, cmp.Transformer("compact", compact)),
		cmp.FilterValues(func(a, b *firn.Usage) bool { return noUsage(a) && noUsage(b) }, cmp.Ignore()),
	}
}

// compact removes white space from JSON. Null becomes empty.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "not JSON: " + string(raw)
	}
	if b.String() == "null" {
		return ""
	}
	return b.String()
}

func noUsage(u *firn.Usage) bool {
	if u == nil {
		return true
	}
	c := *u
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
	return reflect.ValueOf(c).IsZero()
}

// normal converts an opaque entry to a comparable form. It returns other entries unchanged.
func normal(e firn.Entry) firn.Entry {
	o, ok := e.Body.(*firn.Opaque)
	if !ok {
		return e
	}
	if o.Type == firn.KindErased {
		e.Time, e.Extra, e.Body = time.Time{}, nil, &firn.Opaque{Type: o.Type}
		return e
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(o.Raw, &members); err != nil {
		return e // the difference will show
	}
	for _, place := range []string{"type", "id", "parentId", "timestamp"} {
		delete(members, place)
	}
	for _, f := range e.Extra {
		members[f.Name] = f.Value
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return e
	}
	e.Extra, e.Body = nil, &firn.Opaque{Type: o.Type, Raw: raw}
	return e
}
