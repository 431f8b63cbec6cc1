package client_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/route"
	"firn.dev/wire"
)

// conversations is the test data: conversations of two agents with two people each, as in CrabTalk,
// where a session belongs to an agent and a sender.
type conversations struct {
	*testing.T
	c *client.Client
	// keys and sessions are those of agent and sender.
	keys     map[[2]string]string
	sessions map[[2]string]firn.ID
}

func newConversations(t *testing.T) *conversations {
	h := newRealGateway(t)
	h.agents = []string{"main", "crab"}
	s := &conversations{T: t, c: h.inProcess(nil), keys: make(map[[2]string]string), sessions: make(map[[2]string]firn.ID)}
	for _, agent := range h.agents {
		for _, sender := range []string{"ann", "bob"} {
			who := [2]string{agent, sender}
			key := must[route.Native](t)(route.FromCrabTalk(agent, sender)).Key.String()
			made := must[wire.Session](t)(s.c.NewSession(t.Context(), wire.NewSession{Key: key, Title: sender + " with " + agent}))
			s.keys[who], s.sessions[who] = key, made.ID
			must[wire.Answer](t)(s.c.Turn(t.Context(), made.ID, wire.Turn{Text: "hello, I am " + sender, Sender: sender}))
		}
	}
	return s
}

