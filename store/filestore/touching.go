package filestore

import (
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// touchEvery is how often at most an append to a session is noted in the
// routing table, under the key that the session was begun for.
const touchEvery = time.Second

// touches are the sessions that were appended to since the tables were told.
// Appends only leave their name here; all else is done behind their backs.
type touches struct {
	mu      sync.Mutex
	waiting map[*session]touched
	timer   *time.Timer // set while the tables are to be told
	closed  bool
	working sync.WaitGroup
}

// touched is when a session was appended to last, and what that told of it.
type touched struct {
	at   time.Time
	told tally
}

// touch has it noted that a session was appended to, and what that told of it.
func (st *Store) touch(s *session, at time.Time, told tally) {
	t := &st.touches
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = make(map[*session]touched)
	}
	t.waiting[s] = touched{at, t.waiting[s].told.with(told)}
	if t.timer == nil && !t.closed {
		t.working.Add(1)
		t.timer = time.AfterFunc(touchEvery, func() {
			defer t.working.Done()
			st.tellTables()
			st.reports.pass(st.opts.Report)
		})
	}
}

// take returns what is waiting.
func (t *touches) take() map[*session]touched {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.waiting
	t.waiting, t.timer = nil, nil
	return taken
}

// close ends the telling behind the back and waits for one that is under way.
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

// tellTables tells the routing tables what was waiting. What comes of it may be
// lost in a crash, so it is no failure of an append: it is only reported.
func (st *Store) tellTables() {
	uses := make(map[string]map[string]use) // of each agent, by key
	for s, last := range st.touches.take() {
		if uses[s.agent] == nil {
			if there, err := st.exists(filepath.Join(st.sessionsDir(s.agent), tableName)); err == nil && !there {
				continue // nobody asked for one
			}
			uses[s.agent] = make(map[string]use)
		}
		if key := st.keyOf(s); key != "" && store.AgentOf(key) == s.agent {
			uses[s.agent][key] = use{s.id, last}
		}
	}
	for _, uses := range uses {
		if err := st.tellTable(uses); err != nil {
			st.reportLater("note that keys were used: %v", err)
		}
	}
}

// tellTable tells the table that some keys are in.
func (st *Store) tellTable(uses map[string]use) error {
	for key := range uses {
		t, err := st.table(key)
		if err != nil {
			return err
		}
		return t.used(uses)
	}
	return nil
}

// keyOf reads from the header which key a session was begun for, once; "" if it
// was for none, or for one that cannot be. A header that cannot be read is not
// told of here: who looks at the session will be.
func (st *Store) keyOf(s *session) string {
	if key := s.key.Load(); key != nil {
		return *key
	}
	in := st.inspector()
	var gist store.Gist
	file, err := st.fs.Open(s.path, vfs.Read)
	if err != nil {
		return ""
	}
	defer file.Close() // only read
	if _, err := in.head(file, &gist); err != nil {
		return ""
	}
	key := gist.Info().Key
	if store.CheckKey(key) != nil {
		key = ""
	}
	s.key.Store(&key)
	return key
}

// used notes the latest uses of keys that point at the session that was used.
// It is written within a second or so.
func (t *table) used(uses map[string]use) error {
	return t.view(func(doc *document) error {
		for key, u := range uses {
			file, ok := doc.row(key)
			if !ok || file.id() != u.id {
				continue
			}
			// A row that is too large to be changed stays as it is.
			_ = t.patch(doc, key, &file, func(r *row) {
				r.setUpdated(u.at)
				u.told.note(r)
			})
		}
		return nil
	})
}
