package window_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/window"
)

// sketch makes a path from words, each an entry with the word as its ID. The first letter
// is the kind; every sent entry has ten tokens.
//
//	u a user message                a an assistant message
//	c the assistant calls the tool run; the rest of the word is the call's ID
//	r the result of that call       i a user message with the result
//	n a note of a program           s a command of the user
//	b a summary of another branch   k a compaction, in effect if it is the last
//	l a label  t a title            y a system message
//	f a failed answer               e an answer with only thinking
//	o an answer of blanks           m a note with the result of a call
//	p an answer that is a picture
//
// A suffix = and a number set the number of tokens.
func sketch(text string) window.Path {
	var p window.Path
	for _, word := range strings.Fields(text) {
		name, size, _ := strings.Cut(word, "=")
		tokens := 10
		if size != "" {
			fmt.Sscan(size, &tokens)
		}
		p.Entries = append(p.Entries, firn.Entry{ID: firn.EntryID(name), Parent: p.Head, Body: sketchBody(name, 4*tokens)})
		p.Head = firn.EntryID(name)
		if name[0] == 'k' {
			p.Compaction = &firn.Entry{ID: firn.EntryID(name), Body: p.Entries[len(p.Entries)-1].Body}
		}
	}
	return p
}

func sketchBody(name string, chars int) firn.Body {
	say := func(role firn.Role, parts ...firn.Part) *firn.Message { return &firn.Message{Role: role, Parts: parts} }
	text := func(less int) firn.Text { return firn.Text{Text: strings.Repeat("x", max(0, chars-less))} }
	switch id := name[1:]; name[0] {
	case 'u':
		return say(firn.RoleUser, text(0))
	case 'a':
		return say(firn.RoleAssistant, text(0))
	case 'c':
		return say(firn.RoleAssistant, text(5), firn.ToolCall{ID: id, Name: "run", Arguments: json.RawMessage("{}")})
	case 'r':
		return say(firn.RoleToolResult, firn.ToolResult{CallID: id, Name: "run", Content: []firn.Part{text(0)}})
	case 'i':
		return say(firn.RoleUser, firn.ToolResult{CallID: id, Name: "run", Content: []firn.Part{text(0)}})
	case 'n':
		return &firn.CustomMessage{Parts: []firn.Part{text(0)}}
	case 's':
		return say(firn.RoleShell, firn.Shell{Command: "x", Output: text(len("Ran `x`\n```\n\n```")).Text})
	case 'b':
		around := "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n</summary>"
		return &firn.BranchSummary{Summary: text(len(around)).Text}
	case 'k':
		around := "The conversation history before this point was compacted into the following summary:\n\n<summary>\n\n</summary>"
		return &firn.Compaction{Summary: text(len(around)).Text}
	case 'l':
		return &firn.Label{Target: "u1", Name: "l"}
	case 't':
		return &firn.Title{Name: "t"}
	case 'y':
		return say(firn.RoleSystem, text(0))
	case 'f':
		m := say(firn.RoleAssistant, text(0))
		m.StopReason = firn.StopError
		return m
	case 'o':
		return say(firn.RoleAssistant, firn.Text{Text: strings.Repeat(" ", chars)})
	case 'p':
		return say(firn.RoleAssistant, firn.Image{MimeType: "image/png", Data: "AAAA"})
	case 'm':
		return &firn.CustomMessage{Parts: []firn.Part{firn.ToolResult{CallID: id, Name: "run", Content: []firn.Part{text(0)}}}}
	case 'e':
		return say(firn.RoleAssistant, firn.Thinking{Text: text(0).Text})
	}
	panic("unknown entry " + name)
}

