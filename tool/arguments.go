package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
)

// decode decodes the arguments of a call into a struct of the given shape.
func decode(tool string, s *shape, raw json.RawMessage, into any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if !json.Valid(raw) {
		return fmt.Errorf("%w arguments for %s: not JSON, perhaps cut off in the middle", firn.ErrInvalid, tool)
	}
	f := fitter{}
	top := *s
	top.kind = object
	fitted := f.fit(&top, raw, "")
	if len(f.problems) > 0 {
		return fmt.Errorf("%w arguments for %s: %s", firn.ErrInvalid, tool, strings.Join(f.problems, "; "))
	}
	if err := json.Unmarshal(fitted, into); err != nil {
		return fmt.Errorf("%w arguments for %s: %s", firn.ErrInvalid, tool, strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// fitter converts arguments to a shape and collects the problems.
type fitter struct {
	problems []string
}

// maxProblems is the maximum number of problems reported.
const maxProblems = 8

func (f *fitter) addProblem(path, format string, args ...any) {
	if len(f.problems) >= maxProblems {
		return
	}
	what := fmt.Sprintf(format, args...)
	if path != "" {
		what = path + " " + what
	}
	f.problems = append(f.problems, what)
}

// fit converts a value to the shape. Raw and the result are valid JSON.
func (f *fitter) fit(s *shape, raw json.RawMessage, path string) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	switch s.kind {
	case object:
		return f.fitObject(s, raw, path)
	case list:
		return f.fitList(s, raw, path)
	case text:
		return f.fitText(s, raw, path)
	case whole, number:
		return f.fitNumber(s, raw, path)
	case truth:
		return f.fitTruth(raw, path)
	}
	return raw
}

func (f *fitter) fitObject(s *shape, raw json.RawMessage, path string) json.RawMessage {
	if inner, ok := within(raw, '{'); ok {
		raw = inner
	}
	if raw[0] != '{' {
		f.mismatch(object, raw, path)
		return raw
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		f.addProblem(path, "cannot be read: %v", err)
		return raw
	}
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	if s.members == nil {
		if s.elem != nil {
			for _, name := range names {
				given[name] = f.fit(s.elem, given[name], join(path, name))
			}
		}
		return quote(given)
	}
	for _, name := range names {
		if !slices.ContainsFunc(s.members, func(m member) bool { return m.name == name }) {
			f.unknown(s, name, path)
		}
	}
	return f.fitMembers(s, given, path)
}

func (f *fitter) fitMembers(s *shape, given map[string]json.RawMessage, path string) json.RawMessage {
	// Assembled by hand: arguments may contain a whole file, and encoding it again would be
	// slow.
	fitted := []byte{'{'}
	for _, m := range s.members {
		raw, ok := given[m.name]
		if ok && m.shape.kind != anything && string(raw) == "null" {
			ok = false
		}
		switch {
		case ok:
			if len(fitted) > 1 {
				fitted = append(fitted, ',')
			}
			fitted = append(append(fitted, quote(m.name)...), ':')
			fitted = append(fitted, f.fit(m.shape, raw, join(path, m.name))...)
		case m.required:
			f.addProblem(join(path, m.name), "is missing")
		}
	}
	return append(fitted, '}')
}

// unknown reports an unknown member, with the known ones.
func (f *fitter) unknown(s *shape, name, path string) {
	known := make([]string, len(s.members))
	for i, m := range s.members {
		known[i] = m.name
	}
	problem := fmt.Sprintf("%s is unknown", strconv.Quote(firn.CutText(join(path, name), 80)))
	switch {
	case len(known) == 0:
		f.addProblem("", "%s (no arguments are allowed)", problem)
	default:
		f.addProblem("", "%s (known: %s)", problem, enumerate(known))
	}
}

func (f *fitter) fitList(s *shape, raw json.RawMessage, path string) json.RawMessage {
	if inner, ok := within(raw, '['); ok {
		raw = inner
	}
	if raw[0] != '[' {
		// A single value in place of a list becomes a list of one.
		if s.elem.kind == anything || raw[0] == 'n' {
			f.mismatch(list, raw, path)
			return raw
		}
		return slices.Concat(json.RawMessage("["), f.fit(s.elem, raw, path), json.RawMessage("]"))
	}
	var given []json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		f.addProblem(path, "cannot be read: %v", err)
		return raw
	}
	for i := range given {
		given[i] = f.fit(s.elem, given[i], fmt.Sprintf("%s[%d]", path, i))
	}
	return quote(given)
}

func (f *fitter) fitText(s *shape, raw json.RawMessage, path string) json.RawMessage {
	switch raw[0] {
	case '"':
	case '{', '[', 'n':
		f.mismatch(text, raw, path)
		return raw
	default: // a number or boolean, converted to its text
		raw = quote(string(raw))
	}
	if len(s.enum) == 0 {
		return raw
	}
	if text := unquote(raw); !slices.Contains(s.enum, text) {
		for _, one := range s.enum {
			if strings.EqualFold(one, strings.TrimSpace(text)) {
				return quote(one)
			}
		}
		f.addProblem(path, "must be %s, not %s", alternatives(s.enum), strconv.Quote(firn.CutText(text, 80)))
	}
	return raw
}

func (f *fitter) fitNumber(s *shape, raw json.RawMessage, path string) json.RawMessage {
	given := raw
	if raw[0] == '"' {
		given = json.RawMessage(strings.TrimSpace(unquote(raw)))
	}
	if len(given) == 0 || !json.Valid(given) || given[0] != '-' && (given[0] < '0' || given[0] > '9') {
		f.mismatch(s.kind, raw, path)
		return raw
	}
	if s.kind == number {
		return given
	}
	n, ok := wholeNumber(string(given))
	switch {
	case !ok:
		f.mismatch(s.kind, raw, path)
		return raw
	case s.unsigned && n < 0:
		f.addProblem(path, "must not be below zero")
	}
	return strconv.AppendInt(nil, n, 10)
}

// wholeNumber parses a JSON number that is an integer, even if it is written as 3.0 or 3e2.
func wholeNumber(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if len(s) > 40 || strings.ContainsAny(s, "eE") && len(s) > 12 {
		return 0, false
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(s), "e"); ok {
		if n, err := strconv.Atoi(exponent); err != nil || n > 20 || n < -20 {
			return 0, false
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

func (f *fitter) fitTruth(raw json.RawMessage, path string) json.RawMessage {
	text := string(raw)
	if raw[0] == '"' {
		text = strings.ToLower(strings.TrimSpace(unquote(raw)))
	}
	switch text {
	case "true", "false":
		return json.RawMessage(text)
	}
	f.mismatch(truth, raw, path)
	return raw
}

// mismatch reports a value of the wrong kind.
func (f *fitter) mismatch(want kind, raw json.RawMessage, path string) {
	is := ""
	switch raw[0] {
	case '{':
		is = "an object"
	case '[':
		is = "a list"
	case '"':
		is = "the text " + strconv.Quote(firn.CutText(unquote(raw), 40))
	default:
		is = firn.CutText(string(raw), 40)
	}
	if path == "" {
		f.addProblem("", "want %s, not %s", want.article(), is)
		return
	}
	f.addProblem(path, "must be %s, not %s", want.article(), is)
}

// within returns the JSON inside a JSON string, if it starts with first.
func within(raw json.RawMessage, first byte) (json.RawMessage, bool) {
	if raw[0] != '"' {
		return nil, false
	}
	inner := strings.TrimSpace(unquote(raw))
	if inner == "" || inner[0] != first || !json.Valid([]byte(inner)) {
		return nil, false
	}
	return json.RawMessage(inner), true
}

func unquote(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// enumerate joins names with commas and "and".
func enumerate(names []string) string { return series(names, "and") }

// alternatives joins names with commas and "or".
func alternatives(names []string) string { return series(names, "or") }

func series(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}
