package filestore

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"firn.dev/internal/base/rawjson"
)

// object is a JSON object that is changed without touching what is not meant:
// its members keep their order and the very bytes they were written with,
// spelling, numbers and layout alike.
type object struct {
	members []member
	// at is where in members a name is.
	at map[string]int
	// twice are the names that were there more than once. As in JavaScript the
	// last value counts, in the place of the first.
	twice []string
}

// member is a name and its value, both as they are written.
type member struct {
	// name tells members apart. It is the text of the name, or if that is no
	// text (half a surrogate pair, a NUL) a NUL and the spelling, which nobody
	// can ask for, so that no two of those are taken for one.
	name   string
	quoted []byte
	value  []byte
}

// parseObject reads an object. If data is something else, or damaged, it
// returns the error and what was whole before it.
func parseObject(data []byte) (*object, error) {
	o := &object{at: make(map[string]int)}
	r := rawjson.New(data)
	if !r.Object() {
		if err := r.Err(); err != nil {
			return o, err
		}
		return o, fmt.Errorf("it is no JSON object")
	}
	for {
		start := r.Offset()
		r.Cleaned = false
		if !r.Member() {
			return o, r.End()
		}
		m := member{name: r.KeyText(), quoted: spelling(data[start:r.Offset()])}
		if r.Cleaned {
			m.name = "\x00" + string(m.quoted)
		}
		if m.value = r.Raw(); m.value == nil {
			return o, r.Err()
		}
		if _, ok := o.at[m.name]; ok {
			o.twice = append(o.twice, m.name)
		}
		o.put(m)
	}
}

// spelling cuts a name out of what stands between two values.
func spelling(between []byte) []byte {
	return bytes.TrimRight(bytes.TrimLeft(between, ", \t\r\n"), ": \t\r\n")
}

// put gives a member its new value, or adds it at the end.
func (o *object) put(m member) {
	if i, ok := o.at[m.name]; ok {
		o.members[i].value = m.value
		return
	}
	o.at[m.name] = len(o.members)
	o.members = append(o.members, m)
}

// get returns the value of a member as it is written, or nil.
func (o *object) get(name string) []byte {
	if i, ok := o.at[name]; ok {
		return o.members[i].value
	}
	return nil
}

// set gives a member its new value, which must be JSON, or adds it at the end.
func (o *object) set(name string, value []byte) {
	o.put(member{name: name, quoted: rawjson.AppendString(nil, name), value: value})
}

// remove takes members away.
func (o *object) remove(names ...string) {
	gone := func(m member) bool { return slices.Contains(names, m.name) }
	if !slices.ContainsFunc(o.members, gone) {
		return
	}
	o.members = slices.DeleteFunc(o.members, gone)
	clear(o.at)
	for i, m := range o.members {
		o.at[m.name] = i
	}
}

// equal reports whether two objects are written with the same names and values
// in the same order.
func (o *object) equal(other *object) bool {
	return slices.EqualFunc(o.members, other.members, func(a, b member) bool {
		return bytes.Equal(a.quoted, b.quoted) && bytes.Equal(a.value, b.value)
	})
}

// clone makes a copy that can be changed. The bytes are shared: nobody changes
// those.
func (o *object) clone() *object {
	return &object{members: slices.Clone(o.members), at: maps.Clone(o.at), twice: o.twice}
}

// append writes the object as JSON.stringify(o, null, 2) does, so many spaces
// deep; the values are written as they are.
func (o *object) append(dst []byte, depth int) []byte {
	if len(o.members) == 0 {
		return append(dst, "{}"...)
	}
	line := append([]byte("\n"), bytes.Repeat([]byte(" "), depth)...)
	dst = append(dst, '{')
	for i, m := range o.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, line...), "  "...)
		dst = append(append(dst, m.quoted...), ": "...)
		dst = append(dst, m.value...)
	}
	return append(append(dst, line...), '}')
}
