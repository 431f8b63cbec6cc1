package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev/provider/scripted"
	"firn.dev/wire"
)

// atTerminal sets all streams to terminals.
func atTerminal(o *Options) { o.Terminal = Terminal{In: true, Out: true, Err: true, Dim: true} }

// both writes stdout and stderr to the same screen.
func both(s *stage) *stage {
	s.o.Stderr = s.out
	return s
}

// TestTurnOnATerminal checks a complete turn on a terminal.
func TestTurnOnATerminal(t *testing.T) {
	s := both(set(t, atTerminal,
		scripted.Join(scripted.Think("Let me\nsee.", "I will compute."), scripted.Call("c1", "calc", `{"expression":"6*7"}`)),
		scripted.Reply("It is 42."), scripted.Think("All of\nthis.", "Well."))).start()
	s.does("what is 6*7?")
	says(t, s.out.String(), "I will compute.\n\x1b[2m· calc 6*7 …\x1b[0m\x1b[2m ok, ", " s, ", " B\x1b[0m\nIt is 42.\n\x1b[2mscripted/scripted · ▱", "% of 200k · ", " in, ", " out · ", "#", " on disk\x1b[0m\n")
	says(t, s.out.String(), "\x1b[2m· thought for 0.0 s, 3 words: Let me see.\x1b[0m\n")
	if strings.Contains(s.out.String(), "Let me\n") {
		t.Error("thoughts are not folded")
	}
	s.does("/verbose on")
	s.does("and?")
	says(t, s.out.String(), "\x1b[2m· thought for 0.0 s:\x1b[0m\n\x1b[2m  All of\x1b[0m\n\x1b[2m  this.\x1b[0m\nWell.\n")
}

// TestTurnInAPipe checks that stdout contains only answers.
func TestTurnInAPipe(t *testing.T) {
	s := set(t, nil,
		scripted.Join(scripted.Think("Let me see.", "I will compute."), scripted.Call("c1", "calc", `{"expression":"6*"}`)),
		scripted.Reply("It is \x1b[31m42.")).start()
	s.does("what is 6*7?")
	if s.out.String() != "I will compute.\nIt is \x1b[31m42.\n" {
		t.Errorf("stdout has %q", s.out)
	}
	says(t, s.err.String(), "· calc 6* … failed: ")
	silent(t, s.err.String(), "Let me see", "\x1b", "window")
}

func TestNoReply(t *testing.T) {
	s := both(set(t, atTerminal, scripted.Reply("NO_REPLY"), scripted.Reply("NO_REPLY")))
	s.start()
	s.does("ping")
	says(t, s.out.String(), "\x1b[2m(no reply)\x1b[0m\n")
	silent(t, s.out.String(), "NO_")
	s.c.screen.(*streams).terminal = Terminal{}
	before := s.out.String()
	s.does("ping")
	if s.out.String() != before {
		t.Errorf("in a pipe: %q", s.out.String()[len(before):])
	}
}

// TestHostileText checks that terminal sequences are shown as plain text.
func TestHostileText(t *testing.T) {
	s := both(set(t, atTerminal, scripted.Reply("a\x1b]0;title\x07b\u202ec\r\nd\te"))).start()
	s.does("hello")
	says(t, s.out.String(), "a ]0;title b c \nd\te\n")
}

// event makes an event of the gateway.
func event(t *testing.T, name string, data any) wire.Event {
	t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Event{Name: name, Data: raw}
}

