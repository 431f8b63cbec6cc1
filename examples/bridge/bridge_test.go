package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// gateway records the messages that it gets, and answers them by a function.
type gateway struct {
	mu     sync.Mutex
	calls  []string
	answer func(in wire.Inbound) (wire.Routed, error)
}

func (g *gateway) Inbound(_ context.Context, in wire.Inbound) (wire.Routed, error) {
	g.mu.Lock()
	g.calls = append(g.calls, fmt.Sprintf("%s %v", in.ID, in.Wait))
	g.mu.Unlock()
	return g.answer(in)
}

// answerWith returns an answer that is an entry.
func answerWith(in wire.Inbound, entry, text string) wire.Routed {
	if !in.Wait {
		return wire.Routed{Message: firn.EntryID(in.ID), Deliver: true}
	}
	return wire.Routed{Message: firn.EntryID(in.ID), Deliver: true, Reply: text, Answer: &wire.Answer{Entry: firn.EntryID(entry), Text: text}}
}

// outbox records what is sent.
type outbox struct {
	mu   sync.Mutex
	sent []string
	done []string
}

// message returns a message of a conversation that is sent to the outbox.
func (o *outbox) message(id, peer string) Message {
	return Message{
		In: wire.Inbound{Channel: "test", PeerKind: "direct", PeerID: peer, ID: id, Text: "hello"},
		Send: func(_ context.Context, r Reply) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.sent = append(o.sent, fmt.Sprintf("%s %s %v", r.ID, r.Text, r.Unsure))
			return nil
		},
		Done: func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.done = append(o.done, id)
		},
	}
}

// TestOrder checks that a conversation is stored in order, that a running answer delays neither
// the next message nor other conversations, and that an answer to two messages is sent once.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		g := &gateway{answer: func(in wire.Inbound) (wire.Routed, error) {
			if in.Wait && in.PeerID == "ann" {
				<-slow
				return answerWith(in, "both", "late"), nil
			}
			if in.Text == "/stop" {
				return wire.Routed{Deliver: true, Reply: "Stopped."}, nil
			}
			return answerWith(in, "e-"+in.ID, "soon"), nil
		}}
		b, o := New(g), new(outbox)
		b.Accept(t.Context(), o.message("1", "ann"))
		b.Accept(t.Context(), o.message("2", "ann"))
		stop := o.message("3", "ann")
		stop.In.Text = "/stop"
		b.Accept(t.Context(), stop)
		b.Accept(t.Context(), o.message("4", "bob"))
		synctest.Wait()
		if want := []string{"3 Stopped. false", "e-4 soon false"}; !slices.Equal(slices.Sorted(slices.Values(o.sent)), want) {
			t.Errorf("sent while an answer is awaited: %q, want %q", o.sent, want)
		}
		var stored []string
		for _, call := range g.calls {
			if strings.HasSuffix(call, "false") && !strings.HasPrefix(call, "4") {
				stored = append(stored, call)
			}
		}
		if want := []string{"1 false", "2 false", "3 false"}; !slices.Equal(stored, want) {
			t.Errorf("stored %q, want %q", stored, want)
		}
		close(slow)
		b.Wait()
		if n := len(o.sent); n != 3 || o.sent[2] != "both late false" {
			t.Errorf("sent %q", o.sent)
		}
		if slices.Sort(o.done); !slices.Equal(o.done, []string{"1", "2", "3", "4"}) {
			t.Errorf("done are %q", o.done)
		}
	})
}

// TestRetries checks the times between attempts, that an answer after a failed attempt is
// marked, and that final errors are not retried.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, failures := time.Now(), 0
		g := &gateway{answer: func(in wire.Inbound) (wire.Routed, error) {
			if in.Text == "bad" {
				return wire.Routed{}, &wire.Problem{Kind: wire.Invalid, Message: "bad"}
			}
			if failures++; failures <= 2 {
				return wire.Routed{}, errors.New("the gateway does not respond")
			}
			return answerWith(in, "e", "yes"), nil
		}}
		b, o := New(g), new(outbox)
		m, tries := o.message("1", "ann"), 0
		send := m.Send
		m.Send = func(ctx context.Context, r Reply) error {
			if tries++; tries == 1 {
				return &Limited{After: 7 * time.Second, Err: errors.New("too many requests")}
			}
			return send(ctx, r)
		}
		b.Accept(t.Context(), m)
		b.Wait()
		if took := time.Since(start); took != (1+2+7)*time.Second || !slices.Equal(o.sent, []string{"e yes true"}) {
			t.Errorf("after %v it has sent %q", took, o.sent)
		}
		bad := o.message("2", "ann")
		bad.In.Text = "bad"
		b.Accept(t.Context(), bad)
		refused := o.message("3", "ann")
		refused.Send = func(context.Context, Reply) error { return Final(errors.New("the chat is gone")) }
		b.Accept(t.Context(), refused)
		b.Wait()
		if slices.Sort(o.done); !slices.Equal(o.done, []string{"1", "2", "3"}) || len(o.sent) != 1 {
			t.Errorf("done are %q, sent %q", o.done, o.sent)
		}
	})
}

// TestEnd checks that a message whose context ends is not done.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := &gateway{answer: func(wire.Inbound) (wire.Routed, error) { return wire.Routed{}, errors.New("no answer") }}
		b, o := New(g), new(outbox)
		b.Accept(ctx, o.message("1", "ann"))
		b.Accept(ctx, o.message("2", "ann"))
		synctest.Wait()
		cancel()
		b.Wait()
		if len(o.done) > 0 {
			t.Errorf("done are %q", o.done)
		}
	})
}

// TestJournal checks that values survive in order, and that an unfinished file is no value.
func TestJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	j, values, err := OpenJournal(dir)
	if err != nil || len(values) > 0 {
		t.Fatal(values, err)
	}
	for n := range 12 {
		if added, err := j.Put(fmt.Sprint("id", n), n); err != nil || !added {
			t.Fatal(added, err)
		}
	}
	if added, err := j.Put("id3", 99); err != nil || added {
		t.Errorf("a value was put twice: %v, %v", added, err)
	}
	for _, n := range []int{0, 5, 11} {
		if err := j.Remove(fmt.Sprint("id", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "000000000099.json.new"), []byte(`{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	j, _, err = OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if added, err := j.Put("id11", 11); err != nil || !added {
		t.Fatal(added, err)
	}
	_, values, err = OpenJournal(dir)
	if got, _ := json.Marshal(values); err != nil || string(got) != "[1,2,3,4,6,7,8,9,10,11]" {
		t.Errorf("the journal has %s, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "000000000003.json"), []byte(`{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenJournal(dir); err == nil || !strings.Contains(err.Error(), "000000000003.json") {
		t.Errorf("a damaged file gives %v", err)
	}
}

// TestPieces checks where long texts are cut.
func TestPieces(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "abc": {"abc"}, "abcdefgh": {"abcde", "fgh"}, "abcd\nefgh": {"abcd", "efgh"}, "a\nbcdefg": {"a\nbcd", "efg"}, "😀😀😀": {"😀😀", "😀"},
	} {
		if got := Pieces(text, 5); !slices.Equal(got, want) {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}
