package gateway_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// followedStore counts the records that followers read.
type followedStore struct {
	*memstore.Store
	records atomic.Int64
}

func (s *followedStore) Follow(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for rec, err := range s.Store.Follow(ctx, id, after) {
			s.records.Add(1)
			if !yield(rec, err) {
				return
			}
		}
	}
}

// feedStand returns a gateway on a counting store with one session.
func feedStand(t *testing.T) (*gateway.Gateway, *followedStore, firn.ID) {
	t.Helper()
	st := &followedStore{Store: memstore.New(memstore.Options{})}
	g, err := gateway.New(gateway.Options{Store: st, Dialect: native.New(), Setup: gateway.Setup{Default: "main", Agents: map[string]*agent.Agent{"main": {Store: st, Model: scripted.New(scripted.Info())}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close(context.Background()) }) //nolint:errcheck // nothing runs
	s, err := g.NewSession(t.Context(), wire.NewSession{Agent: "main"})
	if err != nil {
		t.Fatal(err)
	}
	return g, st, s.ID
}

func appendText(t *testing.T, g *gateway.Gateway, id firn.ID, text string) firn.Pos {
	t.Helper()
	done, err := g.Append(t.Context(), id, store.Any, wire.NewEntries{User: text})
	if err != nil {
		t.Fatal(err)
	}
	return done.End
}

// TestFollowersShareEncodedEntries checks that an entry is read and encoded once for all
// listeners of a session, and that each receives all entries in order.
func TestFollowersShareEncodedEntries(t *testing.T) {
	g, st, id := feedStand(t)
	end := appendText(t, g, id, "before")
	const followers, entries = 200, 50
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var begun, all sync.WaitGroup
	begun.Add(followers)
	data := make([]map[*byte]bool, followers) // the addresses of each event's data
	for n := range followers {
		data[n] = make(map[*byte]bool)
		all.Go(func() {
			received := 0
			for e, err := range g.Events(ctx, id, 0) {
				if err != nil {
					t.Errorf("follower %d: %v", n, err)
					return
				}
				if e.Name != wire.EntryAppended {
					continue
				}
				if e.Pos == end {
					begun.Done()
				}
				if e.Pos <= end {
					continue
				}
				if !strings.Contains(string(e.Data), fmt.Sprintf("entry %03d", received)) {
					t.Errorf("follower %d got %s, want entry %d", n, e.Data, received)
					return
				}
				data[n][&e.Data[0]] = true
				if received++; received == entries {
					return
				}
			}
		})
	}
	begun.Wait()
	before := st.records.Load()
	for n := range entries {
		appendText(t, g, id, fmt.Sprintf("entry %03d", n))
	}
	all.Wait()
	// A follower that has not joined yet or fell behind reads for itself.
	if read := st.records.Load() - before; read > followers*entries/4 {
		t.Errorf("%d records were read for %d entries and %d followers", read, entries, followers)
	}
	distinct := make(map[*byte]bool)
	for _, some := range data {
		for at := range some {
			distinct[at] = true
		}
	}
	if len(distinct) > followers*entries/4 {
		t.Errorf("%d events were made of %d entries", len(distinct), entries)
	}
}

// TestFollowerFallsBehind checks that a stalled follower does not delay appends, and later
// receives everything from the log.
func TestFollowerFallsBehind(t *testing.T) {
	g, _, id := feedStand(t)
	end := appendText(t, g, id, "before")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next, stop := iter.Pull2(g.Events(ctx, id, 0))
	defer stop()
	for { // wait until it has joined
		e, err, ok := next()
		if !ok || err != nil {
			t.Fatalf("%v %v", ok, err)
		}
		if e.Pos == end {
			break
		}
	}
	// Another follower keeps the feed running well beyond its limit.
	const entries = 1000
	reached := make(chan struct{})
	go func() {
		received := 0
		for e, err := range g.Events(ctx, id, end) {
			if err == nil && e.Name == wire.EntryAppended {
				if received++; received == entries {
					close(reached)
					return
				}
			}
		}
	}()
	for n := range entries {
		appendText(t, g, id, fmt.Sprintf("entry %04d", n))
	}
	<-reached
	for n := range entries {
		e, err, ok := next()
		for ok && err == nil && strings.Contains(string(e.Data), firn.CountersType) { // skip checkpoints
			e, err, ok = next()
		}
		if !ok || err != nil || !strings.Contains(string(e.Data), fmt.Sprintf("entry %04d", n)) {
			t.Fatalf("entry %d is %s, %v %v", n, e.Data, ok, err)
		}
	}
}
