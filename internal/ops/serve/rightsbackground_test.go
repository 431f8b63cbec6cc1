package serve

import (
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// flushedNote is the note that the model writes in a memory flush.
const flushedNote = "The wallaby is beige43."

// sentSince returns the requests to the model after the first from that contain a text.
func (w *withheld) sentSince(from int, text string) (sent []string) {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	for _, asked := range w.model.asked[from:] {
		if one := quotedJSON(asked); strings.Contains(one, text) {
			sent = append(sent, one)
		}
	}
	return sent
}

// hasOnly checks that texts contain only the given words.
func (w *withheld) hasOnly(what string, texts []string, may []planted) {
	w.t.Helper()
	for _, p := range everyWord {
		if !slices.Contains(may, p) && strings.Contains(strings.Join(texts, "\n"), p.canary) {
			w.t.Errorf("%s contains the word for %s", what, p.find)
		}
	}
}

// TestScheduledJobsHaveOwnerRights checks that a scheduled job has the owner's view of its
// agent, without conversations of other agents and personal notes.
func TestScheduledJobsHaveOwnerRights(t *testing.T) {
	clock := &clock{}
	w := withholdAt(t, "", clock.now)
	w.must(w.house.Gateway.StartJobs(t.Context()))
	w.probe(identity{name: "a job", may: mains}, "schedule", func() (string, firn.ID) {
		next := time.Date(time.Now().Year()+1, 1, 1, 0, 0, 1, 0, time.Local) // when it is due
		clock.by.Store(int64(time.Until(next)))
		w.house.Gateway.LeadershipChanged() // wakes the timer, which reads the clock
		var run wire.Session
		waitFor(t, func() bool {
			for s, err := range w.own.Sessions(t.Context(), client.Query{Agent: "main"}) {
				w.must(err)
				if strings.Contains(s.Key, ":cron:report") {
					run = s
				}
			}
			return run.ID != "" && strings.Contains(transcript(t, w.own, run), "I was told")
		})
		return transcript(t, w.own, run), run.ID
	})
	if sent := w.sentSince(0, "probe of the job"); len(sent) == 0 {
		t.Error("the job was not run")
	}
}

// TestFlushKeepsCallerBounds checks that a memory flush has the bounds of the
// caller, and that its notes are stored for the caller.
func TestFlushKeepsCallerBounds(t *testing.T) {
	w := withholdIn(t, "[defaults.memory_flush]\nsoft = 22000\n")
	all := w.identities()
	for _, c := range []struct {
		who  identity
		note wire.MemoryPlace
	}{
		{all[0], wire.MemoryPlace{Key: "agent:main:shop", Scope: wire.MemoryOfUser}},
		{all[3], wire.MemoryPlace{Key: "agent:main:desk", Scope: wire.MemoryOfUser}},
		{all[8], wire.MemoryPlace{Agent: "main", Scope: wire.MemoryOfAgent}},
	} {
		id, from := w.session(c.who, "flush"), w.model.count()
		w.send(c.who, id, wire.Turn{Text: "Read this. " + strings.Repeat("All is well here. ", 2500), ID: "m1"})
		if _, err := w.await(id, "m1", "Read this. "+strings.Repeat("All is well here. ", 2500)); err != nil {
			t.Errorf("%s: %v", c.who.name, err)
		}
		sent := w.sentSince(from, "will soon be shortened")
		if len(sent) < 2 {
			t.Fatalf("%s: there were %d requests of a flush", c.who.name, len(sent))
		}
		w.hasOnly(c.who.name+", the flush", sent, c.who.may)
		hits, err := w.own.Memory.Recall(t.Context(), c.note, "wallaby", 5)
		w.must(err)
		if len(hits) != 1 {
			t.Errorf("%s: the note is found %d times in %+v", c.who.name, len(hits), c.note)
		}
		agents, err := w.own.Memory.Recall(t.Context(), wire.MemoryPlace{Agent: "main", Scope: wire.MemoryOfAgent}, "wallaby", 5)
		w.must(err)
		if c.note.Key != "" && len(agents) > 0 {
			t.Errorf("%s: the agent has the note, too", c.who.name)
		}
	}
}

// TestDreamsOfAKeyStayInItsBounds checks that a dream over a key's folder sees only the
// sessions of that key, and that its notes are not stored for the agent.
func TestDreamsOfAKeyStayInItsBounds(t *testing.T) {
	w := withhold(t)
	shop, owner := w.identities()[0], w.identities()[8]
	id := w.session(shop, "dream")
	w.send(shop, id, wire.Turn{Text: "probe: remember this The wombat is crimson61.", ID: "m1"})
	if _, err := w.await(id, "m1", "probe: remember this The wombat is crimson61."); err != nil {
		t.Fatal(err)
	}
	from := w.model.count()
	dreams, err := w.own.Memory.Dream(t.Context(), wire.MemoryPlace{Key: "agent:main:shop", Scope: wire.MemoryOfUser}, wire.DreamOrder{})
	w.must(err)
	if len(dreams) != 1 || dreams[0].Sessions < 2 {
		t.Errorf("the dream is %+v", dreams)
	}
	sent := w.sentSince(from, "")
	w.hasOnly("the dream of the key", sent, shop.may)
	if !strings.Contains(strings.Join(sent, "\n"), inShop.canary) {
		t.Errorf("the dream did not read the conversation of the key, in %d requests", len(sent))
	}
	from = w.model.count()
	_, err = w.own.Memory.Dream(t.Context(), wire.MemoryPlace{Agent: "main", Scope: wire.MemoryOfAgent}, wire.DreamOrder{})
	w.must(err)
	sent = w.sentSince(from, "")
	w.hasOnly("the agent's dream", sent, owner.may)
	if all := strings.Join(sent, "\n"); strings.Contains(all, "crimson61") || !strings.Contains(all, inPrivate.canary) {
		t.Errorf("the agent's dream has the note of the key, or not the agent's conversations: %d requests", len(sent))
	}
}
