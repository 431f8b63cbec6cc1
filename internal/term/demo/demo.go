// Package demo demonstrates firn: it runs through its main features in a home of its own.
// Every printed line is a real operation whose result was checked.
//
// It is an ordinary client of a gateway created for it. It accesses only the files of its
// own home: to tear a line on purpose, to compare bytes, and to clean up.
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

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/wire"
)

// Options configures the demo. Open is required.
type Options struct {
	// Open creates a gateway for a home, and a client of it. close closes both. report
	// receives the problems found.
	Open func(ctx context.Context, home string, report func(string)) (c *client.Client, close func() error, err error)
	// Keep is the directory of the home, which is kept; if empty, the home is temporary and
	// removed at the end.
	Keep string
	// OnLine receives each line after its step is done. It may be nil.
	OnLine func(Line) error
	// Program is the program that is started to be killed, with its leading arguments;
	// empty means this program.
	Program []string
}

// Line is one line of the demo.
type Line struct {
	Step string `json:"step"`
	OK   bool   `json:"ok"`
	// Result is the result or the error of the step.
	Result string `json:"result"`
	// Ms is the duration in milliseconds.
	Ms float64 `json:"ms"`
}

// Result is the outcome of a demo.
type Result struct {
	Steps int
	Took  time.Duration
	// Transcript is the file of the demo's session.
	Transcript string
}

// Run runs all steps. It stops at the first error, which names the step.
func Run(ctx context.Context, opts Options) (story Result, err error) {
	if opts.OnLine == nil {
		opts.OnLine = func(Line) error { return nil }
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
	return Result{Steps: len(steps), Took: time.Since(begun), Transcript: t.transcript(t.talk)}, nil
}

// step is one step of the demo.
type step struct {
	name string
	// do runs the step and returns its result. It fails if the demonstrated property does
	// not hold.
	do func(*tour) (string, error)
}

// steps are the steps of the demo, in order.
var steps = []step{
	{"created", (*tour).create},
	{"talked", (*tour).converse},
	{"killed with SIGKILL mid-turn", (*tour).kill},
	{"recovered", (*tour).recover},
	{"resumed", (*tour).continueTalk},
	{"compacted", (*tour).compact},
	{"searched", (*tour).search},
	{"forked", (*tour).fork},
	{"uncompacted", (*tour).uncompact},
	{"rewound, and returned", (*tour).branch},
	{"hid a message, restored it", (*tour).hide},
	{"moved to trash bin, restored", (*tour).remove},
	{"purged one entry", (*tour).purge},
	{"resumed a large session", (*tour).resumeLarge},
	{"converted to tools, and back", (*tour).formats},
	{"verified", (*tour).verify},
}

// tour is the state of one run.
type tour struct {
	ctx  context.Context
	opts Options
	home string
	// client is a client of the gateway, and shut closes it; nil if there is none.
	client *client.Client
	shut   func() error

	// talk is the session of the demo, asked the question put to the killed writer, and
	// acknowledged the entries that the writer reported to be on disk.
	talk         firn.ID
	asked        string
	acknowledged []firn.EntryID
	// compaction is the compaction to undo, full the window before it.
	compaction firn.EntryID
	full       wire.Window

	mu      sync.Mutex
	reports []string // reported problems
}

func newTour(ctx context.Context, opts Options) (*tour, error) {
	if opts.Open == nil {
		return nil, fmt.Errorf("%w options: no gateway constructor", firn.ErrInvalid)
	}
	t := &tour{ctx: ctx, opts: opts, home: opts.Keep}
	if t.home == "" {
		t.home = filepath.Join(os.TempDir(), "firn-demo-"+strings.ToLower(rand.Text()[:8]))
	}
	if entries, err := (vfs.OS{}).ReadDir(t.home); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%w directory %s: not empty", firn.ErrInvalid, t.home)
	}
	if err := t.open(); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// open creates the gateway, as a newly started program would.
func (t *tour) open() (err error) {
	t.client, t.shut, err = t.opts.Open(t.ctx, t.home, t.report)
	return err
}

// closeGateway closes the gateway, so that another process can use the home.
func (t *tour) closeGateway() error {
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

// reported returns the reports since the last call.
func (t *tour) reported() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	reported := t.reports
	t.reports = nil
	return reported
}

// close ends the run and cleans up.
func (t *tour) close() error {
	err := t.closeGateway()
	if t.opts.Keep == "" {
		err = errors.Join(err, vfs.RemoveAll(vfs.OS{}, t.home))
	}
	return err
}

// step runs one step and reports it.
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
	return errors.Join(err, t.opts.OnLine(line))
}

// transcript returns the path of a session's first file.
func (t *tour) transcript(id firn.ID) string {
	return filepath.Join(t.home, "agents", "main", "sessions", string(id)+".jsonl")
}
