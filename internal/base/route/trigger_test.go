package route_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/base/route"
)

func TestTrigger(t *testing.T) {
	models := func(word string) (string, bool) {
		model, ok := map[string]string{"opus": "anthropic/opus", "openai/gpt": "openai/gpt"}[strings.ToLower(word)]
		return model, ok
	}
	plain := route.Triggers{}
	group := route.Triggers{Mentions: []string{"@firn", "<@U1>", "firn bot"}}
	model := route.Triggers{Model: models}
	own := route.Triggers{Words: []string{"/fresh now", "start over", "/fresh", ""}}
	cases := []struct {
		text string
		set  route.Triggers
		want route.Hit // with no word if it is none
	}{
		{"/new", plain, route.Hit{Word: "/new", Cause: "new"}},
		{" /NEW ", plain, route.Hit{Word: "/new", Cause: "new"}},
		{"/Reset hello  there", plain, route.Hit{Word: "/reset", Cause: "reset", Rest: "hello  there"}},
		{"/new\nhello\n", plain, route.Hit{Word: "/new", Cause: "new", Rest: "hello"}},
		{"/new\tx", plain, route.Hit{Word: "/new", Cause: "new", Rest: "x"}},
		{"/news", plain, route.Hit{}},
		{"/new: x", plain, route.Hit{}},
		{"/new@firn x", plain, route.Hit{}},
		{"say /new", plain, route.Hit{}},
		{"new", plain, route.Hit{}},
		{"", plain, route.Hit{}},
		{"@firn /new", plain, route.Hit{}},
		{"@firn /new", group, route.Hit{Word: "/new", Cause: "new"}},
		{"@FIRN, <@U1>: /new hi @firn", group, route.Hit{Word: "/new", Cause: "new", Rest: "hi @firn"}},
		{"/new@firn hi", group, route.Hit{Word: "/new", Cause: "new", Rest: "hi"}},
		{"/new@firn", group, route.Hit{Word: "/new", Cause: "new"}},
		{"/new@firnament hi", group, route.Hit{}},
		{"/new@other hi", group, route.Hit{}},
		{"@firnament /new", group, route.Hit{}},
		{"Firn Bot /reset", group, route.Hit{Word: "/reset", Cause: "reset"}},
		{"/new opus", model, route.Hit{Word: "/new", Cause: "new", Model: "anthropic/opus"}},
		{"/new  Opus  tell me", model, route.Hit{Word: "/new", Cause: "new", Model: "anthropic/opus", Rest: "tell me"}},
		{"/new OpenAI/GPT\nx", model, route.Hit{Word: "/new", Cause: "new", Model: "openai/gpt", Rest: "x"}},
		{"/new opusculum", model, route.Hit{Word: "/new", Cause: "new", Rest: "opusculum"}},
		{"/new", model, route.Hit{Word: "/new", Cause: "new"}},
		{"/new opus", plain, route.Hit{Word: "/new", Cause: "new", Rest: "opus"}},
		{"/new", own, route.Hit{}},
		{"Start Over please", own, route.Hit{Word: "start over", Cause: "trigger", Rest: "please"}},
		{"/fresh now x", own, route.Hit{Word: "/fresh now", Cause: "trigger", Rest: "x"}},
		{"/new", route.Triggers{Words: []string{}}, route.Hit{}},
		{"/né", plain, route.Hit{}},
	}
	for _, c := range cases {
		hit, ok := route.Trigger(c.text, c.set)
		if hit != c.want || ok != (c.want.Word != "") {
			t.Errorf("%q: %+v, %v, want %+v", c.text, hit, ok, c.want)
		}
	}
}

func TestStripMentions(t *testing.T) {
	names := []string{"@firn", "firn", ""}
	for text, want := range map[string]string{
		"@firn": "", " @Firn, ": "", "firn: @firn, hello @firn": "hello @firn", "@firns": "@firns", "@firn-2 x": "@firn-2 x", "hello": "hello", "": "", "@firn,hello": "@firn,hello",
	} {
		if got := route.StripMentions(text, names); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestParseCommand(t *testing.T) {
	for text, want := range map[string][2]string{
		"/stop":                      {"stop", ""},
		" /STOP now please":          {"stop", "now please"},
		"/abort":                     {"stop", ""},
		"/send off":                  {"send", "off"},
		"/send":                      {"send", ""},
		"/status":                    {"status", ""},
		"/compact":                   {"compact", ""},
		"/compact keep the names":    {"compact", "keep the names"},
		"/compact: keep\nthe names ": {"compact", "keep\nthe names"},
		"/model openai/gpt":          {"model", "openai/gpt"},
		"/think:high":                {"think", "high"},
		"/t high":                    {"think", "high"},
		"/verbose full":              {"verbose", "full"},
		"/v":                         {"verbose", ""},
		"/usage tokens":              {"usage", "tokens"},
		"/queue collect cap:3":       {"queue", "collect cap:3"},
		"/status of the project?":    {},
		"/statuses":                  {},
		"/usr/bin/env":               {},
		"/model/x":                   {},
		"/new":                       {},
		"/":                          {},
		"stop":                       {},
		"please /stop":               {},
		"//stop":                     {},
		"":                           {},
	} {
		name, args, ok := route.ParseCommand(text)
		if name != want[0] || args != want[1] || ok != (want[0] != "") {
			t.Errorf("%q: %q, %q, %v, want %q", text, name, args, ok, want)
		}
	}
}

func TestCommandsAreListedOnce(t *testing.T) {
	var names []string
	for _, c := range route.Commands() {
		names = append(append(names, c.Name), c.Aliases...)
		if c.Help == "" {
			t.Errorf("/%s has no help", c.Name)
		}
		if name, _, ok := route.ParseCommand("/" + c.Name); !ok || name != c.Name {
			t.Errorf("/%s is %q", c.Name, name)
		}
	}
	for _, want := range []string{"stop", "send", "status", "compact", "model", "think", "verbose", "usage", "queue", "help"} {
		if !slices.Contains(names, want) {
			t.Errorf("/%s is missing", want)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("duplicate name: %v", names)
	}
}

// TestCarry fills every toggle, so that one that is added later is decided on.
func TestCarry(t *testing.T) {
	var full route.Toggles
	fields := reflect.ValueOf(&full).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.String {
			f.SetString("x")
		} else {
			f.SetInt(7)
		}
	}
	conversation := []string{"Send", "Queue", "Activation"}
	choices := []string{"Thinking", "Verbose", "Reasoning", "Elevated", "TTS", "Usage", "Provider", "Model", "AuthProfile", "Label"}
	counters := []string{"InputTokens", "OutputTokens", "TotalTokens", "Compactions", "FlushedAt"}
	if got := len(conversation) + len(choices) + len(counters); got != fields.NumField() {
		t.Fatalf("%d toggles are decided on, there are %d", got, fields.NumField())
	}
	next := reflect.ValueOf(full.Carry())
	check := func(names []string, stays bool) {
		for _, name := range names {
			if next.FieldByName(name).IsZero() == stays {
				t.Errorf("%s is %v", name, next.FieldByName(name))
			}
		}
	}
	check(conversation, true)
	check(choices, true)
	check(counters, false)
}
