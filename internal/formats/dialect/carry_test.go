package dialect_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
)

func TestCarry(t *testing.T) {
	long := strings.Repeat("snow upon snow, ", 20)
	quoted, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		lines []string
		// within is the maximum size of the field in bytes.
		within int
	}{
		"a line with the text":      {[]string{`{"type":"user","content":` + string(quoted) + `,"n":1.50}`}, 120},
		"spaces are kept":           {[]string{`{"type": "user", "content": ` + string(quoted) + `, "n": 1e5}`}, 120},
		"the text twice":            {[]string{`{"a":` + string(quoted) + `,"b":[` + string(quoted) + `]}`}, 120},
		"several lines":             {[]string{`{"a":` + string(quoted) + `}`, `{"b":2}`, `{"c":"x"}`}, 140},
		"another text":              {[]string{`{"a":"something else"}`}, 100},
		"what looks like a hole":    {[]string{`{"a":{"$firn":0}}`}, 200},
		"a hole in a text":          {[]string{`{"a":"{\"$firn\":0}"}`}, 200},
		"a hole and the text":       {[]string{`{"a":{"$firn":0},"b":` + string(quoted) + `}`}, 2000},
		"a line that is not one":    {[]string{"{\"a\":\n1}"}, 200},
		"a line that is not JSON":   {[]string{`{"a":`}, 200},
		"bytes that are no text":    {[]string{"{\"a\":\"\xff\xfe\"}"}, 200},
		"half a pair and a zero":    {[]string{`{"a":"\ud800","b":"\u0000"}`}, 200},
		"our own marks":             {[]string{`{"$firn64":"AAAA"}`}, 200},
		"an empty line and nothing": {[]string{``}, 200},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var lines [][]byte
			for _, l := range c.lines {
				lines = append(lines, []byte(l))
			}
			e := firn.NewEntry(firn.UserText(long).Body)
			e.Extra = firn.Fields{{Name: "cwd", Value: json.RawMessage(`"/x"`)}}
			dialect.Carry(&e, dialect.Claw0, lines)
			dialect.Carry(&e, dialect.Claw0, lines) // repeated calls have no effect
			if size := len(e.Extra.Get("origin")); size > c.within {
				t.Errorf("the field has %d bytes, more than %d", size, c.within)
			}
			e.ID, e.Parent = "a", firn.Root
			stored, err := native.New().Append(nil, e)
			if err != nil {
				t.Fatalf("it cannot be stored: %v", err)
			}
			read, err := native.New().Decode(stored)
			if err != nil {
				t.Fatal(err)
			}
			tool, back := dialect.Carried(read)
			if tool != dialect.Claw0 || !bytes.Equal(bytes.Join(back, []byte("|")), bytes.Join(lines, []byte("|"))) {
				t.Errorf("%s carried %q, want %q", tool, back, lines)
			}
			if plain := dialect.Uncarried(read); len(plain.Extra) != 1 || plain.Extra[0].Name != "cwd" {
				t.Errorf("without its lines the entry has %v", plain.Extra)
			}
		})
	}
}

// TestCarryLine checks that an entry that consists of a line carries it once.
func TestCarryLine(t *testing.T) {
	line := []byte(`{"type":"progress","n": 1}`)
	e := firn.NewEntry(&firn.Custom{Type: dialect.LineType(dialect.Codex, "progress"), Data: line})
	dialect.Carry(&e, dialect.Codex, [][]byte{line})
	if len(e.Extra) != 0 {
		t.Errorf("it is kept twice: %v", e.Extra)
	}
	if tool, lines := dialect.Carried(e); tool != dialect.Codex || len(lines) != 1 || !bytes.Equal(lines[0], line) {
		t.Errorf("%s carries %q", tool, lines)
	}
}

func FuzzCarried(f *testing.F) {
	f.Add([]byte(`{"tool":"claw0","lines":[{"a":{"$firn":0}}]}`))
	f.Add([]byte(`{"tool":1,"lines":{"$firn":-1}}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		e := firn.NewEntry(firn.UserText(strings.Repeat("long ", 20)).Body)
		e.Extra = firn.Fields{{Name: "origin", Value: value}}
		dialect.Carried(e)
	})
}
