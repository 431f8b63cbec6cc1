//go:build unix

package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/base/sse"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/window/windowtest"
	"firn.dev/wire"
)

// post sends a request to a random gateway.
func (s *soak) post(ctx context.Context, path string, body any) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.gateway().address()+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// talk sends messages to random sessions over random gateways.
func (s *soak) talk(client int, stop <-chan struct{}) {
	modes := []string{"followup", "collect", "steer"}
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		what := spoken{s.sessions[s.chance.IntN(len(s.sessions))], firn.NewEntryID(), fmt.Sprintf("client %d says %d", client, i)}
		wait := s.chance.IntN(3) > 0
		s.send(what, wire.Turn{Queue: modes[s.chance.IntN(len(modes))], Wait: &wait})
		if i%4 == 0 {
			s.note(spoken{what.session, "", fmt.Sprintf("note %d of client %d", i, client)})
		}
	}
}

// send sends a message until it is acknowledged. It has an ID, so it is stored once however
// often it is sent.
func (s *soak) send(what spoken, t wire.Turn) {
	t.ID, t.Text = what.id, what.text
	deadline := time.Now().Add(2 * basetest.Limit)
	for {
		status, body, err := s.post(context.Background(), turns(what.session), t)
		if err == nil && status == http.StatusOK {
			s.acknowledge(&s.sent, what)
			return
		}
		if err == nil && !again(status) {
			s.t.Errorf("%s was refused: %d %s", what.text, status, body)
			return
		}
		if time.Now().After(deadline) {
			s.t.Errorf("%s does not get through: %d %s %v", what.text, status, body, err)
			return
		}
		s.retries.Add(1)
		<-time.After(time.Duration(s.chance.Int64N(int64(200 * time.Millisecond))))
	}
}

// again reports whether a request can be retried after a status.
func again(status int) bool {
	return slices.Contains([]int{http.StatusServiceUnavailable, http.StatusInsufficientStorage, http.StatusTooManyRequests}, status)
}

// note appends an entry once: without an ID it cannot be retried.
func (s *soak) note(what spoken) {
	line := fmt.Sprintf(`{"type":"custom","customType":"note","data":{"text":%q}}`, what.text)
	status, _, err := s.post(context.Background(), "/v1/sessions/"+string(what.session)+"/entries", wire.NewEntries{Entries: []json.RawMessage{json.RawMessage(line)}})
	if err == nil && status == http.StatusOK {
		s.acknowledge(&s.noted, what)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = append(s.lost, what)
}

func (s *soak) acknowledge(list *[]spoken, what spoken) {
	s.mu.Lock()
	*list = append(*list, what)
	s.mu.Unlock()
	s.acks.Add(1)
	select {
	case s.progress <- struct{}{}:
	default:
	}
}

// follow listens to a session up to an end received from a channel, reconnecting over
// random gateways with the last position. It returns the entries received.
func (s *soak) follow(id firn.ID, end <-chan firn.Pos) []string {
	var seen []string
	last, until := "", atomic.Uint64{}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	reached := func() bool {
		n, _ := strconv.ParseUint(last, 10, 63) // empty at first
		return until.Load() > 0 && n >= until.Load()
	}
	for !reached() {
		once, hangUp := context.WithCancel(ctx)
		go func() {
			select {
			case pos := <-end:
				until.Store(uint64(pos))
				hangUp()
			case <-once.Done():
			}
		}()
		patience := 1 + s.chance.IntN(300)
		s.listen(once, id, last, func(e sse.Event) bool {
			if e.Name == wire.EntryAppended || e.Name == wire.HeadMoved {
				seen, last = append(seen, entryOf(e)), e.ID
				s.events.Add(1)
			}
			patience--
			return patience > 0 && !reached()
		})
		hangUp()
		<-once.Done()
	}
	return seen
}

// entryOf returns the ID of the entry in an event.
func entryOf(e sse.Event) string {
	var reported struct{ Data wire.Entry }
	var line struct{ ID string }
	if json.Unmarshal(e.Data, &reported) != nil || json.Unmarshal(reported.Data.Line, &line) != nil {
		return "unreadable " + string(e.Data)
	}
	return line.ID
}

// listen listens to a session over a random gateway until hear has enough events or the
// gateway ends the stream.
func (s *soak) listen(ctx context.Context, id firn.ID, last string, handle func(sse.Event) bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.gateway().address()+"/v1/sessions/"+string(id)+"/events", nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		return
	}
	defer resp.Body.Close()
	dead := time.AfterFunc(10*time.Second, func() { resp.Body.Close() }) // there is a heartbeat every second
	defer dead.Stop()
	for e, err := range sse.Read(&beating{resp.Body, dead}) {
		if err != nil || !handle(e) {
			return
		}
	}
}

