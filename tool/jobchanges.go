package tool

import (
	"context"
	"path/filepath"
	"sync"
)

// jobChanges finds the files that a command in the background changes. They are recorded as
// changes of the call that started it: when its output is read, at the start of a turn, and
// when it ends.
type jobChanges struct {
	mu sync.Mutex
	// recorder has the recorder of the call that started the command.
	recorder context.Context
	// watch is nil if changes are not recorded. unknown is the reason, if there is one.
	watch   *treeWatch
	unknown string
	// changed are the first changes, total the number of all.
	changed []shellChange
	total   int
}

// watchJob looks at the files before a command in the background starts.
func (o ShellOptions) watchJob(ctx context.Context) *jobChanges {
	c := &jobChanges{recorder: context.WithoutCancel(ctx)}
	c.watch, c.unknown = o.watchTree(ctx)
	return c
}

// addTo compares the files and adds all changes since the start to the details.
func (c *jobChanges) addTo(_ context.Context, d *shellDetails) {
	c.compare()
	c.mu.Lock()
	defer c.mu.Unlock()
	d.Changed, d.ChangedFiles, d.Unknown = c.changed, c.total, c.unknown
}

// compare records what changed since the last comparison.
func (c *jobChanges) compare() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch == nil {
		return
	}
	changed, total, err := c.watch.record(c.recorder)
	if err != nil {
		c.unknown = "changed files are unknown: " + err.Error()
		return
	}
	if total > 0 {
		c.watch.advance(c.watch.last)
	}
	c.unknown = ""
	c.total += total
	if room := maxNamed - len(c.changed); room > 0 {
		c.changed = append(c.changed, changed[:min(len(changed), room)]...)
	}
}

// accept takes the present state of a file as not changed by the command.
func (c *jobChanges) accept(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch == nil {
		return
	}
	if name, err := filepath.Rel(c.watch.dir, path); err == nil && filepath.IsLocal(name) {
		c.watch.acceptFile(filepath.ToSlash(name))
	}
}

// Compare records the files that commands in the background changed since the last call. It
// is to be called at the start of a turn.
func (s *Shells) Compare() {
	for _, j := range s.running() {
		j.changes.compare()
	}
}

// Accept informs s that a tool changed a file, so that the change is not taken for that of a
// command in the background.
func (s *Shells) Accept(path string) {
	for _, j := range s.running() {
		j.changes.accept(path)
	}
}

// acceptAll is called after a command in the foreground: its own comparison has recorded the
// changes.
func (s *Shells) acceptAll() {
	for _, j := range s.running() {
		j.changes.skip()
	}
}

// skip takes the present state of all files as not changed by the command.
func (c *jobChanges) skip() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch == nil {
		return
	}
	if after, err := c.watch.scan(c.recorder); err == nil {
		c.watch.advance(after)
	}
}

// running returns the commands in the background that have not ended.
func (s *Shells) running() []*shellJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	var jobs []*shellJob
	for _, j := range s.jobs {
		if !j.ended() {
			jobs = append(jobs, j)
		}
	}
	return jobs
}
