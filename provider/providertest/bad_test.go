package providertest_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/providertest"
	"firn.dev/window"
)

// stream is the result of Model.Stream.
type stream = iter.Seq2[provider.Event, error]

// toy is a small model that satisfies the contract unless a test breaks it.
type toy struct {
	play *providertest.Play
	// spoil changes a good stream into a bad one.
	spoil func(ctx context.Context, part providertest.Part, good stream) stream
}

func (toy) Info() provider.Info {
	return provider.Info{Provider: "toy", API: "toy", Name: "toy", Spec: providertest.Spec(), Profile: window.OpenAIResponses()}
}

func (m toy) Stream(ctx context.Context, _ provider.Request) stream {
	return func(yield func(provider.Event, error) bool) {
		part := m.play.Next()
		good := m.good(ctx, part)
		if m.spoil != nil {
			good = m.spoil(ctx, part, good)
		}
		good(yield)
	}
}

func (m toy) good(ctx context.Context, part providertest.Part) stream {
	a := part.Answer
	var events []provider.Event
	var parts []firn.Part
	for _, s := range providertest.Pieces(a.Thinking) {
		events = append(events, provider.ThinkingDelta{Text: s})
	}
	for _, s := range providertest.Pieces(a.Text) {
		events = append(events, provider.TextDelta{Text: s})
	}
	parts = append(parts, firn.Thinking{Text: a.Thinking}, firn.Text{Text: a.Text})
	for _, c := range a.Calls {
		if len(c.Arguments) > 1 && c.Arguments[0] == '{' && c.Arguments[len(c.Arguments)-1] == '}' {
			events = append(events, provider.CallDelta{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)})
			parts = append(parts, c)
		}
	}
	u := a.Usage
	u.Cost = m.Info().Price.Cost(u)
	done := provider.Done{Message: firn.Message{Role: firn.RoleAssistant, API: "toy", Provider: "toy", Model: "toy", Parts: parts, Usage: &u, StopReason: a.Stop}}
	return func(yield func(provider.Event, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		send, end := part.Of(len(events))
		for _, e := range events[:send] {
			if !yield(e, nil) {
				return
			}
		}
		switch end {
		case providertest.Complete:
			yield(done, nil)
		case providertest.Stalled:
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		default:
			yield(nil, m.cut())
		}
	}
}

func (toy) cut() error {
	return &provider.Error{Kind: provider.Temporary, Provider: "toy", Model: "toy", Partial: true, Err: io.ErrUnexpectedEOF}
}

// edit passes every event through f.
func edit(good stream, f func(provider.Event, error) (provider.Event, error)) stream {
	return func(yield func(provider.Event, error) bool) {
		for e, err := range good {
			if !yield(f(e, err)) {
				return
			}
		}
	}
}

// message passes the complete answer through f.
func message(f func(*firn.Message)) func(context.Context, providertest.Part, stream) stream {
	return func(_ context.Context, _ providertest.Part, good stream) stream {
		return edit(good, func(e provider.Event, err error) (provider.Event, error) {
			if d, ok := e.(provider.Done); ok {
				f(&d.Message)
				return d, err
			}
			return e, err
		})
	}
}

// bad are violations of the contract, with the message of the suite for each.
var bad = map[string]struct {
	spoil func(context.Context, providertest.Part, stream) stream
	says  string
}{
	"wrong mark":       {message(func(m *firn.Message) { m.Model = "another" }), "is marked"},
	"wrong role":       {message(func(m *firn.Message) { m.Role = firn.RoleUser }), "of role"},
	"wrong cost":       {message(func(m *firn.Message) { m.Usage.Cost.Total *= 2 }), "the cost is"},
	"wrong usage":      {message(func(m *firn.Message) { m.Usage = nil }), "no usage"},
	"wrong stop":       {message(func(m *firn.Message) { m.StopReason = firn.StopEnd }), "stopped for"},
	"strange stop":     {message(func(m *firn.Message) { m.StopReason = "end_turn" }), "stopped for"},
	"more than deltas": {message(func(m *firn.Message) { m.Parts = append(m.Parts, firn.Text{Text: "!"}) }), "the deltas say"},
	"less than deltas": {message(func(m *firn.Message) { m.Parts = nil }), "the deltas say"},
	"broken arguments": {message(func(m *firn.Message) {
		m.Parts = append(m.Parts, firn.ToolCall{ID: "x", Name: "y", Arguments: []byte("{")})
	}), "not an object"},
	"has an error":      {message(func(m *firn.Message) { m.Error = "hm" }), "has an error"},
	"two of them":       {func(_ context.Context, _ providertest.Part, good stream) stream { return doubled(good) }, "comes after the end"},
	"silent":            {func(_ context.Context, _ providertest.Part, good stream) stream { return ignoresCancel(good) }, "neither Done nor an error"},
	"retries by itself": {func(_ context.Context, _ providertest.Part, good stream) stream { return retrying(good) }, "not for a model to send"},
	"does not stream":   {func(_ context.Context, _ providertest.Part, good stream) stream { return lumped(good) }, "nothing is streamed"},
	"reports truncated answers as complete": {func(_ context.Context, part providertest.Part, good stream) stream {
		return edit(good, func(e provider.Event, err error) (provider.Event, error) {
			if provider.KindOf(err) == provider.Temporary {
				return provider.Done{Message: firn.Message{Role: firn.RoleAssistant, API: "toy", Provider: "toy", Model: "toy", StopReason: firn.StopEnd}}, nil
			}
			return e, err
		})
	}, "reported as complete"},
	"does not set Partial": {func(_ context.Context, _ providertest.Part, good stream) stream {
		return edit(good, func(e provider.Event, err error) (provider.Event, error) {
			var f *provider.Error
			if errors.As(err, &f) {
				f.Partial = false
			}
			return e, err
		})
	}, "does not report that part of the answer was received"},
	"loses the cause": {func(ctx context.Context, _ providertest.Part, good stream) stream {
		return edit(good, func(e provider.Event, err error) (provider.Event, error) {
			if err != nil && ctx.Err() != nil {
				err = ctx.Err()
			}
			return e, err
		})
	}, "want the cause"},
	"blames the provider": {func(ctx context.Context, _ providertest.Part, good stream) stream {
		return edit(good, func(e provider.Event, err error) (provider.Event, error) {
			if err != nil && ctx.Err() != nil {
				err = &provider.Error{Kind: provider.Temporary, Provider: "toy", Model: "toy", Partial: true, Err: err}
			}
			return e, err
		})
	}, "the error is the provider's"},
	"leaks the key": {func(ctx context.Context, _ providertest.Part, good stream) stream {
		return edit(good, func(e provider.Event, err error) (provider.Event, error) {
			if err != nil {
				err = errors.Join(err, errors.New("with "+providertest.Key))
			}
			return e, err
		})
	}, "contains the key"},
}

