package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/sse"
	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/wire"
)

// listen opens a stream in this process as the owner.
func (s *fakeServer) listen(ctx context.Context, method, target string, changes ...change) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+target, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range changes {
		c(r)
	}
	local := client.InProcess(api.Owner(s.http))
	s.t.Cleanup(func() { local.Close() })
	response, err := local.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return response
}

// received is an event of a stream.
type received struct {
	id, name string
	event    wire.Event
}

// readEvents reads events until the stream ends or there are enough.
func readEvents(t *testing.T, in io.Reader, enough int) []received {
	t.Helper()
	var all []received
	for raw, err := range sse.Read(in) {
		if err != nil {
			t.Logf("the stream broke: %v", err)
			return all
		}
		h := received{id: raw.ID, name: raw.Name}
		if err := json.Unmarshal(raw.Data, &h.event); err != nil {
			t.Fatalf("%v in %s", err, raw.Data)
		}
		if all = append(all, h); len(all) == enough {
			return all
		}
	}
	return all
}

// names returns the names of events with their positions.
func names(all []received) []string {
	var list []string
	for _, h := range all {
		list = append(list, fmt.Sprintf("%s %s", h.id, h.name))
	}
	return list
}

func TestStreamOfASession(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	for i := range 3 {
		s.fake.add("aaaa-1", fmt.Sprint(i))
	}
	response := s.listen(t.Context(), "GET", "/v1/sessions/a%20plan/events?after=10")
	head := response.Header
	if response.StatusCode != 200 || head.Get("Content-Type") != "text/event-stream" || !strings.Contains(head.Get("Cache-Control"), "no-transform") || head.Get("Content-Encoding") != "" {
		t.Fatalf("%d %v", response.StatusCode, head)
	}
	s.fake.live <- wire.Event{Name: wire.DeltaText, Session: "aaaa-1", Data: json.RawMessage(`{"text":"a\nb\u2028"}`)}
	all := readEvents(t, response.Body, 3)
	slices.SortFunc(all, func(a, b received) int { return strings.Compare(a.name, b.name) }) // a delta may arrive earlier
	if got, want := []string{all[0].name, all[1].id + " " + all[1].name, all[2].id + " " + all[2].name}, []string{"delta.text", "20 entry.appended", "30 entry.appended"}; !slices.Equal(got, want) {
		t.Fatalf("received %q, want %q", got, want)
	}
	if e := all[1].event; e.Session != "aaaa-1" || e.Pos != 20 || e.Name != wire.EntryAppended || !strings.Contains(string(e.Data), `"text":"1"`) {
		t.Errorf("the event is %+v", e)
	}
	var d wire.Delta
	if err := json.Unmarshal(all[0].event.Data, &d); err != nil || d.Text != "a\nb\u2028" {
		t.Errorf("the delta is %q", d.Text)
	}
	response.Body.Close()
}

// TestStreamResumes breaks the connection to a real server repeatedly and resumes with the
// last event ID: nothing is missing or duplicated.
func TestStreamResumes(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	server := httptest.NewServer(api.Owner(s.http))
	defer server.Close()
	const entries = 60
	go func() {
		for i := range entries {
			s.fake.add("aaaa-1", fmt.Sprint(i))
		}
	}()
	var texts []string
	last := ""
	for round := 0; len(texts) < entries; round++ {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/sessions/aaaa-1/events?after=0", nil)
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range readEvents(t, response.Body, min(1+round%7, entries-len(texts))) {
			var e wire.Entry
			var line struct{ Text string }
			if err := errors.Join(json.Unmarshal(h.event.Data, &e), json.Unmarshal(e.Line, &line)); err != nil {
				t.Fatal(err)
			}
			texts, last = append(texts, line.Text), h.id
		}
		response.Body.Close()
	}
	for i, text := range texts {
		if text != fmt.Sprint(i) {
			t.Fatalf("received %q", texts)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, api.Config{Heartbeat: 15 * time.Second})
		begun := time.Now()
		response := s.listen(t.Context(), "GET", "/v1/events")
		read := func(want string) {
			t.Helper()
			b := make([]byte, len(want))
			if _, err := io.ReadFull(response.Body, b); err != nil || string(b) != want {
				t.Fatalf("read %q, %v; want %q", b, err, want)
			}
		}
		read("retry: 1000\n\n")
		read(":\n\n:\n\n")
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("two heartbeats took %s", took)
		}
		s.fake.live <- wire.Event{Name: wire.TurnStarted, Session: "aaaa-1"}
		read("event: turn.started\n")
		response.Body.Close()
	})
}

