package serve

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// threads is a gateway with a group in which threads start.
type threads struct {
	t *testing.T
	listening
	model *speaker
}

func newThreads(t *testing.T, settings string) *threads {
	t.Helper()
	s := speak(t, func(w http.ResponseWriter, _ []message) { says(w, "I see") })
	return &threads{t: t, model: s, listening: listenIn(t, Options{Settings: load(t, s.settings(settings)), Env: env()})}
}

// send sends a message to the group, or to a thread in it, and returns the request that the
// model received.
func (h *threads) send(thread, text string) (wire.Routed, []string) {
	h.t.Helper()
	r, err := h.own.Inbound(h.t.Context(), wire.Inbound{Channel: "slack", PeerKind: "group", PeerID: "g", ThreadID: thread, Sender: "Ann", Text: text, Wait: true})
	if err != nil {
		h.t.Fatal(err)
	}
	_, received := h.model.last()
	return r, receivedTexts(received)
}

// receivedTexts returns the texts of messages without injected text and senders.
func receivedTexts(received []string) (texts []string) {
	for _, line := range only(received) {
		who, text, _ := strings.Cut(line, ": ")
		_, rest, ok := strings.Cut(text, "[from Ann]\n")
		if !ok {
			rest = text
		}
		texts = append(texts, who+": "+rest)
	}
	return texts
}

// TestThreadHistory checks that a thread starts with the history of its conversation, that
// the two continue separately, and that a reset of the thread leaves the history out.
func TestThreadHistory(t *testing.T) {
	h := newThreads(t, "")
	room, _ := h.send("", "the color is teal")
	thread, received := h.send("t1", "which color?")
	if want := []string{"user: the color is teal", "assistant: I see", "user: which color?"}; !slices.Equal(received, want) {
		t.Errorf("the model is sent %q, want %q", received, want)
	}
	if thread.Session == room.Session || thread.Reset != "" {
		t.Errorf("the thread gave %+v", thread)
	}
	log := transcript(t, h.own, wire.Session{ID: thread.Session})
	if !strings.Contains(log, `"parentSession":"`+string(room.Session)+`"`) || !strings.Contains(log, `"forked":{"session":"`+string(room.Session)+`"`) {
		t.Errorf("the log does not name the conversation:\n%s", log)
	}
	if _, received := h.send("", "and the size is 4"); slices.Contains(received, "user: which color?") {
		t.Errorf("the room's model is sent %q", received)
	}
	if r, received := h.send("t1", "and now?"); r.Session != thread.Session || slices.Contains(received, "user: and the size is 4") || len(received) != 5 {
		t.Errorf("the second message of the thread gave %+v with %q", r, received)
	}
	spent, err := h.own.Session(t.Context(), string(thread.Session))
	if err != nil {
		t.Fatal(err)
	}
	if spent.State.Counters.Input != 200 { // of the two answers in the thread only
		t.Errorf("the thread used %+v", spent.State.Counters)
	}
	if _, err := h.own.Keys.Reset(t.Context(), thread.Key); err != nil {
		t.Fatal(err)
	}
	if _, received := h.send("t1", "after the reset"); len(received) != 1 {
		t.Errorf("after a reset the model is sent %q", received)
	}
	if _, received := h.send("t2", "/new a fresh start"); len(received) != 1 {
		t.Errorf("a thread started by /new is sent %q", received)
	}
}

// TestThreadHistoryLimit checks the limit, threads of an unknown conversation, and that
// threads start empty if the setting is 0.
func TestThreadHistoryLimit(t *testing.T) {
	h := newThreads(t, "[session]\nthread_history = 50\n")
	if _, received := h.send("t0", "first"); len(received) != 1 {
		t.Errorf("without a conversation the model is sent %q", received)
	}
	h.send("", "short")
	if _, received := h.send("t1", "one"); len(received) != 3 {
		t.Errorf("within the limit the model is sent %q", received)
	}
	h.send("", strings.Repeat("long ", 60))
	if _, received := h.send("t2", "two"); len(received) != 1 {
		t.Errorf("beyond the limit the model is sent %q", received)
	}
	off := newThreads(t, "[session]\nthread_history = 0\n")
	off.send("", "short")
	if _, received := off.send("t1", "one"); len(received) != 1 {
		t.Errorf("with 0 the model is sent %q", received)
	}
}

