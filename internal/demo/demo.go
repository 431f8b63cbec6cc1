// Package demo tells what firn is by doing it: a walk through the whole story,
// in a home of its own, where every line that is printed is a real operation
// on real files, checked after it was done.
//
// It uses the library as any program would. The only files it touches besides
// are those of its own home: it tears a line on purpose, and clears up.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"firn"
	"firn/internal/vfs"
	"firn/store/filestore"
)

// Options says how to walk. The zero value is a good one.
type Options struct {
	// Keep is where the home is made and kept; empty: in a directory for
	// temporary files, and it is removed at the end.
	Keep string
	// Tell is called with each line of the story, once it was done. Nil: nobody.
	Tell func(Line) error
	// Program is the program that is started to be killed, with the arguments
	// that precede ours; empty: this one.
	Program []string
}

// Line is one line of the story.
type Line struct {
	Step string `json:"step"`
	OK   bool   `json:"ok"`
	// Result says what came of it, or what went wrong.
	Result string `json:"result"`
}

// Story is how a walk ended.
type Story struct {
	Steps int
	Took  time.Duration
	// Transcript is the file that most of the story is about.
	Transcript string
}

// Walk does each step of the story. An error says which step failed; those
// after it were not tried.
func Walk(ctx context.Context, opts Options) (story Story, err error) {
	if opts.Tell == nil {
		opts.Tell = func(Line) error { return nil }
	}
	begun := time.Now()
	t, err := newTour(ctx, opts)
	if err != nil {
		return story, fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for _, s := range steps {
		if err := t.step(s); err != nil {
			return story, err
		}
	}
	return Story{Steps: len(steps), Took: time.Since(begun), Transcript: t.transcript(t.talk)}, nil
}

// step is one line of the story.
type step struct {
	name string
	// do does it and says what came of it. It fails if the promise that the
	// step is about was not kept.
	do func(*tour) (string, error)
}

// steps is the story.
var steps = []step{
	{"a session by its key", (*tour).create},
	{"a turn with a tool call", (*tour).talkOnce},
	{"writer killed with SIGKILL", (*tour).kill},
	{"a line torn on purpose", (*tour).tear},
	{"a window, one call unanswered", (*tour).buildWindows},
	{"head moved, and moved back", (*tour).branch},
	{"a message hidden, restored", (*tour).hide},
	{"compacted, and uncompacted", (*tour).compact},
	{"durable appends", (*tour).appendDurably},
	{"a large session resumed", (*tour).resumeLarge},
	{"removed to the bin, restored", (*tour).remove},
	{"one entry purged for good", (*tour).purge},
	{"all of it verified", (*tour).verify},
}

// tour is one walk.
type tour struct {
	ctx  context.Context
	opts Options
	home string
	st   *filestore.Store

	// talk is the session that most of the story is about, killed the one
	// whose writer was killed.
	talk, killed firn.ID

	mu      sync.Mutex
	reports []string // what the store said was out of order
}

func newTour(ctx context.Context, opts Options) (*tour, error) {
	t := &tour{ctx: ctx, opts: opts, home: opts.Keep}
	if t.home == "" {
		t.home = filepath.Join(os.TempDir(), "firn-demo-"+strings.ToLower(rand.Text()[:8]))
	}
	if entries, err := (vfs.OS{}).ReadDir(t.home); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%w directory %s: it is not empty", firn.ErrInvalid, t.home)
	}
	return t, t.open()
}

// open opens the store, as a program that was started anew would.
func (t *tour) open() error {
	st, err := filestore.Open(t.home, filestore.Options{Report: t.report})
	t.st = st
	return err
}

func (t *tour) report(message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reports = append(t.reports, message)
}

// reported returns what the store said since it was last asked.
func (t *tour) reported() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := t.reports
	t.reports = nil
	return said
}

// reopen closes the store and opens it again.
func (t *tour) reopen() error {
	if err := t.st.Close(); err != nil {
		return err
	}
	return t.open()
}

// close ends the walk and clears up.
func (t *tour) close() error {
	err := t.st.Close()
	if t.opts.Keep == "" {
		err = errors.Join(err, removeAll(t.home))
	}
	return err
}

// step does one step and tells of it.
func (t *tour) step(s step) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	result, err := s.do(t)
	if ctxErr := t.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	line := Line{Step: s.name, OK: err == nil, Result: result}
	if err != nil {
		line.Result = err.Error()
		err = fmt.Errorf("demo: %s: %w", s.name, err)
	}
	return errors.Join(err, t.opts.Tell(line))
}

// transcript is the path of a session's first file.
func (t *tour) transcript(id firn.ID) string {
	return filepath.Join(t.home, "agents", "main", "sessions", string(id)+".jsonl")
}

// removeAll removes a directory that we made.
func removeAll(dir string) error {
	var sys vfs.OS
	entries, err := sys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = removeAll(path)
		} else {
			err = sys.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return sys.Remove(dir)
}
