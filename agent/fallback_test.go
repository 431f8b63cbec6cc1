package agent_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/tool"
)

// spare returns a fallback model.
func spare(name string, steps ...scripted.Step) *scripted.Model {
	return scripted.New(provider.Info{Provider: "spare", Name: name}, steps...)
}

func refuse(kind provider.Kind) scripted.Step {
	return scripted.Fail(&provider.Error{Kind: kind, Provider: "scripted", Model: "scripted", Message: "no"})
}

// TestFallbacks checks that the next model is called when one rejects the credentials or
// does not respond, that the log records it, and that the next turn starts with the first
// one again.
func TestFallbacks(t *testing.T) {
	for name, c := range map[string]struct {
		kind  provider.Kind
		asked int
	}{
		"key rejected":     {provider.Auth, 1},
		"too much to do":   {provider.Temporary, 4}, // three times more
		"the answer broke": {provider.Temporary, 4},
	} {
		t.Run(name, func(t *testing.T) {
			steps := slices.Repeat([]scripted.Step{refuse(c.kind)}, c.asked)
			if name == "the answer broke" {
				steps[0] = scripted.Cut(1, scripted.Reply("Half of it"))
			}
			b := play(t, append(steps, scripted.Reply("I am back."))...)
			down := spare("down", refuse(provider.Auth))
			up := spare("up", scripted.Call("1", "echo", arg("x")), scripted.Reply("Instead."))
			b.Fallbacks, b.Tools = []provider.Model{b.model, down, up}, []tool.Tool{echo("echo")}
			events, err := b.run(t.Context(), agent.TextInput("Hello."))
			if err != nil {
				t.Fatal(err)
			}
			done := events[len(events)-1].(agent.Finished)
			if done.Text != "Instead." || done.Provider != "spare" || done.Model != "up" {
				t.Errorf("%s/%s answered %q", done.Provider, done.Model, done.Text)
			}
			if n := len(b.model.Requests()); n != c.asked || len(down.Requests()) != 1 || len(up.Requests()) != 2 {
				t.Errorf("they were called %d, %d and %d times", n, len(down.Requests()), len(up.Requests()))
			}
			var notices []string
			for _, e := range events {
				if n, ok := e.(agent.Notice); ok {
					notices = append(notices, n.Text)
				}
			}
			if len(notices) != 2 || !strings.HasSuffix(notices[0], "; spare/down answers instead") || !strings.HasSuffix(notices[1], "; spare/up answers instead") {
				t.Errorf("the output is %q", notices)
			}
			for _, e := range b.entries() {
				m, ok := e.Body.(*firn.Message)
				if !ok || m.Provider != "spare" {
					continue
				}
				if got, want := string(e.Extra.Get("fallback")), `{"from":"scripted/scripted","why":"`+string(c.kind)+`"}`; got != want {
					t.Errorf("the answer of %s says %s, want %s", m.Model, got, want)
				}
			}
			if out := b.runText("And now?"); out.Text != "I am back." || out.Model != "scripted" {
				t.Errorf("then %s answered %q", out.Model, out.Text)
			}
			last := b.entries()
			if e := last[len(last)-1]; e.Extra.Get("fallback") != nil {
				t.Error("an answer of the session's own model is marked")
			}
		})
	}
}

