package window_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/window"
	"firn.dev/window/windowtest"

	"github.com/google/go-cmp/cmp"
)

// verify builds the window of a session for every provider and checks its guarantees.
func verify(t testing.TB, p window.Path, ask window.Ask) {
	t.Helper()
	before := fmt.Sprintf("%#v", snapshot(p))
	for _, profile := range window.Profiles() {
		o := window.Options{
			System: "be kind", Profile: profile, Ask: ask,
			Injected: []window.Injection{{Name: "memory", Parts: []firn.Part{firn.Text{Text: "recalled"}}}},
		}
		w := window.Build(p, o)
		if err := windowtest.Check(profile, w); err != nil {
			t.Fatalf("%v\n%s", err, formatItems(w.Items))
		}
		again, more := profile.Apply(w.Items, ask)
		if len(more) > 0 || formatItems(again) != formatItems(w.Items) {
			t.Fatalf("%s applied twice still makes changes: %v\n%s", profile.Name, more, cmp.Diff(formatItems(w.Items), formatItems(again)))
		}
		if twice := window.Build(p, o); !reflect.DeepEqual(w, twice) {
			t.Fatalf("%s: the same path gives two different windows\n%s", profile.Name, cmp.Diff(formatItems(w.Items), formatItems(twice.Items)))
		}
		verifyRules(t, profile, p, ask)
	}
	if after := fmt.Sprintf("%#v", snapshot(p)); after != before {
		t.Fatalf("Build modified the entries\n%s", cmp.Diff(before, after))
	}
}

// verifyRules checks that no rule changes its own output.
func verifyRules(t testing.TB, profile window.Profile, p window.Path, ask window.Ask) {
	t.Helper()
	items := window.Build(p, window.Options{}).Items
	for _, rule := range profile.Rules {
		alone := profile
		alone.Rules = []window.Rule{rule}
		items, _ = alone.Apply(items, ask)
		again, more := alone.Apply(items, ask)
		if len(more) > 0 || formatItems(again) != formatItems(items) {
			t.Fatalf("%s of %s applied twice still makes changes: %v\n%s", rule.Name, profile.Name, more, cmp.Diff(formatItems(items), formatItems(again)))
		}
	}
}

// snapshot copies everything reachable from the entries of a path for a later comparison.
func snapshot(p window.Path) []any {
	var all []any
	for _, e := range p.Entries {
		switch b := e.Body.(type) {
		case *firn.Message:
			all = append(all, e.ID, *b)
		case *firn.CustomMessage:
			all = append(all, e.ID, *b)
		case *firn.Compaction:
			all = append(all, e.ID, *b)
		}
	}
	return all
}

