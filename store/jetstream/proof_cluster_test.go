package jetstream_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/store/jetstream"
	"firn.dev/store/storetest"
)

// TestCluster runs the tests that need three servers, in sequence on the same servers, because
// they take a while to start.
func TestCluster(t *testing.T) {
	c := newCluster(t, t.TempDir())
	t.Cleanup(c.stop)
	t.Run("Contract", func(t *testing.T) { storetest.Run(t, c.opened) })
	t.Run("Guards", func(t *testing.T) { clusterGuards(t, c) })
	t.Run("Returned", func(t *testing.T) { clusterReturned(t, c) })
}

// TestLostServers runs the tests that stop servers.
func TestLostServers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, t.TempDir())
	t.Cleanup(c.stop)
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

// clusterGuards opens stores that require more safety than the cluster offers.
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
	for name, o := range map[string]jetstream.Options{"one replica": few, "cannot check": silent, "one syncs now and then": lazy} {
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

// clusterReturned opens a store while one server does not respond. The store must report it when
// it is back and does not sync.
func clusterReturned(t *testing.T, c *cluster) {
	var asked atomic.Int32
	monitor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, `{"server_name":"back","jetstream":{"config":{"sync_interval":120000000000}}}`)
	}))
	defer monitor.Close()
	o := c.options(t)
	reports := make(chan string, 100)
	o.Report = func(m string) { reports <- m }
	two := o
	two.Monitors = []string{o.Monitors[0], monitor.URL}
	if _, err := jetstream.Open(t.Context(), two); !errors.Is(err, firn.ErrUnavailable) {
		t.Errorf("one of two servers does not respond: %v", err)
	}
	o.Monitors = append(slices.Clone(o.Monitors), monitor.URL)
	st := c.open(t, o)
	mustAppend(t, st, "s1", message("hi"))
	for _, want := range []string{"does not respond", `"back"`} {
		select {
		case m := <-reports:
			if !strings.Contains(m, want) {
				t.Errorf("reported %q, want %q", m, want)
			}
		case <-time.After(basetest.Limit):
			t.Fatalf("%s is not reported", want)
		}
	}
	c.clear(t, o.Space)
}

// clusterNoQuorum stops two of three servers: writes fail soon with a retryable error, reads
// continue, and everything works when one is back.
func clusterNoQuorum(t *testing.T, c *cluster) {
	o := c.options(t)
	st := c.open(t, o)
	mustAppend(t, st, "s1", message("a"), message("b"))
	want := records(t, st.Read(t.Context(), "s1", store.Start))
	through := c.through(o, c.nodes[2].Name)
	through.Wait = 4 * time.Second
	last := c.open(t, through)
	same(t, last, "s1", want)
	c.nodes[0].kill()
	c.nodes[1].kill()
	_, err := last.Append(t.Context(), "s1", store.Any, message("c"))
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
		_, err := last.Append(t.Context(), "s1", store.Any, message("d"))
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
