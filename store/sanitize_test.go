package store_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/store"

	"github.com/google/go-cmp/cmp"
)

// poison is text that must not be stored.
const poison = "a\xff\x00b"

// specimens returns every kind of body with every kind of part and all fields settable.
func specimens() []firn.Body {
	fields := firn.Fields{{Name: "a", Value: json.RawMessage("1")}, {Name: "b"}}
	parts := []firn.Part{
		firn.Text{Text: "clean"}, firn.Text{Extra: fields}, firn.Image{Extra: fields}, firn.Thinking{Extra: fields},
		firn.ToolCall{Extra: fields}, firn.OpaquePart{},
	}
	return []firn.Body{
		&firn.Message{Role: firn.RoleAssistant, Parts: parts, Usage: &firn.Usage{Extra: fields}, Extra: fields},
		&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{Content: parts}}},
		&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{}}},
		&firn.Compaction{}, &firn.BranchSummary{}, &firn.Tombstone{}, &firn.Label{}, &firn.Title{},
		&firn.ModelChange{}, &firn.ThinkingChange{}, &firn.Custom{}, &firn.CustomMessage{Parts: parts},
		&firn.Head{}, &firn.Opaque{},
	}
}

// keep are fields that must contain valid references and cannot be poisoned.
var keep = map[string]bool{"Target": true, "FirstKept": true, "Role": true, "Session": true, "Version": true, "Firn": true}

// visit calls do with every string and every JSON value below v, which must be settable.
func visit(v reflect.Value, do func(reflect.Value)) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]() || v.Kind() == reflect.String:
		do(v)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		visit(v.Elem(), do)
	case v.Kind() == reflect.Interface && !v.IsNil():
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		visit(inner, do)
		v.Set(inner)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), do)
		}
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == reflect.TypeFor[firn.Entry]().PkgPath():
		for i := range v.NumField() {
			if !keep[v.Type().Field(i).Name] {
				visit(v.Field(i), do)
			}
		}
	}
}

// poisoned fills every string and every JSON value of a body with poison.
func poisoned(b firn.Body) firn.Body {
	visit(reflect.ValueOf(&b).Elem(), func(v reflect.Value) {
		if v.Kind() == reflect.String {
			v.SetString(poison)
		} else {
			v.Set(reflect.ValueOf(json.RawMessage("{\"type\":\"a\xff\\u0000b\",\"x\":\"\xff\\ud800\"}")))
		}
	})
	if s, ok := b.(*firn.Tombstone); ok {
		s.Target = "head"
	}
	if l, ok := b.(*firn.Label); ok {
		l.Target = "head"
	}
	return b
}

func TestPrepareCleansEveryText(t *testing.T) {
	bodies := append(specimens(), &firn.Header{})
	for i := range bodies {
		given, same := poisoned(bodies[i]), poisoned(append(specimens(), &firn.Header{})[i])
		tail := tail
		tail.New = given.Kind() == firn.KindHeader
		got := prepare(t, tail, firn.Entry{Body: given})[0]
		if diff := cmp.Diff(same, given); diff != "" {
			t.Errorf("the caller's %T was changed:\n%s", given, diff)
		}
		seen := 0
		visit(reflect.ValueOf(&got.Body).Elem(), func(v reflect.Value) {
			seen++
			if v.Kind() == reflect.String {
				if s, changed := firn.CleanText(v.String()); changed || s != "a\uFFFD\uFFFDb" && s != "clean" && s != "" {
					t.Errorf("a string of %T is %q", given, s)
				}
				return
			}
			if raw := v.Bytes(); !utf8.Valid(raw) || !json.Valid(raw) {
				t.Errorf("a piece of JSON in %T is %q", given, raw)
			}
		})
		mark := string(got.Extra.Get("cleaned"))
		if o, ok := got.Body.(*firn.Opaque); ok && strings.HasSuffix(string(o.Raw), `"cleaned":true}`) {
			mark = "true"
		}
		if seen == 0 || mark != "true" {
			t.Errorf("%T: saw %d texts, cleaned is %s", given, seen, mark)
		}
	}
}