func TestLimit(t *testing.T) {
	tests := []struct {
		name, path string
		turns      int
		want, out  string
	}{
		{"no limit", "u1 a1 u2 a2", 0, "u1 a1 u2 a2", ""},
		{"less than none is no limit", "u1 a1 u2 a2", -1, "u1 a1 u2 a2", ""},
		{"the last", "u1 a1 u2 a2 u3", 1, "u3", "turn-limit:u1-a2*4@0"},
		{"the last two", "u1 a1 u2 a2 u3", 2, "u2 a2 u3", "turn-limit:u1-a1*2@0"},
		{"as many as there are", "u1 a1 u2", 2, "u1 a1 u2", ""},
		{"more than there are", "u1 a1 u2", 9, "u1 a1 u2", ""},
		{"nothing there", "", 1, "", ""},
		{"entries before the first turn are kept with it", "a0 u1 a1 u2", 2, "a0 u1 a1 u2", ""},
		{"entries before the first turn are removed with it", "a0 u1 a1 u2", 1, "u2", "turn-limit:a0-a1*3@0"},
		{"a note, a command and a summary begin no turn", "u1 n1 s1 b1 a1 u2", 2, "u1 n1 s1 b1 a1 u2", ""},
		{"nor does a message that brings a result", "u1 c1 i1 a1 u2", 1, "u2", "turn-limit:u1-a1*4@0"},
		{"what no model sees stays", "t1 u1 l1 a1 f1 k1 u2", 1, "t1 l1 f1 k1 u2", "turn-limit:u1-a1*2@0"},
		{"the system prompt stays and does not part the run", "u1 y1 a1 u2", 1, "y1 u2", "turn-limit:u1-a1*2@0"},
		{"a result goes with its call", "u1 c1 u2 r1 a2", 1, "u2 a2", "turn-limit:u1-c1*2@0 turn-limit:r1-r1*1@0"},
		{"though there was thinking between", "u1 c1 u2 e2 r1 a2", 1, "u2 e2 a2", "turn-limit:u1-c1*2@0 turn-limit:r1-r1*1@0"},
		{"or blanks", "u1 c1 u2 o2 r1 a2", 1, "u2 o2 a2", "turn-limit:u1-c1*2@0 turn-limit:r1-r1*1@0"},
		{"or a note brought it", "u1 c1 u2 m1 a2", 1, "u2 a2", "turn-limit:u1-c1*2@0 turn-limit:m1-m1*1@0"},
		{"after a picture a result has no call", "u1 c1 u2 p2 r1 a2", 1, "u2 p2 r1 a2", "turn-limit:u1-c1*2@0"},
		{"a result stays with its call", "u1 c1 r1 u2 c2 r2", 1, "u2 c2 r2", "turn-limit:u1-r1*3@0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := sketch(tt.path)
			got := p.Limit(tt.turns)
			check(t, "entries", ids(got.Entries), tt.want)
			check(t, "out", outs(got), tt.out)
			check(t, "what was given", ids(p.Entries), ids(sketch(tt.path).Entries))
			check(t, "compaction", got.Compaction, p.Compaction)
		})
	}
}

