package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decoder converts nodes to settings and collects problems. Invalid settings keep their
// defaults.
type decoder struct {
	problems Problems
	// base is the directory that relative paths in the file refer to.
	base string
}

// addProblem records a problem with a node.
func (d *decoder) addProblem(n *node, path []string, hint, format string, args ...any) {
	d.problems = append(d.problems, n.origin.problem(joinPath(path), fmt.Sprintf(format, args...), hint))
}

// decode sets a value from a node.
func (d *decoder) decode(s *spec, v reflect.Value, n *node, path []string) {
	if s.pointer && v.Kind() == reflect.Pointer {
		target := reflect.New(s.typ)
		under := *s
		under.pointer = false
		under.setDefault(target.Elem())
		d.decode(&under, target.Elem(), n, path)
		v.Set(target)
		return
	}
	switch s.kind {
	case tableKind:
		d.table(s, v, n, path)
	case mapKind:
		d.names(s, v, n, path)
	case listKind:
		d.list(s, v, n, path)
	default:
		d.scalar(s, v, n, path)
	}
}

// table sets a struct from a table.
func (d *decoder) table(s *spec, v reflect.Value, n *node, path []string) {
	if n.shape != tableShape {
		d.addProblem(n, path, "", "got %s, expected a table", shapeWords[n.shape])
		return
	}
	for _, key := range n.order {
		member, at := n.members[key], append(slices.Clip(path), key)
		if m := s.member(key); m != nil {
			d.decode(m, v.Field(m.index), member, at)
			continue
		}
		bad := unknownKey(s, path, key)
		d.addProblem(member, at, bad.hint, "%s", bad.message)
	}
	for _, m := range s.members {
		if m.needed && n.members[m.key] == nil {
			d.addProblem(n, path, "", "%s is missing", m.key)
		}
	}
}

// names sets a map from a table.
func (d *decoder) names(s *spec, v reflect.Value, n *node, path []string) {
	if n.shape != tableShape {
		d.addProblem(n, path, "", "got %s, expected a table of names", shapeWords[n.shape])
		return
	}
	made := reflect.MakeMap(s.typ)
	for _, name := range n.order {
		member, at := n.members[name], append(slices.Clip(path), name)
		if s.names != nil && !slices.Contains(s.names, name) {
			d.addProblem(member, at, didYouMean(nearest(name, s.names)), "unknown %s; expected %s", quoted(name), joinChoices(s.names))
			continue
		}
		if err := checkText(s.name, name); err != nil {
			d.addProblem(member, at, "", "%v", err)
			continue
		}
		value := reflect.New(s.typ.Elem()).Elem()
		s.elem.setDefault(value)
		d.decode(s.elem, value, member, at)
		made.SetMapIndex(reflect.ValueOf(name), value)
	}
	v.Set(made)
}

// list sets a slice from a list.
func (d *decoder) list(s *spec, v reflect.Value, n *node, path []string) {
	if n.shape != listShape {
		hint := ""
		switch {
		case n.shape == tableShape && s.elem.kind == tableKind:
			hint = "each of them starts with [[" + joinPath(path) + "]]"
		case n.shape == stringShape:
			hint = "lists are written in brackets"
		}
		d.addProblem(n, path, hint, "got %s, expected a list", shapeWords[n.shape])
		return
	}
	made := reflect.MakeSlice(s.typ, 0, len(n.items))
	for i, item := range n.items {
		at := path
		if s.elem.kind == tableKind {
			at = append(slices.Clip(path), strconv.Itoa(i))
		}
		value := reflect.New(s.typ.Elem()).Elem()
		s.elem.setDefault(value)
		d.decode(s.elem, value, item, at)
		made = reflect.Append(made, value)
	}
	v.Set(made)
}

// scalar sets a scalar value.
func (d *decoder) scalar(s *spec, v reflect.Value, n *node, path []string) {
	if !s.takes(n) {
		d.addProblem(n, path, s.valueHint(n), "got %s, expected %s", shapeWords[n.shape], s.wanted())
		return
	}
	value := reflect.New(s.typ).Elem()
	if err := s.parse(value, n.value); err != nil {
		d.addProblem(n, path, "", "%v", err)
		return
	}
	if err := s.check(value); err != nil {
		hint := ""
		if s.allow != nil {
			hint = didYouMean(nearest(n.value, s.allow))
		}
		d.addProblem(n, path, hint, "%v", err)
		return
	}
	if s.is == "path" && n.origin.Layer == FromFile {
		value.SetString(relativeTo(d.base, value.String()))
	}
	if dir, ok := strings.CutPrefix(value.String(), embeddedScheme); ok && s.is == "store" && n.origin.Layer == FromFile {
		value.SetString(embeddedScheme + relativeTo(d.base, dir))
	}
	v.Set(value)
}

