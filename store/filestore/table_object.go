package filestore

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"firn.dev/internal/base/rawjson"
)

// object is a JSON object that preserves the bytes of unchanged members: their order,
// escapes, numbers and formatting.
type object struct {
	members []member
	// at maps names to indexes in members.
	at map[string]int
	// duplicates are names that occurred more than once. As in JavaScript, the last value
	// counts, at the position of the first.
	duplicates []string
}

// member is a name and its value, both in encoded form.
type member struct {
	// name is the decoded name. If the name is not valid text (half a surrogate pair, a
	// NUL), it is a NUL followed by the encoded form, so that such names stay distinct and
	// cannot be looked up.
	name   string
	quoted []byte
	value  []byte
}

// parseObject parses an object. If data is not a valid object, it returns an error and the
// members before it.
func parseObject(data []byte) (*object, error) {
	o := &object{at: make(map[string]int)}
	r := rawjson.New(data)
	if !r.Object() {
		if err := r.Err(); err != nil {
			return o, err
		}
		return o, fmt.Errorf("not a JSON object")
	}
	for {
		start := r.Offset()
		r.Cleaned = false
		if !r.Member() {
			return o, r.End()
		}
		m := member{name: r.KeyText(), quoted: rawName(data[start:r.Offset()])}
		if r.Cleaned {
			m.name = "\x00" + string(m.quoted)
		}
		if m.value = r.Raw(); m.value == nil {
			return o, r.Err()
		}
		if _, ok := o.at[m.name]; ok {
			o.duplicates = append(o.duplicates, m.name)
		}
		o.put(m)
	}
}

// rawName extracts the encoded name from the text between two values.
func rawName(between []byte) []byte {
	return bytes.TrimRight(bytes.TrimLeft(between, ", \t\r\n"), ": \t\r\n")
}

// put sets the value of a member, or adds it at the end.
func (o *object) put(m member) {
	if i, ok := o.at[m.name]; ok {
		o.members[i].value = m.value
		return
	}
	o.at[m.name] = len(o.members)
	o.members = append(o.members, m)
}

// get returns the encoded value of a member, or nil.
func (o *object) get(name string) []byte {
	if i, ok := o.at[name]; ok {
		return o.members[i].value
	}
	return nil
}

// set sets the value of a member, which must be JSON, or adds it at the end.
func (o *object) set(name string, value []byte) {
	o.put(member{name: name, quoted: rawjson.AppendString(nil, name), value: value})
}

// remove removes members.
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

// equal reports whether two objects have the same encoded names and values in the same
// order.
func (o *object) equal(other *object) bool {
	return slices.EqualFunc(o.members, other.members, func(a, b member) bool {
		return bytes.Equal(a.quoted, b.quoted) && bytes.Equal(a.value, b.value)
	})
}

// clone returns a mutable copy. It shares the encoded bytes, which are never modified.
func (o *object) clone() *object {
	return &object{members: slices.Clone(o.members), at: maps.Clone(o.at), duplicates: o.duplicates}
}

// append encodes the object like JSON.stringify(o, null, 2), indented by depth spaces.
// Values are written unchanged.
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
