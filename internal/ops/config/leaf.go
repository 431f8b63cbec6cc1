package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"firn.dev"
)

// leaf is a setting without members, and its value.
type leaf struct {
	spec  *spec
	path  []string
	value reflect.Value
}

// texts returns the texts of a leaf that are of a certain kind.
func (l leaf) texts(is string) []string {
	if l.spec.is != is {
		return nil
	}
	switch v := l.value.Interface().(type) {
	case string:
		return []string{v}
	case []string:
		return v
	}
	return nil
}

// walk calls f for every leaf of a value in schema order, with names sorted. List items are
// identified by their IDs, if they have any.
func walk(s *spec, v reflect.Value, path []string, f func(leaf)) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			if s.kind < listKind {
				f(leaf{s, slices.Clone(path), v})
			}
			return
		}
		v = v.Elem()
	}
	down := func(s *spec, v reflect.Value, name string) { walk(s, v, append(slices.Clip(path), name), f) }
	switch {
	case s.kind == tableKind:
		for _, m := range s.members {
			down(m, v.Field(m.index), m.key)
		}
	case s.kind == mapKind:
		for _, name := range slices.Sorted(maps.Keys(stringKeys(v))) {
			down(s.elem, v.MapIndex(reflect.ValueOf(name)), name)
		}
	case s.kind == listKind && s.elem.kind == tableKind:
		for i := range v.Len() {
			down(s.elem, v.Index(i), itemName(s, v, i))
		}
	default:
		f(leaf{s, slices.Clone(path), v})
	}
}

// itemName returns the name of a list item: its ID if it is unique, or else its index.
func itemName(s *spec, v reflect.Value, index int) string {
	m := s.elem.member("id")
	if m == nil {
		return itoa(index)
	}
	id := v.Index(index).Field(m.index).String()
	for i := range v.Len() {
		if id == "" || i != index && v.Index(i).Field(m.index).String() == id {
			return itoa(index)
		}
	}
	return id
}

// itemIndex finds a list item by its index or ID. It returns -1 if there is none.
func itemIndex(list *node, segment string) int {
	for i, item := range list.items {
		if item.shape != tableShape {
			continue
		}
		if id := item.members["id"]; id != nil && id.value == segment {
			return i
		}
	}
	if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(list.items) {
		return i
	}
	return -1
}

func itoa(i int) string { return strconv.Itoa(i) }

// lookup returns the value at a path.
func lookup(c *Config, path []string) (*spec, reflect.Value, error) {
	if _, err := schema().at(path); err != nil {
		return nil, reflect.Value{}, fmt.Errorf("%s: %w: %w", joinPath(path), firn.ErrNotFound, err)
	}
	s, v := schema(), reflect.ValueOf(c).Elem()
	for i, segment := range path {
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() == reflect.Pointer { // members of an unset value are unset
			s, _ = schema().at(path)
			return s, reflect.Zero(reflect.PointerTo(s.typ)), nil
		}
		switch s.kind {
		case tableKind:
			s = s.member(segment)
			v = v.Field(s.index)
		case mapKind:
			s, v = s.elem, v.MapIndex(reflect.ValueOf(segment))
		case listKind:
			v = itemValue(s, v, segment)
			s = s.elem
		}
		if !v.IsValid() {
			return nil, v, fmt.Errorf("%s: %s does not exist: %w", joinPath(path), joinPath(path[:i+1]), firn.ErrNotFound)
		}
	}
	return s, v, nil
}

// itemValue finds an item by its ID or index.
func itemValue(s *spec, v reflect.Value, segment string) reflect.Value {
	for i := range v.Len() {
		if itemName(s, v, i) == segment {
			return v.Index(i)
		}
	}
	if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < v.Len() {
		return v.Index(i)
	}
	return reflect.Value{}
}