func TestFit(t *testing.T) {
	tests := []struct {
		name, path string
		budget     int64
		want, out  string
	}{
		{"all of it", "u1 a1 u2 a2", 40, "u1 a1 u2 a2", ""},
		{"a token less", "u1 a1 u2 a2", 39, "u2 a2", "over-budget:u1-a1*2@0"},
		{"whole turns", "u1 a1 u2 c2 r2 a3 u3", 49, "u3", "over-budget:u1-a3*6@0"},
		{"whole turns that fit", "u1 a1 u2 c2 r2 a3 u3", 50, "u2 c2 r2 a3 u3", "over-budget:u1-a1*2@0"},
		{"the last turn stays", "u1 a1 u2", 3, "u2", "over-budget:u1-a1*2@0"},
		{"even without a budget", "u1 a1 u2", 0, "u2", "over-budget:u1-a1*2@0"},
		{"less than none", "u1 a1 u2 a2", -5, "u2 a2", "over-budget:u1-a1*2@0"},
		{"nothing there", "", 0, "", ""},
		{"entries before the first turn are a turn", "a0 u1 a1", 20, "u1 a1", "over-budget:a0-a0*1@0"},
		{"the summary counts", "k1=30 u1 a1 u2 a2", 69, "k1 u2 a2", "over-budget:u1-a1*2@0"},
		{"and there is room for it", "k1=30 u1 a1 u2 a2", 70, "k1 u1 a1 u2 a2", ""},
		{"the system prompt counts", "u1 a1 y1 u2 a2", 49, "y1 u2 a2", "over-budget:u1-a1*2@0"},
		{"commands, notes and summaries count", "u1 s1 n1 b1=30 u2", 69, "u2", "over-budget:u1-b1*4@0"},
		{"and there is room for them", "u1 s1 n1 b1=30 u2", 70, "u1 s1 n1 b1 u2", ""},
		{"what no model sees counts for nothing and stays", "t1 u1 l1 f1 u2", 20, "t1 u1 l1 f1 u2", ""},
		{"and is not named", "t1 u1 l1 a1 f1 u2", 20, "t1 l1 f1 u2", "over-budget:u1-a1*2@0"},
		{"rounds of the last turn", "u1 u2 c1 r1 c2 r2 c3 r3", 50, "u2 c2 r2 c3 r3", "over-budget:u1-u1*1@0 over-budget:c1-r1*2@0"},
		{"more of them", "u1 c1 r1 c2 r2 c3 r3", 49, "u1 c3 r3", "over-budget:c1-r2*4@0"},
		{"the newest round stays", "u1 c1 r1 c2 r2=900", 30, "u1 c2 r2", "over-budget:c1-r1*2@0"},
		{"messages before the first answer are kept", "u1 n1 c1 r1 c2 r2", 40, "u1 n1 c2 r2", "over-budget:c1-r1*2@0"},
		{"a note goes with its round", "u1 c1 r1 n1 c2 r2", 30, "u1 c2 r2", "over-budget:c1-n1*3@0"},
		{"thinking alone is no round", "u1 c1 e1 r1 c2 r2", 30, "u1 c2 r2", "over-budget:c1-r1*3@0"},
		{"a failed answer is no round", "u1 c1 f1 r1 c2 r2", 30, "u1 f1 c2 r2", "over-budget:c1-r1*2@0"},
		{"a turn without a user message", "c1 r1 c2 r2", 20, "c2 r2", "over-budget:c1-r1*2@0"},
		{"a turn that the summary began", "k1=30 c1 r1 c2 r2 a3", 60, "k1 c2 r2 a3", "over-budget:c1-r1*2@0"},
		{"a result goes with its call", "u1 c1 u2 r1 a2", 39, "u2 a2", "over-budget:u1-c1*2@0 over-budget:r1-r1*1@0"},
		{"and leaves its room to others", "u1 c1 u2 r1=90 a2 u3", 30, "u2 a2 u3", "over-budget:u1-c1*2@0 over-budget:r1-r1*1@0"},
		{"if there is room for both they stay", "u1 c1 u2 r1 a2", 50, "u1 c1 u2 r1 a2", ""},
		{"results without a call go when there is no room", "r1 u1", 10, "u1", "over-budget:r1-r1*1@0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := sketch(tt.path)
			got := p.Fit(tt.budget, nil)
			check(t, "entries", ids(got.Entries), tt.want)
			check(t, "out", outs(got), tt.out)
			check(t, "what was given", ids(p.Entries), ids(sketch(tt.path).Entries))
			check(t, "compaction", got.Compaction, p.Compaction)
		})
	}
}

// TestFitCounter checks that Fit uses the given counter.
func TestFitCounter(t *testing.T) {
	p := pathOf(userBody("1234"), assistantBody("12345678"), userBody("12"))
	check(t, "fourteen letters", ids(p.Fit(14, letters{}).Entries), "e1 e2 e3")
	check(t, "thirteen letters", ids(p.Fit(13, letters{}).Entries), "e3")
}

// TestOmissionsAreListedInOrder checks that omissions are listed after the uncollected
// entries, in order, and that the original path is unchanged.
func TestOmissionsAreListedInOrder(t *testing.T) {
	p := sketch("u1 a1 u2 a2 u3 a3")
	p.Out = append(make([]window.Omission, 0, 8), window.Omission{Why: window.Compacted, Count: -1, Before: 7})
	limited := p.Limit(2)
	check(t, "limited", outs(limited), "compacted:-*-1@7 turn-limit:u1-a1*2@0")
	check(t, "fitted", outs(limited.Fit(20, nil)), "compacted:-*-1@7 turn-limit:u1-a1*2@0 over-budget:u2-a2*2@0")
	check(t, "fitted otherwise", outs(p.Fit(40, nil)), "compacted:-*-1@7 over-budget:u1-a1*2@0")
	check(t, "limited, still", outs(limited), "compacted:-*-1@7 turn-limit:u1-a1*2@0")
	check(t, "given", outs(p), "compacted:-*-1@7")
}

