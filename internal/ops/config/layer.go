package config

import (
	"maps"
	"slices"
	"strings"

	"firn.dev/internal/base/typo"
)

// variables are the environment variables by name.
type variables map[string]string

// readEnviron parses an environment in the form name=value. The first of two equal names
// counts. Empty variables are ignored.
func readEnviron(environ []string) variables {
	vars := make(variables)
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if _, twice := vars[name]; ok && !twice && value != "" {
			vars[name] = value
		}
	}
	return vars
}

// userHome returns the user's home directory, or "" if it is unknown.
func (v variables) userHome() string {
	if home := v["HOME"]; home != "" {
		return home
	}
	return v["USERPROFILE"]
}

// prefix is the prefix of our variables.
const prefix = "FIRN_"

// shortNames are variables that are not derived from a setting's path. Those without a path
// are read elsewhere.
var shortNames = map[string]string{
	"FIRN_MODEL":   "defaults.model",
	"FIRN_AGENT":   "default_agent",
	"FIRN_GATEWAY": "client.gateway",
	"FIRN_STORE":   "store.url",
	"FIRN_CONFIG":  "",
	"FIRN_TOKEN":   "",
}

// overlay applies the environment and flags to a tree.
type overlay struct {
	root     *node
	problems Problems
	warnings []Problem
}

// environment applies the variables to the tree.
func (o *overlay) environment(vars variables) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		origin := Origin{Layer: FromEnvironment, Name: name}
		path, short := shortNames[name]
		switch {
		case short && path == "":
		case short:
			segments, _ := splitPath(path)
			o.set(segments, vars[name], origin)
		default:
			segments := o.segments(strings.Split(rest, "__"))
			if segments == nil {
				o.warnings = append(o.warnings, unknownVariable(name))
				continue
			}
			o.set(segments, vars[name], origin)
		}
	}
}

// model applies FIRN_MODEL to the default agent too, since the user expects that model to
// answer. The agent's own variable takes precedence.
func (o *overlay) model(vars variables, agent string) {
	own := variable("agents." + strings.ReplaceAll(agent, "-", "_") + ".model")
	if vars["FIRN_MODEL"] != "" && vars[own] == "" && checkID(agent) == nil {
		o.set([]string{"agents", agent, "model"}, vars["FIRN_MODEL"], Origin{Layer: FromEnvironment, Name: "FIRN_MODEL"})
	}
}

// flags applies flags, which are named by paths.
func (o *overlay) flags(flags map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		origin := Origin{Layer: FromFlag, Name: path}
		segments, err := splitPath(path)
		if err == nil {
			_, err = schema().at(segments)
		}
		if err != nil {
			o.problems = append(o.problems, origin.problem("", err.Error(), ""))
			continue
		}
		o.set(segments, flags[path], origin)
	}
}

// segments returns the path for the parts of a variable's name, or nil if there is none.
// User-defined names are looked up in the tree, where - may be written as _. Otherwise they
// are used in lower case.
func (o *overlay) segments(parts []string) []string {
	s, n := schema(), o.root
	var path []string
	for _, part := range parts {
		name := strings.ToLower(part)
		switch s.kind {
		case tableKind:
			if s = s.member(name); s == nil || part != strings.ToUpper(part) {
				return nil
			}
		case mapKind:
			if name = ownName(n, part); name == "" {
				return nil
			}
			s = s.elem
		default:
			return nil
		}
		path = append(path, name)
		n = n.members[name]
		if n == nil || n.shape != tableShape {
			n = newTable(Origin{})
		}
	}
	return path
}

// ownName returns the name in a table that matches part of a variable's name.
func ownName(n *node, part string) string {
	for _, name := range n.order {
		if inVariable(name) == part {
			return name
		}
	}
	return strings.ToLower(part)
}

