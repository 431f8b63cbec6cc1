package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/window"
)

// outcome is the result of a request.
type outcome struct {
	text   string // of the deltas
	events int
	done   *firn.Message
	err    error
}

func ask(ctx context.Context, m provider.Model, req provider.Request) (o outcome) {
	for event, err := range m.Stream(ctx, req) {
		if err != nil {
			o.err = err
			continue
		}
		switch e := event.(type) {
		case provider.Done:
			o.done = &e.Message
			continue
		case provider.TextDelta:
			o.text += e.Text
		}
		o.events++
	}
	return o
}

// asking returns a request with the user message text.
func asking(text string) provider.Request {
	info := scripted.Info()
	path := window.Path{Entries: []firn.Entry{firn.UserText(text)}}
	return provider.Request{Window: window.Build(path, window.Options{Profile: info.Profile, Ask: info.Ask()})}
}

func TestScript(t *testing.T) {
	m := scripted.New(provider.Info{},
		scripted.Reply("one"),
		scripted.Join(scripted.Think("hm", "two"), scripted.Call("call_1", "read", `{"path":"a"}`), scripted.Call("call_2", "now", `{}`)),
		scripted.Step{},
		scripted.Step{Parts: []firn.Part{firn.Text{Text: "cut"}}, Stop: firn.StopLength},
	)
	wants := []struct {
		parts []firn.Part
		stop  firn.StopReason
	}{
		{[]firn.Part{firn.Text{Text: "one"}}, firn.StopEnd},
		{[]firn.Part{
			firn.Thinking{Text: "hm", Signature: "scripted"}, firn.Text{Text: "two"},
			firn.ToolCall{ID: "call_1", Name: "read", Arguments: []byte(`{"path":"a"}`)}, firn.ToolCall{ID: "call_2", Name: "now", Arguments: []byte(`{}`)},
		}, firn.StopToolUse},
		{nil, firn.StopEnd},
		{[]firn.Part{firn.Text{Text: "cut"}}, firn.StopLength},
	}
	for i, want := range wants {
		if left := m.Left(); left != 4-i {
			t.Errorf("%d steps are left", left)
		}
		o := ask(t.Context(), m, asking(fmt.Sprint(i)))
		if o.err != nil || fmt.Sprint(o.done.Parts) != fmt.Sprint(want.parts) || o.done.StopReason != want.stop {
			t.Errorf("step %d: got %+v, %v", i, o.done, o.err)
		}
		if o.done.Usage == nil || o.done.Usage.Context() == 0 && i != 2 || o.done.Time.IsZero() {
			t.Errorf("step %d: the usage is %+v, the time %v", i, o.done.Usage, o.done.Time)
		}
	}
	if o := ask(t.Context(), m, asking("more")); provider.KindOf(o.err) != provider.BadRequest || o.done != nil {
		t.Errorf("after the last step: %+v", o)
	}
	var asked []string
	for _, r := range m.Requests() {
		asked = append(asked, r.Window.Items[0].Message.Text())
	}
	if want := []string{"0", "1", "2", "3", "more"}; !slices.Equal(asked, want) {
		t.Errorf("the requests are %q, want %q", asked, want)
	}
}

func TestForever(t *testing.T) {
	m := scripted.New(provider.Info{}, scripted.Reply("first"), scripted.Forever(scripted.Reply("again")), scripted.Reply("never"))
	for _, want := range []string{"first", "again", "again", "again"} {
		if o := ask(t.Context(), m, asking("x")); o.err != nil || o.text != want || o.done.Text() != want {
			t.Errorf("got %+v, want %q", o, want)
		}
	}
}

