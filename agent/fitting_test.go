package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// small returns a model with a small window that gives short summaries and uses answer for
// everything else.
func small(size int64, answer func(req provider.Request) scripted.Step) *scripted.Model {
	info := scripted.Info()
	info.Window, info.Name = size, "small"
	var m *scripted.Model
	m = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		if req.Purpose == provider.ForSummary {
			return m.Play(ctx, req, scripted.Reply("## Goal\nTo talk.\n## Progress\nMuch was said.\n## Next Steps\nMore was planned."))
		}
		return m.Play(ctx, req, answer(req))
	})
	return m
}

// longReply answers at length.
func longReply(provider.Request) scripted.Step {
	return scripted.Reply(strings.Repeat("All work and no play. ", 100))
}

// kinds lists the types of events, runs of the same as one.
func kinds(events []agent.Event) string {
	var names []string
	for _, e := range events {
		name := strings.TrimPrefix(fmt.Sprintf("%T", e), "agent.")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func compactions(b *workbench) (n int) {
	for _, e := range b.entries() {
		if _, ok := e.Body.(*firn.Compaction); ok {
			n++
		}
	}
	return n
}

// TestCompactsBeforeWindowIsFull continues a conversation far beyond the window: no request
// is larger than the window, and nothing is lost from the log.
func TestCompactsBeforeWindowIsFull(t *testing.T) {
	b := playOn(t, small(8000, longReply))
	seed(t, b, 1)
	if err := b.Override(t.Context(), b.id, agent.Override{Verbose: "on"}); err != nil {
		t.Fatal(err)
	}
	var all []agent.Event
	for i := range 40 {
		events, err := b.run(t.Context(), agent.TextInput(fmt.Sprintf("question %d: %s", i, strings.Repeat("why? ", 50))))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events...)
	}
	for i, req := range b.model.Requests() {
		if tokens := req.Window.Tokens.System + req.Window.Tokens.Items; tokens > 8000 {
			t.Errorf("request %d has %d tokens", i+1, tokens)
		}
		for _, o := range req.Window.Out {
			if o.Why == window.OverBudget {
				t.Errorf("request %d leaves out turns", i+1)
			}
		}
	}
	if n := compactions(b); n < 2 {
		t.Errorf("there were %d compactions", n)
	}
	if got := kinds(all); !strings.Contains(got, "CompactionStarted CompactionDone Notice") {
		t.Errorf("the compaction is not reported: %s", got)
	}
	for i := range 40 {
		if !strings.Contains(b.log(), fmt.Sprintf("question %d:", i)) {
			t.Errorf("question %d is missing", i)
		}
	}
	c, err := agent.Count(t.Context(), b.Store, b.id)
	if err != nil || c.Compactions != compactions(b) || c.Turns != 41 || c.Answers != 40+compactions(b) {
		t.Errorf("counted %+v, %v", c, err)
	}
	b.accepted()
}

// TestAlwaysOverflows uses a provider that always reports an overflow: at most two
// compactions, a typed error with the sizes, and a session that continues when the provider
// recovers.
func TestAlwaysOverflows(t *testing.T) {
	refusing := true
	b := playOn(t, small(8000, func(req provider.Request) scripted.Step {
		if refusing {
			return scripted.Fail(&provider.Error{Kind: provider.Overflow, Message: "prompt is too long"})
		}
		return scripted.Reply("Fine.")
	}))
	b.System = "Be good."
	b.Tools = []tool.Tool{echo("echo")}
	seed(t, b, 10)
	_, err := b.run(t.Context(), agent.TextInput("go"))
	var big *compact.TooBig
	if !errors.As(err, &big) || big.System == 0 || big.Tools == 0 || big.Tail == 0 || provider.KindOf(err) != provider.Overflow {
		t.Fatalf("the error is %v", err)
	}
	if n := compactions(b); n > 2 {
		t.Errorf("there were %d compactions", n)
	}
	if n := len(b.model.Requests()); n > 6 {
		t.Errorf("the model was called %d times", n)
	}
	refusing = false
	if out := b.runText("and now?"); out.Text != "Fine." {
		t.Errorf("the result is %+v", out)
	}
	b.accepted()
}

// seed fills the session with exchanges of about 550 tokens.
func seed(t *testing.T, b *workbench, n int) {
	t.Helper()
	var entries []firn.Entry
	for i := range n {
		entries = append(entries, firn.UserText(fmt.Sprintf("asked %d", i)), firn.AssistantText(strings.Repeat("All work and no play. ", 100)))
	}
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, entries...); err != nil {
		t.Fatal(err)
	}
}