// TestThreadHistoryLivePart checks that the thread starts with the summary of a compacted
// conversation and what follows it, and without hidden messages.
func TestThreadHistoryLivePart(t *testing.T) {
	h := newThreads(t, "")
	room, _ := h.send("", "one")
	h.send("", "secret")
	h.send("", "three")
	hide(t, h.own, room.Session, "secret")
	last := entryOf(t, h.own, room.Session, "three")
	entry, err := json.Marshal(map[string]any{"type": "compaction", "summary": "they counted", "firstKeptEntryId": last, "tokensBefore": 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.own.Append(t.Context(), room.Session, client.Any, wire.NewEntries{Entries: []json.RawMessage{entry}}); err != nil {
		t.Fatal(err)
	}
	thread, received := h.send("t1", "four")
	_, raw := h.model.last()
	if !strings.Contains(raw[0], "they counted") || !slices.Equal(received, []string{"user: three", "assistant: I see", "user: four"}) {
		t.Errorf("the model is sent %q", raw)
	}
	if log := transcript(t, h.own, wire.Session{ID: thread.Session}); strings.Contains(log, "secret") || strings.Contains(log, `"one"`) {
		t.Errorf("the thread has more than the live part:\n%s", log)
	}
}

// TestThreadHistoryRights checks that a token for the thread alone does not see the
// conversation, while one for the conversation does.
func TestThreadHistoryRights(t *testing.T) {
	h := newThreads(t, "")
	h.send("", "the color is teal")
	for _, c := range []struct {
		keys []string
		want int
	}{{[]string{"agent:main:slack:group:g:thread:t1"}, 1}, {[]string{"agent:main:slack:group:g"}, 3}} {
		made, err := h.own.Access.CreateToken(t.Context(), wire.NewToken{Name: "bridge " + strconv.Itoa(c.want), Scope: wire.ScopeWrite, Keys: c.keys})
		if err != nil {
			t.Fatal(err)
		}
		thread := "t1"
		if c.want == 3 {
			thread = "t2"
		}
		bridge, err := client.New(client.Options{Address: h.url, Token: made.Secret})
		if err != nil {
			t.Fatal(err)
		}
		_, err = bridge.Inbound(t.Context(), wire.Inbound{Channel: "slack", PeerKind: "group", PeerID: "g", ThreadID: thread, Sender: "Ann", Text: "which color?", Wait: true})
		if _, received := h.model.last(); err != nil || len(received) != c.want {
			t.Errorf("with %v the error is %v and the model is sent %q", c.keys, err, received)
		}
	}
}

// entryOf returns the ID of the message with a text.
func entryOf(t *testing.T, c *client.Client, id firn.ID, text string) firn.EntryID {
	t.Helper()
	for e, err := range c.Entries(t.Context(), id, client.EntryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(e.Line), `"`+text+`"`) {
			var line struct {
				ID firn.EntryID `json:"id"`
			}
			if err := json.Unmarshal(e.Line, &line); err != nil {
				t.Fatal(err)
			}
			return line.ID
		}
	}
	t.Fatalf("there is no entry with %q", text)
	return ""
}

// hide hides the message with a text.
func hide(t *testing.T, c *client.Client, id firn.ID, text string) {
	t.Helper()
	if _, err := c.Hide(t.Context(), id, wire.Hide{Entry: string(entryOf(t, c, id, text))}); err != nil {
		t.Fatal(err)
	}
}