// titles returns the sorted titles of a list.
func (s *conversations) titles(q client.Query) string {
	s.Helper()
	var all []string
	for one, err := range s.c.Sessions(s.Context(), q) {
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, one.Title)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestPredecessorOperations performs the operations of the predecessor protocols with the
// client.
func TestPredecessorOperations(t *testing.T) {
	for name, do := range map[string]func(*conversations){
		"send":               (*conversations).send,
		"stream":             (*conversations).stream,
		"list sessions":      (*conversations).list,
		"list conversations": (*conversations).conversations,
		"titles":             (*conversations).retitle,
		"message counts":     (*conversations).counts,
		"uptime":             (*conversations).uptime,
		"kill":               (*conversations).kill,
		"compact":            (*conversations).compact,
		"status":             (*conversations).status,
		"subscribe":          (*conversations).subscribe,
		"new chat, resume":   (*conversations).newChat,
	} {
		t.Run(name, func(t *testing.T) { do(newConversations(t)) })
	}
}

func (s *conversations) send() {
	a := must[wire.Answer](s.T)(s.c.Turn(s.Context(), s.sessions[[2]string{"crab", "ann"}], wire.Turn{Text: "what?", Sender: "ann"}))
	if a.Text != "re: what?" || a.Stop == "" {
		s.Errorf("the answer is %+v", a)
	}
}

func (s *conversations) stream() {
	names, err := streamed(s.Context(), s.c, s.sessions[[2]string{"crab", "ann"}], wire.Turn{Text: "what?"})
	if err != nil || names[0] != wire.TurnStarted || !slices.Contains(names, wire.DeltaText) || names[len(names)-1] != wire.TurnCompleted {
		s.Errorf("received %q, %v", names, err)
	}
}

func (s *conversations) list() {
	if got := s.titles(client.Query{}); got != "ann with crab, ann with main, bob with crab, bob with main" {
		s.Errorf("there are %s", got)
	}
	first := must[wire.Page[wire.Session]](s.T)(s.c.SessionsPage(s.Context(), client.Query{Limit: 3}))
	second := must[wire.Page[wire.Session]](s.T)(s.c.SessionsPage(s.Context(), client.Query{Limit: 3, Cursor: first.Cursor}))
	if len(first.Items) != 3 || len(second.Items) != 1 || second.Cursor != "" {
		s.Errorf("the pages have %d and %d", len(first.Items), len(second.Items))
	}
}

func (s *conversations) conversations() {
	for _, c := range []struct {
		q    client.Query
		want string
	}{
		{client.Query{Agent: "crab"}, "ann with crab, bob with crab"},
		{client.Query{Sender: "ann"}, "ann with crab, ann with main"},
		{client.Query{Sender: "Ann"}, "ann with crab, ann with main"},
		{client.Query{Agent: "crab", Sender: "bob"}, "bob with crab"},
		{client.Query{Agent: "crab", Sender: "eve"}, ""},
		{client.Query{Key: s.keys[[2]string{"crab", "bob"}]}, "bob with crab"},
	} {
		if got := s.titles(c.q); got != c.want {
			s.Errorf("%+v lists %q, want %q", c.q, got, c.want)
		}
	}
}

func (s *conversations) retitle() {
	title := "the plan"
	id := s.sessions[[2]string{"crab", "ann"}]
	must[wire.Session](s.T)(s.c.Patch(s.Context(), id, wire.Patch{Title: &title}))
	if got := s.titles(client.Query{Agent: "crab"}); got != "bob with crab, the plan" {
		s.Errorf("there are %s", got)
	}
	if found := must[firn.ID](s.T)(s.c.Resolve(s.Context(), title)); found != id {
		s.Errorf("the title names %s", found)
	}
}

func (s *conversations) counts() {
	id := s.sessions[[2]string{"crab", "ann"}]
	must[wire.Answer](s.T)(s.c.Turn(s.Context(), id, wire.Turn{Text: "and now?"}))
	page := must[wire.Page[wire.Session]](s.T)(s.c.SessionsPage(s.Context(), client.Query{Agent: "crab", State: true}))
	for _, one := range page.Items {
		turns := 1
		if one.ID == id {
			turns = 2
		}
		if one.State == nil || one.State.Turns != turns || one.State.Messages != 2*turns {
			s.Errorf("%s has %+v, want %d turns", one.Title, one.State, turns)
		}
	}
	if one := must[wire.Session](s.T)(s.c.Session(s.Context(), string(id))); one.State.Messages != 4 {
		s.Errorf("alone it has %+v", one.State)
	}
}

// uptime returns the duration of turns by the times in the log.
func (s *conversations) uptime() {
	id := s.sessions[[2]string{"crab", "bob"}]
	begin := time.Now().Add(-10 * time.Minute).UTC()
	line := func(id, parent, role string, after time.Duration) json.RawMessage {
		at := begin.Add(after)
		return json.RawMessage(`{"type":"message","id":"` + id + `","parentId":"` + parent + `","timestamp":"` + at.Format("2006-01-02T15:04:05.000Z") +
			`","message":{"role":"` + role + `","content":[{"type":"text","text":"x"}]}}`)
	}
	head := must[wire.Session](s.T)(s.c.Session(s.Context(), string(id))).State.Head
	must[wire.Appended](s.T)(s.c.Append(s.Context(), id, client.Any, wire.NewEntries{Entries: []json.RawMessage{
		line("u1", string(head), "user", 0), line("a1", "u1", "assistant", 90*time.Second)}}))
	if one := must[wire.Session](s.T)(s.c.Session(s.Context(), string(id))); one.State.Uptime < 90 || one.State.Uptime > 95 {
		s.Errorf("it was up for %d s", one.State.Uptime)
	}
}

func (s *conversations) kill() {
	h := newRealGateway(s.T)
	h.waitForPermits()
	c := h.inProcess(nil)
	made := must[wire.Session](s.T)(c.NewSession(s.Context(), wire.NewSession{}))
	must[wire.Answer](s.T)(c.Turn(s.Context(), made.ID, wire.Turn{Text: "for ever", Wait: new(bool)}))
	<-h.asked
	if running := must[[]wire.Session](s.T)(c.Running(s.Context())); len(running) != 1 || running[0].ID != made.ID {
		s.Errorf("running sessions: %+v", running)
	}
	if stopped := must[bool](s.T)(c.Stop(s.Context(), made.ID)); !stopped {
		s.Error("nothing was killed")
	}
	if _, err := c.Session(s.Context(), string(made.ID)); err != nil {
		s.Errorf("afterwards: %v", err)
	}
}

func (s *conversations) compact() {
	id := s.sessions[[2]string{"crab", "ann"}]
	for range 3 {
		must[wire.Answer](s.T)(s.c.Turn(s.Context(), id, wire.Turn{Text: strings.Repeat("tell me more of it ", 500)}))
	}
	made := must[wire.Compacted](s.T)(s.c.Compact(s.Context(), id, wire.Compact{KeepRecent: 1}))
	if made.Summary == "" || made.After >= made.Before {
		s.Errorf("it was compacted to %+v", made)
	}
}

func (s *conversations) status() {
	status := must[wire.Status](s.T)(s.c.Status(s.Context()))
	if status.Sessions != 4 || len(status.Agents) != 2 || status.Started.IsZero() || time.Since(status.Started) < 0 {
		s.Errorf("the status is %+v", status)
	}
}

func (s *conversations) subscribe() {
	id := s.sessions[[2]string{"crab", "ann"}]
	seen := 0
	for e, err := range s.c.Events(s.Context(), id, 0) {
		if err != nil {
			s.Fatal(err)
		}
		if e.Name == wire.EntryAppended && strings.Contains(string(e.Data), "hello, I am ann") {
			if seen++; seen == 2 { // the message, and the answer that quotes it
				break
			}
		}
	}
}

// newChat begins another session for an agent and a sender; the earlier one can
// be resumed.
func (s *conversations) newChat() {
	who := [2]string{"crab", "ann"}
	fresh := must[wire.Session](s.T)(s.c.NewSession(s.Context(), wire.NewSession{Key: s.keys[who], Fresh: true}))
	if fresh.ID == s.sessions[who] {
		s.Error("it is the same session")
	}
	n := 0
	for one, err := range s.c.Sessions(s.Context(), client.Query{Agent: "crab", Sender: "ann", Empty: true}) {
		if n++; err != nil || one.Current != (one.ID == fresh.ID) {
			s.Errorf("%+v, %v", one, err)
		}
	}
	if n != 2 {
		s.Errorf("there are %d conversations", n)
	}
	if key := must[wire.Key](s.T)(s.c.Keys.Point(s.Context(), s.keys[who], s.sessions[who])); key.Session != s.sessions[who] {
		s.Errorf("the key is %+v", key)
	}
}
