package store_test

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"

	"github.com/google/go-cmp/cmp"
)

// carriers returns an entry with extra fields for each place that can have them.
var carriers = map[string]func(firn.Fields) firn.Entry{
	"header":          func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.Header{CWD: "/w"}, Extra: f} },
	"message":         func(f firn.Fields) firn.Entry { return firn.Entry{Body: user("hi"), Extra: f} },
	"compaction":      func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.Compaction{Summary: "s"}, Extra: f} },
	"kept compaction": func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.Compaction{FirstKept: "old"}, Extra: f} },
	"branch summary":  func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.BranchSummary{Summary: "s"}, Extra: f} },
	"tombstone":       func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.Tombstone{Target: "old"}, Extra: f} },
	"label":           func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.Label{Target: "old"}, Extra: f} },
	"title":           func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.Title{Name: "n"}, Extra: f} },
	"model change":    func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.ModelChange{Model: "m"}, Extra: f} },
	"thinking change": func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.ThinkingChange{Level: "l"}, Extra: f} },
	"custom":          func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.Custom{Type: "t"}, Extra: f} },
	"custom message":  func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.CustomMessage{Type: "t"}, Extra: f} },
	"head":            func(f firn.Fields) firn.Entry { return firn.Entry{Body: &firn.Head{Reason: "r"}, Extra: f} },
	"user":            func(f firn.Fields) firn.Entry { return saying(firn.RoleUser, nil, f, firn.Text{Text: "t"}) },
	"assistant":       func(f firn.Fields) firn.Entry { return saying(firn.RoleAssistant, nil, f, firn.Text{Text: "t"}) },
	"strange role":    func(f firn.Fields) firn.Entry { return saying("oracle", nil, f) },
	"tool result": func(f firn.Fields) firn.Entry {
		return saying(firn.RoleToolResult, nil, f, firn.ToolResult{CallID: "1"})
	},
	"shell": func(f firn.Fields) firn.Entry { return saying(firn.RoleShell, nil, f, firn.Shell{Command: "ls"}) },
	"usage": func(f firn.Fields) firn.Entry {
		return saying(firn.RoleAssistant, &firn.Usage{Input: 5, Cost: firn.Cost{Total: 2}, Extra: f}, nil)
	},
	"text": func(f firn.Fields) firn.Entry { return saying(firn.RoleUser, nil, nil, firn.Text{Text: "t", Extra: f}) },
	"image": func(f firn.Fields) firn.Entry {
		return saying(firn.RoleUser, nil, nil, firn.Image{Data: "AA==", Extra: f})
	},
	"thinking": func(f firn.Fields) firn.Entry {
		return saying(firn.RoleAssistant, nil, nil, firn.Thinking{Text: "t", Extra: f})
	},
	"tool call": func(f firn.Fields) firn.Entry {
		return saying(firn.RoleAssistant, nil, nil, firn.ToolCall{ID: "1", Name: "ls", Arguments: json.RawMessage("{}"), Extra: f})
	},
}

func saying(role firn.Role, usage *firn.Usage, extra firn.Fields, parts ...firn.Part) firn.Entry {
	return firn.Entry{Body: &firn.Message{Role: role, Time: now, Parts: parts, Usage: usage, Extra: extra}}
}

// values has every JSON type, and special values of some fields.
var values = []string{
	"null", "true", "5", "1.5", "1e30", "99999999999999999", `"x"`, "[]", `[{"type":"text","text":"t"}]`, "{}",
	`"2001-01-01T00:00:00.000Z"`, `"2001-01-01T00:00:00+02:00"`, `"0001-01-01T00:00:00Z"`,
	`{"role":"user","content":[]}`, `{"input":1}`, `{"input":"x"}`, `{"total":2}`, `{"total":2,"tax":1}`, `{"total":3,"tax":1}`, `{"total":"x","total":2}`,
}

// memberNames collects the names of all members that the native format writes, so that new
// ones are included.
func memberNames(t *testing.T) []string {
	t.Helper()
	seen := map[string]bool{"unheard of": true}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				seen[name] = true
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	for _, body := range append(specimens(), &firn.Header{}) {
		if _, ok := body.(*firn.Opaque); ok {
			continue
		}
		tail := tail
		tail.New = body.Kind() == firn.KindHeader
		line, err := native.New().Append(nil, prepare(t, tail, firn.Entry{Body: full(body)})[0])
		var v any
		if err == nil {
			err = json.Unmarshal(line, &v)
		}
		if err != nil {
			t.Fatal(err)
		}
		walk(v)
	}
	return slices.Sorted(maps.Keys(seen))
}

// survives reports whether an entry is unchanged after encoding and decoding.
func survives(e firn.Entry) bool {
	line, err := native.New().Append(nil, e)
	if err != nil {
		return false
	}
	got, err := native.New().Decode(line)
	return err == nil && cmp.Equal(got, e)
}

// TestExtraFieldsReadBack uses every name with every type of value as an extra field in
// every place. Exactly those that would be decoded differently must be rejected.
func TestExtraFieldsReadBack(t *testing.T) {
	all := memberNames(t)
	for what, carrier := range carriers {
		tail := tail
		tail.New = carrier(nil).Body.Kind() == firn.KindHeader
		plain := prepare(t, tail, carrier(nil))[0]
		if !survives(plain) {
			t.Fatalf("%s: not read back even without extra fields", what)
		}
		for _, name := range all {
			for _, value := range values {
				e := carrier(firn.Fields{{Name: name, Value: json.RawMessage(value)}})
				e.ID, e.Parent, e.Time = plain.ID, plain.Parent, plain.Time
				_, err := store.Prepare(tail, now, []firn.Entry{e}, old)
				if err != nil && !errors.Is(err, firn.ErrInvalid) {
					t.Fatal(err)
				}
				if tail.New {
					e.Body = plain.Body
				}
				if fine := survives(e); fine != (err == nil) && (!fine || !always[name]) {
					t.Errorf("%s with %q: %s: unchanged when read back: %t, Prepare returns: %v", what, name, value, fine, err)
				}
			}
		}
	}
}

// always are names that are rejected with any value.
var always = map[string]bool{"type": true, "role": true, "id": true, "parentId": true}

// full sets all optional fields.
func full(b firn.Body) firn.Body {
	fill(reflect.ValueOf(&b).Elem())
	switch b := b.(type) {
	case *firn.Tombstone:
		b.Target = "old"
	case *firn.Label:
		b.Target = "old"
	case *firn.Compaction:
		b.FirstKept = "old"
	}
	return b
}

// fill sets everything below v, which must be settable.
func fill(v reflect.Value) {
	visit(v, func(v reflect.Value) {
		if v.Kind() == reflect.String {
			v.SetString("x")
		} else {
			v.SetBytes([]byte(`{"type":"x"}`))
		}
	})
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem())
	case reflect.Interface:
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		fill(inner)
		v.Set(inner)
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().PkgPath() == reflect.TypeFor[firn.Entry]().PkgPath() && !keep[v.Type().Field(i).Name] {
				fill(v.Field(i))
			}
		}
	}
}
