package openaiapi

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// ear records the output sent to a client.
type ear struct{ strings.Builder }

func (*ear) keepAlive()   {}
func (*ear) think(string) {}
func (e *ear) text(piece string, round bool) {
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
		received := &ear{}
		turn := &turn{to: received, next: true}
		for _, e := range events {
			if turn.handle(e) {
				break
			}
		}
		if got := received.String(); got != strings.TrimRight(want, " ") {
			t.Errorf("told was %q, want %q", got, want)
		}
		remembered := turn.clientMessage()
		if joined := strings.ReplaceAll(received.String(), "|", roundBreak); remembered.Text() != joined {
			t.Errorf("remembered is %q, told was %q", remembered.Text(), joined)
		}
	}
	received := &ear{}
	(&turn{to: received, next: true}).handle(report(wire.TurnCompleted, wire.Answer{Text: "NO_REPLY", Silent: true}))
	if received.String() != "" {
		t.Errorf("content that is not for the user was sent: %q", received)
	}
}

// TestMemory checks that the least recently used conversations are evicted.
func TestMemory(t *testing.T) {
	m := newMemory(2)
	m.put("a", position{session: "1"})
	m.put("b", position{session: "2"})
	m.get("a")
	m.put("c", position{session: "3"})
	if _, ok := m.get("b"); ok {
		t.Error("b is remembered")
	}
	m.put("a", position{session: "4"})
	if at, ok := m.get("a"); !ok || at.session != "4" {
		t.Errorf("a is %v", at)
	}
	m.drop("a")
	if _, ok := m.get("a"); ok || m.order.Len() != 1 {
		t.Error("a is remembered")
	}
}

// FuzzRequests parses arbitrary requests: each is rejected, or is a complete conversation
// that can be stored.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"hi"}]}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"[]"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"}]}]}`,
		`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"o"}]}`,
		`{"input":"\u0000","conversation":{"id":5},"tool_choice":{"type":"function"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var chat chatRequest
		if json.Unmarshal(body, &chat) == nil && chat.check() == nil {
			if talk, err := chat.talk(); err == nil {
				whole(t, talk)
			}
		}
		var q responseRequest
		if json.Unmarshal(body, &q) == nil && q.check() == nil {
			if talk, err := input(q.Input); err == nil {
				whole(t, talk)
			}
		}
	})
}

// whole checks a parsed conversation.
func whole(t *testing.T, c *transcript) {
	history, fresh := c.split()
	if len(history)+len(fresh) != len(c.messages) || len(history) > 0 && history[len(history)-1].Role != firn.RoleAssistant {
		t.Errorf("it is split into %d and %d of %d", len(history), len(fresh), len(c.messages))
	}
	if (digest{}).with(history...).with(fresh...) != (digest{}).with(c.messages...) {
		t.Error("its digest does not grow with it")
	}
	encoded, err := lines(entriesOf(c.messages, digest{}.with(c.messages...), (New(nil)).clock()))
	if err != nil {
		t.Errorf("it cannot be kept: %v", err)
	}
	for _, line := range encoded {
		if !json.Valid(line) {
			t.Errorf("a line is no JSON: %s", line)
		}
	}
}
