package config

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Field describes one setting.
type Field struct {
	// Path is the dotted name; <name> is a user-defined name and # an index.
	Path string `json:"path"`
	// Type is a short description of the type.
	Type string `json:"type"`
	// Default is the default value in TOML syntax; empty if there is none.
	Default string `json:"default,omitempty"`
	// Allowed lists the allowed values, if they are fixed. Range is the allowed range.
	Allowed []string `json:"allowed,omitempty"`
	Range   string   `json:"range,omitempty"`
	// Needed is set if the setting is required in its table.
	Needed bool `json:"needed,omitempty"`
	// Restart is set if a change takes effect only after a restart of the gateway.
	Restart bool `json:"restart,omitempty"`
	// Variable is the environment variable; empty if there is none.
	Variable string `json:"variable,omitempty"`
	// Description explains the setting.
	Description string `json:"description"`
	// Table is set if the setting has members, which are listed after it. If Like is set,
	// they are the same as those of that table and not listed again.
	Table bool   `json:"table,omitempty"`
	Like  string `json:"like,omitempty"`
}

// Schema describes all settings in the order of the documentation. Members of a table that
// is like another one are not repeated.
func Schema() []Field {
	l := lister{first: make(map[reflect.Type]string)}
	l.list(schema(), "")
	return l.fields
}

// lister lists the settings in tables.
type lister struct {
	fields []Field
	// first holds the path of the first table of each type.
	first map[reflect.Type]string
}

func (l *lister) list(s *spec, path string) {
	for _, m := range s.members {
		p := strings.TrimPrefix(path+"."+m.key, ".")
		f := m.field(p)
		table, below := m, p
		switch {
		case m.kind == mapKind:
			table, below = m.elem, p+".<name>"
		case m.kind == listKind:
			table, below = m.elem, p+".#"
		}
		if table.kind == tableKind {
			f.Like = l.first[table.typ]
		}
		l.fields = append(l.fields, f)
		if table.kind == tableKind && f.Like == "" {
			l.first[table.typ] = p
			l.list(table, below)
		}
	}
}

// kind is the type of a setting.
type kind int

const (
	textKind kind = iota
	boolKind
	intKind
	floatKind
	durationKind
	bytesKind
	listKind  // of elem
	mapKind   // of names to elem
	tableKind // of members
)

// spec is the description of a setting, from the tags of its field.
type spec struct {
	kind kind
	typ  reflect.Type // without the pointer
	// pointer is set if the field is a pointer, which is nil if not set.
	pointer bool
	index   int // in the fields of its struct

	key, doc, fallback string
	// is names the validator of the value or its items; name that of the keys of a map.
	is, name string
	allow    []string
	names    []string
	limits   string
	restart  bool
	needed   bool

	members []*spec
	elem    *spec
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	bytesType    = reflect.TypeFor[Bytes]()
)

// schema returns the spec of Config. It is never modified.
var schema = sync.OnceValue(func() *spec { return tableSpec(reflect.TypeFor[Config](), false) })

// tableSpec creates the spec of a struct from its tags.
func tableSpec(t reflect.Type, restart bool) *spec {
	s := &spec{kind: tableKind, typ: t, restart: restart}
	for i := range t.NumField() {
		f := t.Field(i)
		key, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		m := valueSpec(f.Type, f.Tag, restart || f.Tag.Get("restart") != "")
		m.index, m.key, m.doc, m.fallback = i, key, f.Tag.Get("doc"), f.Tag.Get("default")
		m.needed = f.Tag.Get("need") != ""
		s.members = append(s.members, m)
	}
	return s
}

// valueSpec creates the spec of a field's type.
func valueSpec(t reflect.Type, tag reflect.StructTag, restart bool) *spec {
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	s := &spec{typ: t}
	switch {
	case t == durationType:
		s.kind = durationKind
	case t == bytesType:
		s.kind = bytesKind
	case t.Kind() == reflect.Struct:
		s = tableSpec(t, restart)
	case t.Kind() == reflect.Slice:
		s.kind, s.elem = listKind, valueSpec(t.Elem(), tag, restart)
	case t.Kind() == reflect.Map:
		s.kind, s.elem = mapKind, valueSpec(t.Elem(), tag, restart)
	default:
		s.kind = scalars[t.Kind()]
	}
	s.pointer, s.restart = pointer, restart
	s.is, s.name, s.limits = tag.Get("is"), tag.Get("name"), tag.Get("range")
	s.allow, s.names = choices(tag, "allow"), choices(tag, "names")
	return s
}

var scalars = map[reflect.Kind]kind{
	reflect.String: textKind, reflect.Bool: boolKind, reflect.Int: intKind, reflect.Int64: intKind, reflect.Float64: floatKind,
}