func TestEndOfAnswer(t *testing.T) {
	say := scripted.Reply("sixteen letters," + " and sixteen ones" + " and then some more")
	stop := errors.New("stop here")
	failed := say
	failed.End, failed.After, failed.Err = scripted.Failed, 2, stop
	silent := say
	silent.End, silent.After = scripted.Silent, 1
	tests := []struct {
		name   string
		step   scripted.Step
		events int
		is     error
		kind   provider.Kind
	}{
		{"whole", say, say.Len(), nil, ""},
		{"fails at once", scripted.Fail(stop), 0, stop, ""},
		{"fails for no reason", scripted.Fail(nil), 0, nil, provider.BadRequest},
		{"fails later", failed, 2, stop, ""},
		{"cut at once", scripted.Cut(0, say), 0, io.ErrUnexpectedEOF, provider.Temporary},
		{"cut later", scripted.Cut(3, say), 3, io.ErrUnexpectedEOF, provider.Temporary},
		{"cut behind the end", scripted.Cut(99, say), say.Len(), io.ErrUnexpectedEOF, provider.Temporary},
		{"cut before the beginning", scripted.Cut(-1, say), 0, io.ErrUnexpectedEOF, provider.Temporary},
		{"silent", silent, 1, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := ask(t.Context(), scripted.New(provider.Info{}, tt.step), asking("x"))
			if o.events != tt.events || provider.KindOf(o.err) != tt.kind || tt.is != nil && !errors.Is(o.err, tt.is) {
				t.Errorf("got %+v", o)
			}
			if whole := tt.name == "whole"; (o.done != nil) != whole {
				t.Errorf("done is %v", o.done)
			}
			if !strings.HasPrefix(firn.JoinText(tt.step.Parts), o.text) {
				t.Errorf("answered %q", o.text)
			}
		})
	}
}

func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("the user went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(24*time.Hour, func() { cancel(away) })
		o := ask(ctx, scripted.New(provider.Info{}, scripted.Hang(1, scripted.Reply("Good morning, everybody."))), asking("x"))
		if o.events != 1 || !errors.Is(o.err, away) || provider.KindOf(o.err) != "" {
			t.Errorf("got %+v", o)
		}
	})
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := scripted.Reply("Good morning, everybody.")
		step.Delay = time.Second
		start := time.Now()
		o := ask(t.Context(), scripted.New(provider.Info{}, step), asking("x"))
		if want := time.Duration(step.Len()+1) * time.Second; o.err != nil || time.Since(start) != want {
			t.Errorf("took %v, want %v: %v", time.Since(start), want, o.err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		start = time.Now()
		o = ask(ctx, scripted.New(provider.Info{}, step), asking("x"))
		if !errors.Is(o.err, context.DeadlineExceeded) || o.events != 1 || time.Since(start) != 1500*time.Millisecond {
			t.Errorf("took %v: %+v", time.Since(start), o)
		}
	})
}

func TestBefore(t *testing.T) {
	refuse := errors.New("not today")
	step := scripted.Reply("yes")
	step.Before = func(context.Context) error { return refuse }
	if o := ask(t.Context(), scripted.New(provider.Info{}, step), asking("x")); !errors.Is(o.err, refuse) || o.events != 0 {
		t.Errorf("got %+v", o)
	}
	gate := make(chan bool)
	step.Before = func(ctx context.Context) error { <-gate; return nil }
	m := scripted.New(provider.Info{}, step)
	done := make(chan outcome)
	go func() { done <- ask(t.Context(), m, asking("x")) }()
	gate <- true
	if o := <-done; o.err != nil || o.text != "yes" {
		t.Errorf("got %+v", o)
	}
}

func TestOverflow(t *testing.T) {
	step := scripted.Forever(scripted.Reply("yes"))
	step.OverflowAt = 10
	m := scripted.New(provider.Info{}, step)
	if o := ask(t.Context(), m, asking("short")); o.err != nil {
		t.Errorf("a short request: %v", o.err)
	}
	if o := ask(t.Context(), m, asking(strings.Repeat("long ", 20))); provider.KindOf(o.err) != provider.Overflow || !strings.Contains(o.err.Error(), "25 tokens > 10") {
		t.Errorf("a long request: %+v", o)
	}
	req := asking("short")
	req.Tools = []provider.Tool{{Name: "t", Description: strings.Repeat("long ", 20)}}
	if o := ask(t.Context(), m, req); provider.KindOf(o.err) != provider.Overflow {
		t.Errorf("tools are not counted: %+v", o)
	}
	info := provider.Info{Spec: provider.Spec{Window: 10}}
	if o := ask(t.Context(), scripted.New(info, scripted.Reply("yes")), asking(strings.Repeat("long ", 20))); provider.KindOf(o.err) != provider.Overflow {
		t.Errorf("more than the window: %+v", o)
	}
}