func collectLog(t testing.TB, l log) window.Path {
	t.Helper()
	var read int
	p, err := window.Collect(l.back(&read))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var asks = []window.Ask{{}, {API: "anthropic-messages", Provider: "anthropic", Model: "claude"}, {Model: "gpt"}}

// FuzzBuild builds windows of generated sessions and of files.
func FuzzBuild(f *testing.F) {
	files, err := filepath.Glob(corpus + "*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds found: %v", err)
	}
	for _, file := range files {
		f.Add(readFile(f, file))
	}
	f.Add([]byte{0, 0, 0, 1, 0})
	f.Add([]byte(strings.Repeat("\x07\x01\x02\x03\x04\x05\x06\x00", 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var l log
		if len(data) > 0 && data[0] == '{' {
			l = readLog(data)
		} else {
			c := choices{data}
			l = c.session()
		}
		p := collectLog(t, l)
		for _, ask := range asks {
			verify(t, p, ask)
		}
		verifyShrinks(t, p, &choices{data[max(0, len(data)-80):]})
	})
}

// rounds returns the number of repetitions of a test, normally and with -short.
func rounds(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// TestBuildIsAlwaysValid does the same as FuzzBuild with many random choices.
func TestBuildIsAlwaysValid(t *testing.T) {
	for seed := range uint64(rounds(200, 20)) {
		dice := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, dice.IntN(3000))
		for i := range data {
			data[i] = byte(dice.Uint32())
		}
		c := choices{data}
		verify(t, collectLog(t, c.session()), asks[seed%3])
	}
}

// busySession returns a long session as an agent leaves it: parallel tool calls, results out
// of order, and users who interrupt.
func busySession(records int) log {
	l := parse("s header")
	add := func(m *firn.Message) {
		e := firn.Entry{ID: firn.EntryID(fmt.Sprint("e", len(l))), Body: m}
		if len(l) > 1 {
			e.Parent = l[len(l)-1].Glance.ID
		}
		l.add(e)
	}
	for turn := 0; len(l) < records; turn++ {
		add(userBody(fmt.Sprint("question ", turn)))
		for step := range 1 + turn%4 {
			m := &firn.Message{Role: firn.RoleAssistant, API: "a", Provider: "p", Model: fmt.Sprint("m", turn%3), StopReason: firn.StopToolUse}
			m.Parts = append(m.Parts, firn.Thinking{Text: "hm", Signature: "c2ln"})
			calls := 1 + (turn+step)%3
			for k := range calls {
				id := fmt.Sprintf("call_%d|%d", turn%5, k)
				m.Parts = append(m.Parts, firn.ToolCall{ID: id, Name: "run", Arguments: json.RawMessage(`{"n":1}`)})
			}
			add(m)
			if turn%7 == 3 {
				add(userBody("stop!"))
			}
			for k := calls - 1; k >= 0; k-- {
				id := fmt.Sprintf("call_%d|%d", turn%5, k)
				content := []firn.Part{firn.Text{Text: "done"}}
				if turn%6 == 1 {
					content = append(content, firn.Image{MimeType: "image/png", Data: "AAAA"})
				}
				add(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: id, Name: "run", Content: content}}})
			}
		}
		stop := firn.StopEnd
		if turn%5 == 4 {
			stop = firn.StopAborted
		}
		add(&firn.Message{Role: firn.RoleAssistant, API: "a", Provider: "p", Model: "m0", StopReason: stop, Parts: []firn.Part{firn.Text{Text: "answer"}}})
	}
	return l
}

// TestCutAnywhere checks that a session truncated after any record gives a valid window for
// every provider that lacks only separated calls and results.
func TestCutAnywhere(t *testing.T) {
	l := busySession(500)
	for cut := 1; cut <= len(l); cut += 500 / rounds(500, 40) {
		p := collectLog(t, l[:cut])
		check(t, "entries", len(p.Entries), cut-1)
		ask := []window.Ask{{}, {API: "a", Provider: "p", Model: "m1"}}[cut%2]
		for _, profile := range window.Profiles() {
			w := window.Build(p, window.Options{Profile: profile, Ask: ask})
			if err := windowtest.Check(profile, w); err != nil {
				t.Fatalf("truncated after record %d: %v", cut, err)
			}
			verifyUserTexts(t, p, w)
		}
	}
}

// verifyUserTexts checks that every text of the user is in the window, in order.
func verifyUserTexts(t *testing.T, p window.Path, w window.Window) {
	t.Helper()
	var texts []string
	for _, it := range w.Items {
		for _, part := range it.Message.Parts {
			if text, ok := part.(firn.Text); ok && it.Message.Role == firn.RoleUser {
				texts = append(texts, text.Text)
			}
		}
	}
	for _, e := range p.Entries {
		m := e.Body.(*firn.Message)
		if m.Role != firn.RoleUser {
			continue
		}
		for len(texts) > 0 && texts[0] != m.Text() {
			texts = texts[1:]
		}
		if len(texts) == 0 {
			t.Fatalf("the user's text in %s is not in the window", e.ID)
		}
		texts = texts[1:]
	}
}

