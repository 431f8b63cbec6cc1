package jetstream_test

import (
	"context"
	"testing"
	"time"

	"firn.dev/store/jetstream"
)

// leases opens the leases of a store for several owners.
func leases(t *testing.T, o jetstream.Options, ttl time.Duration, owners ...string) []*jetstream.Leases {
	t.Helper()
	var all []*jetstream.Leases
	for _, owner := range owners {
		st := openStore(t, o)
		t.Cleanup(func() { _ = st.Close() })
		l, err := st.Leases(t.Context(), owner, ttl)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

func acquire(t *testing.T, l *jetstream.Leases, name string) (*jetstream.Lease, string) {
	t.Helper()
	x, holder, err := l.Acquire(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return x, holder
}

// TestLease acquires a lease, releases it in both ways, and acquires it again.
func TestLease(t *testing.T) {
	all := leases(t, options(t), 10*time.Second, "a", "b")
	a, b := all[0], all[1]
	first, _ := acquire(t, a, "s.one")
	if first == nil || first.Before != jetstream.EndUnknown {
		t.Fatalf("a free lease cannot be acquired: %+v", first)
	}
	if x, holder := acquire(t, b, "s.one"); x != nil || holder != "a" {
		t.Fatalf("two owners have it: %v, %q", x, holder)
	}
	if err := first.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.Release(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	second, _ := acquire(t, b, "s.one")
	if second == nil || second.Before != jetstream.EndReleased {
		t.Fatalf("after it was released: %+v", second)
	}
	if err := second.Release(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	third, _ := acquire(t, a, "s.one")
	if third == nil || third.Before != jetstream.EndLeft {
		t.Fatalf("after it was abandoned: %+v", third)
	}
	if holder, err := b.Holder(t.Context(), "s.one"); err != nil || holder != "a" {
		t.Fatalf("the holder is %q, %v", holder, err)
	}
}

// TestLeaseIsRenewed holds a lease for several times its TTL and ends it by closing the
// owner's store, as in a crash.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	// Long enough that a busy machine renews it in time.
	const ttl = 10 * time.Second
	o := options(t)
	watcher := leases(t, o, ttl, "w")[0]
	crashing := openStore(t, o)
	l, err := crashing.Leases(t.Context(), "a", ttl)
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan jetstream.LeaseChange, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watcher.Watch(ctx, func(c jetstream.LeaseChange) { changes <- c })
	}()
	defer func() { cancel(); <-done }()
	x, _ := acquire(t, l, "s.one")
	begun := time.Now()
	for renewed := 0; renewed < 8; renewed++ { // more than twice the TTL
		if c := <-changes; c.Owner != "a" {
			t.Fatalf("after %v: %+v", time.Since(begun), c)
		}
	}
	if err := crashing.Close(); err != nil {
		t.Fatal(err)
	}
	<-x.Lost()
	for c := range changes {
		if c.Owner == "" {
			if c.Name != "s.one" || c.Ending != jetstream.EndExpired {
				t.Errorf("it ended as %+v", c)
			}
			break
		}
	}
	if y, _ := acquire(t, watcher, "s.one"); y == nil || y.Before != jetstream.EndExpired {
		t.Errorf("after it expired: %+v", y)
	}
}

// TestLeaseIsLost gives a lease to another owner and checks that the next renewal fails.
func TestLeaseIsLost(t *testing.T) {
	t.Parallel()
	o := options(t)
	all := leases(t, o, 10*time.Second, "a", "a") // the same name may acquire its own lease
	x, _ := acquire(t, all[0], "s.one")
	y, _ := acquire(t, all[1], "s.one")
	<-x.Lost()
	if x.Confirm(t.Context()) == nil {
		t.Error("a lost lease was confirmed")
	}
	if err := x.Release(t.Context(), false); err != nil {
		t.Error(err)
	}
	if err := y.Confirm(t.Context()); err != nil {
		t.Errorf("releasing a lost lease ended another owner's: %v", err)
	}
}

// TestBus passes notes, including one without listeners.
func TestBus(t *testing.T) {
	o := options(t)
	a, b := openStore(t, o), openStore(t, o)
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	notes := make(chan jetstream.Note, 10)
	stop, err := b.Bus().Listen("g.b.*", func(n jetstream.Note) { notes <- n })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	answers := make(chan jetstream.Note, 10)
	inbox, shut, err := a.Bus().Inbox(func(n jetstream.Note) { answers <- n })
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	// A new listener may not be known to the servers yet, so repeat until it answers.
	for received := false; !received; {
		if err := a.Bus().Publish("g.b.call", inbox, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		select {
		case n := <-notes:
			if received = true; n.Topic != "g.b.call" || string(n.Data) != "hello" {
				t.Fatalf("got %+v", n)
			}
			if err := b.Bus().Answer(n.Reply, []byte("yes")); err != nil {
				t.Fatal(err)
			}
		case n := <-answers:
			if !n.NoListeners {
				t.Fatalf("got %+v", n)
			}
		}
	}
	for n := range answers {
		if string(n.Data) == "yes" {
			break
		}
	}
	if err := a.Bus().Publish("g.nobody", inbox, nil); err != nil {
		t.Fatal(err)
	}
	if n := <-answers; !n.NoListeners {
		t.Errorf("without a listener the answer is %+v", n)
	}
}
