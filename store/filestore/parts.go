package filestore

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/rowcache"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
)

// The parts of a store. Each has its own state, and names the operations of other parts that
// it calls in small interfaces. [Store] embeds them all.

// homeDir is shared by all parts: the directory and its layout, the sessions that are open,
// and the calls that run.
type homeDir struct {
	home      string
	fs        vfs.FS
	opts      Options
	dialect   dialect.Dialect
	committer *journal.Committer
	hub       *journal.Hub
	long      journal.LongLines
	reports   reports
	unlisted  catalogueMark

	mu       sync.Mutex
	sessions map[firn.ID]*session
	// dangling holds the known sessions whose transcript is a symbolic link to a missing
	// file. scanLinks runs the scan of all directories for them.
	dangling  map[firn.ID]transcript
	scanLinks sync.Once
	closed    bool
	lifetime  context.Context // canceled by Close
	cancel    context.CancelFunc
	working   sync.WaitGroup
}

// openSessions appends to sessions and keeps their files open.
type openSessions struct {
	*homeDir
	clock        uint64   // logical clock for finding the least recently used session
	syncedAgents sync.Map // agents whose directory is durable; see ensureAgentDir
	unregister   func()   // removes the store from Options.Descriptors
	keys         interface {
		touch(s *session, at time.Time, counts tally)
	}
}

// keyTables maps keys to sessions, with one table per agent.
type keyTables struct {
	*homeDir
	tables  map[string]*table // guarded by homeDir.mu
	touches touches
	inspect interface {
		allTranscripts(agent string) ([]transcript, error)
		archived() (map[firn.ID]bool, error)
		status(t transcript) (store.Status, error)
		inspector() inspector
	}
}

// inspection lists sessions and reads what is known about each.
type inspection struct {
	*homeDir
	inspections memoryLimit
	rows        *rowcache.Cache
	mover       interface {
		manifest(id firn.ID) (manifest, error)
	}
}

// mover moves the files of sessions to the trash bin and back.
type mover struct {
	*homeDir
	moving sync.Mutex // see withMoveLock
}

// eraser purges sessions and entries.
type eraser struct {
	*homeDir
	keys interface {
		table(key string) (*table, error)
	}
	mover interface {
		filesOf(path string) ([]string, error)
		lockFile(path string, mode vfs.Mode) (vfs.File, error)
		manifest(id firn.ID) (manifest, error)
		move(from string, to string, names []string) error
	}
	open interface {
		closeForMove(id firn.ID) error
		dropSession(id firn.ID)
	}
}

// loader carries sessions from and to other stores.
type loader struct {
	*homeDir
	store interface {
		Archive(ctx context.Context, id firn.ID) error
		Remove(ctx context.Context, id firn.ID, reason string) error
	}
	eraser interface {
		eraseFileSet(p fileSet, receipt *store.Receipt) (err error)
		fileSetsOf(id firn.ID) ([]fileSet, error)
		saveReceipt(path string, e erasure) error
	}
	mover interface {
		manifest(id firn.ID) (manifest, error)
		withMoveLock(ctx context.Context, do func() error) (err error)
	}
	open interface {
		acquire(id firn.ID, entries []firn.Entry) (*session, error)
		choosePath(id firn.ID, entries []firn.Entry) (agent string, path string, err error)
		closeForMove(id firn.ID) error
		dropSession(id firn.ID)
		release(s *session, err error)
	}
}

// newStore creates the parts of a store, and gives each the operations of other parts that it
// calls.
func newStore(home string, opts Options) *Store {
	h := &homeDir{home: home, fs: opts.FS, opts: opts, dialect: native.New(), hub: journal.NewHub(), sessions: make(map[firn.ID]*session)}
	st := &Store{
		homeDir:      h,
		openSessions: &openSessions{homeDir: h},
		keyTables:    &keyTables{homeDir: h, tables: make(map[string]*table)},
		inspection:   &inspection{homeDir: h, rows: rowcache.New(opts.FS, filepath.Join(home, "index"), opts.ReadOnly)},
		mover:        &mover{homeDir: h},
		eraser:       &eraser{homeDir: h},
		loader:       &loader{homeDir: h},
	}
	st.openSessions.keys = st.keyTables
	st.keyTables.inspect = st.inspection
	st.inspection.mover = st.mover
	st.eraser.keys = st.keyTables
	st.eraser.mover = st.mover
	st.eraser.open = st.openSessions
	st.loader.store = st
	st.loader.eraser = st.eraser
	st.loader.mover = st.mover
	st.loader.open = st.openSessions
	return st
}