// TestOverflowOnce uses a provider whose window is smaller than stated: the session is
// compacted and the request repeated once.
func TestOverflowOnce(t *testing.T) {
	b := playOn(t, small(100_000, func(req provider.Request) scripted.Step {
		return scripted.Step{Parts: []firn.Part{firn.Text{Text: "Fine."}}, OverflowAt: 5000}
	}))
	seed(t, b, 20)
	events, err := b.run(t.Context(), agent.TextInput("go"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, kinds(events), "Started Appended CompactionStarted CompactionDone Delta Appended WindowUsage Finished")
	b.accepted()
}

// TestWithoutCompaction disables compaction: turns that do not fit are left out, with a
// notice.
func TestWithoutCompaction(t *testing.T) {
	b := playOn(t, small(8000, func(provider.Request) scripted.Step { return scripted.Reply("Fine.") }))
	b.Compaction.Mode = compact.Off
	seed(t, b, 40)
	b.runText("go")
	w := b.model.Requests()[0].Window
	if w.Tokens.Items > 8000 || w.Tokens.Items < 4000 {
		t.Errorf("%d tokens are sent", w.Tokens.Items)
	}
	if !slices.ContainsFunc(w.Out, func(o window.Omission) bool { return o.Why == window.OverBudget }) {
		t.Errorf("left out: %v", w.Out)
	}
	if compactions(b) > 0 {
		t.Error("it was compacted")
	}
	b.accepted()
}

func TestSuggestedCompaction(t *testing.T) {
	b := playOn(t, small(8000, func(provider.Request) scripted.Step { return scripted.Reply("Fine.") }))
	b.Compaction.Mode = compact.Suggest
	seed(t, b, 40)
	events, err := b.run(t.Context(), agent.TextInput("go"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, kinds(events), "Started Appended CompactionDue Delta Appended WindowUsage Finished")
	result, err := b.Compact(t.Context(), b.id, "heed the questions")
	if err != nil || result.After >= result.Before || compactions(b) != 1 {
		t.Errorf("on request: %+v, %v", result, err)
	}
}

func TestLimitedTurns(t *testing.T) {
	b := play(t, scripted.Reply("Fine."))
	b.Turns = 2
	seed(t, b, 5)
	b.runText("go")
	if n := len(b.model.Requests()[0].Window.Items); n != 3 {
		t.Errorf("%d messages are sent", n)
	}
}

// TestFlush checks that notes are taken once before each compaction, in a hidden turn.
func TestFlush(t *testing.T) {
	var noted []string
	b := playOn(t, small(8000, func(req provider.Request) scripted.Step {
		if req.Purpose != provider.ForFlush {
			return longReply(req)
		}
		if last := req.Window.Items[len(req.Window.Items)-1].Message; last.Role == firn.RoleToolResult {
			return scripted.Reply("NO_REPLY")
		}
		if len(req.Tools) != 1 || !strings.Contains(req.Window.System, "pause for your notes") {
			t.Errorf("the flush has %d tools and receives %q", len(req.Tools), req.Window.System)
		}
		return scripted.Join(scripted.Call("n1", "remember", arg("the user is patient")), scripted.Call("n2", "echo", arg("not allowed")))
	}))
	b.Tools = []tool.Tool{echo("echo"), tool.New("remember", "", func(_ context.Context, a struct {
		Text string `json:"text"`
	}) (tool.Result, error) {
		noted = append(noted, a.Text)
		return tool.TextResult("noted"), nil
	})}
	flushes := 0
	for i := range 30 {
		events, err := b.run(t.Context(), agent.TextInput(fmt.Sprintf("question %d", i)))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if f, ok := e.(agent.Flushed); ok {
				flushes++
				if f.Notes != 1 || f.Err != nil {
					t.Errorf("%+v", f)
				}
			}
		}
	}
	n := compactions(b)
	if n < 2 || flushes < n || flushes > n+1 || len(noted) != flushes {
		t.Errorf("%d compactions, %d flushes, %d notes", n, flushes, len(noted))
	}
	if log := b.log(); strings.Contains(log, "remember") || strings.Contains(log, "NO_REPLY") || strings.Count(log, "user: ") != 30 {
		t.Error("the flush is in the conversation")
	}
	b.accepted()
}

// TestPruning checks that old results are shortened once the cache has expired, and stay
// so.
func TestPruning(t *testing.T) {
	b := playOn(t, small(20_000, func(provider.Request) scripted.Step { return scripted.Reply("Fine.") }))
	now := time.Now()
	b.Clock = func() time.Time { return now }
	b.Compaction.Mode = compact.Off
	b.Pruning.After = 5 * time.Minute
	var entries []firn.Entry
	for i := range 6 {
		id := fmt.Sprint("c", i)
		call := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse, Time: now,
			Parts: []firn.Part{firn.ToolCall{ID: id, Name: "echo", Arguments: []byte("{}")}}})
		result := firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Time: now,
			Parts: []firn.Part{firn.ToolResult{CallID: id, Name: "echo", Content: []firn.Part{firn.Text{Text: strings.Repeat(id, 4000)}}}}})
		entries = append(entries, firn.UserText("go"), call, result, firn.AssistantText("ok"))
	}
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, entries...); err != nil {
		t.Fatal(err)
	}
	sizes := func() int64 {
		b.runText("more")
		requests := b.model.Requests()
		return requests[len(requests)-1].Window.Tokens.Items
	}
	whole := sizes()
	now = now.Add(6 * time.Minute)
	pruned := sizes()
	if pruned > whole*3/4 {
		t.Errorf("%d tokens became %d", whole, pruned)
	}
	if again := sizes(); again < pruned || again > pruned+100 {
		t.Errorf("then it was %d", again)
	}
	b.accepted()
}