func TestPrepareDoesNotCopyCleanEntries(t *testing.T) {
	extra := firn.Fields{{Name: "a", Value: json.RawMessage("1")}}
	m := user("fine")
	got := prepare(t, tail, firn.Entry{ID: "a", Body: m, Extra: extra})[0]
	if got.Body != firn.Body(m) {
		t.Error("a clean message was copied")
	}
	if diff := cmp.Diff(extra, got.Extra); diff != "" {
		t.Errorf("extra fields changed:\n%s", diff)
	}
}

func TestPrepareCleansEntryFields(t *testing.T) {
	extra := make(firn.Fields, 0, 4)
	extra = append(extra, firn.Field{Name: "n" + poison, Value: json.RawMessage("1")})
	e := firn.Entry{ID: "a", Body: user("x"), Extra: extra}
	got := prepare(t, tail, e)[0]
	want := firn.Fields{{Name: "na\uFFFD\uFFFDb", Value: json.RawMessage("1")}, {Name: "cleaned", Value: json.RawMessage("true")}}
	if diff := cmp.Diff(want, got.Extra); diff != "" {
		t.Error(diff)
	}
	if extra[0].Name != "n"+poison || extra[:2][1].Name != "" {
		t.Error("the caller's fields were changed")
	}
	got = prepare(t, tail, firn.Entry{ID: "b", Body: user(poison), Extra: got.Extra})[0]
	if len(got.Extra) != 2 {
		t.Errorf("marked as cleaned twice: %v", got.Extra)
	}
}

func TestPrepareFillsInArguments(t *testing.T) {
	call := &firn.Message{Role: firn.RoleAssistant, Time: now, Parts: []firn.Part{firn.ToolCall{ID: "1", Name: "ls"}}}
	got := prepare(t, tail, firn.Entry{Body: call})[0]
	if args := got.Body.(*firn.Message).Parts[0].(firn.ToolCall).Arguments; string(args) != "{}" {
		t.Errorf("arguments are %q", args)
	}
	if got.Extra.Get("cleaned") != nil {
		t.Error("filling in arguments counts as cleaning")
	}
	if call.Parts[0].(firn.ToolCall).Arguments != nil {
		t.Error("the caller's message was changed")
	}
}

func TestGist(t *testing.T) {
	header := &firn.Header{Session: "s1", Agent: "ops", Key: "k", CWD: "/w"}
	long := "0123456789ü123456789ü123456789ü123456789ü123456789ü123456789ü123456789ü123456789ü123456789ü123456789"
	cases := []struct {
		name   string
		bodies []firn.Body
		title  string
		prompt string
		hidden bool
	}{
		{name: "empty"},
		{name: "prompt", bodies: []firn.Body{&firn.Message{Role: firn.RoleAssistant}, user(""), user(long), user("later")}, prompt: firn.CutText(long, 100)},
		{name: "user title beats auto", bodies: []firn.Body{&firn.Title{Name: "u", Source: firn.SourceUser}, &firn.Title{Name: "a", Source: firn.SourceAuto}}, title: "u"},
		{name: "title taken away", bodies: []firn.Body{&firn.Title{Name: "u"}, &firn.Title{}}},
		{name: "auto after auto", bodies: []firn.Body{&firn.Title{Name: "a", Source: firn.SourceAuto}, &firn.Title{Name: "b", Source: firn.SourceAuto}}, title: "b"},
		{name: "hidden", bodies: []firn.Body{&firn.Tombstone{Target: "s1"}}, hidden: true},
		{name: "restored", bodies: []firn.Body{&firn.Tombstone{Target: "s1"}, &firn.Tombstone{Target: "1"}}},
		{name: "hidden again", bodies: []firn.Body{&firn.Tombstone{Target: "s1"}, &firn.Tombstone{Target: "1"}, &firn.Tombstone{Target: "2"}}, hidden: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var gist store.Gist
			gist.Add(firn.Entry{Time: now, Body: header})
			for i, b := range c.bodies {
				gist.Add(firn.Entry{ID: firn.EntryID(rune('1' + i)), Time: now.AddDate(0, 0, i+1), Body: b})
			}
			gist.Add(firn.Entry{ID: "erased", Body: &firn.Opaque{Type: firn.KindErased}})
			want := store.Info{ID: "s1", Agent: "ops", Key: "k", CWD: "/w", Created: now, Updated: now.AddDate(0, 0, len(c.bodies)),
				Title: c.title, Prompt: c.prompt, Hidden: c.hidden}
			if diff := cmp.Diff(want, gist.Info()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
