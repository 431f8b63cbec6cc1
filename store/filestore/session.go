package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// session is a transcript that is open for appending.
type session struct {
	st        *openSessions
	id        firn.ID
	agent     string
	path      string
	journal   *journal.Journal
	hasHeader atomic.Bool // the header was written
	users     int         // guarded by homeDir.mu, like used and dropped
	used      uint64      // openSessions.clock at the last use
	dropped   bool        // removed from the map; the last user closes it

	mu    sync.Mutex
	end   firn.Pos // as of our latest append or read
	fresh bool     // end and head are known
	isNew bool     // nothing is written yet
	head  firn.EntryID
	ids   store.IDs
	use   func(id firn.EntryID) (store.Use, error) // looks an ID up in ids; made once
	buf   []byte                                   // for encoding; nil while an append uses it
	chain chainEnd

	now, touched time.Time // time of the latest append, and of the latest one passed to touch

}

// Append adds entries at the end of a session; see store.Store.
func (st *Store) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return st.append(ctx, id, expect, entries, false)
}

// AppendDeferred is Append without waiting for the disk.
func (st *Store) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return st.append(ctx, id, expect, entries, true)
}

func (st *openSessions) append(ctx context.Context, id firn.ID, expect store.Pos, entries []firn.Entry, deferred bool) (store.Pos, error) {
	if err := st.startWrite(ctx); err != nil {
		return 0, err
	}
	defer st.finishCall()
	s := st.acquireOpen(id)
	var prepared []firn.Entry
	if s == nil {
		fresh, first, err := st.checkNew(id, expect, entries)
		prepared = first
		if fresh && (err != nil || len(entries) == 0) {
			return 0, err
		}
		if fresh {
			defer st.markNew()()
		}
		if s, err = st.acquire(id, entries); err != nil {
			return 0, err
		}
	}
	end, err := s.append(expect, entries, prepared, deferred)
	st.release(s, err)
	return end, st.explainReplaced(id, err)
}

// explainReplaced adds to the error of a failed append that the session was removed or
// purged meanwhile, if so.
func (st *openSessions) explainReplaced(id firn.ID, err error) error {
	if !errors.Is(err, firn.ErrReplaced) {
		return err
	}
	if _, _, there := st.locate(id); !errors.Is(there, firn.ErrNotFound) {
		return err
	}
	if away := st.checkRemoved(id); errors.Is(away, firn.ErrNotFound) {
		return fmt.Errorf("append to %w: %w", away, err)
	}
	return err
}

// checkNew reports whether the session does not exist yet. If so, it prepares the entries for
// a new session, so that nothing is created on disk for an invalid append.
func (st *openSessions) checkNew(id firn.ID, expect store.Pos, entries []firn.Entry) (fresh bool, prepared []firn.Entry, err error) {
	if _, _, err := st.locate(id); !errors.Is(err, firn.ErrNotFound) {
		return false, nil, err
	}
	if err := st.checkRemoved(id); err != nil {
		return true, nil, fmt.Errorf("append to %w", err)
	}
	if expect != store.Any && expect != store.Start {
		return true, nil, &store.Conflict{ID: id, Expect: expect}
	}
	prepared, err = store.Prepare(store.Tail{Session: id, New: true}, st.opts.Now(), entries, nil)
	return true, prepared, err
}

// Sync makes all entries of a session durable.
func (st *Store) Sync(ctx context.Context, id firn.ID) error {
	if err := st.startWrite(ctx); err != nil {
		return err
	}
	defer st.finishCall()
	if _, _, err := st.locate(id); err != nil {
		return err
	}
	s, err := st.acquire(id, nil)
	if err != nil {
		return err
	}
	err = s.journal.Sync()
	st.release(s, err)
	return err
}

// Confirm makes the entries of a session from a position on durable.
func (st *Store) Confirm(ctx context.Context, id firn.ID, from store.Pos) error {
	if err := st.startWrite(ctx); err != nil {
		return err
	}
	defer st.finishCall()
	if _, _, err := st.locate(id); err != nil {
		return err
	}
	s, err := st.acquire(id, nil)
	if err != nil {
		return err
	}
	err = s.journal.Confirm(from)
	st.release(s, err)
	return err
}