// TestReportedAfterFit checks that reported usage becomes invalid once an entry before it is
// left out or shortened, and stays valid otherwise.
func TestReportedAfterFit(t *testing.T) {
	report := func(p window.Path, id firn.EntryID) window.Path {
		for i := range p.Entries {
			if m, ok := p.Entries[i].Body.(*firn.Message); ok && p.Entries[i].ID == id {
				m.Usage = &firn.Usage{Input: 1000}
			}
		}
		return p
	}
	tests := []struct {
		name string
		path window.Path
		want int64
	}{
		{"nothing left out", report(sketch("u1 a1 u2"), "a1").Fit(30, nil), 1000},
		{"a turn before it left out", report(sketch("u1 u2 a2 u3"), "a2").Fit(30, nil), 0},
		{"left out itself", report(sketch("u1 a1 u2"), "a1").Limit(1), 0},
		{"left out itself, an older one before it", report(report(sketch("u1 a1 u2 c2 r2 c3 r3"), "a1"), "c2").Fit(30, nil), 0},
		{"a round behind the first left out", report(sketch("u1 c1 r1 c2 r2"), "c2").Fit(30, nil), 0},
		{"a result before it replaced", report(sketch("u1 c1 r1=90 a1 u2 a2 u3 a3 u4 a4"), "a4").BoundResults(50), 0},
		{"a result behind it replaced", report(sketch("u1 a1 u2 c2 r2=90 a2 u3 a3 u4 a4 u5"), "a1").BoundResults(50), 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tokens := window.Build(tt.path, window.Options{}).Tokens
			check(t, "reported", tokens.Reported, tt.want)
			if tt.want == 0 {
				check(t, "total", tokens.Total, tokens.Items)
			}
			more := tt.path
			more.Entries = append(more.Entries, report(sketch("a9"), "a9").Entries...)
			check(t, "reported by a new answer", window.Build(more, window.Options{}).Tokens.Reported, 1000)
		})
	}
}

// TestReportedStaysInvalid checks that usage reported before entries were hidden stays
// invalid.
func TestReportedStaysInvalid(t *testing.T) {
	p := collectLog(t, parse("s header\n a\n x < a\n y < x\n b < y used=100\n t < a hide=a\n c < b\n d < c"))
	check(t, "collected", window.Build(p, window.Options{}).Tokens.Reported, 0)
	p = p.Limit(1)
	check(t, "entries", ids(p.Entries), "d")
	check(t, "limited", window.Build(p, window.Options{}).Tokens.Reported, 0)
	m := assistantBody("x")
	m.Usage = &firn.Usage{Input: 70}
	p.Entries = append(p.Entries, firn.Entry{ID: "z", Body: m})
	check(t, "answered", window.Build(p, window.Options{}).Tokens.Reported, 70)
}

func TestPathOf(t *testing.T) {
	m := assistantBody("there")
	m.Provider, m.Model = "p", "m"
	messages := []firn.Message{*userBody("hi"), *m}
	p := window.PathOf(messages)
	check(t, "entries", ids(p.Entries), "m1 m2")
	check(t, "head", p.Head, "m2")
	check(t, "parents", p.Entries[0].Parent+"/"+p.Entries[1].Parent, "/m1")
	check(t, "state", p.State, firn.State{Provider: "p", Model: "m"})
	check(t, "chosen", p.Chosen, firn.State{})
	check(t, "window", formatItems(window.Build(p, window.Options{Profile: window.OpenAIChat()}).Items), "user m1: text \"hi\"\nassistant m2 @/p/m: text \"there\"\n")
	messages[0].Role = "alien"
	check(t, "items once the caller's list is changed", len(window.Build(p, window.Options{}).Items), 2)
	check(t, "of nothing", len(window.PathOf(nil).Entries), 0)
}