// TestSlowListener checks that a stalled client receives a gap event with its position and
// is disconnected.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, api.Config{Patience: 5 * time.Second})
		for i := range 100 {
			s.fake.add("aaaa-1", fmt.Sprint(i))
		}
		response := s.listen(t.Context(), "GET", "/v1/sessions/aaaa-1/events")
		first := readEvents(t, response.Body, 3)
		time.Sleep(time.Minute) // a fake minute
		rest := readEvents(t, response.Body, -1)
		all := append(first, rest...)
		last := all[len(all)-1]
		before := all[len(all)-2]
		if last.name != wire.Gap || last.id != before.id || last.event.Pos != before.event.Pos || len(all) > 30 {
			t.Fatalf("received %q", names(all))
		}
		// Nothing is missing from there on.
		response = s.listen(t.Context(), "GET", "/v1/sessions/aaaa-1/events", with("Last-Event-ID", last.id))
		again := readEvents(t, response.Body, 1)
		if again[0].event.Pos != last.event.Pos+10 {
			t.Errorf("after the gap at %d the next is %d", last.event.Pos, again[0].event.Pos)
		}
		response.Body.Close()
	})
}

// TestDeadListener checks that a client that reads nothing times out and its event source
// ends.
func TestDeadListener(t *testing.T) {
	set := metrics.New(time.Now())
	s := newFakeServer(t, api.Config{WriteTimeout: 20 * time.Millisecond, Patience: time.Hour, Metrics: set})
	ended := make(chan struct{})
	s.fake.stream = func(ctx context.Context) iter.Seq2[wire.Event, error] {
		return func(yield func(wire.Event, error) bool) {
			defer close(ended)
			data, _ := json.Marshal(strings.Repeat("x", 100_000))
			for ctx.Err() == nil && yield(wire.Event{Name: wire.DeltaText, Data: data}, nil) {
			}
		}
	}
	server := httptest.NewServer(api.Owner(s.http))
	defer server.Close()
	r, _ := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/v1/sessions/aaaa-1/turns", nil)
	r.Header.Set("Accept", "text/event-stream")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() // never read
	<-ended
}

func TestGapAndByeOfTheGateway(t *testing.T) {
	for _, name := range []string{wire.Gap, wire.Bye} {
		s := newFakeServer(t, api.Config{})
		s.fake.add("aaaa-1", "x")
		response := s.listen(t.Context(), "GET", "/v1/sessions/aaaa-1/events")
		readEvents(t, response.Body, 1)
		s.fake.live <- wire.Event{Name: name, Session: "aaaa-1"}
		all := readEvents(t, response.Body, -1) // returns because the stream ends
		if len(all) != 1 || all[0].name != name {
			t.Errorf("received %q", names(all))
		}
		if name == wire.Gap && (all[0].event.Pos != 10 || all[0].id != "10") {
			t.Errorf("the gap is at %+v", all[0])
		}
	}
}

