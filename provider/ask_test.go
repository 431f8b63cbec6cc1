package provider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

func failure(kind provider.Kind, after time.Duration) error {
	return &provider.Error{Kind: kind, Provider: "p", Model: "m", RetryAfter: after, Message: "no"}
}

// watcher records the calls to an observer.
type watcher struct {
	retries []provider.Retrying
	text    string
}

func (w *watcher) observe(e provider.Event) error {
	switch e := e.(type) {
	case provider.Retrying:
		w.retries = append(w.retries, e)
		w.text = ""
	case provider.TextDelta:
		w.text += e.Text
	}
	return nil
}

func TestAskAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(provider.Info{}, scripted.Reply("Good morning, everybody."))
		var w watcher
		answer, err := provider.Ask(t.Context(), m, provider.Request{}, provider.Backoff{}, w.observe)
		if err != nil || answer.Text() != "Good morning, everybody." || w.text != answer.Text() || len(w.retries) != 0 {
			t.Errorf("got %q, %v; observed %+v", answer.Text(), err, w)
		}
	})
}

func TestAskRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(provider.Info{},
			scripted.Fail(failure(provider.Temporary, 0)),
			scripted.Cut(1, scripted.Reply("Good morning, everybody.")),
			scripted.Step{End: scripted.Silent},
			scripted.Reply("At last."),
		)
		var w watcher
		start := time.Now()
		answer, err := provider.Ask(t.Context(), m, provider.Request{}, provider.Backoff{}, w.observe)
		if err != nil || answer.Text() != "At last." || w.text != "At last." {
			t.Fatalf("got %q, %v; observed %q", answer.Text(), err, w.text)
		}
		var waited time.Duration
		for i, r := range w.retries {
			most := 2 * time.Second << i
			if r.Attempt != i+1 || r.Delay < most/2 || r.Delay > most || provider.KindOf(r.Err) != provider.Temporary {
				t.Errorf("retry %d is %+v, want a delay from %v to %v", i, r, most/2, most)
			}
			waited += r.Delay
		}
		if len(w.retries) != 3 || time.Since(start) != waited {
			t.Errorf("%d retries in %v, reported were %v", len(w.retries), time.Since(start), waited)
		}
		var cut *provider.Error
		if !errors.As(w.retries[1].Err, &cut) || !cut.Partial || !errors.As(w.retries[2].Err, &cut) || !cut.Partial {
			t.Errorf("the second and third failure are %v and %v, want cut answers", w.retries[1].Err, w.retries[2].Err)
		}
	})
}

func TestAskGivesUp(t *testing.T) {
	tests := []struct {
		name    string
		backoff provider.Backoff
		err     error
		asked   int
		within  time.Duration
	}{
		{"after three retries", provider.Backoff{}, failure(provider.Temporary, 0), 4, 14 * time.Second},
		{"after one", provider.Backoff{Retries: 1}, failure(provider.Temporary, 0), 2, 2 * time.Second},
		{"at once", provider.Backoff{Retries: -1}, failure(provider.Temporary, 0), 1, 0},
		{"not let in", provider.Backoff{}, failure(provider.Auth, 0), 1, 0},
		{"refused", provider.Backoff{}, failure(provider.BadRequest, 0), 1, 0},
		{"too long", provider.Backoff{}, failure(provider.Overflow, 0), 1, 0},
		{"not the provider's", provider.Backoff{}, errors.New("something else"), 1, 0},
		{"wrapped", provider.Backoff{}, fmt.Errorf("on the way: %w", failure(provider.Temporary, 0)), 4, 14 * time.Second},
		{"Retry-After", provider.Backoff{}, failure(provider.Temporary, 20*time.Second), 4, 60 * time.Second},
		{"Retry-After too long", provider.Backoff{}, failure(provider.Temporary, 61*time.Second), 1, 0},
		{"Retry-After longer than the maximum", provider.Backoff{Max: time.Second}, failure(provider.Temporary, 2*time.Second), 1, 0},
		{"bounded", provider.Backoff{Retries: 60, Base: time.Hour, Max: 2 * time.Hour}, failure(provider.Temporary, 0), 61, 120 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := scripted.New(provider.Info{}, scripted.Forever(scripted.Fail(tt.err)))
				start := time.Now()
				_, err := provider.Ask(t.Context(), m, provider.Request{}, tt.backoff, nil)
				if !errors.Is(err, tt.err) {
					t.Errorf("the error is %v", err)
				}
				if n := len(m.Requests()); n != tt.asked {
					t.Errorf("called %d times, want %d", n, tt.asked)
				}
				if took := time.Since(start); took > tt.within || took < tt.within/2 {
					t.Errorf("took %v, want from %v to %v", took, tt.within/2, tt.within)
				}
			})
		})
	}
}