func TestUsage(t *testing.T) {
	info := provider.Info{Spec: provider.Spec{Window: 1000, Price: provider.Price{Input: 1e6, Output: 2e6}}}
	step := scripted.Reply("four and four and")
	o := ask(t.Context(), scripted.New(info, step), asking("eight ch"))
	if u := o.done.Usage; u.Input != 2 || u.Output != 5 || u.Total != 7 || u.Cost.Total != 12 {
		t.Errorf("the estimate is %+v", u)
	}
	step.Usage = &firn.Usage{Input: 3, CacheRead: 4, Output: 5}
	o = ask(t.Context(), scripted.New(info, step), asking("x"))
	if u := o.done.Usage; u.Input != 3 || u.Total != 12 || u.Cost.Total != 13 {
		t.Errorf("the usage is %+v", u)
	}
	if step.Usage.Total != 0 {
		t.Error("the script was changed")
	}
}

func TestEvents(t *testing.T) {
	step := scripted.Step{Events: []provider.Event{
		provider.TextDelta{Text: "a"}, provider.TextDelta{Text: "b"},
		provider.CallDelta{ID: "1", Name: "now", Arguments: "{}"}, provider.CallDelta{ID: "2", Name: "half", Arguments: "{"},
	}}
	o := ask(t.Context(), scripted.New(provider.Info{}, step), asking("x"))
	if o.events != 4 || len(o.done.Parts) != 2 || o.done.Text() != "ab" || o.done.StopReason != firn.StopToolUse {
		t.Errorf("got %+v", o)
	}
}

func TestInfo(t *testing.T) {
	if got := scripted.New(provider.Info{}).Info(); got.Ask() != scripted.Info().Ask() || got.Spec != scripted.Info().Spec || got.Profile.Name != "anthropic" {
		t.Errorf("the info is %+v", got)
	}
	own := provider.Info{Provider: "p", API: "a", Name: "n", Spec: provider.Spec{Window: 5}, Profile: window.Gemini()}
	if got := scripted.New(own).Info(); got.Ask() != own.Ask() || got.Spec != own.Spec || got.Profile.Name != "gemini" {
		t.Errorf("the info is %+v", got)
	}
	o := ask(t.Context(), scripted.New(provider.Info{Name: "n"}, scripted.Reply("x")), provider.Request{})
	if o.done.Model != "n" || o.done.Provider != "scripted" || o.done.API != "scripted" || o.done.Role != firn.RoleAssistant {
		t.Errorf("the answer is marked %+v", o.done)
	}
}

func TestFunc(t *testing.T) {
	m := scripted.Func(provider.Info{}, func(_ context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return func(yield func(provider.Event, error) bool) {
			_ = yield(provider.TextDelta{Text: string(req.Purpose)}, nil) && yield(provider.Done{}, nil)
		}
	})
	if o := ask(t.Context(), m, provider.Request{Purpose: provider.ForTitle}); o.text != "title" || o.done == nil || len(m.Requests()) != 1 {
		t.Errorf("got %+v", o)
	}
	for range m.Stream(t.Context(), provider.Request{}) {
		break
	}
}

// TestConcurrentRequests checks that each step is used once, regardless of concurrent requests.
func TestConcurrentRequests(t *testing.T) {
	const n = 50
	var steps []scripted.Step
	for i := range n {
		steps = append(steps, scripted.Reply(fmt.Sprintf("%02d", i)))
	}
	m := scripted.New(provider.Info{}, steps...)
	got := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { got[i] = ask(t.Context(), m, asking("x")).text })
	}
	all.Wait()
	slices.Sort(got)
	for i, text := range got {
		if text != fmt.Sprintf("%02d", i) {
			t.Fatalf("the answers are %q", got)
		}
	}
	if len(m.Requests()) != n || m.Left() != 0 {
		t.Errorf("%d requests, %d steps left", len(m.Requests()), m.Left())
	}
}
