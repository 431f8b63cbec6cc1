package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/wire"
)

// flaky breaks event connections after a few bytes.
type flaky struct {
	http.RoundTripper
	mu sync.Mutex
	// bytes holds the number of bytes after which each connection breaks; later ones do not break.
	bytes []int
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := f.RoundTripper.RoundTrip(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && response.Header.Get("Content-Type") == "text/event-stream" && len(f.bytes) > 0 {
		response.Body = &short{response.Body, f.bytes[0]}
		f.bytes = f.bytes[1:]
	}
	return response, err
}

// short is a body that ends early with an error.
type short struct {
	io.ReadCloser
	left int
}

func (s *short) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := s.ReadCloser.Read(b[:min(len(b), s.left)])
	s.left -= n
	return n, err
}

// TestRealEventsOverBrokenConnections checks that a log followed over many broken
// connections, while turns run, equals the stored log.
func TestRealEventsOverBrokenConnections(t *testing.T) {
	var bytes []int
	for i := range 12 {
		bytes = append(bytes, i*i*40)
	}
	c := newRealGateway(t).inProcess(func(rt http.RoundTripper) http.RoundTripper { return &flaky{RoundTripper: rt, bytes: bytes} })
	s := must[wire.Session](t)(c.NewSession(t.Context(), wire.NewSession{}))
	const turns = 6
	done := make(chan error, 1)
	go func() {
		for i := range turns {
			if _, err := c.Turn(t.Context(), s.ID, wire.Turn{Text: fmt.Sprint("turn ", i)}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var followed []string
	for e, err := range c.Events(ctx, s.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != wire.EntryAppended {
			continue
		}
		var entry wire.Entry
		if err := json.Unmarshal(e.Data, &entry); err != nil {
			t.Fatal(err)
		}
		followed = append(followed, string(entry.Line))
		if strings.Contains(string(entry.Line), fmt.Sprintf("re: turn %d", turns-1)) && strings.Contains(string(entry.Line), `"message"`) {
			cancel()
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, e := range entries(t, c, s.ID, client.EntryQuery{}) {
		if !strings.Contains(string(e.Line), "firn.draft") {
			stored = append(stored, string(e.Line))
		}
	}
	if stored = stored[:min(len(stored), len(followed))]; !slices.Equal(followed, stored) {
		t.Errorf("followed\n%s\nstored\n%s", strings.Join(followed, "\n"), strings.Join(stored, "\n"))
	}
}

// TestEventsAfterGatewayRestart checks that following continues after the gateway restarts.
func TestEventsAfterGatewayRestart(t *testing.T) {
	h := newRealGateway(t)
	stop := h.serve()
	c := newClient(t, client.Options{Address: h.at.Address})
	defer c.Close()
	s := must[wire.Session](t)(c.NewSession(t.Context(), wire.NewSession{}))
	must[wire.Answer](t)(c.Turn(t.Context(), s.ID, wire.Turn{Text: "one"}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var texts []string
	for e, err := range c.Events(ctx, s.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if text := answered(e); text != "" {
			texts = append(texts, text)
		}
		switch {
		case e.Name == wire.EntryAppended && len(texts) == 1 && stop != nil:
			stop()
			stop = nil
			h.serve()
			must[wire.Answer](t)(c.Turn(t.Context(), s.ID, wire.Turn{Text: "two"}))
		case len(texts) == 2:
			cancel()
		}
	}
	if want := []string{"re: one", "re: two"}; !slices.Equal(texts, want) {
		t.Errorf("received %q, want %q", texts, want)
	}
}

// answered returns the assistant's text in a log event.
func answered(e wire.Event) string {
	var entry wire.Entry
	if e.Name != wire.EntryAppended || json.Unmarshal(e.Data, &entry) != nil {
		return ""
	}
	return textOf(entry, "assistant")
}

// textOf returns the text of an entry with a role.
func textOf(e wire.Entry, role string) string {
	var line struct {
		Message struct {
			Role    string `json:"role"`
			Content json.RawMessage
		} `json:"message"`
	}
	if json.Unmarshal(e.Line, &line) != nil || line.Message.Role != role {
		return ""
	}
	var text string
	if json.Unmarshal(line.Message.Content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(line.Message.Content, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// lossy forwards requests and drops the first response to a turn.
type lossy struct {
	http.RoundTripper
	once sync.Once
	lost chan struct{}
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/turns") {
		l.once.Do(func() {
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
			response, err = nil, io.ErrUnexpectedEOF
			close(l.lost)
		})
	}
	return response, err
}

// TestRetriedMessageIsStoredOnce checks that a message whose response was lost is stored
// and answered once.
func TestRetriedMessageIsStoredOnce(t *testing.T) {
	lost := make(chan struct{})
	c := newRealGateway(t).inProcess(func(rt http.RoundTripper) http.RoundTripper { return &lossy{RoundTripper: rt, lost: lost} })
	s := must[wire.Session](t)(c.NewSession(t.Context(), wire.NewSession{}))
	a := must[wire.Answer](t)(c.Turn(t.Context(), s.ID, wire.Turn{Text: "once"}))
	select {
	case <-lost:
	default:
		t.Fatal("nothing got lost")
	}
	if a.Text != "re: once" {
		t.Errorf("the answer is %+v", a)
	}
	onlyOnce(t, c, s.ID)
}

// onlyOnce checks that there is exactly one message and one answer.
func onlyOnce(t *testing.T, c *client.Client, id firn.ID) {
	t.Helper()
	var asks, answers []string
	for _, e := range entries(t, c, id, client.EntryQuery{}) {
		if text := textOf(e, "user"); text != "" {
			asks = append(asks, text)
		}
		if text := textOf(e, "assistant"); text != "" {
			answers = append(answers, text)
		}
	}
	if !slices.Equal(asks, []string{"once"}) || !slices.Equal(answers, []string{"re: once"}) {
		t.Errorf("received %q, answered %q", asks, answers)
	}
}

// TestRetriedTurnRunsOnce checks that a turn whose event connection breaks runs once,
// whether it is still running or already over.
func TestRetriedTurnRunsOnce(t *testing.T) {
	for _, bytes := range []int{0, 20, 100, 300, 400} { // at 100 the turn has just started
		for _, running := range []bool{bytes <= 100, false} {
			h := newRealGateway(t)
			asked := 0
			c := h.inProcess(func(rt http.RoundTripper) http.RoundTripper {
				return carrier(func(r *http.Request) (*http.Response, error) {
					if strings.HasSuffix(r.URL.Path, "/turns") {
						if asked++; asked == 2 && running {
							h.gate <- struct{}{} // it answers the repeated request
						}
					}
					return rt.RoundTrip(r)
				}, bytes)
			})
			s := must[wire.Session](t)(c.NewSession(t.Context(), wire.NewSession{}))
			h.waitForPermits()
			if !running {
				h.gate <- struct{}{}
			}
			ctx, cancel := context.WithTimeout(t.Context(), basetest.Limit)
			defer cancel()
			names, err := streamed(ctx, c, s.ID, wire.Turn{Text: "once"})
			if err != nil || names[len(names)-1] != wire.TurnCompleted || slices.Contains(names, wire.TurnFailed) || asked != 2 {
				t.Errorf("%d bytes: called %d times, got %q, %v", bytes, asked, names, err)
			}
			onlyOnce(t, c, s.ID)
		}
	}
}

// carrier forwards requests and breaks the first stream.
func carrier(carry func(*http.Request) (*http.Response, error), bytes int) http.RoundTripper {
	return &flaky{RoundTripper: roundTripper(carry), bytes: []int{bytes}}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