// TestAskHonorsRetryAfter checks that the requested delay is waited for, to the second.
func TestAskHonorsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(provider.Info{}, scripted.Fail(failure(provider.Temporary, 42*time.Second)), scripted.Reply("yes"))
		start := time.Now()
		if _, err := provider.Ask(t.Context(), m, provider.Request{}, provider.Backoff{}, nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 42*time.Second {
			t.Errorf("waited %v", took)
		}
	})
}

func TestAskIsCancelledWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("the user went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		m := scripted.New(provider.Info{}, scripted.Forever(scripted.Fail(failure(provider.Temporary, 30*time.Second))))
		start := time.Now()
		time.AfterFunc(5*time.Second, func() { cancel(away) })
		_, err := provider.Ask(ctx, m, provider.Request{}, provider.Backoff{}, nil)
		if !errors.Is(err, away) || provider.KindOf(err) != "" || time.Since(start) != 5*time.Second || len(m.Requests()) != 1 {
			t.Errorf("got %v after %v and %d requests", err, time.Since(start), len(m.Requests()))
		}
	})
}

func TestAskIsCancelledWhileListening(t *testing.T) {
	away := errors.New("the user went away")
	quiet := scripted.Func(provider.Info{}, func(ctx context.Context, _ provider.Request) iter.Seq2[provider.Event, error] {
		return func(func(provider.Event, error) bool) { <-ctx.Done() } // a bad model that ends without an error
	})
	for name, m := range map[string]provider.Model{"hung": scripted.New(provider.Info{}, scripted.Hang(1, scripted.Reply("Good morning, everybody."))), "quiet": quiet} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Minute, func() { cancel(away) })
				_, err := provider.Ask(ctx, m, provider.Request{}, provider.Backoff{}, nil)
				if !errors.Is(err, away) || provider.KindOf(err) != "" {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestAskEndsWithTheObserver checks that an observer's error ends the request, even if it
// looks transient.
func TestAskEndsWithTheObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := failure(provider.Temporary, 0)
		m := scripted.New(provider.Info{}, scripted.Forever(scripted.Reply("Good morning, everybody.")))
		_, err := provider.Ask(t.Context(), m, provider.Request{}, provider.Backoff{}, func(provider.Event) error { return stop })
		if err != stop || len(m.Requests()) != 1 {
			t.Errorf("got %v after %d requests", err, len(m.Requests()))
		}
		m = scripted.New(provider.Info{}, scripted.Forever(scripted.Fail(failure(provider.Temporary, 0))))
		start := time.Now()
		_, err = provider.Ask(t.Context(), m, provider.Request{}, provider.Backoff{}, func(provider.Event) error { return stop })
		if err != stop || len(m.Requests()) != 1 || time.Since(start) != 0 {
			t.Errorf("with an error from the retry observer: got %v after %d requests", err, len(m.Requests()))
		}
	})
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		e    provider.Error
		want string
	}{
		{provider.Error{Kind: provider.Temporary, Provider: "p", Model: "m", Status: 529, Code: "overloaded_error", Message: "Overloaded"}, "p/m: overloaded (529, overloaded_error): Overloaded"},
		{provider.Error{Kind: provider.Temporary, Provider: "p", Model: "m", Err: errors.New("connection refused")}, "p/m: no server answers: connection refused"},
		{provider.Error{Kind: provider.Temporary, Provider: "p", Model: "m", Partial: true, Err: errors.New("EOF")}, "p/m: the answer was cut off: EOF"},
		{provider.Error{Kind: provider.Auth, Provider: "p", Status: 401, Message: "invalid key"}, "p: API key rejected (401): invalid key"},
		{provider.Error{Kind: provider.Overflow, Provider: "p", Model: "m", Code: "context_length_exceeded"}, "p/m: the conversation is too long for the model (context_length_exceeded)"},
		{provider.Error{Kind: provider.BadRequest, Provider: "p", Model: "m", Status: 400}, "p/m: request rejected (400)"},
		{provider.Error{Kind: provider.Temporary, Provider: "p", Model: "m", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "api.p.com", Err: "no such host"}}}, "p/m: no network: the name api.p.com was not found"},
		{provider.Error{Kind: provider.Temporary, Provider: "p", Model: "m", Err: context.DeadlineExceeded}, "p/m: no answer in time: context deadline exceeded"},
		{provider.Error{Kind: provider.Temporary, Provider: "p", Model: "m", Status: 429, RetryAfter: 3 * time.Hour}, "p/m: rate limited (429); try again in 3 h"},
	}
	for _, tt := range tests {
		if got := tt.e.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if provider.KindOf(fmt.Errorf("x: %w", &tests[3].e)) != provider.Auth || provider.KindOf(errors.New("x")) != "" || provider.KindOf(nil) != "" {
		t.Error("the kind of an error is wrong")
	}
}

