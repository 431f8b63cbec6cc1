package filestore

import (
	"path/filepath"
	"sync"
	"sync/atomic"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/rowcache"
	"firn.dev/store"
)

// catalogueMark makes the catalog of the store notice new sessions, if the store is
// used without it. The mark is a file that is locked while a session is created, and left
// unlocked afterwards. The next list examines all sessions and removes it.
type catalogueMark struct {
	// unneeded is set if the changes of the store are recorded in the catalogue.
	unneeded atomic.Bool
	// rows returns the lookup of up to date rows of the catalogue; nil if there is none.
	rows atomic.Pointer[func() knownRow]

	mu    sync.Mutex
	path  string
	file  vfs.File // nil while no session is created
	users int
}

// knownRow returns the info of a session that has this status, if the catalogue contains it.
type knownRow = func(store.Status) (store.Info, bool)

// Catalogued tells the store that a catalogue records its changes. Otherwise the store marks
// an existing catalogue as outdated when it creates a session. The store calls rows to
// rebuild a key table without reading sessions whose row is up to date.
func (st *homeDir) Catalogued(rows func() knownRow) {
	st.unlisted.rows.Store(&rows)
	st.unlisted.unneeded.Store(true)
}

// knownRows returns the lookup of rows of the catalogue. Without a catalogue it finds none.
func (st *homeDir) knownRows() knownRow {
	if rows := st.unlisted.rows.Load(); rows != nil {
		return (*rows)()
	}
	return func(store.Status) (store.Info, bool) { return store.Info{}, false }
}

// markNew is called before a session is created, the result after it. If the mark cannot be
// created, the session is listed after the next refresh of the catalogue.
func (st *homeDir) markNew() (done func()) {
	m, dir := &st.unlisted, filepath.Join(st.home, "index")
	if m.unneeded.Load() {
		return func() {}
	}
	if there, err := st.exists(filepath.Join(dir, rowcache.CatalogueName)); err != nil || !there {
		return func() {} // the first list examines all sessions
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users == 0 && !m.reuse(st.fs) {
		var err error
		if m.file, m.path, err = vfs.CreateLocked(st.fs, dir, rowcache.MarkPrefix); err != nil {
			st.reportLater("mark the catalog as outdated: %v; firn reindex updates it", err)
		}
	}
	m.users++
	return m.release
}

// reuse locks the previous mark again, if it is still there.
func (m *catalogueMark) reuse(fsys vfs.FS) bool {
	if m.path == "" {
		return false
	}
	file, err := fsys.Open(m.path, vfs.Change)
	if err != nil {
		return false
	}
	locked, err := file.TryLock()
	if err == nil && locked {
		ours, err1 := file.Stat()
		there, err2 := fsys.Stat(m.path)
		if err1 == nil && err2 == nil && ours.Same(there) {
			m.file = file
			return true
		}
	}
	file.Close() // nothing was written
	return false
}

// release unlocks the mark after the last of the sessions was created.
func (m *catalogueMark) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.users == 0 && m.file != nil {
		m.file.Close() // nothing was written
		m.file = nil
	}
}
