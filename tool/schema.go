package tool

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// shape describes the values of an argument: the part of a Go type that a JSON schema can
// express.
type shape struct {
	kind kind
	// members are the members of an object, in struct order. Without them an object may
	// have any members, of the shape elem if it is set.
	members []member
	// elem is the shape of the elements of a list or map.
	elem *shape
	// enum lists the allowed texts; empty means any.
	enum []string
	// unsigned means that an integer must not be negative.
	unsigned bool
}

// member is a named value in an object.
type member struct {
	name, desc string
	required   bool
	shape      *shape
}

// kind is a JSON type.
type kind string

const (
	anything kind = ""
	object   kind = "object"
	list     kind = "array"
	text     kind = "string"
	whole    kind = "integer"
	number   kind = "number"
	truth    kind = "boolean"
)

// article returns the kind with its article.
func (k kind) article() string {
	switch k {
	case object:
		return "an object"
	case list:
		return "a list"
	case text:
		return "a text"
	case whole:
		return "a whole number"
	case number:
		return "a number"
	case truth:
		return "true or false"
	}
	return "anything"
}

var (
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shapeOf returns the shape of a type. Above are the enclosing structs, which end the
// recursion for recursive types.
func shapeOf(t reflect.Type, above []reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch p := reflect.PointerTo(t); {
	case t == reflect.TypeFor[time.Time]():
		return &shape{kind: text}
	case p.Implements(jsonReader):
		return &shape{kind: anything}
	case p.Implements(textReader):
		return &shape{kind: text}
	}
	switch t.Kind() {
	case reflect.Struct:
		if slices.Contains(above, t) {
			return &shape{kind: anything}
		}
		return &shape{kind: object, members: membersOf(t, append(slices.Clone(above), t))}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return &shape{kind: object, elem: shapeOf(t.Elem(), above)}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &shape{kind: text} // base64
		}
		return &shape{kind: list, elem: shapeOf(t.Elem(), above)}
	case reflect.Array:
		return &shape{kind: list, elem: shapeOf(t.Elem(), above)}
	case reflect.String:
		return &shape{kind: text}
	case reflect.Bool:
		return &shape{kind: truth}
	case reflect.Float32, reflect.Float64:
		return &shape{kind: number}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &shape{kind: whole}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return &shape{kind: whole, unsigned: true}
	}
	return &shape{kind: anything}
}

// membersOf returns the members that encoding/json would read into a struct: its own
// fields, then those of embedded structs.
func membersOf(t reflect.Type, above []reflect.Type) []member {
	members, promoted := []member{}, []member{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Tag.Get("json") == "-" || !field.IsExported() && !field.Anonymous {
			continue
		}
		if inner := embedded(field, name); inner != nil {
			if !slices.Contains(above, inner) {
				promoted = append(promoted, membersOf(inner, append(slices.Clone(above), inner))...)
			}
			continue
		}
		if !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		s := shapeOf(field.Type, above)
		if enum := field.Tag.Get("enum"); enum != "" && s.kind == text {
			s.enum = strings.Split(enum, "|")
		}
		optional := field.Type.Kind() == reflect.Pointer ||
			slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return o == "omitempty" || o == "omitzero" })
		members = append(members, member{name: name, desc: field.Tag.Get("desc"), required: !optional, shape: s})
	}
	for _, m := range promoted {
		if !slices.ContainsFunc(members, func(own member) bool { return own.name == m.name }) {
			members = append(members, m)
		}
	}
	return members
}

// embedded returns the struct type whose fields are promoted, or nil if the field is not
// embedded.
func embedded(field reflect.StructField, name string) reflect.Type {
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !field.Anonymous || name != "" || t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// schema returns the shape as a JSON schema. The schema of arguments is always of type
// object.
func (s *shape) schema() json.RawMessage {
	top := *s
	top.kind = object
	var b bytes.Buffer
	top.write(&b, "")
	return b.Bytes()
}

func (s *shape) write(b *bytes.Buffer, desc string) {
	b.WriteByte('{')
	item := func(name string, value any) {
		if b.Bytes()[b.Len()-1] != '{' {
			b.WriteByte(',')
		}
		b.Write(quote(name))
		b.WriteByte(':')
		b.Write(quote(value))
	}
	if s.kind != anything {
		item("type", string(s.kind))
	}
	if desc != "" {
		item("description", desc)
	}
	if len(s.enum) > 0 {
		item("enum", s.enum)
	}
	if s.unsigned {
		item("minimum", 0)
	}
	switch {
	case s.kind == list && s.elem != nil:
		item("items", s.elem.bytes(""))
	case s.kind == object && s.elem != nil:
		item("additionalProperties", s.elem.bytes(""))
	case s.kind == object && s.members != nil:
		item("properties", s.properties())
		if required := s.required(); len(required) > 0 {
			item("required", required)
		}
		item("additionalProperties", false)
	}
	b.WriteByte('}')
}

func (s *shape) bytes(desc string) json.RawMessage {
	var b bytes.Buffer
	s.write(&b, desc)
	return b.Bytes()
}

func (s *shape) properties() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range s.members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		m.shape.write(&b, m.desc)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func (s *shape) required() []string {
	var names []string
	for _, m := range s.members {
		if m.required {
			names = append(names, m.name)
		}
	}
	return names
}

// quote encodes a value as JSON without HTML escaping.
func quote(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return []byte("null") // unreachable: texts, numbers and raw JSON can always be encoded
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