// choices splits the value of a tag.
func choices(tag reflect.StructTag, name string) []string {
	text, ok := tag.Lookup(name)
	if !ok {
		return nil
	}
	return strings.Split(text, "|")
}

// member returns the setting in a table with the given key.
func (s *spec) member(key string) *spec {
	for _, m := range s.members {
		if m.key == key {
			return m
		}
	}
	return nil
}

// keys returns the keys of a table.
func (s *spec) keys() []string {
	keys := make([]string, len(s.members))
	for i, m := range s.members {
		keys[i] = m.key
	}
	return keys
}

// isTable reports whether the setting is written as one or more tables rather than as a
// value.
func (s *spec) isTable() bool {
	return s.kind == tableKind || (s.kind == listKind || s.kind == mapKind) && s.elem.kind == tableKind
}

// field describes a spec at a path.
func (s *spec) field(path string) Field {
	f := Field{
		Path: path, Type: s.typeName(), Range: s.limits, Allowed: s.allow, Needed: s.needed, Restart: s.restart,
		Description: s.doc, Table: s.isTable() || s.kind == mapKind,
	}
	if s.kind == mapKind {
		f.Allowed = s.names
	}
	if !f.Table {
		if !s.pointer && !s.needed {
			f.Default = s.defaultText()
		}
		if !strings.ContainsAny(path, "#/") {
			f.Variable = variable(path)
		}
	}
	return f
}

// defaultText returns the default in TOML syntax.
func (s *spec) defaultText() string {
	v := reflect.New(s.typ).Elem()
	s.setDefault(v)
	return formatValue(s, v)
}

// typeName describes the type of a setting.
func (s *spec) typeName() string {
	switch s.kind {
	case boolKind:
		return "true or false"
	case intKind, floatKind:
		return "number"
	case durationKind:
		return "time"
	case bytesKind:
		return "size"
	case listKind:
		if s.elem.kind == tableKind {
			return "tables, any number"
		}
		return "list of " + plural[s.elem.typeName()]
	case mapKind:
		if s.elem.kind == tableKind {
			return "tables by name"
		}
		return "by name: " + s.elem.typeName()
	case tableKind:
		return "table"
	}
	return texts[s.is]
}

// texts are the descriptions of text kinds.
var texts = map[string]string{
	"": "text", "path": "path", "id": "name", "model": "model", "variable": "name of a variable", "url": "URL", "zone": "time zone",
	"gateway": "address", "listen": "address", "host": "host", "origin": "origin", "header": "header", "store": "URL", "space": "word", "schedule": "schedule", "template": "template", "protocol": "protocol",
}

var plural = map[string]string{
	"text": "texts", "model": "models", "URL": "URLs", "name of a variable": "names of variables", "host": "hosts", "origin": "origins", "path": "paths", "name": "names", "header": "headers", "word": "words", "address": "addresses",
	"time zone": "time zones", "schedule": "schedules", "template": "templates", "protocol": "protocols",
}

// setDefault sets a value and its members to their defaults. Pointers, and maps and lists
// without a default, are nil.
func (s *spec) setDefault(v reflect.Value) {
	if s.pointer && v.Kind() == reflect.Pointer {
		v.SetZero()
		return
	}
	switch s.kind {
	case tableKind:
		for _, m := range s.members {
			m.setDefault(v.Field(m.index))
		}
		return
	case mapKind:
		v.SetZero()
		return
	case listKind:
		v.SetZero()
		if s.fallback != "" {
			v.Set(reflect.ValueOf(strings.Split(s.fallback, ",")))
		}
		return
	}
	if s.fallback == "" {
		v.SetZero()
		return
	}
	// A test checks that all defaults are valid.
	_ = s.parse(v, s.fallback)
}

// variable returns the environment variable for a path.
func variable(path string) string {
	return "FIRN_" + strings.ToUpper(strings.ReplaceAll(path, ".", "__"))
}

// at returns the spec for a path. It does not check that user-defined names and indexes
// exist.
func (s *spec) at(path []string) (*spec, error) {
	for i, segment := range path {
		switch s.kind {
		case tableKind:
			m := s.member(segment)
			if m == nil {
				return nil, unknownKey(s, path[:i], segment)
			}
			s = m
		case mapKind:
			s = s.elem
		case listKind:
			if s.elem.kind != tableKind {
				return nil, fmt.Errorf("%s is a list and can only be set as a whole", joinPath(path[:i]))
			}
			s = s.elem
		default:
			return nil, fmt.Errorf("%s is not a table and has no member %s", joinPath(path[:i]), quoted(segment))
		}
	}
	return s, nil
}
