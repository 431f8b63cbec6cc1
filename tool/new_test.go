package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/tool"
)

type base struct {
	ID string `json:"id"`
}

type inner struct {
	Deep int    `json:"deep,omitempty"`
	Self *inner `json:"self,omitempty"`
}

type everything struct {
	base
	Text   string          `json:"text" desc:"A <text> & more."`
	Mode   string          `json:"mode,omitempty" enum:"fast|slow"`
	Count  int             `json:"count,omitempty"`
	Size   uint8           `json:"size,omitempty"`
	Ratio  float64         `json:"ratio,omitempty"`
	Yes    bool            `json:"yes,omitempty"`
	Maybe  *int            `json:"maybe"`
	Names  []string        `json:"names,omitempty"`
	Matrix [][]int         `json:"matrix,omitempty"`
	Table  map[string]int  `json:"table,omitempty"`
	Inner  *inner          `json:"inner,omitempty"`
	Any    any             `json:"any,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"`
	When   time.Time       `json:"when,omitzero"`
	Plain  string          `json:",omitempty"`
	Never  chan int        `json:"-"`
	hidden int
}

const everythingSchema = `{"type":"object","properties":{` +
	`"text":{"type":"string","description":"A <text> & more."},` +
	`"mode":{"type":"string","enum":["fast","slow"]},` +
	`"count":{"type":"integer"},` +
	`"size":{"type":"integer","minimum":0},` +
	`"ratio":{"type":"number"},` +
	`"yes":{"type":"boolean"},` +
	`"maybe":{"type":"integer"},` +
	`"names":{"type":"array","items":{"type":"string"}},` +
	`"matrix":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},` +
	`"table":{"type":"object","additionalProperties":{"type":"integer"}},` +
	`"inner":{"type":"object","properties":{"deep":{"type":"integer"},"self":{}},"additionalProperties":false},` +
	`"any":{},"raw":{},` +
	`"when":{"type":"string"},` +
	`"Plain":{"type":"string"},` +
	`"id":{"type":"string"}},` +
	`"required":["text","id"],"additionalProperties":false}`

func TestSchemaOfAStruct(t *testing.T) {
	echo := func(context.Context, everything) (tool.Result, error) { return tool.Result{}, nil }
	for range 3 {
		if got := string(tool.New("x", "y", echo).Spec().Schema); got != everythingSchema {
			t.Fatalf("the schema is\n%s\nwant\n%s", got, everythingSchema)
		}
	}
	_ = everything{}.hidden
}

func TestSchemaOfOtherTypes(t *testing.T) {
	check := func(name string, tl tool.Tool, want string) {
		if got := string(tl.Spec().Schema); got != want {
			t.Errorf("%s: the schema is %s, want %s", name, got, want)
		}
	}
	check("nothing", tool.New("x", "", func(context.Context, struct{}) (tool.Result, error) { return tool.Result{}, nil }),
		`{"type":"object","properties":{},"additionalProperties":false}`)
	check("map", tool.New("x", "", func(context.Context, map[string]bool) (tool.Result, error) { return tool.Result{}, nil }),
		`{"type":"object","additionalProperties":{"type":"boolean"}}`)
	check("number", tool.New("x", "", func(context.Context, int) (tool.Result, error) { return tool.Result{}, nil }),
		`{"type":"object"}`)
	check("func", tool.Func("x", "", nil, nil), `{"type":"object"}`)
	check("own", tool.Func("x", "", json.RawMessage(`{"type":"object","properties":{}}`), nil), `{"type":"object","properties":{}}`)
}

// keeper returns a tool that stores its arguments.
func keeper[T any](into *T) tool.Tool {
	return tool.New("keep", "", func(_ context.Context, a T) (tool.Result, error) {
		*into = a
		return tool.Result{}, nil
	})
}

