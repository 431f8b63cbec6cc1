package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"firn.dev"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Leases manages exclusive, expiring ownership: which gateway runs the turns of a session
// or does maintenance. A lease expires unless it is renewed.
//
// Leases are not relied on for correctness: a paused process may not know yet that its
// lease has expired. Such a writer is fenced by the position that its appends expect.
type Leases struct {
	st     *Store
	bucket bucket
	owner  string
	ttl    time.Duration
}

// Ending is how the previous lease ended.
type Ending string

// How leases end.
const (
	// EndReleased: the owner released it after finishing its work.
	EndReleased Ending = "released"
	// EndLeft: the owner released it with work left to do.
	EndLeft Ending = "left"
	// EndExpired: it was not renewed.
	EndExpired Ending = "expired"
	// EndUnknown: there was no previous lease, or its record has expired.
	EndUnknown Ending = "unknown"
)

const (
	headTTL    = "Nats-TTL"
	headMarker = "Nats-Marker-Reason"
	// headLeft records on a released lease whether work is left.
	headLeft = "Firn-Left"
	// opPurge is the operation of a permanently removed value: when its message expires,
	// the server does not add a marker.
	opPurge = "PURGE"
	// rememberedFor is how long the record of how a lease ended is kept.
	rememberedFor = 24 * time.Hour
)

