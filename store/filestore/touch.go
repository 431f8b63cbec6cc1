package filestore

import (
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// touchEvery is the minimum interval at which appends to a session are recorded in the key
// table, under the key that the session was created for.
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

// use is the latest use of a key's session.
type use struct {
	id firn.ID
	touched
}

// updateTables writes the collected uses to the key tables. They may be lost in a crash, so
// errors are only reported.
func (st *keyTables) updateTables() {
	uses := make(map[string]map[string]use) // by agent and key
	for s, last := range st.touches.take() {
		if uses[s.agent] == nil {
			if there, err := st.exists(filepath.Join(st.sessionsDir(s.agent), tableName)); err == nil && !there {
				continue // the agent has no table
			}
			uses[s.agent] = make(map[string]use)
		}
		if key := st.keyOf(s); key != "" && store.AgentOf(key) == s.agent {
			uses[s.agent][key] = use{s.id, last}
		}
	}
	for _, uses := range uses {
		if err := st.updateTable(uses); err != nil {
			st.reportLater("note that keys were used: %v", err)
		}
	}
}

// updateTable writes uses of keys of the same agent to their table.
func (st *keyTables) updateTable(uses map[string]use) error {
	for key := range uses {
		t, err := st.table(key)
		if err != nil {
			return err
		}
		return t.recordUses(uses)
	}
	return nil
}

// keyOf returns the key in the header of a session, reading it once; "" if there is no
// valid one. An unreadable header is not reported here.
func (st *keyTables) keyOf(s *session) string {
	if key := s.key.Load(); key != nil {
		return *key
	}
	in := st.inspect.inspector()
	var gist store.Gist
	file, err := st.fs.Open(s.path, vfs.Read)
	if err != nil {
		return ""
	}
	defer file.Close() // only read
	if _, err := in.addHead(file, &gist); err != nil {
		return ""
	}
	key := gist.Info().Key
	if store.CheckKey(key) != nil {
		key = ""
	}
	s.key.Store(&key)
	return key
}

// recordUses records the latest uses of keys that still point to the used session. They are
// written after about a second.
func (t *table) recordUses(uses map[string]use) error {
	return t.view(func(doc *document) error {
		for key, u := range uses {
			file, ok := doc.row(key)
			if !ok || file.id() != u.id {
				continue
			}
			// A row that is too large is left unchanged.
			_ = t.patch(doc, key, &file, func(r *row) {
				r.setUpdated(u.at)
				u.counters.writeTo(r)
			})
		}
		return nil
	})
}