func doubled(good stream) stream {
	return func(yield func(provider.Event, error) bool) {
		for e, err := range good {
			if !yield(e, err) {
				return
			}
			if _, ok := e.(provider.Done); ok && !yield(e, err) {
				return
			}
		}
	}
}

func ignoresCancel(good stream) stream {
	return func(yield func(provider.Event, error) bool) {
		for e, err := range good {
			if _, ok := e.(provider.Done); ok || !yield(e, err) {
				return
			}
		}
	}
}

func retrying(good stream) stream {
	return func(yield func(provider.Event, error) bool) {
		if yield(provider.Retrying{Attempt: 1, Delay: time.Second}, nil) {
			good(yield)
		}
	}
}

// lumped waits for the whole stream and then sends each kind in one piece.
func lumped(good stream) stream {
	return func(yield func(provider.Event, error) bool) {
		var text strings.Builder
		for e, err := range good {
			if t, ok := e.(provider.TextDelta); ok {
				text.WriteString(t.Text)
				continue
			}
			if text.Len() > 0 && !yield(provider.TextDelta{Text: text.String()}, nil) {
				return
			}
			text.Reset()
			if !yield(e, err) {
				return
			}
		}
	}
}

// wanted names the bad model that this process tests; see TestSuiteDetectsViolations.
const wanted = "FIRN_PROVIDERTEST_BAD"

// TestToyModel checks that the good toy passes. In a process started by
// TestSuiteDetectsViolations the toy is a bad one and must fail.
func TestToyModel(t *testing.T) {
	spoil := bad[os.Getenv(wanted)].spoil
	providertest.Run(t, func(t *testing.T, play *providertest.Play) provider.Model {
		return toy{play, spoil}
	}, providertest.NoHTTP)
}

// TestSuiteDetectsViolations checks that every violation of the contract is detected.
func TestSuiteDetectsViolations(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := "-test.run=^TestToyModel$"
			if name == "does not stream" {
				run += "/Answer" // in the other tests the suite would wait long for a delta
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], run, "-test.short")
			cmd.Env = append(os.Environ(), wanted+"="+name)
			out, err := cmd.CombinedOutput()
			var failed *exec.ExitError
			if !errors.As(err, &failed) {
				t.Fatalf("the suite passes, or cannot be run: %v", err)
			}
			if !strings.Contains(string(out), bad[name].says) {
				t.Errorf("the suite does not report %q:\n%.2000s", bad[name].says, out)
			}
		})
	}
}

// TestServe checks that the fake provider sends the given parts.
func TestServe(t *testing.T) {
	play := &providertest.Play{}
	url := play.Serve(t, func(a providertest.Answer) []byte { return []byte(a.Text) })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", providertest.Key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != play.Next().Answer.Text {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestPieces(t *testing.T) {
	for _, s := range []string{"", "a", "Grüße, 世界, 👩‍👩‍👧‍👦!", "\xff\xff\xff\xff\xff\xff\xff\xff\xff", strings.Repeat("x", 100)} {
		pieces := providertest.Pieces(s)
		if strings.Join(pieces, "") != s || len(s) > 20 && len(pieces) < 3 || slices.Contains(pieces, "") {
			t.Errorf("%q is cut into %q", s, pieces)
		}
	}
}
