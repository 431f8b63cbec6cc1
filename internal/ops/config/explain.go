package config

import (
	"fmt"
	"reflect"
	"time"
)

// Explanation is a setting with its value and origin.
type Explanation struct {
	// Path is the path of the setting.
	Path string `json:"path"`
	// Value is a string, number, bool, list or table. Durations and sizes are strings. It
	// is nil if the setting is not set.
	Value any `json:"value"`
	// Text is the value in TOML syntax; empty if it is not set.
	Text string `json:"-"`
	// Origin is the origin of the value.
	Origin Origin `json:"origin"`
	// Field describes the setting.
	Field Field `json:"field,omitzero"`
}

// String returns the value: a string without quotes, anything else in TOML syntax.
func (e Explanation) String() string {
	if text, ok := e.Value.(string); ok {
		return text
	}
	return e.Text
}

// Get returns the value of a setting in the format of [Explanation.String]. The error is
// [firn.ErrNotFound] if there is no such setting.
func (s *Settings) Get(path string) (string, error) {
	e, err := s.Explain(path)
	return e.String(), err
}

// Explain returns the value of a setting and its origin. The error is [firn.ErrNotFound] if
// there is no such setting.
func (s *Settings) Explain(path string) (Explanation, error) {
	segments, err := splitPath(path)
	if err != nil {
		return Explanation{}, err
	}
	m, v, err := lookup(&s.Config, segments)
	if err != nil {
		return Explanation{}, fmt.Errorf("setting %w", err)
	}
	return s.explain(leaf{m, segments, v}), nil
}

// All explains every setting in schema order. Tables are not included, only their members.
func (s *Settings) All() []Explanation {
	var all []Explanation
	walk(schema(), reflect.ValueOf(s.Config), nil, func(l leaf) { all = append(all, s.explain(l)) })
	return all
}

func (s *Settings) explain(l leaf) Explanation {
	path := joinPath(l.path)
	e := Explanation{Path: path, Value: plain(l.spec, l.value), Text: formatValue(l.spec, l.value), Origin: Origin{Layer: FromDefault}, Field: l.spec.field(path)}
	if n := s.tree.at(l.path); n != nil {
		e.Origin = n.origin
	}
	return e
}

// plain converts a value to basic types.
func plain(s *spec, v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch s.kind {
	case durationKind:
		return formatDuration(time.Duration(v.Int()))
	case bytesKind:
		return Bytes(v.Int()).String()
	case listKind:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = plain(s.elem, v.Index(i))
		}
		return items
	case mapKind:
		table := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			table[it.Key().String()] = plain(s.elem, it.Value())
		}
		return table
	case tableKind:
		table := make(map[string]any, len(s.members))
		for _, m := range s.members {
			if value := plain(m, v.Field(m.index)); value != nil {
				table[m.key] = value
			}
		}
		return table
	}
	return v.Interface()
}

// Change is a changed setting.
type Change struct {
	Path string `json:"path"`
	// Old and New are the values in TOML syntax; empty if not set.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Restart is set if the change takes effect only after a restart of the gateway.
	Restart bool `json:"restart,omitempty"`
}

// String formats the change as one line.
func (c Change) String() string {
	text := fmt.Sprintf("%s: %s → %s", c.Path, orNone(c.Old), orNone(c.New))
	if c.Restart {
		text += " (after a restart)"
	}
	return text
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// Diff returns the changed settings in schema order: first those in now, then removed ones.
func Diff(old, now Config) []Change {
	before := make(map[string]string)
	var order []leaf
	walk(schema(), reflect.ValueOf(old), nil, func(l leaf) {
		before[joinPath(l.path)] = formatValue(l.spec, l.value)
		order = append(order, l)
	})
	var changes []Change
	met := make(map[string]bool)
	walk(schema(), reflect.ValueOf(now), nil, func(l leaf) {
		path, text := joinPath(l.path), formatValue(l.spec, l.value)
		met[path] = true
		if was := before[path]; was != text {
			changes = append(changes, Change{path, was, text, l.spec.restart})
		}
	})
	for _, l := range order {
		path := joinPath(l.path)
		if !met[path] && before[path] != "" {
			changes = append(changes, Change{Path: path, Old: before[path], Restart: l.spec.restart})
		}
	}
	return changes
}
