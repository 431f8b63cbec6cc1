package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
)

// MemberError reports a rejected member of a JSON object. The value as a whole is valid
// JSON.
type MemberError struct {
	// Name is the member's name.
	Name string
	// Meant is the known name that differs from Name only in case; empty if there is none.
	Meant string
	// Twice is set if the member is a duplicate.
	Twice bool
}

// Error describes the rejected member in one sentence.
func (e *MemberError) Error() string {
	switch {
	case e.Twice && e.Meant != "":
		return fmt.Sprintf("the members %q and %q differ only in case", e.Meant, e.Name)
	case e.Twice:
		return fmt.Sprintf("the member %q is given twice", e.Name)
	case e.Meant != "":
		return fmt.Sprintf("unknown member %q; did you mean %q?", e.Name, e.Meant)
	}
	return fmt.Sprintf("unknown member %q", e.Name)
}

// Unmarshal decodes one JSON value like [json.Unmarshal], but accepts each member only once
// and by its exact name. It rejects duplicates at any depth, even in raw values, and
// members that differ from a known one only in case. It also rejects all other unknown
// members unless lenient is set. Rejections are of type *[MemberError].
func Unmarshal(data []byte, into any, lenient bool) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if !lenient {
		d.DisallowUnknownFields()
	}
	if err := checkMembers(data, reflect.TypeOf(into), lenient, false); err != nil {
		return err
	}
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return &SyntaxError{Offset: int(d.InputOffset()), what: "trailing data after the value"}
	}
	return nil
}

// CheckUnique rejects a JSON value in which an object has duplicate members, at any depth.
// With fold, it also rejects members that differ only in case, because some decoders do not
// distinguish them. Invalid JSON is left to the decoder.
func CheckUnique(data []byte, fold bool) error { return checkMembers(data, nil, true, fold) }

// checkMembers checks the names of members against a type; nil accepts any. It does not
// report invalid JSON.
func checkMembers(data []byte, t reflect.Type, lenient, fold bool) error {
	c := memberCheck{r: New(data), lenient: lenient, fold: fold}
	c.value(t)
	if c.err != nil {
		return c.err
	}
	return nil
}

// memberCheck is one pass over a value.
type memberCheck struct {
	r             Reader
	lenient, fold bool
	err           *MemberError
}

// value checks the next value, which will be decoded into a t.
func (c *memberCheck) value(t reflect.Type) {
	t = decoded(t)
	switch c.r.Kind() {
	case Object:
		c.object(t)
	case Array:
		var of reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			of = t.Elem()
		}
		c.r.Array()
		for c.err == nil && c.r.Err() == nil && c.r.Element() {
			c.value(of)
		}
	default:
		c.r.Skip()
	}
}

// object checks an object.
func (c *memberCheck) object(t reflect.Type) {
	var fields map[string]reflect.Type
	var each reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	} else if t != nil && t.Kind() == reflect.Map {
		each = t.Elem()
	}
	seen := make(map[string]string, 8)
	c.r.Object()
	for c.err == nil && c.r.Err() == nil && c.r.Member() {
		name, of := c.r.KeyText(), each
		if c.twice(seen, name); c.err != nil {
			return
		}
		if fields != nil {
			if of = c.field(fields, name); c.err != nil {
				return
			}
		}
		c.value(of)
	}
}

// twice rejects a name that has been seen, and adds it to seen.
func (c *memberCheck) twice(seen map[string]string, name string) {
	as := name
	if c.fold {
		as = strings.ToLower(name)
	}
	if first, ok := seen[as]; ok {
		c.err = &MemberError{Name: name, Twice: true}
		if first != name {
			c.err.Meant = first
		}
	}
	seen[as] = name
}

// field returns the type of the field with the given name, and rejects an unknown name.
func (c *memberCheck) field(fields map[string]reflect.Type, name string) reflect.Type {
	if t, ok := fields[name]; ok {
		return t
	}
	e := &MemberError{Name: name}
	for known := range fields {
		if strings.EqualFold(known, name) {
			e.Meant = known
		}
	}
	if e.Meant != "" || !c.lenient {
		c.err = e
	}
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// decoded returns the type whose fields or elements encoding/json fills. It returns nil if
// the type decodes itself or accepts anything.
func decoded(t reflect.Type) reflect.Type {
	for t != nil {
		if t.Implements(unmarshaler) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(unmarshaler) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	if t != nil && t.Kind() == reflect.Interface {
		return nil
	}
	return t
}

// fieldCache holds the members of struct types by their exact names.
var fieldCache sync.Map // reflect.Type -> map[string]reflect.Type

// fieldsOf returns the members of a struct by their names in encoding/json.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if fields, ok := fieldCache.Load(t); ok {
		return fields.(map[string]reflect.Type)
	}
	fields := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("json") == "-" || !f.IsExported() || f.Anonymous && name == "" && decoded(f.Type) != nil && decoded(f.Type).Kind() == reflect.Struct {
			continue // the fields of an embedded struct are visible themselves
		}
		if name == "" {
			name = f.Name
		}
		if _, outer := fields[name]; !outer || len(f.Index) == 1 {
			fields[name] = f.Type
		}
	}
	fieldCache.Store(t, fields)
	return fields
}
