package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// fullStore rejects writes while it is full.
type fullStore struct {
	store.Store
	full atomic.Bool
}

func (s *fullStore) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if s.full.Load() {
		return 0, fmt.Errorf("append to session %s: %w", id, firn.ErrNotSaved)
	}
	return s.Store.Append(ctx, id, expect, entries...)
}

// TestAcceptedOnAFullDisk fills the disk while messages are queued: accepted messages are
// delivered in order when there is space again, before later ones.
func TestAcceptedOnAFullDisk(t *testing.T) {
	for _, mode := range []string{"followup", "collect"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &fullStore{Store: memstore.New(memstore.Options{})}
				d := open(t, st)
				one := d.send("one", mode)
				<-d.asked
				two, three := d.send("two", mode), d.send("three", mode)
				st.full.Store(true)
				for range 10 {
					d.gate <- struct{}{}
				}
				<-one.done
				if one.err == nil {
					t.Error("the answer was kept on a full disk")
				}
				time.Sleep(time.Minute)
				if _, err := d.accept(t.Context(), "s", wire.Turn{Text: "refused", Queue: mode}); wire.KindOf(err) != wire.NotSaved {
					t.Errorf("a message that cannot be kept: %v", err)
				}
				st.full.Store(false)
				four := d.send("four", mode)
				for _, done := range []*ticket{two, three, four} {
					<-done.done
					if done.err != nil {
						t.Error(done.err)
					}
				}
				d.shut()
				var texts []string
				for line := range strings.SplitSeq(d.log(), "\n") {
					if text, ok := strings.CutPrefix(line, "user: "); ok {
						texts = append(texts, text)
					}
				}
				want := []string{"one", "two", "three", "four"}
				if mode == "collect" {
					want = []string{"one", "[Messages received while you were busy:] /  / [message 1 of 3] / two /  / [message 2 of 3] / three /  / [message 3 of 3] / four"}
				}
				if !slices.Equal(texts, want) {
					t.Errorf("said was %q, want %q", texts, want)
				}
			})
		})
	}
}

// TestRepeatedLate sends a message again long after it was delivered and checks that it is
// not added twice.
func TestRepeatedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		old := firn.NewEntryID()
		time.Sleep(10 * time.Minute)
		first := wire.Turn{Text: "said first", ID: firn.NewEntryID()}
		for range 10 {
			d.gate <- struct{}{}
		}
		want, err := d.Turn(t.Context(), "s", first)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Turn(t.Context(), "s", wire.Turn{Text: "tried for long", ID: old}); err != nil {
			t.Fatal(err)
		}
		got, err := d.Turn(t.Context(), "s", first)
		if err != nil || got.Entry != want.Entry {
			t.Errorf("the second time it is answered %+v, %v", got, err)
		}
		d.shut()
		d.want("user: said first", "assistant: re: said first", "user: tried for long", "assistant: re: tried for long")
	})
}

// TestRepeatedAfterARewind sends a message again after the head was moved back and checks
// that it gets the answer from the branch that was left.
func TestRepeatedAfterARewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		for range 10 {
			d.gate <- struct{}{}
		}
		one, err := d.Turn(t.Context(), "s", wire.Turn{Text: "one", ID: firn.NewEntryID()})
		if err != nil {
			t.Fatal(err)
		}
		two := wire.Turn{Text: "two", ID: firn.NewEntryID()}
		want, err := d.Turn(t.Context(), "s", two)
		if err != nil {
			t.Fatal(err)
		}
		head := firn.NewEntry(&firn.Head{})
		head.Parent = one.Entry
		if _, err := d.st.Append(t.Context(), "s", store.Any, head); err != nil {
			t.Fatal(err)
		}
		got, err := d.Turn(t.Context(), "s", two)
		if err != nil || got.Entry != want.Entry || got.Text != want.Text {
			t.Errorf("the second time it is answered %+v, %v", got, err)
		}
		d.shut()
		d.want("user: one", "assistant: re: one", "user: two", "assistant: re: two")
	})
}

// TestRepeatedAfterItWasStopped sends a message again whose turn was stopped, after the
// head was moved back, and checks that it is neither added again nor rejected.
func TestRepeatedAfterItWasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		d.gate <- struct{}{}
		one, err := d.Turn(t.Context(), "s", wire.Turn{Text: "one", ID: firn.NewEntryID()})
		if err != nil {
			t.Fatal(err)
		}
		<-d.asked
		hang := wire.Turn{Text: "hang", ID: firn.NewEntryID()}
		ticket, err := d.accept(t.Context(), "s", hang)
		if err != nil {
			t.Fatal(err)
		}
		<-d.asked
		if _, err := d.Stop(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		<-ticket.done
		head := firn.NewEntry(&firn.Head{})
		head.Parent = one.Entry
		if _, err := d.st.Append(t.Context(), "s", store.Any, head); err != nil {
			t.Fatal(err)
		}
		got, err := d.Turn(t.Context(), "s", hang)
		if err != nil || got.Text != "" || got.Message != hang.ID {
			t.Errorf("the second time it is answered %+v, %v", got, err)
		}
		d.shut()
		if n := strings.Count(d.log(), "user: hang"); n != 1 {
			t.Errorf("it is stored %d times", n)
		}
	})
}
