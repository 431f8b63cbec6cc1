// Package sourcestore provides another tool's home as a read-only store of sessions: list,
// read, follow. With [Options.InPlace], it appends to the tool's files as the tool itself
// would, so that a session can be continued in both.
//
// The given tool determines the encoding and the location of lines. An entry's position is
// the part of the transcript and the offset of its line; several entries of one line have
// consecutive positions.
package sourcestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// Options configure a store. The zero value is read-only.
type Options struct {
	// Name is the name of the home as a source in lists; empty if it holds firn's own
	// sessions.
	Name string
	// InPlace allows appending to the tool's own files.
	InPlace bool
	// Expand opens a compressed part; nil if compressed parts are not supported.
	Expand Expander
	// OnLoss is called for each entry that the tool's format cannot represent, except for
	// program state in custom entries. It may be nil.
	OnLoss func(dialect.Loss)
	// Report is called for errors that did not prevent entries from being saved, such as a
	// failed write of the tool's index. It may be nil.
	Report func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Poll is the polling interval of followers; 250 ms if zero.
	Poll time.Duration
	// MaxLine is the maximum length of a line in bytes; 64 MB if zero. A longer one is read
	// as a gap.
	MaxLine int64
	// FS is the file system for writes, for tests; nil means that of the operating system.
	FS vfs.FS
}

// Store is a tool's home.
type Store struct {
	home string
	tree fs.FS
	// viewed is set if tree is a view, whose files do not exist on disk.
	viewed bool
	tool   dialect.Tool
	opts   Options

	mu     sync.Mutex
	closed chan struct{}
	// found caches the location of transcripts, shown their list information.
	found  map[firn.ID]dialect.Transcript
	looked time.Time
	shown  map[firn.ID]shown
	// titles caches the search for titles in long transcripts.
	titles map[firn.ID]titleScan
	// open are the sessions that were appended to.
	open map[firn.ID]*session
}

// Open opens the home of a tool. The directory need not look like one; sessions that are
// not there are not found.
func Open(home string, tool dialect.Tool, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Poll == 0 {
		opts.Poll = 250 * time.Millisecond
	}
	if opts.FS == nil {
		opts.FS = vfs.OS{}
	}
	if opts.MaxLine <= 0 {
		opts.MaxLine = journal.DefaultMaxLine
	}
	info, err := opts.FS.Stat(home)
	if err != nil {
		return nil, fmt.Errorf("open %s's home %s: %w: %w", tool.Name(), home, firn.ErrNotFound, err)
	}
	if !info.Mode.IsDir() {
		return nil, fmt.Errorf("open %s's home %s: %w: it is not a directory", tool.Name(), home, firn.ErrInvalid)
	}
	plain := os.DirFS(home)
	tree := dialect.Tree(tool, plain)
	return &Store{
		home: home, tree: tree, viewed: tree != plain, tool: tool, opts: opts, closed: make(chan struct{}),
		shown: make(map[firn.ID]shown), titles: make(map[firn.ID]titleScan), open: make(map[firn.ID]*session),
	}, nil
}

// Home returns the directory of the tool's files.
func (st *Store) Home() string { return st.home }

// Tool returns the tool of the home.
func (st *Store) Tool() dialect.Tool { return st.tool }

// Close ends followers and closes the files.
func (st *Store) Close() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	select {
	case <-st.closed:
	default:
		close(st.closed)
	}
	var err error
	for _, s := range st.open {
		s.mu.Lock()
		if s.file != nil {
			err = errors.Join(err, s.file.Close())
			s.file = nil
		}
		s.mu.Unlock()
	}
	return err
}

// check returns an error if the store is closed or ctx has ended.
func (st *Store) check(ctx context.Context) error {
	select {
	case <-st.closed:
		return fmt.Errorf("use %s's home: %w", st.tool.Name(), firn.ErrClosed)
	default:
		return ctx.Err()
	}
}

// lookPause is how long a missing session is reported as missing without another search.
const lookPause = 500 * time.Millisecond

// transcript finds a session. The locations are cached, and searched again for a session
// that is unknown or no longer there.
func (st *Store) transcript(id firn.ID) (dialect.Transcript, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	t, ok := st.found[id]
	if ok {
		if _, err := fs.Stat(st.tree, t.Parts[len(t.Parts)-1]); err == nil {
			return t, nil
		}
	}
	if ok || st.opts.Now().Sub(st.looked) > lookPause {
		st.survey()
	}
	if t, ok = st.found[id]; !ok {
		return t, fmt.Errorf("find session %s in %s: %w", id, st.home, firn.ErrNotFound)
	}
	return t, nil
}

// IsSub reports whether a session is that of a sub-agent.
func (st *Store) IsSub(id firn.ID) bool {
	t, err := st.transcript(id)
	return err == nil && t.Sub
}

// lookFor searches for transcripts and returns a session.
func (st *Store) lookFor(id firn.ID) (dialect.Transcript, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.survey()
	t, ok := st.found[id]
	if !ok {
		return t, fmt.Errorf("find session %s in %s: %w", id, st.home, firn.ErrNotFound)
	}
	return t, nil
}

// survey searches for transcripts. The lock must be held.
func (st *Store) survey() (faults []error) {
	st.found = make(map[firn.ID]dialect.Transcript)
	st.looked = st.opts.Now()
	for t, err := range st.tool.Layout().Transcripts(st.tree) {
		switch {
		case err != nil:
			faults = append(faults, err)
		case len(t.Parts) > 0:
			st.found[t.ID] = t
		}
	}
	for id, s := range st.open {
		// A session created here is also found by its original ID.
		if t := s.placed.Load(); t != nil {
			st.alias(id, *t)
		}
	}
	return faults
}

// alias makes a transcript available under another ID. The lock must be held.
func (st *Store) alias(id firn.ID, t dialect.Transcript) {
	for _, other := range st.found {
		if other.Parts[0] == t.Parts[0] {
			other.ID = id
			st.found[id] = other
			return
		}
	}
	if _, err := fs.Stat(st.tree, t.Parts[0]); err == nil {
		st.found[id] = t
	}
}

// ListedAs returns the ID under which the tool's home lists a session: another one if the
// session was created here with an ID that the tool cannot represent.
func (st *Store) ListedAs(id firn.ID) firn.ID {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.open[id]
	if s == nil || s.placed.Load() == nil {
		return id
	}
	t := s.placed.Load()
	for own, other := range st.found {
		if own != id && other.ID == own && other.Parts[0] == t.Parts[0] {
			return own
		}
	}
	return id
}

// all returns the current transcripts.
func (st *Store) all() []dialect.Transcript {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.survey()
	list := make([]dialect.Transcript, 0, len(st.found))
	listed := make(map[string]bool)
	for _, begunHere := range []bool{false, true} { // under its own ID, if it has one
		for id, t := range st.found {
			s := st.open[id]
			if alias := s != nil && s.placed.Load() != nil; alias != begunHere || listed[t.Parts[0]] {
				continue
			}
			listed[t.Parts[0]] = true
			list = append(list, t)
		}
	}
	return list
}

// Files returns the files of a session; none if the tool keeps it in another form.
func (st *Store) Files(_ context.Context, id firn.ID) ([]string, error) {
	t, err := st.transcript(id)
	if err != nil || st.viewed {
		return nil, err
	}
	names := make([]string, len(t.Parts))
	for i, part := range t.Parts {
		names[i] = vfsPath(st.home, part)
	}
	return names, nil
}

var _ store.Store = (*Store)(nil)
