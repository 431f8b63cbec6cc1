package jetstream

import (
	"context"
	"iter"
	"sync"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
)

// The parts of a store. Each names the operations of other parts that it calls in small
// interfaces. [Store] embeds them all.

// connection is shared by all parts: the connection to the cluster, the sessions in use, and
// the operations in progress.
type connection struct {
	opts    Options
	names   names
	engine  *engine
	dialect native.Dialect
	blobs   blobs
	index   *index
	keeper  *keeper
	zip     func() (zip, error)
	// self is a unique ID of this store instance.
	self string

	mu       sync.Mutex
	closed   bool
	sessions map[firn.ID]*session
	life     context.Context // canceled by Close
	die      context.CancelFunc
	working  sync.WaitGroup
}

// openSessions appends to sessions and knows where they end.
type openSessions struct {
	*connection
	reader interface {
		readBackward(ctx context.Context, id firn.ID, t tail, before store.Pos) iter.Seq2[store.Record, error]
		readForward(ctx context.Context, id firn.ID, t tail, after store.Pos, yield func(store.Record, error) bool) bool
	}
}

// reader reads the entries of sessions.
type reader struct {
	*connection
	opened interface {
		fetchTail(ctx context.Context, id firn.ID, low uint64) (tail, error)
		readTail(ctx context.Context, id firn.ID) (tail, error)
		servers(ctx context.Context, id firn.ID) string
	}
	sealer interface {
		open(ctx context.Context, s *sealed, seg segment) (piece, error)
		verifyInline(f *frame) error
	}
}

// sealer packs the entries of sessions into objects.
type sealer struct {
	*connection
	eraser interface {
		objectsInUse(ctx context.Context, s *session) (map[string]bool, error)
	}
	opened interface {
		messageID(id firn.ID, end store.Pos) string
		put(ctx context.Context, s *session, f *frame, rollup bool) error
		refreshTail(ctx context.Context, s *session) error
	}
	reader interface {
		lines(ctx context.Context, id firn.ID, t tail, yield func([]byte, error) bool)
		readForward(ctx context.Context, id firn.ID, t tail, after store.Pos, yield func(store.Record, error) bool) bool
	}
	directory interface {
		putMark(ctx context.Context, s *session, t tail, reason string, rollup bool) error
	}
}

// eraser purges sessions and entries.
type eraser struct {
	*connection
	opened interface {
		put(ctx context.Context, s *session, f *frame, rollup bool) error
		refreshTail(ctx context.Context, s *session) error
	}
	reader interface {
		readForward(ctx context.Context, id firn.ID, t tail, after store.Pos, yield func(store.Record, error) bool) bool
	}
	directory interface {
		putMark(ctx context.Context, s *session, t tail, reason string, rollup bool) error
	}
	sealer interface {
		sealFrame(ctx context.Context, s *session, kept []segment, lines [][]byte) (*frame, error)
	}
}

// directory holds the data about sessions other than their entries: keys, archive marks
// and the trash bin.
type directory struct {
	*connection
	opened interface {
		acquire(ctx context.Context, id firn.ID) (*session, error)
		fetchTail(ctx context.Context, id firn.ID, low uint64) (tail, error)
		lastSeen(id firn.ID) uint64
		messageID(id firn.ID, end store.Pos) string
		put(ctx context.Context, s *session, f *frame, rollup bool) error
		refreshTail(ctx context.Context, s *session) error
		release(s *session)
		servers(ctx context.Context, id firn.ID) string
	}
}

// newStore creates the parts of a store, and gives each the operations of other parts that it
// calls.
func newStore(c *connection) *Store {
	st := &Store{
		connection:   c,
		openSessions: &openSessions{connection: c},
		reader:       &reader{connection: c},
		sealer:       &sealer{connection: c},
		eraser:       &eraser{connection: c},
		directory:    &directory{connection: c},
	}
	st.openSessions.reader = st.reader
	st.reader.opened = st.openSessions
	st.reader.sealer = st.sealer
	st.sealer.eraser = st.eraser
	st.sealer.opened = st.openSessions
	st.sealer.reader = st.reader
	st.sealer.directory = st.directory
	st.eraser.opened = st.openSessions
	st.eraser.reader = st.reader
	st.eraser.directory = st.directory
	st.eraser.sealer = st.sealer
	st.directory.opened = st.openSessions
	return st
}
