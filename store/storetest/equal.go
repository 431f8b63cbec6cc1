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

// Diff tells in what way two entries say different things; nothing if they
// say the same. It does not see what a store may change by spelling an entry
// as bytes and reading it again: no list or an empty one, no usage or all
// zeros, white space in JSON, the bytes and the time of an erased entry, and
// where an opaque entry keeps its id, parent and time.
func Diff(want, got firn.Entry) string {
	return cmp.Diff(normal(want), normal(got), same())
}

func same() cmp.Options {
	return cmp.Options{
		cmpopts.EquateEmpty(),
		cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, cmp.Transformer("compact", compact)),
		cmp.FilterValues(func(a, b *firn.Usage) bool { return noUsage(a) && noUsage(b) }, cmp.Ignore()),
	}
}

// compact spells JSON without white space. Null is the same as nothing.
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

// normal brings an opaque entry into a form that can be compared. Others are
// left as they are.
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
		return e // and let the difference show
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
