package config

import (
	"fmt"
	"reflect"
	"time"
)

// Explanation is a setting, its value, and why it has it.
type Explanation struct {
	// Path is the setting.
	Path string `json:"path"`
	// Value is its value: a text, a number, true or false, a list or a table;
	// times and sizes are texts. Nil if it is not set.
	Value any `json:"value"`
	// Text is the same as it would stand in the file; empty if it is not set.
	Text string `json:"-"`
	// Origin is where it came from.
	Origin Origin `json:"origin"`
	// Field describes it.
	Field Field `json:"field,omitzero"`
}

// String is the value alone: a text without its quotes, anything else as it
// would stand in the file.
func (e Explanation) String() string {
	if text, ok := e.Value.(string); ok {
		return text
	}
	return e.Text
}

// Get returns the value of a setting, as [Explanation.String] tells it. A
// setting that there is not is [firn.ErrNotFound].
func (s *Settings) Get(path string) (string, error) {
	e, err := s.Explain(path)
	return e.String(), err
}

// Explain tells the value of a setting and where it came from. A setting that
// there is not is [firn.ErrNotFound].
func (s *Settings) Explain(path string) (Explanation, error) {
	segments, err := splitPath(path)
	if err != nil {
		return Explanation{}, err
	}
	m, v, err := lookup(&s.Config, segments)
	if err != nil {
		return Explanation{}, fmt.Errorf("look up the setting %w", err)
	}
	return s.explain(leaf{m, segments, v}), nil
}

// All explains every setting that has a value of its own, in the order of the
// schema. Tables are not among them, only what is in them.
func (s *Settings) All() []Explanation {
	var all []Explanation
	walk(schema(), reflect.ValueOf(s.Config), nil, func(l leaf) { all = append(all, s.explain(l)) })
	return all
}

func (s *Settings) explain(l leaf) Explanation {
	path := joinPath(l.path)
	e := Explanation{Path: path, Value: plain(l.spec, l.value), Text: spell(l.spec, l.value), Origin: Origin{Layer: FromDefault}, Field: l.spec.field(path)}
	if n := s.tree.at(l.path); n != nil {
		e.Origin = n.origin
	}
	return e
}

// plain makes a value that anybody can print.
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

// Change is a setting that is not what it was.
type Change struct {
	Path string `json:"path"`
	// Old and New are the values as they would stand in the file; empty if
	// there was none, or is none any more.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Restart says that it counts only after the gateway was restarted.
	Restart bool `json:"restart,omitempty"`
}

// String is the change in one line.
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

// Diff tells which settings differ, in the order of the schema: first those
// that the new ones have, then those that are gone.
func Diff(old, now Config) []Change {
	before := make(map[string]string)
	var order []leaf
	walk(schema(), reflect.ValueOf(old), nil, func(l leaf) {
		before[joinPath(l.path)] = spell(l.spec, l.value)
		order = append(order, l)
	})
	var changes []Change
	met := make(map[string]bool)
	walk(schema(), reflect.ValueOf(now), nil, func(l leaf) {
		path, text := joinPath(l.path), spell(l.spec, l.value)
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