// append encodes the entries under the journal's lock, since their parent is not known
// before. prepared are the entries as prepared for a new session, nil if they are not.
func (s *session) append(expect store.Pos, entries, prepared []firn.Entry, deferred bool) (store.Pos, error) {
	s.mu.Lock()
	var ready []firn.Entry
	var linked chainEnd
	buf := s.takeBuf()
	end, wait, err := s.journal.Write(deferred, func(end firn.Pos) ([]byte, error) {
		if expect != store.Any && expect != end && !s.onlyBlanks(expect, end) {
			return nil, &store.Conflict{ID: s.id, Expect: expect, End: end}
		}
		if err := s.catchUp(end); err != nil {
			return nil, err
		}
		if s.isNew {
			if err := s.checkCreate(end); err != nil {
				return nil, err
			}
		}
		var err error
		s.now = s.st.opts.Now()
		if ready = prepared; ready == nil || !s.isNew {
			if ready, err = store.Prepare(s.tail(), s.now, entries, s.hasEntry); err != nil {
				return nil, err
			}
		}
		buf, linked, err = s.encode(buf[:0], end, ready)
		return buf, err
	})
	if err != nil {
		s.putBuf(buf)
		s.mu.Unlock()
		return end, err
	}
	s.advance(end, ready)
	if len(ready) > 0 {
		s.chain = linked.at(end)
	}
	s.mu.Unlock()

	err = wait.Wait()
	s.mu.Lock()
	s.putBuf(buf)
	if t := tallyOf(ready); err == nil && (t != nil || s.now.Sub(s.touched) >= touchEvery) {
		s.touched = s.now
		s.st.keys.touch(s, s.now, t)
	}
	s.mu.Unlock()
	return end, err
}

// checkCreate returns an error, under the journal's lock, if the session was removed, or
// removed and restored, since it was located. Restore removes the trash bin directory last, so
// without one the transcript is in its place.
func (s *session) checkCreate(end firn.Pos) error {
	if err := s.st.checkRemoved(s.id); err != nil {
		return fmt.Errorf("append to %w", err)
	}
	info, err := s.st.fs.Stat(s.path)
	if err != nil {
		return fmt.Errorf("append to session %s: %w", s.id, err)
	}
	if end == store.Start && info.Size > 0 {
		return fmt.Errorf("append to session %s: %w: it was restored", s.id, firn.ErrReplaced)
	}
	return nil
}

// takeBuf takes the encoding buffer; nil if another append uses it.
func (s *session) takeBuf() []byte {
	buf := s.buf
	s.buf = nil
	return buf
}

// maxIdleBuf is the capacity of the largest buffer that an idle session keeps.
const maxIdleBuf = 64 << 10

func (s *session) putBuf(buf []byte) {
	if cap(buf) <= maxIdleBuf {
		s.buf = buf
	}
}

// onlyBlanks reports whether there are only blank lines between two positions, as left by
// an editor. No record ends after them, so no caller can expect the end there.
func (s *session) onlyBlanks(from, to firn.Pos) bool {
	if from == store.Start || from > to {
		return false
	}
	r := dialect.Reader{Dialect: s.st.dialect, Quick: true}
	for line, err := range s.journal.Source().Lines(from) {
		if err != nil || len(r.Records(dialect.Line(line))) > 0 {
			return false
		}
	}
	return true
}

func (s *session) tail() store.Tail {
	if s.use == nil {
		s.use = func(id firn.EntryID) (store.Use, error) { return s.ids.Use(id, s.readBack) }
	}
	return store.Tail{Session: s.id, New: s.isNew, Head: s.head, Newest: s.ids.Newest(), Use: s.use}
}

// advance updates the state after an append.
func (s *session) advance(end firn.Pos, entries []firn.Entry) {
	s.end = end
	if len(entries) > 0 {
		s.isNew = false
		s.hasHeader.Store(true)
	}
	for i := range entries {
		if entries[i].ID != "" {
			s.head = entries[i].ID
			s.ids.Add(&entries[i])
		}
	}
}

// catchUp updates the head if another process has appended.
func (s *session) catchUp(end firn.Pos) error {
	if s.fresh && end == s.end {
		return nil
	}
	if s.fresh && end > s.end && end-s.end < maxCatchUp {
		if ok, err := s.readNew(end); ok || err != nil {
			return err
		}
	}
	head, some, err := s.ids.Open(end, s.readBack)
	if err != nil {
		return fmt.Errorf("append to session %s: find its head: %w", s.id, err)
	}
	s.end, s.head, s.isNew, s.fresh = end, head, !some, true
	s.hasHeader.Store(some)
	return nil
}

