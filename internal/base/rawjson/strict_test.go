package rawjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"firn.dev/internal/base/rawjson"
)

type inner struct {
	Agent string `json:"agent"`
}

type request struct {
	inner
	Scope  string            `json:"scope"`
	Keys   []inner           `json:"keys"`
	Named  map[string]*inner `json:"named"`
	Raw    json.RawMessage   `json:"raw"`
	Any    any               `json:"any"`
	Plain  int
	Hidden int `json:"-"`
}

func TestUnmarshalStrict(t *testing.T) {
	for body, want := range map[string]string{
		`{"scope":"read","agent":"a","Plain":1,"keys":[{"agent":"b"}],"named":{"x":{"agent":"c"},"X":null},"raw":{"a":1,"A":2},"any":[{"b":1}]} `: "",
		`{"scope":"read","scope":"admin"}`:       `the member "scope" is given twice`,
		`{"scope":"read","\u0073cope":"admin"}`:  `is given twice`,
		`{"scope":"read","Scope":"admin"}`:       `unknown member "Scope"; did you mean "scope"?`,
		`{"SCOPE":"admin"}`:                      `did you mean "scope"?`,
		`{"\u017fcope":"admin"}`:                 `did you mean "scope"?`, // long s folds to s
		`{"plain":1}`:                            `did you mean "Plain"?`,
		`{"Hidden":1}`:                           `unknown member "Hidden"`,
		`{"keys":[{"agent":"a","agent":"b"}]}`:   `"agent" is given twice`,
		`{"keys":[{"Agent":"a"}]}`:               `did you mean "agent"?`,
		`{"named":{"x":{"agent":"a"},"x":null}}`: `"x" is given twice`,
		`{"named":{"x":{"AGENT":"a"}}}`:          `did you mean "agent"?`,
		`{"raw":{"a":[{"b":1,"b":2}]}}`:          `"b" is given twice`,
		`{"any":{"b":1,"b":2}}`:                  `"b" is given twice`,
		`{"inner":{"agent":"a"}}`:                `unknown member "inner"`,
		`{"scope":"read"} {}`:                    `trailing data after the value`,
		`{"scope":"read"`:                        `unexpected EOF`,
	} {
		var in request
		err := rawjson.Unmarshal([]byte(body), &in, false)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
}

func TestUnmarshalLenient(t *testing.T) {
	var in request
	if err := rawjson.Unmarshal([]byte(`{"scope":"read","new":{"Scope":1},"keys":[{"more":1}]}`), &in, true); err != nil || in.Scope != "read" {
		t.Errorf("got %v, %+v", err, in)
	}
	for _, body := range []string{`{"Scope":"read"}`, `{"new":{"a":1,"a":2}}`, `{"new":1,"new":2}`} {
		var refused *rawjson.MemberError
		if err := rawjson.Unmarshal([]byte(body), &in, true); !errors.As(err, &refused) {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

func TestCheckUnique(t *testing.T) {
	for body, want := range map[string][2]bool{
		`{"a":1,"A":2}`: {true, false}, `{"a":{"a":1},"b":[{"a":1},{"a":2}]}`: {true, true},
		`[{"a":1,"a":2}]`: {false, false}, `{"a":1,"a"`: {true, true}, `no JSON`: {true, true}, ``: {true, true},
	} {
		if got := [2]bool{rawjson.CheckUnique([]byte(body), false) == nil, rawjson.CheckUnique([]byte(body), true) == nil}; got != want {
			t.Errorf("%s: got %v, want %v", body, got, want)
		}
	}
}

// FuzzUnmarshal checks that accepted objects have each member once and in its exact case:
// as a map they have the same names and values.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"scope":"read","scope":"admin"}`))
	f.Add([]byte(`{"scope":"a","Scope":"b","keys":[{"agent":"x"}]}`))
	f.Add([]byte(`{"raw":{"a":{"b":[1,{"c":null,"c":0}]}},"any":[[[]]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, lenient := range []bool{false, true} {
			var in request
			if rawjson.Unmarshal(data, &in, lenient) != nil {
				continue
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(data, &members); err != nil {
				t.Fatalf("accepted, but not an object: %v", err)
			}
			if rawjson.CheckUnique(data, false) != nil {
				t.Fatal("accepted with a duplicate member")
			}
			var scope string
			if raw, ok := members["scope"]; ok && json.Unmarshal(raw, &scope) != nil {
				t.Fatal("a scope that is not a string was accepted")
			}
			if in.Scope != scope {
				t.Fatalf("scope %q, but its member is %q", in.Scope, scope)
			}
			var again request
			out, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := rawjson.Unmarshal(out, &again, false); err != nil || !reflect.DeepEqual(in.Keys, again.Keys) {
				t.Fatalf("read again: %v", err)
			}
		}
	})
}
