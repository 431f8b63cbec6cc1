package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"firn"
	"firn/store"
	"firn/store/jetstream"
	"firn/store/storetest"
)

// TestCluster runs what needs three servers, one after the other on the same
// ones: they take a while to start.
func TestCluster(t *testing.T) {
	c := newCluster(t, t.TempDir())
	t.Cleanup(c.stop)
	t.Run("Contract", func(t *testing.T) { storetest.Run(t, c.opened) })
	t.Run("Guards", func(t *testing.T) { clusterGuards(t, c) })
	t.Run("Damage", func(t *testing.T) { clusterDamage(t, c) })
	t.Run("NoQuorum", func(t *testing.T) { clusterNoQuorum(t, c) })
}

// opened opens an empty store for the suite.
func (c *cluster) opened(t *testing.T) storetest.Opened {
	o := c.options(t)
	st := c.open(t, o)
	t.Cleanup(func() { c.clear(t, o.Space) })
	return storetest.Opened{Store: st, Reopen: func() store.Store {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		st = c.open(t, o)
		return st
	}}
}

// clusterGuards opens stores that the cluster is not safe enough for.
func clusterGuards(t *testing.T, c *cluster) {
	o := c.options(t)
	few, silent, lazy := o, o, o
	few.Replicas = 1
	silent.Monitors = nil
	monitor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"server_name":"lazy","jetstream":{"config":{"sync_interval":120000000000}}}`)
	}))
	defer monitor.Close()
	lazy.Monitors = append(slices.Clone(o.Monitors), monitor.URL)
	for name, o := range map[string]jetstream.Options{"one replica": few, "nobody tells": silent, "one syncs now and then": lazy} {
		if _, err := jetstream.Open(t.Context(), o); !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
		o.Unsafe = true
		st, err := jetstream.Open(t.Context(), o)
		if err != nil {
			t.Errorf("%s, accepted: %v", name, err)
			continue
		}
		_ = st.Close()
		c.clear(t, o.Space)
	}
}

// kills is how often the leader is killed: once, or one time for every 50 that
// FIRN_KILLS says, because each takes an election.
func kills() int {
	n, err := strconv.Atoi(os.Getenv("FIRN_KILLS"))
	if err != nil {
		n = 0
	}
	return 1 + n/50
}

// TestKillLeader kills the leader of the stream while writers append, and looks
// for every acknowledged entry.
func TestKillLeader(t *testing.T) {
	c := newCluster(t, t.TempDir())
	t.Cleanup(c.stop)
	o := c.options(t)
	o.Wait = 40 * time.Second // under load an election may take long
	const writers = 6
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills())*3*time.Minute)
	defer cancel()
	api := c.behind(t)
	acked := make([]chan int, writers)
	logs := make([][]string, writers)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range writers {
		acked[w] = make(chan int, 1)
		st := c.open(t, o)
		wg.Go(func() { logs[w] = keepAppending(ctx, t, st, w, acked[w], stop) })
	}
	watcher := c.open(t, o)
	reach := func(more int) { // waits until each writer has got that many more through
		for w := range acked {
			have := -1
			for from := -1; from < 0 || have < from+more; {
				select {
				case have = <-acked[w]:
					if from < 0 {
						from = have
					}
				case <-ctx.Done():
					t.Error("the writers do not get on")
					return
				}
			}
		}
	}
	reach(1)
	seen := make(chan []string, 1)
	go func() { seen <- follow(ctx, t, watcher, "w0") }()
	for range kills() {
		reach(20)
		n := c.leader(t, api, o.Space+"_S00")
		n.kill()
		reach(20)
		n.start(t)
	}
	close(stop)
	wg.Wait()
	st := c.open(t, o)
	mustAppend(t, st, "w0", say(theEnd))
	logs[0] = append(logs[0], theEnd)
	if got := <-seen; !slices.Equal(got, logs[0]) {
		t.Errorf("who followed saw %d entries, %d are there, and they are not the same", len(got), len(logs[0]))
	}
	for w, want := range logs {
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
			t.Errorf("writer %d was acknowledged %d entries, %d are there, and they are not the same", w, len(want), len(got))
		}
	}
	c.clear(t, o.Space)
}

// theEnd is the last entry of a session that is followed.
const theEnd = "the end"

// follow follows a session up to its end and returns what it says.
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

// keepAppending appends to a session of its own until it is told to stop, and
// returns what was acknowledged. No append may fail: the cluster comes back in time.
func keepAppending(ctx context.Context, t *testing.T, st *jetstream.Store, w int, acked chan int, stop <-chan struct{}) []string {
	var log []string
	at := store.Start
	for i := 0; ; i++ {
		select {
		case <-stop:
			return log
		case <-acked: // nobody has looked at the last number
		default:
		}
		text := fmt.Sprint(w, " ", i, strings.Repeat(" x", i%50))
		end, err := st.Append(ctx, firn.ID(fmt.Sprint("w", w)), at, say(text))
		if err != nil {
			t.Errorf("writer %d, entry %d: %v", w, i, err)
			return log
		}
		at, log = end, append(log, text)
		select {
		case acked <- i:
		case <-stop:
			return log
		case <-ctx.Done():
			return log
		}
	}
}

// clusterNoQuorum takes two of three servers away: writes fail soon and say that
// they can be tried again, reads go on, and all is well when one comes back.
func clusterNoQuorum(t *testing.T, c *cluster) {
	o := c.options(t)
	st := c.open(t, o)
	mustAppend(t, st, "s1", say("a"), say("b"))
	want := records(t, st.Read(t.Context(), "s1", store.Start))
	through := c.through(o, c.nodes[2].Name)
	through.Wait = 4 * time.Second
	last := c.open(t, through)
	same(t, last, "s1", want)
	c.nodes[0].kill()
	c.nodes[1].kill()
	_, err := last.Append(t.Context(), "s1", store.Any, say("c"))
	var u *jetstream.Unavailable
	if !errors.As(err, &u) || !errors.Is(err, firn.ErrNotSaved) {
		t.Errorf("without a quorum an append gives %v", err)
	}
	if got := records(t, last.Read(t.Context(), "s1", store.Start)); !slices.Equal(got, want) {
		t.Errorf("without a quorum %d records are read, want %d the same", len(got), len(want))
	}
	c.nodes[0].start(t)
	c.nodes[1].start(t)
	for t.Context().Err() == nil {
		_, err := last.Append(t.Context(), "s1", store.Any, say("d"))
		if err == nil {
			break
		}
		if !errors.As(err, &u) {
			t.Fatalf("with a quorum an append gives %v", err)
		}
	}
	got := records(t, last.Read(t.Context(), "s1", store.Start))
	if len(got) < 4 || !slices.Equal(got[:3], want) || !strings.Contains(got[len(got)-1].line, `"d"`) {
		t.Errorf("read %v", got)
	}
	c.clear(t, o.Space)
}
