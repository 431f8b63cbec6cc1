package conversation

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// fakeClient records the output sent to a client.
type fakeClient struct{ strings.Builder }

func (*fakeClient) KeepAlive()         {}
func (*fakeClient) Think(string)       {}
func (*fakeClient) Entry(firn.EntryID) {}
func (e *fakeClient) Text(piece string, round bool) {
	if round {
		e.WriteString("|")
	}
	e.WriteString(piece)
}

// TestGaps checks that the complete answer is sent even if events were lost.
func TestGaps(t *testing.T) {
	report := func(name string, data any) wire.Event {
		raw, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		return wire.Event{Name: name, Data: raw}
	}
	piece := func(text string) wire.Event { return report(wire.DeltaText, wire.Delta{Text: text}) }
	gap, used := wire.Event{Name: wire.Gap}, wire.Event{Name: wire.ToolCompleted}
	done := report(wire.TurnCompleted, wire.Answer{Text: "one two"})
	for want, events := range map[string][]wire.Event{
		"one two":         {piece("one "), piece("two"), done},
		"one two ":        {piece("one "), gap, done, piece(" ")},
		"one two  ":       {gap, piece("two"), done, piece("  ")},
		"three|one two":   {piece("three"), gap, piece("x"), done},
		"let me|one two":  {piece("let me"), used, piece("one two"), done},
		"let me|one two ": {piece("let me"), used, gap, done, piece(" ")},
	} {
		received := &fakeClient{}
		turn := &Turn{to: received, next: true}
		for _, e := range events {
			if turn.handle(e) {
				break
			}
		}
		if got := received.String(); got != strings.TrimRight(want, " ") {
			t.Errorf("sent was %q, want %q", got, want)
		}
		remembered := turn.clientMessage()
		if joined := strings.ReplaceAll(received.String(), "|", RoundBreak); remembered.Text() != joined {
			t.Errorf("remembered: %q, sent: %q", remembered.Text(), joined)
		}
	}
	received := &fakeClient{}
	(&Turn{to: received, next: true}).handle(report(wire.TurnCompleted, wire.Answer{Text: "NO_REPLY", Silent: true}))
	if received.String() != "" {
		t.Errorf("content that is not for the user was sent: %q", received)
	}
}

// TestMemory checks that the least recently used conversations are evicted.
func TestMemory(t *testing.T) {
	m := newMemory(2)
	m.put("a", Position{Session: "1"})
	m.put("b", Position{Session: "2"})
	m.get("a")
	m.put("c", Position{Session: "3"})
	if _, ok := m.get("b"); ok {
		t.Error("b is remembered")
	}
	m.put("a", Position{Session: "4"})
	if at, ok := m.get("a"); !ok || at.Session != "4" {
		t.Errorf("a is %v", at)
	}
	m.drop("a")
	if _, ok := m.get("a"); ok || m.order.Len() != 1 {
		t.Error("a is remembered")
	}
}

// TestSplit checks that a conversation is split after its last answer, and that its digest
// grows with it.
func TestSplit(t *testing.T) {
	say := func(role firn.Role, text string) firn.Message { return firn.Message{Role: role, Parts: TextPart(text)} }
	c := &Transcript{}
	for i, role := range []firn.Role{firn.RoleUser, firn.RoleAssistant, firn.RoleAssistant, firn.RoleUser, firn.RoleUser} {
		c.Add(say(role, strings.Repeat("x", i+1)))
		history, fresh := c.split()
		if len(history)+len(fresh) != len(c.Messages) || len(history) > 0 && history[len(history)-1].Role != firn.RoleAssistant {
			t.Errorf("split into %d and %d of %d", len(history), len(fresh), len(c.Messages))
		}
		if (digest{}).with(history...).with(fresh...) != (digest{}).with(c.Messages...) {
			t.Error("the digest does not grow with the conversation")
		}
	}
	if len(c.Messages) != 4 { // consecutive answers are one
		t.Errorf("there are %d messages", len(c.Messages))
	}
}