func TestLenientArguments(t *testing.T) {
	seven := 7
	cases := map[string]struct {
		given string
		want  everything
	}{
		"as wanted":            {`{"id":"1","text":"t","count":3,"ratio":2.5,"yes":true,"maybe":7,"names":["a"],"mode":"slow"}`, everything{base: base{"1"}, Text: "t", Count: 3, Ratio: 2.5, Yes: true, Maybe: &seven, Names: []string{"a"}, Mode: "slow"}},
		"white space":          {" { \"id\" : \"1\" , \"text\" : \"t\" , \"count\" : 3 } \n", everything{base: base{"1"}, Text: "t", Count: 3}},
		"numbers in strings":   {`{"id":"1","text":"t","count":"3","ratio":" 2.5 ","size":"200"}`, everything{base: base{"1"}, Text: "t", Count: 3, Ratio: 2.5, Size: 200}},
		"whole with a point":   {`{"id":"1","text":"t","count":3.0,"maybe":"7.0"}`, everything{base: base{"1"}, Text: "t", Count: 3, Maybe: &seven}},
		"whole with an e":      {`{"id":"1","text":"t","count":3e2}`, everything{base: base{"1"}, Text: "t", Count: 300}},
		"truth in strings":     {`{"id":"1","text":"t","yes":"True"}`, everything{base: base{"1"}, Text: "t", Yes: true}},
		"numbers for text":     {`{"id":12,"text":true}`, everything{base: base{"12"}, Text: "true"}},
		"null is absent":       {`{"id":"1","text":"t","count":null,"names":null,"maybe":null,"inner":null}`, everything{base: base{"1"}, Text: "t"}},
		"one for a list":       {`{"id":"1","text":"t","names":"a"}`, everything{base: base{"1"}, Text: "t", Names: []string{"a"}}},
		"list in a string":     {`{"id":"1","text":"t","names":"[\"a\",\"b\"]","matrix":"[[1],[\"2\"]]"}`, everything{base: base{"1"}, Text: "t", Names: []string{"a", "b"}, Matrix: [][]int{{1}, {2}}}},
		"object in a string":   {`{"id":"1","text":"t","inner":"{\"deep\":\"4\"}"}`, everything{base: base{"1"}, Text: "t", Inner: &inner{Deep: 4}}},
		"all in a string":      {`"{\"id\":\"1\",\"text\":\"t\"}"`, everything{base: base{"1"}, Text: "t"}},
		"enum in another case": {`{"id":"1","text":"t","mode":" FAST"}`, everything{base: base{"1"}, Text: "t", Mode: "fast"}},
		"anything stays":       {`{"id":"1","text":"t","raw":{"z": 1.50, "a":"<"},"any":[null]}`, everything{base: base{"1"}, Text: "t", Raw: json.RawMessage(`{"z": 1.50, "a":"<"}`), Any: []any{nil}}},
		"table":                {`{"id":"1","text":"t","table":{"a":"1","b":2}}`, everything{base: base{"1"}, Text: "t", Table: map[string]int{"a": 1, "b": 2}}},
		"time":                 {`{"id":"1","text":"t","when":"2026-01-02T03:04:05Z"}`, everything{base: base{"1"}, Text: "t", When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got everything
			if _, err := keeper(&got).Run(t.Context(), json.RawMessage(c.given)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	cases := map[string]struct{ given, want string }{
		"nothing":         {``, `text is missing; id is missing`},
		"null":            {`null`, `text is missing; id is missing`},
		"not JSON":        {`{"text":"t"`, `not JSON`},
		"a list":          {`[1]`, `want an object, not a list`},
		"a number":        {`7`, `want an object, not 7`},
		"a text":          {`"hello"`, `want an object, not the text "hello"`},
		"unknown":         {`{"id":"1","text":"t","file":1}`, `"file" is unknown (known: text, mode, count, size, ratio, yes, maybe, names, matrix, table, inner, any, raw, when, Plain and id)`},
		"wrong case":      {`{"id":"1","Text":"t"}`, `"Text" is unknown`},
		"unknown inside":  {`{"id":"1","text":"t","inner":{"x":1}}`, `"inner.x" is unknown (known: deep and self)`},
		"object for text": {`{"id":"1","text":{"a":1}}`, `text must be a text, not an object`},
		"text for number": {`{"id":"1","text":"t","count":"many"}`, `count must be a whole number, not the text "many"`},
		"half":            {`{"id":"1","text":"t","count":2.5}`, `count must be a whole number, not 2.5`},
		"huge":            {`{"id":"1","text":"t","count":1e999999999}`, `count must be a whole number`},
		"too large":       {`{"id":"1","text":"t","size":300}`, `size`},
		"negative":        {`{"id":"1","text":"t","size":-1}`, `size must not be below zero`},
		"infinite":        {`{"id":"1","text":"t","ratio":"Infinity"}`, `ratio must be a number`},
		"not a truth":     {`{"id":"1","text":"t","yes":"maybe"}`, `yes must be true or false, not the text "maybe"`},
		"one for truth":   {`{"id":"1","text":"t","yes":1}`, `yes must be true or false, not 1`},
		"enum":            {`{"id":"1","text":"t","mode":"warp"}`, `mode must be fast or slow, not "warp"`},
		"null in a list":  {`{"id":"1","text":"t","names":["a",null]}`, `names[1] must be a text, not null`},
		"deep in a list":  {`{"id":"1","text":"t","matrix":[[1],["x"]]}`, `matrix[1][0] must be a whole number`},
		"in a table":      {`{"id":"1","text":"t","table":{"a":"x"}}`, `table.a must be a whole number`},
		"not a time":      {`{"id":"1","text":"t","when":"noon"}`, `cannot parse "noon"`},
		"several":         {`{"id":"1","count":"x","other":1}`, `"other" is unknown`},
		"several more":    {`{"id":"1","count":"x","other":1}`, `; text is missing; count must be`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got everything
			_, err := keeper(&got).Run(t.Context(), json.RawMessage(c.given))
			if err == nil {
				t.Fatalf("accepted as %+v", got)
			}
			has(t, err.Error(), "invalid arguments for keep: ", c.want)
			if !errors.Is(err, firn.ErrInvalid) {
				t.Errorf("%v is not ErrInvalid", err)
			}
		})
	}
}

func TestManyArgumentErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"id":"1","text":"t"`)
	for i := range 100 {
		fmt.Fprintf(&b, `,"%s%d":1`, strings.Repeat("x", 500), i)
	}
	b.WriteString("}")
	var got everything
	_, err := keeper(&got).Run(t.Context(), json.RawMessage(b.String()))
	if err == nil || len(err.Error()) > 4000 {
		t.Errorf("the error has %d bytes: %.200v", len(err.Error()), err)
	}
}

func TestToolWithoutArguments(t *testing.T) {
	tl := tool.New("x", "", func(context.Context, struct{}) (tool.Result, error) { return tool.TextResult("ran"), nil })
	if got := call(t, tl, nil); got != "ran" {
		t.Errorf("got %q", got)
	}
	has(t, fails(t, tl, args{"a": 1}).Error(), `"a" is unknown (no arguments are allowed)`)
}

func TestCanceledCallDoesNotStart(t *testing.T) {
	tl := tool.Func("x", "", nil, func(context.Context, json.RawMessage) (tool.Result, error) {
		t.Error("it ran")
		return tool.Result{}, nil
	})
	if _, err := tl.Run(ended(t), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","text":"t","count":"3","ratio":2.5,"yes":"true","names":"[\"a\"]","matrix":[["1"]],"table":{"a":1},"inner":{"self":{"deep":1}}}`,
		`"{\"id\":1}"`, `null`, ``, `[[[`, `{"count":1e99}`, `{"count":-0}`, `{"when":"2026-01-02T03:04:05Z"}`, "{\"text\":\"\xff\\ud800\"}", `{"size":256}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		var first, second everything
		_, err := keeper(&first).Run(context.Background(), raw)
		if string(raw) != before {
			t.Fatal("the arguments were changed")
		}
		if err != nil {
			if !errors.Is(err, firn.ErrInvalid) {
				t.Fatalf("%v is not ErrInvalid", err)
			}
			return
		}
		// Accepted arguments are accepted again in the encoding of encoding/json.
		again, err := json.Marshal(first)
		if err != nil {
			return // times in the year 10000 can be decoded but not encoded
		}
		if _, err := keeper(&second).Run(context.Background(), again); err != nil {
			t.Fatalf("%s was accepted, %s was not: %v", raw, again, err)
		}
	})
}