// TestAbortedTurns checks that the window is valid after five retries of a turn that was
// aborted before any text, during thinking, or during a call.
func TestAbortedTurns(t *testing.T) {
	aborted := [][]firn.Part{
		nil,
		{firn.Text{}},
		{firn.Thinking{Text: "hm"}},
		{firn.ToolCall{ID: "1", Name: "run", Arguments: json.RawMessage(`{"x":`)}},
	}
	for i, parts := range aborted {
		for _, stop := range []firn.StopReason{firn.StopAborted, firn.StopError, firn.StopEnd} {
			l := parse("s header")
			l.add(firn.Entry{ID: "u", Body: userBody("hello")})
			for n := range 5 {
				parent := l[len(l)-1].Glance.ID
				l.add(firn.Entry{ID: firn.EntryID(fmt.Sprint("a", n)), Parent: parent, Body: &firn.Message{Role: firn.RoleAssistant, Parts: parts, StopReason: stop}})
			}
			p := collectLog(t, l)
			verify(t, p, window.Ask{})
			if w := window.Build(p, window.Options{Profile: window.Anthropic()}); stop != firn.StopEnd {
				check(t, fmt.Sprint("items of case ", i), len(w.Items), 1)
				check(t, "left out", fmt.Sprint(w.Out), "[{hidden a0 a4 5 0}]")
			}
		}
	}
}

// TestResultsOfAFailedAnswer checks that results of calls in a failed answer are left out with
// it.
func TestResultsOfAFailedAnswer(t *testing.T) {
	items := parseItems(`
user: text "a"
assistant: call "1" "run" "{}"
result: "1" "run" ; text "r"
user: text "b"`)
	items[1].Message.StopReason = firn.StopError
	w := window.Build(window.Path{Entries: entriesOf(items)}, window.Options{Profile: window.Anthropic()})
	check(t, "window", formatItems(w.Items), "user e1+e4: text \"a\" ; text \"b\"\n")
	check(t, "repair", fmt.Sprint(w.Repairs[0]), "{pair e3 result of call 1 left out: no such call before it}")
}

// TestChangingModels checks that marks are sent unchanged to the model that wrote them and
// never to another one, however often the model changes.
func TestChangingModels(t *testing.T) {
	models := []window.Ask{
		{API: "anthropic-messages", Provider: "anthropic", Model: "claude"},
		{API: "anthropic-messages", Provider: "bedrock", Model: "claude"},
		{API: "openai-responses", Provider: "openai", Model: "gpt"},
		{API: "google-generative-ai", Provider: "google", Model: "gemini"},
	}
	profiles := map[string]window.Profile{
		"anthropic-messages": window.Anthropic(), "openai-responses": window.OpenAIResponses(), "google-generative-ai": window.Gemini(),
	}
	l := parse("s header")
	parent := firn.EntryID("")
	add := func(m *firn.Message) {
		e := firn.Entry{ID: firn.EntryID(fmt.Sprint("e", len(l))), Parent: parent, Body: m}
		parent = e.ID
		l.add(e)
	}
	var first string
	for round := range 9 {
		ask := models[round%len(models)]
		add(userBody(fmt.Sprint("question ", round)))
		p := collectLog(t, l)
		w := window.Build(p, window.Options{Profile: profiles[ask.API], Ask: ask})
		if err := windowtest.Check(profiles[ask.API], w); err != nil {
			t.Fatal(err)
		}
		for _, it := range w.Items {
			sameModel := ask.Same(&it.Message)
			has := strings.Contains(formatItems([]window.Item{it}), "c2ln")
			if it.Message.Role == firn.RoleAssistant && sameModel != has {
				t.Errorf("for model %v: marks present is %v in\n%s", ask, has, formatItems([]window.Item{it}))
			}
		}
		if round == 4 {
			first = formatItems(w.Items[:2])
		}
		if round == 8 {
			check(t, "the same turn, asked again", formatItems(w.Items[:2]), first)
		}
		mark := fmt.Sprintf("c2ln%04d", round)
		add(&firn.Message{Role: firn.RoleAssistant, API: ask.API, Provider: ask.Provider, Model: ask.Model, Parts: []firn.Part{
			firn.Thinking{Text: "hm", Signature: mark}, firn.Text{Text: "well", Signature: mark},
			firn.ToolCall{ID: fmt.Sprint("x:", round), Name: "run", Arguments: json.RawMessage(`{}`), Signature: mark},
			firn.ToolCall{ID: fmt.Sprint("y:", round), Name: "run", Arguments: json.RawMessage(`{}`), Signature: mark},
		}})
	}
}
