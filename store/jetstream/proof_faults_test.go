//go:build unix

package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/store/jetstream"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// kills returns how often the leader is killed and suspended: once, or once for every 50 of
// FIRN_KILLS, because each requires elections.
func kills() int {
	n, err := strconv.Atoi(os.Getenv("FIRN_KILLS"))
	if err != nil {
		n = 0
	}
	return 1 + n/50
}

// TestKillLeader kills the leader of the stream, and then suspends another one until it is
// no longer the leader, while writers append to sessions of their own, a follower reads,
// and clients compete for sessions. All acknowledged entries must be there, once and in
// order, and the results of the clients must be linearizable.
func TestKillLeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t, t.TempDir())
	t.Cleanup(c.stop)
	o := c.options(t)
	o.Wait = basetest.Limit // under load an election may take long
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills())*4*basetest.Limit)
	defer cancel()
	r := &concurrentUsers{t: t, c: c, o: o, ctx: ctx, stop: make(chan struct{}), history: &history{began: time.Now()}, seed: basetest.Seed(t)}
	r.start(3, 3)
	r.reach(10)
	for range kills() {
		n := c.leader(t, c.connect(t), o.Space+"_S00")
		n.kill()
		r.reach(10)
		n.start(t)
		r.reach(10)
		n = c.leader(t, c.connect(t), o.Space+"_S00")
		n.Pause(t)
		c.deposed(t, o.Space+"_S00", n)
		r.reach(10)
		n.Resume(t)
		r.reach(10)
	}
	r.end()
}

// deposed waits until the other servers report one of themselves as the leader of a stream.
func (c *cluster) deposed(t testing.TB, stream string, n *node) {
	t.Helper()
	var others []string
	for _, other := range c.nodes {
		if other.Name != n.Name {
			others = append(others, other.Name)
		}
	}
	nc, err := nats.Connect(c.through(jetstream.Options{}, others...).URL, nats.MaxReconnects(-1), nats.IgnoreDiscoveredServers())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	api, err := js.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for c.leader(t, api, stream).Name == n.Name {
	}
}

// concurrentUsers is a set of concurrent users of a store.
type concurrentUsers struct {
	t    *testing.T
	c    *cluster
	o    jetstream.Options
	ctx  context.Context
	stop chan struct{}

	wg      sync.WaitGroup
	acked   []chan int
	logs    [][]string
	history *history
	seed    uint64
	seen    chan []string
}

// start starts writers that have a session each, clients that share sessions, and a follower
// of the first writer.
func (r *concurrentUsers) start(writers, clients int) {
	r.logs = make([][]string, writers)
	for w := range writers {
		acked, st := make(chan int, 1), r.c.open(r.t, r.o)
		r.acked = append(r.acked, acked)
		r.wg.Go(func() { r.logs[w] = keepAppending(r.ctx, r.t, st, w, acked, r.stop) })
	}
	sessions := []firn.ID{"h0", "h1"}
	for _, id := range sessions {
		e := message(firstText)
		e.ID = firstText
		mustAppend(r.t, r.c.open(r.t, r.o), id, e)
	}
	hasty := r.o
	hasty.Wait = 4 * time.Second // so that some outcomes are unknown
	for n := range clients {
		acked := make(chan int, 1)
		r.acked = append(r.acked, acked)
		one := newClient(n, r.c.open(r.t, hasty), r.history, r.seed)
		r.wg.Go(func() {
			one.work(r.ctx, r.t, sessions, func() bool { return sendCount(r.ctx, acked, one.made, r.stop) })
		})
	}
	watcher := r.c.open(r.t, r.o)
	r.reach(1)
	r.seen = make(chan []string, 1)
	go func() { r.seen <- follow(r.ctx, r.t, watcher, "w0") }()
}

// sendCount passes a number on, and reports whether to continue.
func sendCount(ctx context.Context, acked chan int, n int, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	case <-acked: // the previous number was not read
	default:
	}
	select {
	case acked <- n:
		return true
	case <-stop:
	case <-ctx.Done():
	}
	return false
}

// reach waits until each of them has completed that many more appends.
func (r *concurrentUsers) reach(more int) {
	r.t.Helper()
	for w := range r.acked {
		have := -1
		for from := -1; from < 0 || have < from+more; {
			select {
			case have = <-r.acked[w]:
				if from < 0 {
					from = have
				}
			case <-r.ctx.Done():
				r.t.Fatalf("number %d makes no progress", w)
			}
			if r.t.Failed() {
				r.t.FailNow()
			}
		}
	}
}

// end stops all of them and checks the acknowledged entries.
func (r *concurrentUsers) end() {
	t := r.t
	close(r.stop)
	r.wg.Wait()
	st := r.c.open(t, r.o)
	mustAppend(t, st, "w0", message(theEnd))
	r.logs[0] = append(r.logs[0], theEnd)
	if got := <-r.seen; !slices.Equal(got, r.logs[0]) {
		t.Errorf("the follower saw %d entries, %d exist, and they differ", len(got), len(r.logs[0]))
	}
	for w, want := range r.logs {
		var got []string
		for r, err := range st.Read(t.Context(), firn.ID(fmt.Sprint("w", w)), 1) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := r.Entry()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Body.(*firn.Message).Text())
		}
		if !slices.Equal(got, want) {
			t.Errorf("writer %d was acknowledged %d entries, %d exist, and they differ", w, len(want), len(got))
		}
	}
	last := newClient(99, st, r.history, r.seed)
	for _, id := range []firn.ID{"h0", "h1"} { // a final read of everything
		last.looks(t.Context(), t, id)
		last.reads(t.Context(), t, id)
		if end, err := st.Append(t.Context(), id, store.Any); err != nil || int(end) != last.read[id] {
			t.Errorf("session %s ends at %d, %v, and %d records are read", id, end, err, last.read[id])
		}
	}
	r.history.check(t)
}

// theEnd is the last entry of a session that is followed.
const theEnd = "the end"

// follow follows a session up to its end and returns its texts.
func follow(ctx context.Context, t *testing.T, st store.Store, id firn.ID) []string {
	var all []string
	for r, err := range st.Follow(ctx, id, 1) {
		if err != nil {
			t.Errorf("follow: %v", err)
			return all
		}
		e, err := r.Entry()
		if err != nil {
			t.Errorf("follow: %v", err)
			return all
		}
		text := e.Body.(*firn.Message).Text()
		if all = append(all, text); text == theEnd {
			return all
		}
	}
	t.Error("following ended before the end")
	return all
}

// keepAppending appends to its own session until it is stopped, and returns the acknowledged
// texts. No append may fail: the cluster recovers in time.
func keepAppending(ctx context.Context, t *testing.T, st *jetstream.Store, w int, acked chan int, stop <-chan struct{}) []string {
	var log []string
	at := store.Start
	for i := 0; ; i++ {
		text := fmt.Sprint(w, " ", i, strings.Repeat(" x", i%50))
		end, err := st.Append(ctx, firn.ID(fmt.Sprint("w", w)), at, message(text))
		if err != nil {
			t.Errorf("writer %d, entry %d: %v", w, i, err)
			return log
		}
		at, log = end, append(log, text)
		if !sendCount(ctx, acked, i, stop) {
			return log
		}
	}
}
