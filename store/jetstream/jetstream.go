// Package jetstream keeps sessions in NATS JetStream, where many gateways on
// many machines share them:
//
//	stream <space>_S<nn>       subject <space>.s.<nn>.<id>    the messages of a session
//	bucket <space>_KEYS        k.<hash> which session a key points at; shards: how many streams there are
//	bucket <space>_IDX         i.<id> what a list tells; w.<nn> up to where that is so
//	bucket <space>_LEASE       who has which session at the moment
//	bucket <space>_<kind>      what those share besides who have the store open, such as tokens
//	objects <space>_BLOB       what is too large for a message
//
// A message holds the lines that one append has added, byte for byte as the
// file store would write them; bookkeeping is in its headers. So an append is one
// publish: it is there as a whole or not at all, and the sequence that it expects
// at the end of its subject fences whoever has not seen the latest. A [store.Pos]
// is the number of records before it. Archiving, removing and purging are
// messages of the session too: its last message tells all that an append must
// know. The streams are the truth; the index is derived from them.
//
// What the package refuses to do is replicate, elect or keep members of its own:
// the server does. It holds every record against a chain of hashes, and asks a
// majority of replicas before it believes that something is not there, because a
// damaged replica does not say that it is, and may lead.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"firn"
	"firn/dialect/native"
	"firn/store"
)

// Options says where the cluster is and how sessions are kept in it. Only the
// address must be set, or the server.
type Options struct {
	// URL lists the servers, separated by commas.
	URL string
	// Server is one in this process, used instead of an address if not nil.
	Server *Server
	// Credentials is a file with a user's credentials (.creds) or key; a user and
	// password can be in the addresses. CA, Cert and Key are the files for TLS. All
	// may be empty.
	Credentials   string
	CA, Cert, Key string
	// Space begins the names of all streams, so that several stores can share an
	// account; "firn" if empty. Letters and digits.
	Space string
	// Shards is the number of streams that sessions are spread over when the
	// store is made; 8 if zero. It cannot be changed later.
	Shards int
	// Replicas is how many servers keep each stream when the store is made; if
	// zero, 3 in a cluster and 1 on a server that stands alone.
	Replicas int
	// Monitors are the addresses of the servers' monitoring, http://host:8222,
	// where they tell whether they sync what they acknowledge.
	Monitors []string
	// Unsafe accepts a cluster of which acknowledged entries may be lost: one that
	// has fewer than 3 replicas, syncs now and then, or does not tell.
	Unsafe bool
	// Wait is how long a write tries to get through; 15 seconds if zero, enough
	// for an election.
	Wait time.Duration
	// SealAfter is how long a session must have rested until it is sealed in the
	// background; 10 minutes if zero, never if negative. One that is in use is
	// sealed when it has got many messages.
	SealAfter time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Report is told, in a sentence, of everything that was out of order. It may
	// be called from any goroutine. Nil: nobody.
	Report func(message string)
	// Damaged is called with each fault that was found in the replica of a server
	// while others have what it lacks. It may be called from any goroutine.
	Damaged func(Fault)
}

const (
	defaultSpace  = "firn"
	defaultShards = 8
	maxShards     = 4096
	defaultWait   = 15 * time.Second
)

// fill sets what was left open, and refuses what makes no sense.
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
		return fmt.Errorf("%w space %q: want letters and digits", firn.ErrInvalid, o.Space)
	case o.Shards < 1 || o.Shards > maxShards:
		return fmt.Errorf("%w number of shards %d: want 1 to %d", firn.ErrInvalid, o.Shards, maxShards)
	case o.Replicas < 0 || o.Replicas > 5:
		return fmt.Errorf("%w number of replicas %d: want 1 to 5", firn.ErrInvalid, o.Replicas)
	case o.URL == "" && o.Server == nil:
		return fmt.Errorf("%w options: they name no server", firn.ErrInvalid)
	}
	return nil
}

// Store keeps sessions in JetStream.
type Store struct {
	opts    Options
	names   names
	engine  *engine
	dialect native.Dialect
	blobs   blobs
	index   *index
	keeper  *keeper
	zip     func() (zip, error)
	// self is a number that no other store has.
	self string

	mu       sync.Mutex
	closed   bool
	sessions map[firn.ID]*session
	life     context.Context // ends on Close
	die      context.CancelFunc
	working  sync.WaitGroup
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Keyed    = (*Store)(nil)
	_ store.Claimer  = (*Store)(nil)
	_ store.Unbinder = (*Store)(nil)
	_ store.Remover  = (*Store)(nil)
	_ store.Deferred = (*Store)(nil)
)

// Open connects to the cluster, and makes the streams if there are none. It is
// ErrUnsupported if the cluster cannot keep what it acknowledges, unless the
// options accept that.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.fill(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	e, err := connect(o)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	st := &Store{opts: o, engine: e, names: names{space: o.Space, shards: o.Shards},
		sessions: make(map[firn.ID]*session), zip: sync.OnceValues(newZip), self: nonce()}
	e.watch.found = func(f Fault) {
		o.Report(st.describe(f))
		o.Damaged(f)
	}
	if err := st.settle(ctx); err != nil {
		e.close()
		return nil, fmt.Errorf("open store %s: %w", o.Space, err)
	}
	st.index = newIndex(st)
	st.keeper = newKeeper(st)
	st.life, st.die = context.WithCancel(context.Background())
	st.working.Go(func() { st.keeper.run(st.life) })
	return st, nil
}

// begin refuses to go on if the store is closed or the context done. What it
// admits must be ended with st.working.Done.
func (st *Store) begin(ctx context.Context) error {
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

// ready is begin for what does not hold up closing.
func (st *Store) ready(ctx context.Context) error {
	if err := st.begin(ctx); err != nil {
		return err
	}
	st.working.Done()
	return nil
}

func (st *Store) closedErr() error { return fmt.Errorf("store %s: %w", st.opts.Space, firn.ErrClosed) }

// failed makes of an error what a caller should see: that the store was closed
// or the context is done, if that is why.
func (st *Store) failed(ctx context.Context, err error) error {
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

// Close waits for what is under way, ends followers and hangs up.
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