// TestNoFallback checks that the turn fails when no model is left, when the request itself
// was rejected, and when the turn was stopped.
func TestNoFallback(t *testing.T) {
	b := play(t, refuse(provider.Auth))
	b.Fallbacks = []provider.Model{spare("down", refuse(provider.Auth))}
	if _, err := b.run(t.Context(), agent.TextInput("Hello.")); provider.KindOf(err) != provider.Auth {
		t.Errorf("all are down: %v", err)
	}
	want(t, b.log(), "user: Hello.", "assistant:  [error]")

	b = play(t, refuse(provider.BadRequest))
	up := spare("up", scripted.Reply("Yes?"))
	b.Fallbacks = []provider.Model{up}
	if _, err := b.run(t.Context(), agent.TextInput("Hello.")); provider.KindOf(err) != provider.BadRequest || len(up.Requests()) > 0 {
		t.Errorf("refused: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	b = playOn(t, scripted.Func(provider.Info{}, func(ctx context.Context, _ provider.Request) iter.Seq2[provider.Event, error] {
		return func(yield func(provider.Event, error) bool) {
			cancel()
			<-ctx.Done()
			yield(nil, &provider.Error{Kind: provider.Temporary, Provider: "scripted"})
		}
	}))
	b.Fallbacks = []provider.Model{up}
	if _, err := b.run(ctx, agent.TextInput("Hello.")); err == nil || len(up.Requests()) > 0 {
		t.Errorf("stopped: %v", err)
	}
}

// TestFallbackWithASmallWindow checks that the session is compacted before a model with a
// smaller window is called.
func TestFallbackWithASmallWindow(t *testing.T) {
	b := play(t, scripted.Reply(strings.Repeat("A long story. ", 4000)), refuse(provider.Auth))
	info := provider.Info{Provider: "spare", Name: "small", Spec: provider.Spec{Window: 8000, MaxOutput: 500}}
	small := scripted.New(info, scripted.Forever(scripted.Reply("In short: a story.")))
	b.Fallbacks = []provider.Model{small}
	b.runText("Tell me a long story.")
	if out := b.runText("And then?"); out.Model != "small" {
		t.Errorf("%s answered", out.Model)
	}
	for _, req := range small.Requests() {
		if req.Window.Tokens.Total > 8000 {
			t.Errorf("it was sent %d tokens", req.Window.Tokens.Total)
		}
	}
}

// TestAround checks the calls for tools and compactions, their outcomes and contexts.
func TestAround(t *testing.T) {
	type mark struct{}
	b := play(t, scripted.Join(scripted.Call("1", "ok", "{}"), scripted.Call("2", "bad", "{}"), scripted.Call("3", "none", "{}")), scripted.Reply("Done."), scripted.Forever(scripted.Reply("A summary.")))
	seen := make(chan any, 10)
	b.Tools = []tool.Tool{
		tool.New("ok", "", func(ctx context.Context, _ struct{}) (tool.Result, error) {
			seen <- ctx.Value(mark{})
			return tool.TextResult("fine"), nil
		}),
		tool.New("bad", "", func(ctx context.Context, _ struct{}) (tool.Result, error) { panic("no") }),
	}
	messages := make(chan string, 10)
	b.Hooks.Around = func(ctx context.Context, run agent.Run, s agent.Step) (context.Context, func(string)) {
		return context.WithValue(ctx, mark{}, s.Call), func(failure string) {
			messages <- string(s.Kind) + " " + s.Name + " " + s.Call + " " + failure
		}
	}
	b.runText(strings.Repeat("Hello. ", 100))
	if got := <-seen; got != "1" {
		t.Errorf("the tool saw %v", got)
	}
	got := []string{<-messages, <-messages} // unknown tools are not reported
	slices.Sort(got)
	if want := []string{"tool bad 2 failed", "tool ok 1 "}; !slices.Equal(got, want) {
		t.Errorf("the output is %q", got)
	}
	for range 3 {
		b.runText(strings.Repeat("Hello again. ", 1000))
	}
	if _, err := b.CompactWith(t.Context(), b.id, agent.CompactOptions{KeepRecent: 1}); err != nil {
		t.Fatal(err)
	}
	if got := <-messages; got != "compaction manual  " {
		t.Errorf("the output is %q", got)
	}
	b.Hooks.Around = func(context.Context, agent.Run, agent.Step) (context.Context, func(string)) { panic("no") }
	for range 3 {
		b.runText(strings.Repeat("And again. ", 1000))
	}
	if _, err := b.CompactWith(t.Context(), b.id, agent.CompactOptions{KeepRecent: 1}); err != nil {
		t.Errorf("a hook that breaks down: %v", err)
	}
}
