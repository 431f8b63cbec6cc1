package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"

	"github.com/google/go-cmp/cmp"
)

// rounds is the number of alternating turns of pi and firn.
const rounds = 20

// TestTurns lets pi and firn append to one session in turn. After every turn both must see
// the same session.
func TestTurns(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) { takeTurns(t, p) })
	t.Run("both releases", func(t *testing.T) {
		t.Parallel()
		takeTurns(t, startPi(t, "pi"), startPi(t, "pi-new"))
	})
}

func takeTurns(t *testing.T, pis ...*pi) {
	s := newSession(t, filestore.Options{})
	s.talk(t, "zero")
	seen := s.follow(t)
	for round := range rounds {
		p := pis[round%len(pis)]
		s.piTurn(t, p, round)
		s.firnTurn(t, round)
		for _, p := range pis {
			got := p.openUnchanged(t, s.file())
			s.mustAgree(t, got)
			mustSendTheSame(t, s.path(t), got)
		}
	}
	s.mustBeWhole(t)
	want := s.entries(t)
	if len(want) < 4*rounds {
		t.Errorf("only %d entries after %d rounds", len(want), rounds)
	}
	for i, e := range want {
		if got := <-seen; got != e.ID {
			t.Fatalf("a follower sees entry %d as %q, want %q", i, got, e.ID)
		}
	}
}

// piTurn lets pi append, and checks that firn sees it.
func (s *session) piTurn(t *testing.T, p *pi, round int) {
	t.Helper()
	before, end := s.entries(t), s.end(t)
	prefix := readFile(t, s.file())
	got := p.open(t, s.file(), piCalls(round, before, s.path(t).State)...)
	after := s.entries(t)
	if len(after) <= len(before) || string(s.path(t).Head) != got.Leaf {
		t.Fatalf("round %d: pi's leaf is %s, but firn sees %d entries after %d and the head %s", round, got.Leaf, len(after), len(before), s.path(t).Head)
	}
	if diff := cmp.Diff(before, after[:len(before)]); diff != "" {
		t.Fatalf("round %d: old entries changed:\n%s", round, diff)
	}
	if now := readFile(t, s.file()); string(now[:len(prefix)]) != string(prefix) {
		t.Fatalf("round %d: pi changed bytes that were written", round)
	}
	s.mustAgree(t, got)
	mustSendTheSame(t, s.path(t), got)
	s.mustBeWhole(t)
	var conflict *store.Conflict
	if _, err := s.st.Append(t.Context(), s.id, end, firn.UserText("too late")); !errors.As(err, &conflict) || !errors.Is(err, firn.ErrConflict) {
		t.Fatalf("round %d: an append at the end before pi's entries returned %v, want a conflict", round, err)
	}
}

// piCalls returns pi's calls in a round: a message, and a different operation each round.
func piCalls(round int, entries []firn.Entry, state firn.State) []call {
	word := fmt.Sprintf("pi %d", round)
	earlier := entries[len(entries)/2].ID
	talk := []call{{"appendMessage", piUser("ask " + word)}, {"appendMessage", piAssistant("answer " + word)}}
	id := fmt.Sprintf("call_%d", round)
	extra := [][]call{
		{{"appendMessage", piUser("a tool?")}, {"appendMessage", piAssistant("yes", piToolCall(id))}, {"appendMessage", piToolResult(id, "alpha\n")}},
		{{"appendCustomEntry", "ext-state", map[string]any{"n": round}}},
		{{"appendCustomMessageEntry", "ext-note", "the user is away", true, map[string]any{"k": round}}},
		{{"appendLabelChange", earlier, word}},
		{{"appendSessionInfo", word}},
		{{"branch", earlier}},
		{{"branchWithSummary", earlier, "that led nowhere", map[string]any{"readFiles": []string{}}}},
		{{"appendModelChange", "anthropic", "claude-test"}, {"appendThinkingLevelChange", "high"}},
		{{"appendCompaction", "so far: " + word, entries[len(entries)-2].ID, 1234, map[string]any{"state": state}}},
		{{"resetLeaf"}},
	}
	return append(extra[round%len(extra)], talk...)
}

// firnTurn lets firn append a message, and a different entry each round.
func (s *session) firnTurn(t *testing.T, round int) {
	t.Helper()
	s.talk(t, fmt.Sprintf("firn %d", round))
	earlier := s.path(t).Entries[0].ID
	id := fmt.Sprintf("toolu_%d", round)
	switch round % 6 {
	case 0:
		s.append(t, firn.NewEntry(answered("Reading.", calls(id))), firn.NewEntry(returned(id, "alpha\n")))
	case 1:
		s.addAfter(t, earlier, &firn.Head{Reason: "rewind"})
	case 2:
		s.add(t, &firn.Custom{Type: "counter", Data: json.RawMessage(fmt.Sprint(round))})
	case 3:
		stone := s.add(t, &firn.Tombstone{Target: earlier})
		s.add(t, &firn.Tombstone{Target: stone})
	case 4:
		s.add(t, &firn.Label{Target: earlier, Name: "here"})
	case 5:
		state := s.path(t).State
		details, err := json.Marshal(map[string]any{"state": state})
		if err != nil {
			t.Fatal(err)
		}
		s.add(t, &firn.Compaction{Summary: fmt.Sprintf("firn's summary %d", round), FirstKept: s.path(t).Head, TokensBefore: 99, Details: details})
	}
}

// follow sends the IDs of all entries as they arrive, until the test ends.
func (s *session) follow(t *testing.T) <-chan firn.EntryID {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	seen := make(chan firn.EntryID, 100*rounds)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(seen)
		for rec, err := range s.st.Follow(ctx, s.id, store.Start) {
			if err != nil {
				t.Errorf("follow: %v", err)
				return
			}
			if rec.Gap == nil && rec.Glance.Kind != firn.KindHeader {
				seen <- rec.Glance.ID
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return seen
}
