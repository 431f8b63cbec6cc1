// Package demo tells what firn is by doing it: a walk through the whole story,
// in a home of its own, where every line that is printed is a real operation,
// checked after it was done.
//
// It is a client as any other: it talks to a gateway that is made for it. The
// only files it touches itself are those of its own home: it tears a line on
// purpose, holds bytes against each other, and clears up.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"firn"
	"firn/client"
	"firn/internal/vfs"
	"firn/wire"
)

// Options says how to walk. Open must be given.
type Options struct {
	// Open makes a gateway that serves a home, and a client of it. Close lets both
	// go. Report is told what was found out of order.
	Open func(ctx context.Context, home string, report func(string)) (c *client.Client, close func() error, err error)
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
	// Ms is how long it took, in milliseconds.
	Ms float64 `json:"ms"`
}

// Story is how a walk ended.
type Story struct {
	Steps int
	Took  time.Duration
	// Transcript is the file that the story is about.
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
	{"created", (*tour).create},
	{"talked", (*tour).converse},
	{"killed with SIGKILL in a turn", (*tour).kill},
	{"recovered", (*tour).recover},
	{"went on", (*tour).goOn},
	{"compacted", (*tour).compact},
	{"searched", (*tour).search},
	{"forked", (*tour).fork},
	{"uncompacted", (*tour).uncompact},
	{"went back, and returned", (*tour).branch},
	{"hid a message, restored it", (*tour).hide},
	{"removed to the bin, restored", (*tour).remove},
	{"purged one entry for good", (*tour).purge},
	{"resumed a large session", (*tour).resumeLarge},
	{"told as other tools, and back", (*tour).formats},
	{"verified", (*tour).verify},
}

// tour is one walk.
type tour struct {
	ctx  context.Context
	opts Options
	home string
	// client talks to the gateway, and shut lets it go; nil if there is none.
	client *client.Client
	shut   func() error

	// talk is the session that the story is about, asked what the writer was
	// asked that was killed, acknowledged the entries it told to be on disk.
	talk         firn.ID
	asked        string
	acknowledged []firn.EntryID
	// compaction is the one that will be undone, full the window before it.
	compaction firn.EntryID
	full       wire.Window

	mu      sync.Mutex
	reports []string // what was said to be out of order
}

func newTour(ctx context.Context, opts Options) (*tour, error) {
	if opts.Open == nil {
		return nil, fmt.Errorf("%w options: nobody makes a gateway", firn.ErrInvalid)
	}
	t := &tour{ctx: ctx, opts: opts, home: opts.Keep}
	if t.home == "" {
		t.home = filepath.Join(os.TempDir(), "firn-demo-"+strings.ToLower(rand.Text()[:8]))
	}
	if entries, err := (vfs.OS{}).ReadDir(t.home); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%w directory %s: it is not empty", firn.ErrInvalid, t.home)
	}
	if err := t.open(); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// open makes the gateway, as a program that was started anew would.
func (t *tour) open() (err error) {
	t.client, t.shut, err = t.opts.Open(t.ctx, t.home, t.report)
	return err
}

// leave lets the gateway go, so that another process can have the home.
func (t *tour) leave() error {
	if t.shut == nil {
		return nil
	}
	shut := t.shut
	t.client, t.shut = nil, nil
	return shut()
}

func (t *tour) report(message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reports = append(t.reports, message)
}

// reported returns what was said since it was last asked.
func (t *tour) reported() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := t.reports
	t.reports = nil
	return said
}

// close ends the walk and clears up.
func (t *tour) close() error {
	err := t.leave()
	if t.opts.Keep == "" {
		err = errors.Join(err, vfs.RemoveAll(vfs.OS{}, t.home))
	}
	return err
}

// step does one step and tells of it.
func (t *tour) step(s step) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	begun := time.Now()
	result, err := s.do(t)
	took := time.Since(begun)
	if ctxErr := t.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	line := Line{Step: s.name, OK: err == nil, Result: result, Ms: float64(took.Microseconds()) / 1000}
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