func TestByeOnDrain(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	response := s.listen(t.Context(), "GET", "/v1/events")
	turned := make(chan struct{})
	s.fake.stream = func(context.Context) iter.Seq2[wire.Event, error] {
		return func(yield func(wire.Event, error) bool) {
			yield(wire.Event{Name: wire.TurnStarted}, nil)
			<-turned
			yield(wire.Event{Name: wire.TurnCompleted}, nil)
		}
	}
	talk := s.listen(t.Context(), "POST", "/v1/sessions/aaaa-1/turns", with("Accept", "text/event-stream"))
	s.http.Drain()
	if all := readEvents(t, response.Body, -1); len(all) != 1 || all[0].name != wire.Bye {
		t.Errorf("received %q", names(all))
	}
	close(turned)
	if all := readEvents(t, talk.Body, -1); len(all) != 2 || all[1].name != wire.TurnCompleted {
		t.Errorf("the turn was not allowed to finish: %q", names(all))
	}
	for target, status := range map[string]int{"/v1/events": 503, "/readyz": 503, "/healthz": 200, "/v1/models": 200} {
		if got := s.owner("GET", target); got.status != status {
			t.Errorf("%s while a turn runs: %d", target, got.status)
		}
	}
	if got := s.owner("POST", "/v1/sessions/aaaa-1/turns", sending(wire.Turn{Text: "x"})); got.kind() != wire.Closing || got.head.Get("Retry-After") == "" {
		t.Errorf("a turn while another runs: %d %s", got.status, got.body)
	}
}

func TestStreamOfATurn(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	stream := with("Accept", "application/json;q=0.1, text/event-stream")
	response := s.listen(t.Context(), "POST", "/v1/sessions/aaaa-1/turns", stream, sending(wire.Turn{Text: "hi", ID: "m"}))
	all := readEvents(t, response.Body, -1)
	if got := names(all); !slices.Equal(got, []string{" turn.started", " delta.text", " turn.completed"}) {
		t.Errorf("received %q", got)
	}
	if string(all[1].event.Data) != `{"text":"<you>\nsaid"}` {
		t.Errorf("the delta is %s", all[1].event.Data)
	}
	if asked := s.fake.was(); !slices.Contains(asked, `StreamTurn aaaa-1 "hi" m`) {
		t.Errorf("received %q", asked)
	}
	// A rejected turn has a status and no stream.
	s.fake.fail = &wire.Problem{Kind: wire.Busy, Message: "too many wait"}
	response = s.listen(t.Context(), "POST", "/v1/sessions/aaaa-1/turns", stream, sending(wire.Turn{Text: "hi"}))
	if body, _ := io.ReadAll(response.Body); response.StatusCode != 429 || !strings.Contains(string(body), "too many wait") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	response = s.listen(t.Context(), "POST", "/v1/sessions/nobody/turns", stream, sending(wire.Turn{Text: "hi"}))
	if response.StatusCode != 404 {
		t.Errorf("an unknown turn: %d", response.StatusCode)
	}
}

// TestStreamsThatFail checks that errors and panics in a stream are sent as events.
func TestStreamsThatFail(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	for name, end := range map[string]func(yield func(wire.Event, error) bool){
		"an error": func(yield func(wire.Event, error) bool) {
			yield(wire.Event{}, fmt.Errorf("read it: %w", firn.ErrCorrupt))
		},
		"a panic": func(func(wire.Event, error) bool) { panic("what the user said") },
	} {
		s.fake.stream = func(context.Context) iter.Seq2[wire.Event, error] {
			return func(yield func(wire.Event, error) bool) {
				yield(wire.Event{Name: wire.TurnStarted}, nil)
				end(yield)
			}
		}
		response := s.listen(t.Context(), "POST", "/v1/sessions/aaaa-1/turns", with("Accept", "text/event-stream"))
		body, _ := io.ReadAll(response.Body)
		if !strings.Contains(string(body), "event: error\ndata: {\"error\":{\"kind\":") || strings.Contains(string(body), "user said") {
			t.Errorf("%s: %s", name, body)
		}
	}
}

func TestBoundListener(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	secret := s.token(wire.NewToken{Scope: wire.ScopeRead, Agents: []string{"work"}})
	response := s.listen(t.Context(), "GET", "/v1/events", bearing(secret))
	for _, id := range []firn.ID{"aaaa-1", "aaaa-2", "nobody", "bbbb-1", "cccc-1"} {
		s.fake.live <- wire.Event{Name: wire.TurnStarted, Session: id, Pos: 7}
	}
	s.fake.live <- wire.Event{Name: wire.Bye}
	var got []string
	for _, h := range readEvents(t, response.Body, -1) {
		got = append(got, h.id+string(h.event.Session)+" "+h.name)
	}
	if want := []string{"aaaa-2 turn.started", "cccc-1 turn.started", " bye"}; !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}