// Leases opens the leases for an owner with a unique name. A lease lasts for ttl, in whole
// seconds, after each renewal.
func (st *Store) Leases(ctx context.Context, owner string, ttl time.Duration) (*Leases, error) {
	if owner == "" || ttl < time.Second {
		return nil, fmt.Errorf("open leases of %q: %w: expected a name and a duration of at least a second", owner, firn.ErrInvalid)
	}
	if err := st.beginOperation(ctx); err != nil {
		return nil, err
	}
	defer st.working.Done()
	l := &Leases{st: st, bucket: bucket{st.engine, st.names.space + "_LEASE"}, owner: owner, ttl: ttl.Truncate(time.Second)}
	replicas, err := st.replicas(ctx)
	if err == nil {
		err = st.engine.ensureBucket(ctx, jetstream.KeyValueConfig{
			Bucket: l.bucket.name, Description: "the owner of each session", Storage: jetstream.FileStorage, Replicas: replicas, LimitMarkerTTL: rememberedFor,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("open the leases: %w", err)
	}
	return l, nil
}

// TTL returns how long a lease lasts without renewal.
func (l *Leases) TTL() time.Duration { return l.ttl }

// leaseValue is the stored value of a lease.
type leaseValue struct {
	Owner string `json:"owner"`
}

// Acquire takes a lease if it is free and renews it until the caller releases it. If it is
// held, the lease is nil and the name is that of its owner.
func (l *Leases) Acquire(ctx context.Context, name string) (*Lease, string, error) {
	if err := l.st.beginOperation(ctx); err != nil {
		return nil, "", err
	}
	defer l.st.working.Done()
	waitCtx, cancel := l.st.engine.withWait(ctx)
	defer cancel()
	for {
		m, err := l.last(waitCtx, name)
		if err != nil {
			return nil, "", l.failed(ctx, name, err)
		}
		holder, ending := readLease(m)
		if holder != "" && holder != l.owner {
			return nil, holder, nil
		}
		var revision uint64
		if m != nil {
			revision = m.seq
		}
		start := time.Now()
		revision, err = l.put(waitCtx, name, revision)
		if errors.Is(err, errFenced) && waitCtx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, "", l.failed(ctx, name, err)
		}
		return l.hold(name, ending, revision, start), "", nil
	}
}

// Holder returns the owner of a lease, or "" if it is free.
func (l *Leases) Holder(ctx context.Context, name string) (string, error) {
	if err := l.st.beginOperation(ctx); err != nil {
		return "", err
	}
	defer l.st.working.Done()
	waitCtx, cancel := l.st.engine.withWait(ctx)
	defer cancel()
	m, err := l.last(waitCtx, name)
	if err != nil {
		return "", l.failed(ctx, name, err)
	}
	holder, _ := readLease(m)
	return holder, nil
}

func (l *Leases) failed(ctx context.Context, name string, err error) error {
	return l.st.failed(ctx, fmt.Errorf("the lease %s: %w", name, err))
}

func (l *Leases) last(ctx context.Context, name string) (*message, error) {
	return askUntilAnswered(ctx, func(ctx context.Context) (*message, error) {
		return l.st.engine.latest(ctx, bucketStream(l.bucket.name), bucketSubject(l.bucket.name)+name, intact)
	})
}

// readLease returns the owner of a lease, or how it ended if it is free.
func readLease(m *message) (string, Ending) {
	switch {
	case m == nil:
		return "", EndUnknown
	case m.header.Get(headMarker) != "":
		return "", EndExpired
	case m.header.Get(headDeleted) != "":
		if m.header.Get(headLeft) != "" {
			return "", EndLeft
		}
		return "", EndReleased
	}
	var v leaseValue
	if json.Unmarshal(m.data, &v) != nil {
		return "", EndExpired // an unreadable value names no owner
	}
	return v.Owner, EndExpired
}

// put writes a lease with this owner. Every write must set its TTL again, or the lease would
// never expire.
func (l *Leases) put(ctx context.Context, name string, revision uint64) (uint64, error) {
	value, err := json.Marshal(leaseValue{l.owner})
	if err != nil {
		return 0, err
	}
	return l.bucket.send(ctx, &nats.Msg{Subject: bucketSubject(l.bucket.name) + name, Header: nats.Header{headTTL: {l.ttl.String()}}, Data: value}, revision)
}

// Lease is an acquired lease. Its methods are safe for concurrent use.
type Lease struct {
	leases *Leases
	name   string
	// Before is how the previous lease ended.
	Before Ending
	lost   chan struct{}
	end    context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	revision uint64
	// confirmed is the start time of the latest confirmed renewal.
	confirmed time.Time
	gone      bool
}

func (l *Leases) hold(name string, before Ending, revision uint64, start time.Time) *Lease {
	ctx, cancel := context.WithCancel(l.st.life)
	x := &Lease{leases: l, name: name, Before: before, revision: revision, confirmed: start, lost: make(chan struct{}), end: cancel, done: make(chan struct{})}
	go x.keep(ctx)
	return x
}

// Lost is closed when the lease could not be renewed in time or has another owner. The
// holder must then stop.
func (x *Lease) Lost() <-chan struct{} { return x.lost }

// keep renews the lease every third of its TTL until it is released or lost.
func (x *Lease) keep(ctx context.Context) {
	defer close(x.done)
	for sleepContext(ctx, x.leases.ttl/3) == nil {
		if x.Confirm(ctx) != nil && ctx.Err() == nil {
			return
		}
	}
	if x.leases.st.life.Err() != nil { // the store was closed, so the lease is no longer renewed
		x.markLost()
	}
}

// Confirm renews the lease now. If it returns nil, no other owner has held the lease since
// it was acquired.
func (x *Lease) Confirm(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone {
		return fmt.Errorf("the lease %s: %w: it is lost", x.name, firn.ErrConflict)
	}
	start := time.Now()
	waitCtx, cancel := context.WithDeadline(ctx, x.confirmed.Add(x.leases.ttl))
	defer cancel()
	revision, err := x.leases.put(waitCtx, x.name, x.revision)
	if err == nil {
		x.revision, x.confirmed = revision, start
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	x.markLostLocked()
	return fmt.Errorf("the lease %s: %w: it was not renewed: %w", x.name, firn.ErrConflict, err)
}

func (x *Lease) markLost() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.markLostLocked()
}

func (x *Lease) markLostLocked() {
	if !x.gone {
		x.gone = true
		close(x.lost)
	}
}

// Release releases the lease. left reports that work remains for another owner. It has no
// effect on a lost lease.
func (x *Lease) Release(ctx context.Context, left bool) error {
	x.end()
	<-x.done
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone {
		return nil
	}
	x.gone = true
	m := &nats.Msg{Subject: bucketSubject(x.leases.bucket.name) + x.name, Header: nats.Header{headDeleted: {opPurge}, headTTL: {rememberedFor.String()}}}
	if left {
		m.Header.Set(headLeft, "1")
	}
	waitCtx, cancel := context.WithDeadline(ctx, x.confirmed.Add(x.leases.ttl)) // after that it expires anyway
	defer cancel()
	_, err := x.leases.bucket.send(waitCtx, m, x.revision)
	if errors.Is(err, errFenced) {
		return nil // it had expired
	}
	if err != nil {
		return x.leases.failed(ctx, x.name, err)
	}
	return nil
}

// LeaseChange is a change of a lease.
type LeaseChange struct {
	Name string
	// Owner is the current owner; if it is empty, Ending is how the lease ended.
	Owner  string
	Ending Ending
}

// Watch calls report with the current state of all leases and then with each change, until
// ctx ends. It may report a state twice.
func (l *Leases) Watch(ctx context.Context, report func(LeaseChange)) {
	l.st.watch(ctx, l.bucket, ">", true, func(name string, m *message) {
		owner, ending := readLease(m)
		report(LeaseChange{Name: name, Owner: owner, Ending: ending})
	})
}