// TestEvents checks the less frequent events of a turn.
func TestEvents(t *testing.T) {
	cases := []struct {
		name string
		data any
		want string
	}{
		{wire.TurnStarted, wire.Answer{}, ""},
		{wire.TurnQueued, wire.Answer{}, "· another turn is running; this message is queued\n"},
		{wire.Retry, wire.Notice{Text: "busy\nnow"}, "· retrying: busy now\n"},
		{wire.CompactionStarted, wire.Compaction{Reason: "threshold", Before: 12345}, "· compacting (threshold), about 12,345 tokens …\n"},
		{wire.CompactionCompleted, wire.Compaction{Before: 12345, After: 999, Strategy: "model"}, "· compacted: ~12,345 → ~999 tokens, model; undo: /uncompact\n"},
		{wire.CompactionCompleted, wire.Compaction{Error: "no"}, "· not compacted: no\n"},
		{wire.NoticeEvent, wire.Notice{Text: "a\nb"}, "· a b\n"},
		{wire.ToolCompleted, wire.Tool{Name: "x", State: "cancelled", Text: "cancelled"}, "·  … canceled\n"},
		{wire.TurnCompleted, wire.Answer{Text: "held back"}, ""},
		{wire.TurnCompleted, wire.Answer{Text: "x", Stop: "length"}, "· the answer hit the output limit\n"},
		{"something.new", nil, ""},
	}
	for _, c := range cases {
		var out, err strings.Builder
		v := &view{screen: newStreams(Options{Stdout: &out, Stderr: &err})}
		v.event(event(t, c.name, c.data))
		if err.String() != c.want {
			t.Errorf("%s is shown as %q, want %q", c.name, err.String(), c.want)
		}
		if a, ok := c.data.(wire.Answer); ok && c.name == wire.TurnCompleted && out.String() != a.Text+"\n" {
			t.Errorf("the answer is shown as %q", out.String())
		}
	}
	var err strings.Builder
	v := &view{screen: newStreams(Options{Stderr: &err})}
	v.event(event(t, wire.CompactionCompleted, wire.Compaction{Strategy: "model"}))
	v.event(event(t, wire.NoticeEvent, wire.Notice{Text: "Compaction finished"}))
	if strings.Count(err.String(), "\n") != 1 {
		t.Errorf("a compaction is reported twice: %q", err.String())
	}
}

// TestBrokenConnection checks that an answer with a lost part is shown again completely.
func TestBrokenConnection(t *testing.T) {
	var out, err strings.Builder
	v := &view{screen: newStreams(Options{Stdout: &out, Stderr: &err})}
	v.event(event(t, wire.DeltaText, wire.Delta{Text: "one "}))
	v.event(event(t, wire.Gap, nil))
	v.event(event(t, wire.DeltaText, wire.Delta{Text: "three"}))
	v.event(event(t, wire.TurnCompleted, wire.Answer{Text: "one two three"}))
	if out.String() != "one three\none two three\n" || !strings.Contains(err.String(), "the connection was interrupted") {
		t.Errorf("it is shown as %q, %q", out.String(), err.String())
	}
}

// TestConcurrentCalls checks that concurrent calls are shown on separate lines.
func TestConcurrentCalls(t *testing.T) {
	var out strings.Builder
	v := &view{screen: newStreams(Options{Stderr: &out, Terminal: Terminal{Err: true}})}
	v.event(event(t, wire.ToolStarted, wire.Tool{Call: "1", Name: "a"}))
	v.event(event(t, wire.ToolStarted, wire.Tool{Call: "2", Name: "b", Arguments: json.RawMessage(`{"x":"y"}`)}))
	v.event(event(t, wire.ToolCompleted, wire.Tool{Call: "2", Name: "b", State: "done", Text: "12345"}))
	v.event(event(t, wire.ToolCompleted, wire.Tool{Call: "1", Name: "a", State: "done", Ms: 20_000}))
	const want = "· a …\n· b y … ok, 0.0 s, 5 B\n· a … ok, 20 s, 0 B\n"
	if out.String() != want {
		t.Errorf("it is shown as %q, want %q", out.String(), want)
	}
}

func TestStatusLine(t *testing.T) {
	s := wire.Session{Title: "A trip", End: 12345, State: &wire.State{
		Provider: "firn", Model: "offline", Branches: 2, Window: wire.Usage{Tokens: 350, Window: 1000, Estimated: true},
	}}
	used := wire.Counters{Input: 5, Output: 6, Cost: 0.5}
	if got, want := statusLine(s, used, 42, 0), "A trip · ⎇ 2 · firn/offline · ▰▰▰▰▱▱▱▱▱▱ ~35% of 1k · 5 in, 6 out · $0.5000 · #42 on disk"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Title, s.State.Window, used.Cost = "", wire.Usage{Tokens: 7}, 0
	if got, want := statusLine(s, used, 0, 0), "⎇ 2 · firn/offline · 7 tokens · 5 in, 6 out · on disk up to 12,345"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for tokens, want := range map[int64]string{0: "▱▱▱▱▱▱▱▱▱▱ 0% of 100", 4: "▱▱▱▱▱▱▱▱▱▱ 4% of 100", 5: "▰▱▱▱▱▱▱▱▱▱ 5% of 100", 100: "▰▰▰▰▰▰▰▰▰▰ 100% of 100", 300: "▰▰▰▰▰▰▰▰▰▰ 300% of 100"} {
		if got := windowBar(wire.Usage{Tokens: tokens, Window: 100}); got != want {
			t.Errorf("%d of 100 is %q, want %q", tokens, got, want)
		}
	}
}
