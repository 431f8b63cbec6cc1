package filestore

import (
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
)

// touchEvery is the minimum interval at which appends to a session are recorded in the key
// table of its agent, under the keys that point to it.
const touchEvery = time.Second

// touches collects the sessions appended to since the tables were updated. The tables are
// updated in the background, not by appends.
type touches struct {
	mu      sync.Mutex
	waiting map[*session]touched
	timer   *time.Timer // set while an update is scheduled
	closed  bool
	working sync.WaitGroup
}

// touched is the time of the latest append to a session and its statistics.
type touched struct {
	at       time.Time
	counters tally
}

// touch records an append to a session and its statistics.
func (st *keyTables) touch(s *session, at time.Time, reported tally) {
	t := &st.touches
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = make(map[*session]touched)
	}
	t.waiting[s] = touched{at, t.waiting[s].counters.merge(reported)}
	if t.timer == nil && !t.closed {
		t.working.Add(1)
		t.timer = time.AfterFunc(touchEvery, func() {
			defer t.working.Done()
			st.updateTables()
			st.reports.flush(st.opts.Report)
		})
	}
}

// take returns the collected sessions and resets the collection.
func (t *touches) take() map[*session]touched {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.waiting
	t.waiting, t.timer = nil, nil
	return taken
}

// close stops scheduled updates and waits for a running one.
func (t *touches) close() {
	t.mu.Lock()
	t.closed = true
	if t.timer != nil && t.timer.Stop() {
		t.working.Done()
	}
	t.mu.Unlock()
	t.working.Wait()
}

// updateTables writes the collected uses to the key tables. They may be lost in a crash, so
// errors are only reported.
func (st *keyTables) updateTables() {
	uses := make(map[string]map[firn.ID]touched) // by agent and session
	for s, last := range st.touches.take() {
		if uses[s.agent] == nil {
			if there, err := st.exists(filepath.Join(st.sessionsDir(s.agent), tableName)); err == nil && !there {
				continue // the agent has no table
			}
			uses[s.agent] = make(map[firn.ID]touched)
		}
		uses[s.agent][s.id] = last
	}
	for agent, uses := range uses {
		t, err := st.table("agent:" + agent + ":x")
		if err == nil {
			err = t.recordUses(uses)
		}
		if err != nil {
			st.reportLater("note that keys were used: %v", err)
		}
	}
}

// recordUses records the latest uses of the keys that point to the used sessions. They are
// written after about a second.
func (t *table) recordUses(uses map[firn.ID]touched) error {
	return t.view(func(doc *document) error {
		for id, u := range uses {
			for _, key := range t.keysOfSession(doc, id) {
				file, ok := doc.row(key)
				if !ok || file.id() != id {
					continue
				}
				// A row that is too large is left unchanged.
				_ = t.patch(doc, key, &file, func(r *row) {
					r.setUpdated(u.at)
					u.counters.writeTo(r)
				})
			}
		}
		return nil
	})
}
