// Package jetstream stores sessions in NATS JetStream, where gateways on many machines
// share them:
//
//	stream <space>_S<nn>       subject <space>.s.<nn>.<id>    the messages of a session
//	bucket <space>_KEYS        k.<hash> the session of a key; shards: the number of streams
//	bucket <space>_IDX         i.<id> the list entry of a session; w.<nn> the indexed position of a shard
//	bucket <space>_LEASE       the current owner of each session
//	bucket <space>_<kind>      other values shared between gateways, such as tokens
//	objects <space>_BLOB       data that is too large for a message
//
// A message holds the lines of one append, byte for byte as the file store would write
// them; bookkeeping is in its headers. An append is one publish, so it is stored completely
// or not at all, and the sequence that it expects at the end of its subject fences writers
// that have not seen the latest message. A [store.Pos] is the number of records before it.
// Archiving, removing and purging are messages of the session too: its last message has
// everything that an append needs. The streams are authoritative; the index is derived from
// them.
//
// The package does not implement replication, elections or membership: the server does. It
// verifies every record against a hash chain. It asks a majority of replicas before it
// treats something as missing, because a damaged replica does not report its damage and may
// be the leader.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// Options configures the cluster connection and the storage of sessions. Only URL or Server
// is required.
type Options struct {
	// URL lists the servers, separated by commas.
	URL string
	// Server is a server in this process, used instead of URL if not nil.
	Server *Server
	// Credentials is a file with a user's credentials (.creds) or key; a user and password
	// can be in the addresses. CA, Cert and Key are the files for TLS. All may be empty.
	Credentials   string
	CA, Cert, Key string
	// Space is the prefix of all stream names, so that several stores can share an account;
	// "firn" if empty. It consists of letters and digits.
	Space string
	// Shards is the number of streams for sessions when the store is created; 8 if zero. It
	// cannot be changed later.
	Shards int
	// Replicas is the number of replicas of each stream when the store is created; if zero,
	// 3 in a cluster and 1 on a standalone server.
	Replicas int
	// Monitors are the monitoring addresses of the servers, http://host:8222, which report
	// whether they sync before acknowledging.
	Monitors []string
	// Unsafe accepts a cluster that may lose acknowledged entries: one with fewer than 3
	// replicas, with periodic sync, or with unknown sync settings.
	Unsafe bool
	// Wait is how long a write is retried; 15 seconds if zero, enough for an election.
	Wait time.Duration
	// SealAfter is how long a session must be idle before it is sealed in the background;
	// 10 minutes if zero, never if negative. An active session is sealed when it has many
	// messages.
	SealAfter time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Report is called with a one-sentence message for each problem. It may be called from
	// any goroutine and may be nil.
	Report func(message string)
	// Damaged is called for each fault found in the replica of one server while other
	// replicas are intact. It may be called from any goroutine.
	Damaged func(Fault)
}

const (
	defaultSpace  = "firn"
	defaultShards = 8
	maxShards     = 4096
	defaultWait   = 15 * time.Second
)

// fill sets defaults and rejects invalid options.
func (o *Options) fill() error {
	if o.Space == "" {
		o.Space = defaultSpace
	}
	if o.Shards == 0 {
		o.Shards = defaultShards
	}
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	if o.SealAfter == 0 {
		o.SealAfter = defaultSealAfter
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	if o.Damaged == nil {
		o.Damaged = func(Fault) {}
	}
	switch {
	case !isWord(o.Space):
		return fmt.Errorf("%w space %q: expected letters and digits", firn.ErrInvalid, o.Space)
	case o.Shards < 1 || o.Shards > maxShards:
		return fmt.Errorf("%w number of shards %d: expected 1 to %d", firn.ErrInvalid, o.Shards, maxShards)
	case o.Replicas < 0 || o.Replicas > 5:
		return fmt.Errorf("%w number of replicas %d: expected 1 to 5", firn.ErrInvalid, o.Replicas)
	case o.URL == "" && o.Server == nil:
		return fmt.Errorf("%w options: they name no server", firn.ErrInvalid)
	}
	return nil
}

// Store keeps sessions in JetStream.
type Store struct {
	*connection
	*openSessions
	*reader
	*sealer
	*eraser
	*directory
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Keyed    = (*Store)(nil)
	_ store.Claimer  = (*Store)(nil)
	_ store.Unbinder = (*Store)(nil)
	_ store.Remover  = (*Store)(nil)
	_ store.Deferred = (*Store)(nil)
)

// Open connects to the cluster and creates missing streams. It fails with ErrUnsupported if
// the cluster may lose acknowledged entries, unless the options accept that.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.fill(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	e, err := connect(o)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	st := newStore(&connection{opts: o, engine: e, names: names{space: o.Space, shards: o.Shards},
		sessions: make(map[firn.ID]*session), zip: sync.OnceValues(newZip), self: nonce()})
	e.watch.found = func(f Fault) {
		o.Report(st.describe(f))
		o.Damaged(f)
	}
	if err := st.initialize(ctx); err != nil {
		e.close()
		return nil, fmt.Errorf("open store %s: %w", o.Space, err)
	}
	st.index = newIndex(st)
	st.keeper = newKeeper(st)
	st.life, st.die = context.WithCancel(context.Background())
	st.working.Go(func() { st.keeper.run(st.life) })
	return st, nil
}

// beginOperation fails if the store is closed or the context is done. Otherwise the caller
// must call st.working.Done.
func (st *connection) beginOperation(ctx context.Context) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return st.closedErr()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	st.working.Add(1)
	return nil
}

// checkOpen is beginOperation for operations that Close does not wait for.
func (st *connection) checkOpen(ctx context.Context) error {
	if err := st.beginOperation(ctx); err != nil {
		return err
	}
	st.working.Done()
	return nil
}

func (st *connection) closedErr() error {
	return fmt.Errorf("store %s: %w", st.opts.Space, firn.ErrClosed)
}

// failed converts an error for the caller: it reports a closed store or a canceled context
// if that is the cause.
func (st *connection) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errConnClosed) {
		return st.closedErr()
	}
	switch gone := ctx.Err(); {
	case gone == nil || errors.Is(err, gone):
		return err
	case errors.Is(err, firn.ErrNotSaved), errors.Is(err, firn.ErrUnavailable):
		return fmt.Errorf("%w: %w", err, gone)
	default:
		return gone
	}
}

// Close waits for operations in progress, ends followers and disconnects.
func (st *Store) Close() error {
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return nil
	}
	st.closed = true
	st.die()
	st.mu.Unlock()
	st.working.Wait()
	st.engine.close()
	return nil
}