// TestStablePrefix checks that each request starts with the previous one, up to the
// injections, so that a provider's cache hits.
func TestStablePrefix(t *testing.T) {
	b := playOn(t, small(200_000, func(req provider.Request) scripted.Step {
		if last := req.Window.Items[len(req.Window.Items)-1].Message; last.Role == firn.RoleUser {
			return scripted.Call("c"+fmt.Sprint(len(req.Window.Items)), "echo", arg("x"))
		}
		return scripted.Reply("Fine.")
	}))
	b.Tools = []tool.Tool{echo("echo")}
	b.Hooks.BeforeRun = func(context.Context, agent.Run) ([]window.Injection, error) {
		return []window.Injection{agent.Environment("/src", time.Now())}, nil
	}
	for range 50 {
		b.runText("go")
	}
	var before []string
	for i, req := range b.model.Requests() {
		var items []string
		for _, it := range req.Window.Items {
			if len(it.Injected) == 0 {
				items = append(items, brief(&it.Message))
			} else if len(items) < len(before) {
				t.Errorf("request %d is not the one before it and more", i+1)
			}
		}
		for k, item := range before {
			if items[k] != item {
				t.Fatalf("request %d differs from the one before it in message %d", i+1, k)
			}
		}
		before = before[:0]
		for _, it := range req.Window.Items {
			if len(it.Injected) > 0 {
				break
			}
			before = append(before, brief(&it.Message))
		}
	}
}

// TestDrafts checks that a streaming answer is stored with less than a second missing, and
// that the next turn marks chunks without an answer.
func TestDrafts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat("0123456789abcdef", 100) // 100 pieces
		slow := scripted.Reply(text)
		slow.Delay = 100 * time.Millisecond
		b := play(t, slow)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		received := 0
		for e, err := range b.Run(ctx, b.id, agent.TextInput("go")) {
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := e.(agent.Delta); ok {
				received += len(d.Text)
				if kept := len(drafted(b)); received-kept > 10*16 {
					t.Errorf("of %d bytes %d are kept", received, kept)
				}
			}
		}
		if got := drafted(b); !strings.HasPrefix(text, got) || len(got) < 1000 {
			t.Errorf("kept: %q", got)
		}
		// As a crash leaves it: without the answer.
		var cut []firn.Entry
		for _, e := range b.entries()[1:] {
			if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleAssistant {
				break
			}
			cut = append(cut, e)
		}
		kept := drafted(b)
		b = play(t, scripted.Reply("Sorry."))
		if _, err := b.Store.Append(ctx, b.id, store.Start, cut...); err != nil {
			t.Fatal(err)
		}
		b.runText("and now?")
		want(t, b.log(), "user: go", "assistant: "+kept+" [aborted]", "user: and now?", "assistant: Sorry.")
		b.accepted()
	})
}

// drafted returns the stored chunks of an answer.
func drafted(b *workbench) string {
	var text strings.Builder
	for _, e := range b.entries() {
		if c, ok := e.Body.(*firn.Custom); ok && c.Type == "firn.draft" {
			_, rest, _ := strings.Cut(string(c.Data), `"text":"`)
			piece, _, _ := strings.Cut(rest, `"`)
			text.WriteString(piece)
		}
	}
	return text.String()
}

// TestThinkingRefused uses a provider that rejects its own thinking: the request is repeated
// once without it.
func TestThinkingRefused(t *testing.T) {
	b := playOn(t, small(100_000, func(req provider.Request) scripted.Step {
		for _, it := range req.Window.Items {
			for _, p := range it.Message.Parts {
				if _, ok := p.(firn.Thinking); ok {
					return scripted.Fail(&provider.Error{Kind: provider.BadRequest, Message: "invalid signature"})
				}
			}
		}
		return scripted.Think("let me see", "Fine.")
	}))
	b.runText("one")
	if out := b.runText("two"); out.Text != "Fine." || len(b.model.Requests()) != 3 {
		t.Errorf("after %d requests the result is %+v", len(b.model.Requests()), out)
	}
	want(t, b.log(), "user: one", "assistant: (let me see) Fine.", "user: two", "assistant: (let me see) Fine.")
	b.accepted()
}
