package filestore

import (
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/chain"
	"firn.dev/internal/disk/journal"
)

// chainEvery is the time after which the hash chains of sessions are extended.
const chainEvery = time.Second

// chains collects the sessions that were appended to since their hash chains were extended.
// The chains are extended in the background, not by appends.
type chains struct {
	mu      sync.Mutex
	waiting map[firn.ID]grown
	timer   *time.Timer // set while an extension is scheduled
	closed  bool
	working sync.WaitGroup
	// extending is held while a chain is extended.
	extending sync.Mutex
}

// grown is a transcript and the range that was appended and is durable.
type grown struct {
	path      string
	from, end firn.Pos
}

// extendLater schedules the extension of the chain of a session over a durable append.
func (st *homeDir) extendLater(s *session, from, end firn.Pos) {
	c := &st.chains
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = make(map[firn.ID]grown)
	}
	if g, ok := c.waiting[s.id]; ok {
		from, end = min(from, g.from), max(end, g.end)
	}
	c.waiting[s.id] = grown{s.path, from, end}
	if c.timer == nil && !c.closed {
		c.working.Add(1)
		c.timer = time.AfterFunc(chainEvery, func() {
			defer c.working.Done()
			c.mu.Lock()
			c.timer = nil
			c.mu.Unlock()
			st.extendChains()
			st.reports.flush(st.opts.Report)
		})
	}
}

// extendChains extends the chains of all collected sessions. A failure is reported: the
// next extension covers the same lines.
func (st *homeDir) extendChains() {
	for st.extendNext() {
	}
}

// extendNext extends the chain of one session. It returns false if none is left.
func (st *homeDir) extendNext() bool {
	c := &st.chains
	c.extending.Lock()
	defer c.extending.Unlock()
	id, g, ok := c.take()
	if !ok {
		return false
	}
	source := journal.Source{FS: st.fs, Path: g.path, MaxLine: st.opts.MaxLine, Long: &st.long}
	if err := chain.Extend(source, id, g.from, g.end); err != nil {
		st.reportLater("%v", err)
	}
	return true
}

// take removes one of the collected sessions.
func (c *chains) take() (firn.ID, grown, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, g := range c.waiting {
		delete(c.waiting, id)
		return id, g, true
	}
	return "", grown{}, false
}

// forget removes a session whose files are about to be moved or erased, and waits until its
// chain is not being extended.
func (c *chains) forget(id firn.ID) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
	c.extending.Lock()
	defer c.extending.Unlock()
}

// close stops scheduled extensions and waits for a running one.
func (c *chains) close() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil && c.timer.Stop() {
		c.working.Done()
	}
	c.mu.Unlock()
	c.working.Wait()
}