// maxCatchUp is the number of appended bytes up to which catchUp reads forward. Beyond it
// the session is read back from its end.
const maxCatchUp = 1 << 20

// readNew reads entries appended by other processes. It returns false if one of them cannot
// be decoded.
func (s *session) readNew(end firn.Pos) (bool, error) {
	r := dialect.Reader{Dialect: s.st.dialect, Quick: true}
	var entries []firn.Entry
	for line, err := range s.journal.Source().Lines(s.end) {
		if err != nil {
			return false, fmt.Errorf("append to session %s: find its head: %w", s.id, err)
		}
		for _, rec := range r.Records(dialect.Line(line)) {
			entry, err := rec.Entry()
			if err != nil {
				return false, nil
			}
			entries = append(entries, entry)
		}
	}
	s.advance(end, entries)
	return true, nil
}

// readBack yields the records before a position, newest first.
func (s *session) readBack(before firn.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		r := dialect.Reader{Dialect: s.st.dialect, Quick: true}
		for line, err := range s.journal.Source().Back(before) {
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			for _, rec := range slices.Backward(r.Records(dialect.Line(line))) {
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// hasEntry searches the transcript backwards for an entry.
func (s *session) hasEntry(id firn.EntryID) (bool, error) {
	if s.ids.Has(id) {
		return true, nil
	}
	for rec, err := range s.readBack(s.end) {
		if err != nil {
			return false, err
		}
		if rec.Gap == nil && rec.Glance.Kind != firn.KindHeader && rec.Glance.ID == id {
			return true, nil
		}
	}
	return false, nil
}

// acquireOpen is acquire for an open session with a header; nil if there is none.
func (st *openSessions) acquireOpen(id firn.ID) *session {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s := st.sessions[id]; s != nil && s.hasHeader.Load() {
		return st.addUser(s)
	}
	return nil
}

// acquire opens a session for appending. The first entries determine the agent of a new
// session. The caller must release it.
func (st *openSessions) acquire(id firn.ID, entries []firn.Entry) (*session, error) {
	st.mu.Lock()
	if s := st.addUser(st.sessions[id]); s != nil {
		st.mu.Unlock()
		return s, nil
	}
	st.mu.Unlock()

	agent, path, err := st.locate(id)
	located := err == nil
	if errors.Is(err, firn.ErrNotFound) && entries != nil {
		agent, path, err = st.choosePath(id, entries)
	}
	if err != nil {
		return nil, err
	}
	s, err := st.open(id, agent, path, located)
	if err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if other := st.addUser(st.sessions[id]); other != nil { // another goroutine was faster
		return other, s.journal.Close()
	}
	st.sessions[id] = st.addUser(s)
	st.evict()
	return s, nil
}

// addUser counts a user of s. It returns s, which may be nil.
func (st *openSessions) addUser(s *session) *session {
	if s != nil {
		st.clock++
		s.users++
		s.used = st.clock
	}
	return s
}

// choosePath returns the path for a new session.
func (st *openSessions) choosePath(id firn.ID, entries []firn.Entry) (agent, path string, err error) {
	agent = store.AgentOf("")
	if h, ok := entries[0].Body.(*firn.Header); ok && h != nil {
		if agent = h.Agent; agent == "" {
			agent = store.AgentOf(h.Key)
		}
	}
	if err := checkAgent(agent); err != nil {
		return "", "", err
	}
	path = st.transcriptPath(agent, id)
	return agent, path, st.ensureAgentDir(agent)
}

// ensureAgentDir creates an agent's session directory and makes it durable. It syncs the
// parents even if the directory exists, since the process that created it may have crashed
// before doing so.
func (st *openSessions) ensureAgentDir(agent string) error {
	dir := st.sessionsDir(agent)
	if err := st.fs.MkdirAll(dir); err != nil {
		return err
	}
	if _, done := st.syncedAgents.Load(agent); done || st.opts.Sync == SyncNever {
		return nil
	}
	for _, parent := range []string{filepath.Dir(dir), st.agentsDir(), st.home} {
		if err := st.fs.SyncDir(parent); err != nil {
			return err
		}
	}
	st.syncedAgents.Store(agent, true)
	return nil
}

// open opens a session. A located session must still exist: it is not created again if it
// was just removed.
func (st *openSessions) open(id firn.ID, agent, path string, located bool) (*session, error) {
	j, err := journal.Open(st.fs, path, journal.Options{
		PartSize: st.opts.PartSize, MaxBytes: st.opts.MaxBytes, MaxLine: st.opts.MaxLine, Long: &st.long, Sync: st.opts.Sync,
		Committer: st.committer, Hub: st.hub, Report: st.reportRepair, Existing: located,
	})
	if err != nil {
		return nil, err
	}
	return &session{st: st, id: id, agent: agent, path: path, journal: j}, nil
}

func (st *openSessions) reportRepair(r journal.Repair) {
	if r.Cut > 0 {
		st.reportLater("%s: %d bytes of an unfinished line at %d were moved to %s", r.Path, r.Cut, r.Offset, filepath.Base(r.SavedTo))
	}
	if r.Finished {
		st.reportLater("%s: the line at %d lacked its newline and got it", r.Path, r.Offset)
	}
}

// release ends a use. A session whose file was replaced is dropped, and opened again by the
// next user.
func (st *openSessions) release(s *session, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	s.users--
	if errors.Is(err, firn.ErrReplaced) || errors.Is(err, firn.ErrNotSaved) {
		st.drop(s)
	}
	if s.dropped && s.users == 0 {
		st.closeSession(s)
	}
	st.evict() // none could be closed while all were in use
}

// drop removes a session from the map. Its last user closes it.
func (st *openSessions) drop(s *session) {
	if st.sessions[s.id] == s {
		delete(st.sessions, s.id)
	}
	s.dropped = true
}

// evict closes the least recently used sessions while too many are open.
func (st *openSessions) evict() {
	for len(st.sessions) > st.opts.OpenFiles {
		var oldest *session
		for _, s := range st.sessions {
			if s.users == 0 && (oldest == nil || s.used < oldest.used) {
				oldest = s
			}
		}
		if oldest == nil {
			return
		}
		st.drop(oldest)
		st.closeSession(oldest)
	}
}

// closeIdle closes the files of idle sessions and followers and returns their number. It is
// called when descriptors run out, possibly while the caller holds the store's lock; then
// it skips the sessions.
func (st *openSessions) closeIdle() int {
	n := st.hub.CloseIdle()
	if !st.mu.TryLock() {
		return n
	}
	defer st.mu.Unlock()
	for _, s := range st.sessions {
		if s.users == 0 {
			st.drop(s)
			st.closeSession(s)
			n++
		}
	}
	return n
}

// closeSession closes the files of a session. It first saves the content of a deleted file,
// unless the session was removed or purged.
func (st *openSessions) closeSession(s *session) {
	if st.checkRemoved(s.id) == nil {
		if err := s.journal.SaveDeleted(); err != nil {
			st.reportLater("%v", err)
		}
	}
	if err := s.journal.Close(); err != nil {
		st.reportLater("close %s: %v", s.path, err)
	}
}

// closeIfDeleted closes an open session whose file was deleted, which saves its content.
// Otherwise the content would be lost with the process.
func (st *openSessions) closeIfDeleted(id firn.ID) {
	st.mu.Lock()
	s := st.sessions[id]
	st.mu.Unlock()
	if s == nil || !s.hasHeader.Load() {
		return
	}
	if _, err := st.fs.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		st.dropSession(id)
	}
}

// closeForMove closes a session's files so that they can be moved. It does not wait: it
// returns ErrLocked while an append is running.
func (st *openSessions) closeForMove(id firn.ID) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.sessions[id]
	if s == nil {
		return nil
	}
	if s.users > 0 {
		return fmt.Errorf("session %s: %w: another process is appending to it", id, firn.ErrLocked)
	}
	st.drop(s)
	return s.journal.Close()
}

// dropSession makes the next append open the session again.
func (st *openSessions) dropSession(id firn.ID) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s := st.sessions[id]; s != nil {
		st.drop(s)
		if s.users == 0 {
			st.closeSession(s)
		}
	}
}