// relativeTo resolves a path against base. Paths that begin with ~ or <home> are unchanged.
func relativeTo(base, path string) string {
	if path == "" || base == "" || path[0] == '~' || strings.HasPrefix(path, homeMark) || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// takes reports whether a setting accepts a node of this shape.
func (s *spec) takes(n *node) bool {
	switch n.shape {
	case rawShape:
		return true
	case stringShape:
		return s.kind == textKind || s.kind == durationKind || s.kind == bytesKind
	case boolShape:
		return s.kind == boolKind
	case integerShape:
		return s.kind == intKind || s.kind == floatKind || s.kind == bytesKind || s.kind == durationKind && n.value == "0"
	case floatShape:
		return s.kind == floatKind
	}
	return false
}

// wanted describes the accepted values of a scalar.
func (s *spec) wanted() string {
	switch {
	case s.allow != nil:
		return "one of " + joinChoices(s.allow)
	case s.kind == boolKind:
		return "true or false"
	case s.kind == intKind:
		return "a whole number"
	case s.kind == floatKind:
		return "a number"
	case s.kind == durationKind:
		return "a duration such as \"30s\", \"5m\" or \"30d\""
	case s.kind == bytesKind:
		return "a size such as \"10mb\""
	}
	return "a string"
}

// valueHint returns a hint for a value of the wrong type.
func (s *spec) valueHint(n *node) string {
	switch {
	case n.shape == stringShape && (s.kind == boolKind || s.kind == intKind || s.kind == floatKind):
		return "without quotes"
	case n.shape == integerShape && s.kind == durationKind:
		return "add the unit"
	case s.kind == textKind && n.shape != tableShape && n.shape != listShape:
		return "strings are written in quotes"
	}
	return ""
}

// parse sets a scalar from its text.
func (s *spec) parse(v reflect.Value, text string) error {
	switch s.kind {
	case textKind:
		v.SetString(text)
	case boolKind:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("got %s, expected true or false", quoted(text))
		}
		v.SetBool(b)
	case intKind:
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil || v.OverflowInt(n) {
			return fmt.Errorf("got %s, expected a whole number", quoted(text))
		}
		v.SetInt(n)
	case floatKind:
		f, err := parseFloat(text)
		if err != nil {
			return err
		}
		v.SetFloat(f)
	case durationKind:
		d, err := parseDuration(text)
		if err != nil {
			return fmt.Errorf("got %s: %w", quoted(text), err)
		}
		v.SetInt(int64(d))
	case bytesKind:
		b, err := parseBytes(text)
		if err != nil {
			return fmt.Errorf("got %s: %w", quoted(text), err)
		}
		v.SetInt(int64(b))
	}
	return nil
}

// parseFloat parses a floating-point number or an integer.
func parseFloat(text string) (float64, error) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return float64(n), nil
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("got %s, expected a number", quoted(text))
	}
	return f, nil
}

// check validates a scalar.
func (s *spec) check(v reflect.Value) error {
	if s.kind == textKind {
		text := v.String()
		if s.allow != nil && !slices.Contains(s.allow, text) {
			return fmt.Errorf("unknown %s; expected %s", quoted(text), joinChoices(s.allow))
		}
		if strings.TrimSpace(text) == "" && s.requiresText() {
			return errors.New("must not be empty")
		}
		if text == "" {
			return nil
		}
		return checkText(s.is, text)
	}
	return s.checkRange(v)
}

// requiresText reports whether a text must not be empty. Paths and variable names with a
// default may be empty, which means none.
func (s *spec) requiresText() bool {
	return s.needed || s.fallback != "" && s.is != "" && s.is != "path" && s.is != "variable"
}

// checkRange checks that a number is within its limits.
func (s *spec) checkRange(v reflect.Value) error {
	if s.limits == "" {
		return nil
	}
	low, high, _ := strings.Cut(s.limits, "..")
	for i, limit := range []string{low, high} {
		if limit == "" {
			continue
		}
		edge := reflect.New(s.typ).Elem()
		if err := s.parse(edge, limit); err != nil {
			return err // cannot happen: a test checks all limits
		}
		if less(v, edge) && i == 0 || less(edge, v) && i == 1 {
			return fmt.Errorf("got %s, expected %s", formatValue(s, v), s.rangeWords())
		}
	}
	return nil
}

// rangeWords describes the limits of a number.
func (s *spec) rangeWords() string {
	low, high, _ := strings.Cut(s.limits, "..")
	switch {
	case high == "":
		return low + " or more"
	case low == "":
		return high + " or less"
	}
	return low + " to " + high
}

func less(a, b reflect.Value) bool {
	if a.CanFloat() {
		return a.Float() < b.Float()
	}
	return a.Int() < b.Int()
}

// joinChoices lists the allowed values, without the empty one.
func joinChoices(names []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" }), ", ")
}

// didYouMean returns a hint that suggests a name, or "" if name is empty.
func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + name + "?"
}
