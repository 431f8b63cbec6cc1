package gateway

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// blindStore cannot be read for a while after a machine message was stored.
type blindStore struct {
	store.Store
	blind atomic.Bool
}

func (s *blindStore) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	end, err := s.Store.Append(ctx, id, expect, entries...)
	for _, e := range entries {
		if _, ok := e.Body.(*firn.CustomMessage); ok && err == nil {
			s.blind.Store(true)
		}
	}
	return end, err
}

func (s *blindStore) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return s.unless(s.Store.Read(ctx, id, after))
}

func (s *blindStore) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return s.unless(s.Store.ReadBack(ctx, id, before))
}

func (s *blindStore) unless(records iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if s.blind.Load() {
			yield(store.Record{}, fmt.Errorf("read: %w", firn.ErrUnavailable))
			return
		}
		records(yield)
	}
}

// TestHookDeliversOnce checks that a machine message whose turn could not start after it
// was stored is answered later and stored once.
func TestHookDeliversOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &blindStore{Store: memstore.New(memstore.Options{})}
		d := open(t, st)
		one := d.send("one", "followup")
		<-d.asked
		two, err := d.Gateway.postMachineText(t.Context(), "s", "cron:backup", "two", "")
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			d.gate <- struct{}{}
		}
		<-one.done
		time.Sleep(100 * time.Millisecond)
		st.blind.Store(false)
		<-two.done
		if two.err != nil || two.answer.Text != "re: two" {
			t.Errorf("the machine is answered %q, %v", two.answer.Text, two.err)
		}
		d.shut()
		text := 0
		for rec, err := range st.Store.Read(t.Context(), "s", store.Start) {
			if err != nil {
				t.Fatal(err)
			}
			if e, _ := rec.Entry(); e.Body.Kind() == firn.KindCustomMessage {
				text++
			}
		}
		if text != 1 || strings.Count(d.log(), "re: two") != 1 {
			t.Errorf("it is stored %d times:\n%s", text, d.log())
		}
	})
}
