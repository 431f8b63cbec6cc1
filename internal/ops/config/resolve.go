package config

import (
	"path/filepath"
	"reflect"
	"strings"
)

// homeMark represents the home in the defaults of paths.
const homeMark = "<home>"

// expand replaces a leading ~ with the user's home directory.
func (v variables) expand(path string) string {
	if path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, `~\`) {
		return path
	}
	if home := v.userHome(); home != "" {
		return filepath.Join(home, path[1:])
	}
	return path
}

// resolve makes paths absolute.
func (d *decoder) resolve(s *Settings) {
	s.Home = s.vars.expand(s.Home)
	if s.Home == "" || strings.HasPrefix(s.Home, "~") {
		d.addProblem(nearestNode(s.tree, []string{"home"}), []string{"home"}, "set --home or FIRN_HOME", "cannot find the sessions: there is no home directory")
	}
	whole := func(path string) string {
		if rest, ok := strings.CutPrefix(path, homeMark); ok {
			return filepath.Join(s.Home, rest)
		}
		if path == "" {
			return ""
		}
		return filepath.Clean(s.vars.expand(path))
	}
	change(schema(), reflect.ValueOf(&s.Config).Elem(), func(m *spec, v reflect.Value) {
		if m.kind != textKind {
			return
		}
		text := v.String()
		switch m.is {
		case "path":
			v.SetString(whole(text))
		case "gateway", "store":
			if scheme, path, ok := strings.Cut(text, ":"); ok && (scheme == "unix" || scheme == "file" || scheme+":" == embeddedScheme) {
				v.SetString(scheme + ":" + whole(path))
			}
		}
	})
}

// change calls f for every scalar in a value. f may change it. Maps are copied, so that
// nothing is shared with the original.
func change(s *spec, v reflect.Value, f func(s *spec, v reflect.Value)) {
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			change(s, v.Elem(), f)
		}
		return
	}
	switch s.kind {
	case tableKind:
		for _, m := range s.members {
			change(m, v.Field(m.index), f)
		}
	case listKind:
		for i := range v.Len() {
			change(s.elem, v.Index(i), f)
		}
	case mapKind:
		for it := v.MapRange(); it.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(it.Value())
			change(s.elem, value, f)
			v.SetMapIndex(it.Key(), value)
		}
	default:
		f(s, v)
	}
}

// nearestNode returns the node at a path, or the nearest existing parent.
func nearestNode(n *node, path []string) *node {
	for _, segment := range path {
		next := n.child(segment)
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// at returns the node at a path, or nil if there is none.
func (n *node) at(path []string) *node {
	for _, segment := range path {
		if n = n.child(segment); n == nil {
			return nil
		}
	}
	return n
}

// child returns a member of a table or an item of a list, or nil if there is none.
func (n *node) child(segment string) *node {
	switch n.shape {
	case tableShape:
		return n.members[segment]
	case listShape:
		if i := itemIndex(n, segment); i >= 0 {
			return n.items[i]
		}
	}
	return nil
}