// inVariable returns a name in the form used in variables.
func inVariable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// unknownVariable returns a warning for an unknown variable with our prefix.
func unknownVariable(name string) Problem {
	var names []string
	for _, f := range Schema() {
		if f.Variable != "" && !strings.Contains(f.Variable, "<") {
			names = append(names, f.Variable)
		}
	}
	names = append(names, slices.Sorted(maps.Keys(shortNames))...)
	best := typo.Nearest(strings.ToUpper(name), names, max(2, len(name)/5))
	return Problem{Source: "$" + name, Message: "no setting has this variable", Hint: didYouMean(best)}
}

// set sets a text at a path. Its type depends on the setting.
func (o *overlay) set(path []string, text string, origin Origin) {
	s, err := schema().at(path)
	if err != nil {
		o.problems = append(o.problems, origin.problem(joinPath(path), err.Error(), ""))
		return
	}
	value, problem := textNode(s, text, origin)
	if problem != "" {
		o.problems = append(o.problems, origin.problem(joinPath(path), problem, ""))
		return
	}
	if !place(o.root, path, value) {
		o.problems = append(o.problems, origin.problem(joinPath(path), "the table of this setting does not exist", ""))
	}
}

// place puts a node at a path and creates missing tables. It reports false if the path
// contains a missing list item.
func place(table *node, path []string, value *node) bool {
	for i, segment := range path {
		if table.shape == listShape {
			index := itemIndex(table, segment)
			if index < 0 {
				return false
			}
			if i == len(path)-1 {
				table.items[index] = value
				return true
			}
			table = table.items[index]
			continue
		}
		if table.shape != tableShape {
			return false
		}
		if i == len(path)-1 {
			table.put(segment, value)
			return true
		}
		next := table.members[segment]
		if next == nil {
			next = newTable(value.origin)
			table.put(segment, next)
		}
		table = next
	}
	return false
}

// textNode creates a node from a text outside the file. Lists are separated by commas or in
// TOML syntax; tables are in TOML syntax, in braces.
func textNode(s *spec, text string, origin Origin) (*node, string) {
	raw := func(text string) *node { return &node{shape: rawShape, value: text, origin: origin} }
	trimmed := strings.TrimSpace(text)
	switch {
	case s.kind < listKind:
		return raw(text), ""
	case strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, "{"):
		_, value := parseInline(trimmed)
		if value == nil {
			return nil, "not a list or table in TOML syntax"
		}
		value.setOrigin(origin)
		return value, ""
	case s.kind == listKind && s.elem.kind < listKind:
		n := &node{shape: listShape, origin: origin}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				n.items = append(n.items, raw(part))
			}
		}
		return n, ""
	}
	return nil, "this is a table; set its members, or the whole table in braces"
}

// parseInline parses a single TOML value. It returns nil if the text is not one.
func parseInline(text string) (*document, *node) {
	d, problem := parseDocument("", []byte("x = "+text+"\n"))
	if problem != nil || len(d.root.order) != 1 {
		return nil, nil
	}
	return d, d.root.members["x"]
}

// inlineText returns the text of a value without anything that follows it.
func inlineText(text string) string {
	d, value := parseInline(text)
	if value == nil {
		return text
	}
	return string(d.text[value.text.start:value.text.end])
}

// setOrigin sets the origin of a node and of everything in it.
func (n *node) setOrigin(origin Origin) {
	n.origin = origin
	for _, m := range n.members {
		m.setOrigin(origin)
	}
	for _, item := range n.items {
		item.setOrigin(origin)
	}
}

// over merges n over another table, key by key, without changing either. Values that are
// not tables are replaced.
func (n *node) over(under *node) *node {
	if under == nil || n == nil || n.shape != tableShape || under.shape != tableShape {
		if n == nil {
			return under
		}
		return n
	}
	both := newTable(n.origin)
	for _, key := range under.order {
		both.put(key, under.members[key])
	}
	for _, key := range n.order {
		both.put(key, n.members[key].over(both.members[key]))
	}
	return both
}
