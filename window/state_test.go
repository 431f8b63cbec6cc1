package window_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"firn.dev"
	"firn.dev/window"
)

// stateOf collects a path of bodies.
func stateOf(t *testing.T, bodies ...firn.Body) window.Path {
	t.Helper()
	l := parse("s header")
	for i, b := range bodies {
		e := firn.Entry{ID: firn.EntryID(fmt.Sprint("e", i)), Body: b}
		if i > 0 {
			e.Parent = firn.EntryID(fmt.Sprint("e", i-1))
		}
		l.add(e)
	}
	return collectLog(t, l)
}

func verboseBody(data string) *firn.Custom {
	return &firn.Custom{Type: firn.VerboseType, Data: json.RawMessage(data)}
}

func sendBody(policy string) *firn.Custom {
	return &firn.Custom{Type: firn.SendType, Data: json.RawMessage(`{"policy":"` + policy + `"}`)}
}

func TestStateAndChosen(t *testing.T) {
	answer := func(model string) *firn.Message {
		m := assistantBody("x")
		m.Provider, m.Model = "p", model
		return m
	}
	kept := func(details string) *firn.Compaction {
		return &firn.Compaction{FirstKept: "e0", Details: json.RawMessage(details)}
	}
	model := func(name string) *firn.ModelChange { return &firn.ModelChange{Provider: "q", Model: name} }
	tests := []struct {
		name          string
		path          []firn.Body
		state, chosen firn.State
	}{
		{"nothing", nil, firn.State{}, firn.State{}},
		{"an answer chooses nothing", []firn.Body{answer("a")}, firn.State{Provider: "p", Model: "a"}, firn.State{}},
		{"chosen before an answer", []firn.Body{model("m"), answer("a")}, firn.State{Provider: "p", Model: "a"}, firn.State{Provider: "q", Model: "m"}},
		{"chosen after an answer", []firn.Body{answer("a"), model("m")}, firn.State{Provider: "q", Model: "m"}, firn.State{Provider: "q", Model: "m"}},
		{"the last that was chosen", []firn.Body{model("m"), model("n"), &firn.ThinkingChange{Level: "low"}}, firn.State{Provider: "q", Model: "n", ThinkingLevel: "low"}, firn.State{Provider: "q", Model: "n", ThinkingLevel: "low"}},
		{"verbose", []firn.Body{verboseBody(`{"level":"on"}`), verboseBody(`{"level":"full","x":1}`)}, firn.State{Verbose: "full"}, firn.State{Verbose: "full"}},
		{"verbose long ago", []firn.Body{verboseBody(`{"level":"on"}`), model("m"), &firn.ThinkingChange{Level: "low"}}, firn.State{Provider: "q", Model: "m", ThinkingLevel: "low", Verbose: "on"}, firn.State{Provider: "q", Model: "m", ThinkingLevel: "low", Verbose: "on"}},
		{"send", []firn.Body{sendBody("allow"), sendBody("deny"), model("m")}, firn.State{Provider: "q", Model: "m", Send: "deny"}, firn.State{Provider: "q", Model: "m", Send: "deny"}},
		{"send remembered by a compaction", []firn.Body{kept(`{"state":{"sendPolicy":"deny"}}`)}, firn.State{Send: "deny"}, firn.State{Send: "deny"}},
		{"of another type", []firn.Body{&firn.Custom{Type: "Firn.Verbose", Data: json.RawMessage(`{"level":"on"}`)}}, firn.State{}, firn.State{}},
		{
			"remembered by a compaction", []firn.Body{userBody("u"), kept(`{"state":{"provider":"q","modelId":"m","thinkingLevel":"high","verboseLevel":"on"}}`)},
			firn.State{Provider: "q", Model: "m", ThinkingLevel: "high", Verbose: "on"}, firn.State{Provider: "q", Model: "m", ThinkingLevel: "high", Verbose: "on"},
		},
		{
			"changed since", []firn.Body{kept(`{"state":{"modelId":"m","thinkingLevel":"high","verboseLevel":"on"}}`), verboseBody(`{"level":"off"}`)},
			firn.State{Model: "m", ThinkingLevel: "high", Verbose: "off"}, firn.State{Model: "m", ThinkingLevel: "high", Verbose: "off"},
		},
		{"names count to the letter", []firn.Body{kept(`{"state":{"VerboseLevel":"on","verboselevel":"on","thinkinglevel":"x"}}`)}, firn.State{}, firn.State{}},
	}
	for _, tt := range tests {
		p := stateOf(t, tt.path...)
		check(t, tt.name+": state", p.State, tt.state)
		check(t, tt.name+": chosen", p.Chosen, tt.chosen)
	}
	for _, bad := range []string{``, `null`, `"on"`, `[]`, `{"Level":"off"}`, `{"level":1}`, `{"level":null}`, `{"level":""}`, `{"level":`} {
		p := stateOf(t, verboseBody(`{"level":"on"}`), verboseBody(bad))
		check(t, "verbose behind "+bad, p.State.Verbose, "on")
	}
}

func TestStateSurvivesACompaction(t *testing.T) {
	want := firn.State{Provider: "p", Model: "m", ThinkingLevel: "low", Verbose: "full"}
	details, err := json.Marshal(map[string]any{"state": want})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "state", stateOf(t, &firn.Compaction{Details: details}).State, want)
}

func TestCompactions(t *testing.T) {
	for details, want := range map[string]int{
		`{"count":3}`: 3, `{"count":1}`: 1, ``: 1, `null`: 1, `{}`: 1, `{"Count":7}`: 1, `{"count":0}`: 1, `{"count":-4}`: 1,
		`{"count":"3"}`: 1, `{"count":2.5}`: 1, `{"count":null}`: 1, `{"count":1e99}`: 1, `{"count":99999999999999999999}`: 1, `[3]`: 1, `{"count":`: 1,
	} {
		p := stateOf(t, userBody("u"), &firn.Compaction{Details: json.RawMessage(details)})
		check(t, "compactions told by "+details, p.Compactions(), want)
	}
	check(t, "compactions of none", stateOf(t, userBody("u")).Compactions(), 0)
	hidden := collectLog(t, parse("s header\n a\n k < a keep=a\n t < k hide=k"))
	check(t, "compactions undone", hidden.Compactions(), 0)
}

func TestLabels(t *testing.T) {
	label := func(target, name string) *firn.Label {
		return &firn.Label{Target: firn.EntryID(target), Name: name}
	}
	p := stateOf(t, userBody("u"), label("e0", "start"), label("e9", "elsewhere"), label("e0", "begin"), label("e9", ""), label("e7", ""))
	check(t, "labels", fmt.Sprint(p.Labels()), "map[e0:begin]")
	check(t, "labels of a limited path", fmt.Sprint(sketch("u1 l1 u2 l2").Limit(1).Labels()), "map[u1:l]")
	check(t, "labels of nothing", len(window.Path{}.Labels()), 0)
}
