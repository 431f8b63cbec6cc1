package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// difference is a position at which two JSON texts differ.
type difference struct {
	// path is the position, with the indexes of elements.
	path string
	// ours and theirs are the values as JSON; empty if missing.
	ours, theirs string
}

func (d difference) String() string {
	short := func(s string) string {
		switch {
		case s == "":
			return "nothing"
		case len(s) > 200:
			return s[:200] + "…"
		}
		return s
	}
	return fmt.Sprintf("%s: we have %s, they have %s", d.path, short(d.ours), short(d.theirs))
}

// compare returns the differences of two JSON texts. The order of members and the form of
// numbers are ignored.
func compare(ours, theirs []byte) ([]difference, error) {
	a, err := decode(ours)
	if err != nil {
		return nil, fmt.Errorf("firn's value is not JSON: %w", err)
	}
	b, err := decode(theirs)
	if err != nil {
		return nil, fmt.Errorf("the SDK's value is not JSON: %w", err)
	}
	var c comparison
	c.values("", a, b)
	return c.found, nil
}

func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more behind it")
	}
	return v, nil
}

type comparison struct{ found []difference }

func (c *comparison) values(path string, a, b any) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			c.objects(path, a, b)
			return
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				c.values(fmt.Sprintf("%s[%d]", path, i), a[i], b[i])
			}
			return
		}
	case json.Number:
		if b, ok := b.(json.Number); ok && sameNumber(a, b) {
			return
		}
	default:
		if a == b {
			return
		}
	}
	c.found = append(c.found, difference{path, text(a), text(b)})
}

func (c *comparison) objects(path string, a, b map[string]any) {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		at := strings.TrimPrefix(path+"."+name, ".")
		x, inA := a[name]
		y, inB := b[name]
		switch {
		case !inA:
			c.found = append(c.found, difference{at, "", text(y)})
		case !inB:
			c.found = append(c.found, difference{at, text(x), ""})
		default:
			c.values(at, x, y)
		}
	}
}

func sameNumber(a, b json.Number) bool {
	x, okA := new(big.Rat).SetString(a.String())
	y, okB := new(big.Rat).SetString(b.String())
	return okA && okB && x.Cmp(y) == 0
}

// text encodes a decoded JSON value, which cannot fail.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%#v", v)
	}
	return string(raw)
}

var element = regexp.MustCompile(`\[\d+\]`)

// place returns a path without the indexes of elements.
func place(path string) string { return element.ReplaceAllString(path, "[]") }

// allowance is an expected difference.
type allowance struct {
	// place is the position; ours and theirs are the values, with a star for any.
	place, ours, theirs string
	why                 string
}

func (a allowance) covers(d difference) bool {
	fits := func(pattern, s string) bool { return pattern == s || pattern == "*" && s != "" }
	return a.place == place(d.path) && fits(a.ours, d.ours) && fits(a.theirs, d.theirs)
}

// without removes allowed differences, and records which allowances were needed.
func without(found []difference, allowed []allowance, needed map[string]bool) []difference {
	return slices.DeleteFunc(found, func(d difference) bool {
		i := slices.IndexFunc(allowed, func(a allowance) bool { return a.covers(d) })
		if i >= 0 && needed != nil {
			needed[allowed[i].place] = true
		}
		return i >= 0
	})
}

func TestCompare(t *testing.T) {
	for _, c := range []struct{ ours, theirs, want string }{
		{`{"a":1,"b":[true,null,"x"]}`, `{"b":[true,null,"x"],"a":1}`, ``},
		{`{"a":100}`, `{"a":1e2}`, ``},
		{`12345678901234567890`, `12345678901234567891`, `: we have 12345678901234567890, they have 12345678901234567891`},
		{`{"a":"1"}`, `{"a":1}`, `a: we have "1", they have 1`},
		{`{"a":null}`, `{}`, `a: we have null, they have nothing`},
		{`{}`, `{"a":{"b":1}}`, `a: we have nothing, they have {"b":1}`},
		{`{"a":[{"b":1},{"b":2}]}`, `{"a":[{"b":1},{"b":3,"c":4}]}`, `a[1].b: we have 2, they have 3; a[1].c: we have nothing, they have 4`},
		{`[1,2]`, `[1]`, `: we have [1,2], they have [1]`},
		{`{}`, `[]`, `: we have {}, they have []`},
		{`""`, `null`, `: we have "", they have null`},
	} {
		found, err := compare([]byte(c.ours), []byte(c.theirs))
		var got []string
		for _, d := range found {
			got = append(got, d.String())
		}
		if err != nil || strings.Join(got, "; ") != c.want {
			t.Errorf("%s and %s: got %q, %v; want %q", c.ours, c.theirs, got, err, c.want)
		}
	}
	found := []difference{{"a[0].b", "1", ""}, {"a[7].b", "2", ""}, {"a[0].c", "1", ""}}
	needed := make(map[string]bool)
	rest := without(found, []allowance{{"a[].b", "1", "", ""}, {"a[].c", "*", "", ""}, {"a[].c", "", "*", ""}}, needed)
	if len(rest) != 1 || rest[0].path != "a[7].b" || !needed["a[].b"] || !needed["a[].c"] {
		t.Errorf("remaining: %v, needed: %v", rest, needed)
	}
}
