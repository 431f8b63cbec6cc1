package chat

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"firn"
	"firn/agent"
	"firn/provider/scripted"
)

// seated is somebody who sits at a terminal.
func seated(o *Options) { o.Terminal = Terminal{In: true, Out: true, Err: true, Dim: true} }

// both lets stdout and stderr be the same screen.
func both(s *stage) *stage {
	s.c.screen.talk = s.out
	return s
}

// TestTurnOnATerminal shows a turn with all that belongs to it.
func TestTurnOnATerminal(t *testing.T) {
	s := both(set(t, seated,
		scripted.Join(scripted.Think("Let me\nsee.", "I will compute."), scripted.Call("c1", "calc", `{"expression":"6*7"}`)),
		scripted.Say("It is 42."))).begin()
	s.does("what is 6*7?")
	const want = "\x1b[2mLet me\nsee.\x1b[0m\nI will compute.\n\x1b[2m· calc 6*7 …\x1b[0m\x1b[2m "
	got := strings.ReplaceAll(s.out.String(), "\x1b[0m\x1b[2m", "")
	if !strings.HasPrefix(got, strings.ReplaceAll(want, "\x1b[0m\x1b[2m", "")) {
		t.Errorf("the screen has %q", s.out)
	}
	says(t, s.out.String(), " s, ", " B\x1b[0m\nIt is 42.\n\x1b[2mwindow ", "% of 200k · ", " in, ", " out\x1b[0m\n")
}

// TestTurnInAPipe leaves only answers on stdout.
func TestTurnInAPipe(t *testing.T) {
	s := set(t, nil,
		scripted.Join(scripted.Think("Let me see.", "I will compute."), scripted.Call("c1", "calc", `{"expression":"6*"}`)),
		scripted.Say("It is \x1b[31m42.")).begin()
	s.does("what is 6*7?")
	if s.out.String() != "I will compute.\nIt is \x1b[31m42.\n" {
		t.Errorf("stdout has %q", s.out)
	}
	says(t, s.err.String(), "· calc 6* … failed: ")
	silent(t, s.err.String(), "Let me see", "\x1b", "window")
}

func TestNoReply(t *testing.T) {
	s := both(set(t, seated, scripted.Say("NO_REPLY"), scripted.Say("NO_REPLY")))
	s.begin()
	s.does("ping")
	says(t, s.out.String(), "\x1b[2m(no reply)\x1b[0m\n")
	silent(t, s.out.String(), "NO_")
	s.c.screen.terminal = Terminal{}
	before := s.out.String()
	s.does("ping")
	if s.out.String() != before {
		t.Errorf("in a pipe it says %q", s.out.String()[len(before):])
	}
}

// TestHostileText shows what terminals would obey as plain text.
func TestHostileText(t *testing.T) {
	s := both(set(t, seated, scripted.Say("a\x1b]0;title\x07b\u202ec\r\nd\te"))).begin()
	s.does("hello")
	says(t, s.out.String(), "a ]0;title b c \nd\te\n")
	if got := clean("a\nb\x1b[2Jc\u2028d"); got != "a b [2Jc d" {
		t.Errorf("clean text is %q", got)
	}
}

