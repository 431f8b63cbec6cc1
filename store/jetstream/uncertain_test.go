package jetstream_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/store/jetstream"

	"github.com/nats-io/nats-server/v2/server"
)

// newListening starts a server that listens, and stops it after the test.
func newListening(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.JetStream, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, t.TempDir(), true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(basetest.Limit) {
		t.Fatal("the server does not become ready")
	}
	return s
}

// lossyConn is a connection to a server that can lose data.
type lossyConn struct {
	listener net.Listener
	target   string

	mu sync.Mutex
	// deaf drops the server's responses, dumb the client's requests.
	deaf, dumb bool
	conns      map[net.Conn]bool
}

func newRoad(t testing.TB, target string) *lossyConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &lossyConn{listener: l, target: target, conns: make(map[net.Conn]bool)}
	var wg sync.WaitGroup
	wg.Go(func() { r.serve(&wg) })
	t.Cleanup(func() {
		_ = l.Close()
		r.set(false, false)
		wg.Wait()
	})
	return r
}

func (r *lossyConn) url() string { return "nats://" + r.listener.Addr().String() }

func (r *lossyConn) serve(wg *sync.WaitGroup) {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		r.mu.Lock()
		r.conns[in], r.conns[out] = true, true
		r.mu.Unlock()
		wg.Go(func() { r.pipe(out, in, &r.dumb) })
		wg.Go(func() { r.pipe(in, out, &r.deaf) })
	}
}

// pipe passes bytes on, or drops them.
func (r *lossyConn) pipe(to, from net.Conn, lost *bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		r.mu.Lock()
		lose := *lost
		r.mu.Unlock()
		if !lose {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// set selects which direction is dropped. When neither is any more, all clients must
// reconnect.
func (r *lossyConn) set(deaf, dumb bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaf, r.dumb = deaf, dumb
	if !deaf && !dumb {
		for c := range r.conns {
			_ = c.Close()
		}
		clear(r.conns)
	}
}

// TestUnknownOutcome appends over a connection that loses the response or the request, and
// then repeats the append.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := newListening(t, &server.Options{})
	addr := s.Addr().String()
	report := func(id firn.EntryID, text string) firn.Entry {
		e := message(text)
		e.ID = id
		return e
	}
	for name, c := range map[string]struct {
		dumb bool
		text string
		// between runs before the append is repeated.
		between func(other *jetstream.Store) error
		expect  store.Pos
		again   firn.Entry
		want    string
		err     error
	}{
		"stored":               {want: "a b"},
		"not stored":           {dumb: true, want: "a b"},
		"not even its object":  {text: strings.Repeat("large ", 100_000), want: "a large"},
		"stored, wherever":     {expect: store.Any, want: "a b"},
		"not stored, wherever": {dumb: true, expect: store.Any, want: "a b"},
		"stored and sealed":    {between: func(o *jetstream.Store) error { return o.Seal(t.Context(), "s1") }, want: "a b"},
		"stored and added to": {between: func(o *jetstream.Store) error {
			_, err := o.Append(t.Context(), "s1", store.Any, message("c"))
			return err
		}, want: "a b c"},
		"not stored, another writer was first": {dumb: true, between: func(o *jetstream.Store) error {
			_, err := o.Append(t.Context(), "s1", store.Any, message("c"))
			return err
		}, want: "a c", err: firn.ErrConflict},
		"not stored, and removed":      {dumb: true, between: func(o *jetstream.Store) error { return o.Remove(t.Context(), "s1", "") }, err: firn.ErrNotFound},
		"stored, and then another one": {again: report("e3", "b"), want: "a b", err: firn.ErrConflict},
		"stored, and the id again":     {again: report("e2", "x"), want: "a b", err: firn.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoad(t, addr)
			o := jetstream.Options{URL: r.url(), Unsafe: true, Space: fmt.Sprint("d", spaces.Add(1)), Shards: 1, Report: func(m string) { t.Log(m) }}
			direct := o
			direct.URL = "nats://" + addr
			other := another(t, direct)
			o.Wait = 500 * time.Millisecond
			st := eventually(t, o)
			at, err := appendWithRetry(t, st, "s1", store.Start, report("e1", "a")) // so that it knows the end
			if err != nil {
				t.Fatal(err)
			}
			text := "b"
			if c.text != "" {
				text = c.text
			}
			first, again := report("e2", text), c.again
			if again.ID == "" {
				again = first
			}
			r.set(!c.dumb, c.dumb)
			_, err = st.Append(t.Context(), "s1", at, first)
			if !errors.Is(err, firn.ErrUnavailable) || !errors.Is(err, firn.ErrNotSaved) {
				t.Fatalf("over a broken connection an append gives %v", err)
			}
			r.set(false, false)
			if c.between != nil {
				if err := c.between(other); err != nil {
					t.Fatal(err)
				}
			}
			expect := at
			if c.expect != 0 {
				expect = c.expect
			}
			end, err := appendWithRetry(t, st, "s1", expect, again)
			if !errors.Is(err, c.err) || err == nil && end != at+1 {
				t.Errorf("asked for it again: %d, %v; want %d, %v", end, err, at+1, c.err)
			}
			if errors.Is(c.err, firn.ErrNotFound) {
				return
			}
			if got := firstWords(t, other, "s1"); got != c.want {
				t.Errorf("the session says %q, want %q", got, c.want)
			}
			if _, err := appendWithRetry(t, st, "s1", store.Any, report("e9", "z")); err != nil {
				t.Error(err)
			}
			if got := firstWords(t, other, "s1"); got != c.want+" z" {
				t.Errorf("the session says %q, want %q", got, c.want+" z")
			}
		})
	}
}

// eventually opens a store with a short timeout.
func eventually(t *testing.T, o jetstream.Options) *jetstream.Store {
	t.Helper()
	for {
		st, err := jetstream.Open(t.Context(), o)
		if err == nil {
			t.Cleanup(func() { _ = st.Close() })
			return st
		}
		if !errors.Is(err, firn.ErrUnavailable) {
			t.Fatal(err)
		}
	}
}

// appendWithRetry repeats an append while the cluster does not respond.
func appendWithRetry(t *testing.T, st *jetstream.Store, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	for {
		end, err := st.Append(t.Context(), id, expect, entries...)
		if !errors.Is(err, firn.ErrUnavailable) {
			return end, err
		}
	}
}

// firstWords returns the first word of every message in a session.
func firstWords(t testing.TB, st store.Store, id firn.ID) string {
	t.Helper()
	var words []string
	for r, err := range st.Read(t.Context(), id, 1) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Entry()
		if err != nil {
			t.Fatal(err)
		}
		word, _, _ := strings.Cut(e.Body.(*firn.Message).Text(), " ")
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
