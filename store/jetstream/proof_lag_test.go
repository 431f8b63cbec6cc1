//go:build unix

package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/store/jetstream"
)

// TestLag reads from a replica that lags while no leader responds: the reader knows of
// messages that the replica does not have yet. It must not be called damaged.
func TestLag(t *testing.T) {
	t.Parallel()
	c := newCluster(t, t.TempDir())
	t.Cleanup(c.stop)
	for name, read := range map[string]func(context.Context, *jetstream.Store, store.Pos) iter.Seq2[store.Record, error]{
		"forward": func(ctx context.Context, st *jetstream.Store, _ store.Pos) iter.Seq2[store.Record, error] {
			return st.Read(ctx, "s1", store.Start)
		},
		"backward": func(ctx context.Context, st *jetstream.Store, end store.Pos) iter.Seq2[store.Record, error] {
			return st.ReadBack(ctx, "s1", end)
		},
	} {
		t.Run(name, func(t *testing.T) { lagOnce(t, c, read) })
	}
}

func lagOnce(t *testing.T, c *cluster, read func(context.Context, *jetstream.Store, store.Pos) iter.Seq2[store.Record, error]) {
	o := c.options(t)
	o.SealAfter, o.Wait = -1, basetest.Limit
	st := c.open(t, o)
	mustAppend(t, st, "s1", message("the first"))
	api := c.connect(t)
	c.Current(t, api)
	leader := c.leader(t, api, o.Space+"_S00")
	slow := c.nodes[0]
	if slow == leader {
		slow = c.nodes[1]
	}
	slow.Pause(t)
	var end store.Pos
	for i := range 600 { // more than the messages that are fetched first in either direction
		end = mustAppend(t, st, "s1", message(fmt.Sprint("entry number ", i)))
	}
	o.Wait = 4 * time.Second
	reader := c.open(t, o)
	next, stop := iter.Pull2(read(t.Context(), reader, end))
	defer stop()
	if _, err, ok := next(); err != nil || !ok {
		t.Fatalf("the first record: %v, %v", err, ok)
	}
	for _, n := range c.nodes {
		if n != slow {
			n.kill()
		}
	}
	slow.Resume(t)
	connected(t, reader, slow.Name)
	n := 1
	for _, err, ok := next(); ok; _, err, ok = next() {
		if n++; err == nil {
			continue
		}
		if !errors.Is(err, firn.ErrUnavailable) || errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("after %d records: %v", n, err)
		}
		break
	}
	if n >= int(end) {
		t.Errorf("%d records were read without the servers that have them", n)
	}
	for _, n := range c.nodes {
		if n != slow {
			n.start(t)
		}
	}
	c.clear(t, o.Space)
}

// connected waits until a store is connected to a server.
func connected(t *testing.T, st *jetstream.Store, server string) {
	t.Helper()
	for deadline := time.Now().Add(basetest.Limit); jetstream.ConnectedServer(st) != server; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the store does not connect to %s", server)
		}
	}
}
