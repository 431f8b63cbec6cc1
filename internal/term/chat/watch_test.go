package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/store"
	"firn.dev/wire"
)

// streamEvent returns an event with its data.
func streamEvent(t *testing.T, name string, data any) wire.Event {
	t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Event{Name: name, Data: raw}
}

// TestWatcherReconnects checks that the answer of another client is shown once, although
// turn.partial repeats it after each reconnect.
func TestWatcherReconnects(t *testing.T) {
	s := set(t, nil).start()
	w := &s.c.watch
	w.shown(wire.Session{ID: "s"}, []prose.Line{{ID: "q", Message: &prose.Message{Role: string(firn.RoleUser)}}})
	for _, e := range []wire.Event{
		streamEvent(t, wire.DeltaText, wire.Delta{Entry: "a", Text: "one "}),
		streamEvent(t, wire.TurnPartial, wire.Partial{Entry: "a", Text: "one two "}),
		streamEvent(t, wire.TurnPartial, wire.Partial{Entry: "a", Text: "one two "}),
		streamEvent(t, wire.DeltaText, wire.Delta{Entry: "a", Text: "three\n"}),
		streamEvent(t, wire.TurnCompleted, wire.Answer{}),
	} {
		w.event(e)
	}
	if got := s.out.String(); strings.Count(got, "one two three") != 1 || strings.Count(got, "one") != 1 {
		t.Errorf("it shows %q", got)
	}
}

// TestWatcherRetry checks that the answer to /retry is not shown again as that of another
// client, although the message before it is not of this chat.
func TestWatcherRetry(t *testing.T) {
	s := set(t, nil).start()
	w := &s.c.watch
	w.shown(wire.Session{ID: "s"}, []prose.Line{{ID: "q", Message: &prose.Message{Role: string(firn.RoleUser)}}})
	w.retries()
	w.hold()
	line := func(id string) json.RawMessage {
		return json.RawMessage(`{"type":"message","id":"` + id + `","message":{"role":"assistant","content":[{"type":"text","text":"text of ` + id + `"}]}}`)
	}
	w.event(streamEvent(t, wire.EntryAppended, wire.Entry{Line: line("recovered")}))
	w.event(streamEvent(t, wire.EntryAppended, wire.Entry{Line: line("answer")}))
	w.release()
	if got := s.out.String(); got != "" {
		t.Errorf("it shows %q", got)
	}
	w.shown(wire.Session{ID: "s"}, []prose.Line{{ID: "q", Message: &prose.Message{Role: string(firn.RoleUser)}}})
	w.event(streamEvent(t, wire.EntryAppended, wire.Entry{Line: line("other")}))
	if got := s.out.String(); !strings.Contains(got, "text of other") {
		t.Errorf("it does not show the answer of another client: %q", got)
	}
}

// TestWatcherSwitches shows another session while the events of the one before still arrive,
// for the race detector: none of them is applied after that.
func TestWatcherSwitches(t *testing.T) {
	s := set(t, func(o *Options) { o.Terminal.In = true }).start().create()
	s.c.looping = true
	w := &s.c.watch
	defer w.close()
	for range 20 {
		before, err := s.c.fetchSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.follow(t.Context(), before)
		if w.id != before.ID {
			t.Fatal("the session is not followed")
		}
		if _, err := s.c.client.Append(t.Context(), before.ID, store.Any, wire.NewEntries{User: "of another client"}); err != nil {
			t.Fatal(err)
		}
		w.shown(wire.Session{ID: "other"}, []prose.Line{{ID: "a", Message: &prose.Message{Role: string(firn.RoleAssistant)}}})
		if w.others || !w.past["a"] || w.id != "" {
			t.Fatalf("others %t, past %v, id %q", w.others, w.past, w.id)
		}
	}
}