// TestEvents shows what is rarer in a turn.
func TestEvents(t *testing.T) {
	cases := []struct {
		event agent.Event
		want  string
	}{
		{agent.Started{Recovered: true}, "· the answer that was interrupted is kept, marked as such\n"},
		{agent.Started{}, ""},
		{agent.Retrying{Delay: 12 * time.Second, Err: errors.New("busy\nnow")}, "· asking again in 12 s: busy now\n"},
		{agent.CompactionStarted{Reason: "threshold", Tokens: 12345}, "· compacting (threshold), about 12,345 tokens …\n"},
		{agent.CompactionDone{Before: 12345, After: 999, Strategy: "model"}, "· compacted: ~12,345 → ~999 tokens, model; /uncompact takes it back\n"},
		{agent.CompactionDone{Err: errors.New("no")}, "· not compacted: no\n"},
		{agent.CompactionDue{Tokens: 9, Limit: 8}, "· the window is nearly full (~9 of 8 tokens): /compact makes room\n"},
		{agent.Flushed{Notes: 2}, "· 2 notes taken before older parts are summarised\n"},
		{agent.Flushed{}, ""},
		{agent.Flushed{Err: errors.New("no")}, "· notes could not be taken: no\n"},
		{agent.Notice{Text: "a\nb"}, "· a b\n"},
		{agent.ToolDone{Name: "x", State: agent.CallCancelled, Text: "cancelled"}, "·  … cancelled\n"},
		{agent.Finished{Outcome: agent.Outcome{Text: "held back"}}, ""},
		{agent.Finished{Outcome: agent.Outcome{Text: "x", Stop: firn.StopLength}}, "· the answer was cut at its greatest length\n"},
	}
	for _, c := range cases {
		var out, err strings.Builder
		v := &view{screen: newScreen(Options{Stdout: &out, Stderr: &err})}
		v.event(c.event)
		if err.String() != c.want {
			t.Errorf("%T is shown as %q, want %q", c.event, err.String(), c.want)
		}
		if f, ok := c.event.(agent.Finished); ok && out.String() != f.Text+"\n" {
			t.Errorf("the answer is shown as %q", out.String())
		}
	}
	var err strings.Builder
	v := &view{screen: newScreen(Options{Stderr: &err})}
	v.event(agent.CompactionDone{Strategy: "model"})
	v.event(agent.Notice{Text: "Compaction finished"})
	if strings.Count(err.String(), "\n") != 1 {
		t.Errorf("a compaction is told twice: %q", err.String())
	}
}

// TestCallsSideBySide shows each call on a line of its own when they overlap.
func TestCallsSideBySide(t *testing.T) {
	var out strings.Builder
	v := &view{screen: newScreen(Options{Stderr: &out, Terminal: Terminal{Err: true}})}
	v.event(agent.ToolStarted{Call: "1", Name: "a"})
	v.event(agent.ToolStarted{Call: "2", Name: "b", Arguments: json.RawMessage(`{"x":"y"}`)})
	v.event(agent.ToolDone{Call: "2", Name: "b", State: agent.CallDone, Text: "12345"})
	v.event(agent.ToolDone{Call: "1", Name: "a", State: agent.CallDone, Took: 20 * time.Second})
	const want = "· a …\n· b y … 0.0 s, 5 B\n· a … 20 s, 0 B\n"
	if out.String() != want {
		t.Errorf("it is shown as %q, want %q", out.String(), want)
	}
}

func TestSummary(t *testing.T) {
	cases := map[string]string{
		`{"path":"a b.txt","from":3,"deep":{"x":1}}`: `a b.txt 3 {"x":1}`,
		`{"b":"first","a":"then"}`:                   "first then",
		`{}`:                                         "",
		`[1]`:                                        "[1]",
		`{"a":"` + strings.Repeat("é", 99) + `"}`: strings.Repeat("é", maxSummary-1) + "…",
		`{"a":"x`: "",
	}
	for arguments, want := range cases {
		if got := summary(json.RawMessage(arguments)); got != want {
			t.Errorf("%s is shown as %q, want %q", arguments, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	day := time.Date(2026, 11, 15, 12, 0, 0, 0, time.Local)
	cases := []struct{ got, want string }{
		{plural(1, "turn"), "1 turn"}, {plural(1234, "turn"), "1,234 turns"},
		{grouped(-1234567), "-1,234,567"}, {grouped(-123), "-123"},
		{short1k(999), "999"}, {short1k(32000), "32k"}, {short1k(1234), "1.2k"}, {short1k(2_500_000), "2.5M"},
		{size(999), "999 B"}, {size(2100), "2 kB"}, {size(2_100_000), "2.1 MB"},
		{share(50, 200), "25% of 200"}, {share(1234, 0), "1,234 tokens"},
		{ago(day.Add(-time.Second), day), "now"}, {ago(day.Add(-5*time.Minute), day), "5m ago"},
		{ago(day.Add(-5*time.Hour), day), "5h ago"}, {ago(day.Add(-80*time.Hour), day), "2026-11-12"}, {ago(time.Time{}, day), "?"},
		{oneLine(" a \n b ", 10), "a b"}, {oneLine("abcdef", 4), "abc…"},
		{status(agent.WindowUsage{Tokens: 20, Window: 1000, Estimated: true}, firn.Usage{Input: 5, Output: 6, Cost: firn.Cost{Total: 0.5}}), "window ~2% of 1k · 5 in, 6 out · $0.5000"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("it says %q, want %q", c.got, c.want)
		}
	}
}