// beating detects dead streams.
type beating struct {
	from io.Reader
	dead *time.Timer
}

func (b *beating) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.dead.Reset(10 * time.Second)
	return n, err
}

// check compares a session with the acknowledgments and events of the clients.
func (s *soak) check(id firn.ID, log []firn.Entry, seen []string) {
	text, notes := make(map[firn.EntryID]int), make(map[string]int)
	var texts []string
	parent := firn.EntryID("")
	for _, e := range log {
		if e.Body.Kind() == firn.KindHeader {
			texts = append(texts, string(id))
			continue
		}
		if e.Parent != parent {
			s.t.Errorf("session %s is forked at %s: it follows %s, not %s", id, e.ID, e.Parent, parent)
		}
		parent = e.ID
		if !quiet(e) {
			texts = append(texts, string(e.ID))
		}
		switch b := e.Body.(type) {
		case *firn.Message:
			if b.Role == firn.RoleUser {
				s.received(e, b, text)
			}
		case *firn.Custom:
			var data struct{ Text string }
			if b.Type == "note" && json.Unmarshal(b.Data, &data) == nil {
				notes[data.Text]++
			}
		}
	}
	if !s.compare(id, text, notes) {
		s.dump(id, log)
	}
	if len(seen) < len(texts) || !slices.Equal(texts, seen[:len(texts)]) { // more may have been appended since
		s.t.Errorf("a follower of session %s saw %d entries, %d exist, and they differ%s", id, len(seen), len(texts), difference(texts, seen))
	}
	s.valid(id, log)
}

// difference describes where two lists begin to differ.
func difference(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf(": entry %d is %s, want %s", i, got[i], want[i])
		}
	}
	return ""
}

// quiet reports whether an entry is not sent to followers.
func quiet(e firn.Entry) bool {
	c, ok := e.Body.(*firn.Custom)
	return ok && c.Type == "firn.draft"
}

// received counts the messages in an entry.
func (s *soak) received(e firn.Entry, m *firn.Message, seen map[firn.EntryID]int) {
	var together []firn.EntryID
	if raw := e.Extra.Get("collected"); raw != nil {
		if err := json.Unmarshal(raw, &together); err != nil {
			s.t.Error(err)
		}
	}
	if !slices.Contains(together, e.ID) {
		together = append(together, e.ID)
	}
	for _, id := range together {
		seen[id]++
	}
	if m.Text() == "" {
		s.t.Errorf("entry %s is empty", e.ID)
	}
}

// compare checks that everything acknowledged is stored once.
func (s *soak) compare(id firn.ID, seen map[firn.EntryID]int, notes map[string]int) bool {
	failed := s.t.Failed()
	for _, what := range s.sent {
		if what.session == id && seen[what.id] != 1 {
			s.t.Errorf("%q, %s, was acknowledged in session %s and is stored %d times", what.text, what.id, id, seen[what.id])
		}
	}
	for _, what := range s.noted {
		if what.session == id && notes[what.text] != 1 {
			s.t.Errorf("%q was acknowledged in session %s and is stored %d times", what.text, id, notes[what.text])
		}
	}
	for _, what := range s.lost {
		if what.session == id && notes[what.text] > 1 {
			s.t.Errorf("%q was sent once and is stored %d times", what.text, notes[what.text])
		}
	}
	return failed || !s.t.Failed()
}

// dump prints a session in short form.
func (s *soak) dump(id firn.ID, log []firn.Entry) {
	for i, e := range log {
		text := ""
		switch b := e.Body.(type) {
		case *firn.Message:
			text = fmt.Sprintf("%s %.70q %s %s", b.Role, b.Text(), b.Error, e.Extra.Get("collected"))
		case *firn.Custom:
			if text = b.Type; b.Type != "firn.draft" && b.Type != "note" {
				text += fmt.Sprintf(" %.150s", b.Data)
			}
		}
		s.t.Logf("%d %s %s %s %s", i, e.Time.Format("05.000"), e.ID, e.Body.Kind(), text)
	}
}

// valid checks that the window of a session is accepted by every provider and that
// everything in it was answered.
func (s *soak) valid(id firn.ID, log []firn.Entry) {
	path, err := window.Collect(s.store.ReadBack(s.t.Context(), id, store.End))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, profile := range window.Profiles() {
		if err := windowtest.Check(profile, window.Build(path, window.Options{Profile: profile})); err != nil && !strings.Contains(err.Error(), "ends with") {
			s.t.Errorf("the window of session %s for %s: %v", id, profile.Name, err)
		}
	}
	for _, e := range slices.Backward(log) {
		if m, ok := e.Body.(*firn.Message); ok {
			if m.Role != firn.RoleAssistant || m.Error != "" {
				s.t.Errorf("session %s ends with %s: %s %s", id, m.Role, m.Text(), m.Error)
			}
			return
		}
	}
}
