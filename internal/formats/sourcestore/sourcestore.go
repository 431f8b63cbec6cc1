// Package sourcestore reads another tool's home as a store of sessions, where it
// lies, without changing a byte of it: list, read, follow. If it is told to
// write in place, it adds to the tool's files as the tool itself would, so that
// a session goes on here and there.
//
// What the lines mean and where they lie is for the tool to know, which is
// handed in. An entry's position is the part of the transcript and the offset
// in it of the line that told it; where a line tells several entries they count
// up from there.
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

// Options says how a home is opened. The zero value only reads.
type Options struct {
	// Name is what lists call the home as a source; empty if it is none, but
	// stands for our own sessions.
	Name string
	// InPlace allows to add to the tool's own files.
	InPlace bool
	// Expand opens a compressed part, given its bytes; nil if none can be read.
	Expand Expander
	// Lose is told of what the tool's format could not say, but for the state
	// that programs keep in the log; nil: nobody.
	Lose func(dialect.Loss)
	// Report is told of trouble that did not keep entries from being saved,
	// such as an index of the tool that could not be written; nil: nobody.
	Report func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Poll is how often followers look for more; 250 ms if zero.
	Poll time.Duration
	// MaxLine is how long a line may be to be read, in bytes; 64 MB if zero. A
	// longer one is read as a gap.
	MaxLine int64
	// FS is for tests of writing; nil means the operating system's files.
	FS vfs.FS
}

// Store is a tool's home.
type Store struct {
	home string
	tree fs.FS
	tool dialect.Tool
	opts Options

	mu     sync.Mutex
	closed chan struct{}
	// found remembers where transcripts lie, shown what a list told of them.
	found  map[firn.ID]dialect.Transcript
	looked time.Time
	shown  map[firn.ID]shown
	// open are the sessions that were added to.
	open map[firn.ID]*session
}

// Open opens the home of a tool. It need not look like one: what is there is
// read, and the rest is not found.
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
	return &Store{
		home: home, tree: os.DirFS(home), tool: tool, opts: opts, closed: make(chan struct{}),
		shown: make(map[firn.ID]shown), open: make(map[firn.ID]*session),
	}, nil
}

// Home is the directory the tool keeps its files in.
func (st *Store) Home() string { return st.home }

// Tool is whose home it is.
func (st *Store) Tool() dialect.Tool { return st.tool }

// Close ends followers. Files that were added to are closed.
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

// check reports whether the store can still be used.
func (st *Store) check(ctx context.Context) error {
	select {
	case <-st.closed:
		return fmt.Errorf("use %s's home: %w", st.tool.Name(), firn.ErrClosed)
	default:
		return ctx.Err()
	}
}

// lookPause is how long one who asks for a session that is not there is told so
// without looking again.
const lookPause = 500 * time.Millisecond

// transcript finds a session. Where transcripts lie is looked up once, and
// again for one that is not known or not there any more.
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

// lookFor looks where transcripts lie and finds a session.
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

// survey looks where transcripts lie. The lock is held.
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
		// One that was begun here goes by the name it was given, too.
		if t := s.placed.Load(); t != nil {
			st.alias(id, *t)
		}
	}
	return faults
}

// alias makes a transcript that is there be found by another name. The lock is
// held.
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

// all returns the transcripts there are now.
func (st *Store) all() []dialect.Transcript {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.survey()
	list := make([]dialect.Transcript, 0, len(st.found))
	listed := make(map[string]bool)
	for _, begunHere := range []bool{false, true} { // under its own name, if it has one
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

// Files names the files that a session is kept in.
func (st *Store) Files(_ context.Context, id firn.ID) ([]string, error) {
	t, err := st.transcript(id)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(t.Parts))
	for i, part := range t.Parts {
		names[i] = vfsPath(st.home, part)
	}
	return names, nil
}

var _ store.Store = (*Store)(nil)