func TestDraft(t *testing.T) {
	var d provider.Draft
	if parts := d.Parts(); len(parts) != 0 {
		t.Errorf("an empty draft has %v", parts)
	}
	for _, e := range []provider.Event{
		provider.CallDelta{Arguments: "lost"}, // belongs to no call
		provider.ThinkingDelta{Text: "h"}, provider.ThinkingDelta{Text: "m"}, provider.TextDelta{},
		provider.TextDelta{Text: "a"}, provider.TextDelta{Text: "b"},
		provider.CallDelta{ID: "1", Name: "read"}, provider.CallDelta{ID: "2", Name: "now", Arguments: "{"},
		provider.CallDelta{ID: "1", Arguments: `{"p":`}, provider.CallDelta{ID: "2", Arguments: "}"}, provider.CallDelta{ID: "1", Arguments: `1}`},
		provider.CallDelta{ID: "3", Name: "half", Arguments: `{"a`}, provider.Retrying{}, provider.Done{},
		provider.TextDelta{Text: "c"},
		provider.CallDelta{Name: "unnamed"}, provider.CallDelta{Arguments: "{}"},
	} {
		d.Add(e)
	}
	want := []firn.Part{
		firn.Thinking{Text: "hm"}, firn.Text{Text: "ab"},
		firn.ToolCall{ID: "1", Name: "read", Arguments: []byte(`{"p":1}`)},
		firn.ToolCall{ID: "2", Name: "now", Arguments: []byte(`{}`)},
		firn.Text{Text: "c"},
		firn.ToolCall{Name: "unnamed", Arguments: []byte(`{}`)},
	}
	got := d.Parts()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	d.Add(provider.CallDelta{Arguments: "xxx"})
	if call := got[5].(firn.ToolCall); string(call.Arguments) != "{}" {
		t.Errorf("the returned draft changes: %s", call.Arguments)
	}
}

// TestDraftGrowsCheaply checks that adding to a large draft does not copy all of it each
// time.
func TestDraftGrowsCheaply(t *testing.T) {
	const n = 20_000
	piece := provider.TextDelta{Text: strings.Repeat("x", 50)}
	var d provider.Draft
	allocations := testing.AllocsPerRun(1, func() {
		d = provider.Draft{}
		for range n {
			d.Add(piece)
		}
	})
	if allocations > 200 {
		t.Errorf("%v allocations for %d pieces", allocations, n)
	}
	if text := firn.JoinText(d.Parts()); len(text) != n*50 {
		t.Errorf("the text has %d bytes", len(text))
	}
}

func TestPrice(t *testing.T) {
	p := provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	c := p.Cost(firn.Usage{Input: 1_000_000, Output: 100_000, CacheRead: 2_000_000, CacheWrite: 400_000})
	got := []float64{c.Input, c.Output, c.CacheRead, c.CacheWrite, c.Total}
	if want := []float64{3, 1.5, 0.6, 1.5, 6.6}; !slices.EqualFunc(got, want, func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRetryingText(t *testing.T) {
	limited := &provider.Error{Kind: provider.Temporary, Provider: "p", Model: "m", Status: 429, RetryAfter: 12 * time.Second}
	at := time.Date(2026, 3, 1, 14, 2, 53, 0, time.UTC)
	for r, want := range map[provider.Retrying]string{
		{Attempt: 1, Retries: 3, Delay: 12 * time.Second, Err: limited}: "p/m: rate limited (429); retry 1 of 3 in 12 s, at 14:03:05",
		{Attempt: 2, Err: limited}:                                      "p/m: rate limited (429); retry 2 now",
	} {
		if got := r.Text(at); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
