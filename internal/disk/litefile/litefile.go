// Package litefile reads SQLite databases of other programs while they are in use. It
// takes no lock, creates no -shm or -wal file and never writes: it reads the database and
// its write-ahead log as plain files and gives SQLite a read-only view of the last
// committed state. If the files change while they are read, the read is repeated.
package litefile

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"

	_ "modernc.org/sqlite" // registers the driver
	"modernc.org/sqlite/vfs"

	"firn.dev"
)

// attempts is how often a read is repeated because the files changed meanwhile.
const attempts = 8

// errChanged means that the database was changed while it was read.
var errChanged = errors.New("the database changed while it was read")

// Read calls do with the committed state of the database file name in tree. If another
// program changes the files meanwhile, do is called again, so it must start over each
// time. A damaged file is ErrCorrupt, one that stays in the middle of a write is
// ErrConflict. The database must not be used after do returns.
func Read(tree fs.FS, name string, do func(*sql.DB) error) error {
	var err error
	for range attempts {
		if err = readOnce(tree, name, do); !errors.Is(err, errChanged) {
			return err
		}
	}
	return fmt.Errorf("read the database %s: %w: another program is writing it; try again", name, firn.ErrConflict)
}

// readOnce calls do once and fails with errChanged if its result cannot be relied on.
func readOnce(tree fs.FS, name string, do func(*sql.DB) error) error {
	view, err := open(tree, name)
	if err != nil {
		return err
	}
	defer view.close()
	before, err := view.state()
	if err != nil {
		return err
	}
	if err := view.loadLog(); err != nil {
		return err
	}
	err = view.query(do)
	after, stateErr := view.state()
	switch {
	case stateErr != nil:
		return stateErr
	case !bytes.Equal(before, after):
		return errChanged
	case err != nil && isDamage(err):
		return fmt.Errorf("read the database %s: %w: %w", name, firn.ErrCorrupt, err)
	}
	return err
}

// view is an open database: its file and, if there is one, its log.
type view struct {
	tree fs.FS
	name string
	db   file
	log  file
	// pageSize is the size of a page; pages maps page numbers to the offset of their
	// latest committed contents in the log; count is the number of pages, 0 if the log
	// holds no commit.
	pageSize int64
	pages    map[uint32]int64
	count    uint32
}

// file is a file that is read at any offset.
type file interface {
	fs.File
	io.ReaderAt
}

// open opens the files of a database.
func open(tree fs.FS, name string) (*view, error) {
	if info, err := fs.Lstat(tree, name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		// SQLite keeps the log next to the file that the link points to.
		return nil, fmt.Errorf("read the database %s: %w: it is a symbolic link; name the directory of the file itself", name, firn.ErrUnsupported)
	}
	v := &view{tree: tree, name: name}
	var err error
	if v.db, err = openFile(tree, name); err != nil {
		return nil, err
	}
	head := make([]byte, headSize)
	if _, err := v.db.ReadAt(head, 0); err != nil || !bytes.HasPrefix(head, magic) {
		v.close()
		return nil, fmt.Errorf("read the database %s: %w: it does not begin like a SQLite database", name, firn.ErrCorrupt)
	}
	v.pageSize = pageSize(head)
	if v.log, err = openFile(tree, name+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.close()
		return nil, err
	}
	return v, nil
}

// openFile opens a regular file.
func openFile(tree fs.FS, name string) (file, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	if at, ok := f.(file); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return at, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("read the database %s: %w: it is not a regular file", name, firn.ErrUnsupported), f.Close())
}

// close closes the files; they were only read.
func (v *view) close() {
	if v.db != nil {
		_ = v.db.Close()
	}
	if v.log != nil {
		_ = v.log.Close()
	}
}

// state returns bytes that differ if the database was changed in between: its header with
// the change counter, its size and time, the header of the log, and the checkpoint's
// progress in the shared memory. It fails with errChanged in the middle of a write.
func (v *view) state() ([]byte, error) {
	info, err := v.db.Stat()
	if err != nil {
		return nil, err
	}
	if journal, err := fs.Stat(v.tree, v.name+"-journal"); err == nil && journal.Size() > 0 && v.inJournal() {
		return nil, errChanged
	}
	state := fmt.Appendf(nil, "%d %d ", info.Size(), info.ModTime().UnixNano())
	state = appendStart(state, v.db, headSize)
	if v.log != nil {
		state = appendStart(state, v.log, logHeadSize)
		if shared, err := openFile(v.tree, v.name+"-shm"); err == nil {
			// Bytes 96 to 136 are the checkpoint's: SQLite announces there which frames it
			// is about to copy before it changes the database.
			state = appendStart(state, io.NewSectionReader(shared, 96, 40), 40)
			_ = shared.Close()
		}
		return state, nil
	}
	if _, err := fs.Stat(v.tree, v.name+"-wal"); err == nil {
		return nil, errChanged // a log was created meanwhile
	}
	return state, nil
}

// inJournal reports whether the rollback journal describes an unfinished write. A program
// that keeps its journals clears their header instead of deleting them.
func (v *view) inJournal() bool {
	f, err := openFile(v.tree, v.name+"-journal")
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close() // read only
	head := appendStart(nil, f, 8)
	return !bytes.Equal(head, make([]byte, len(head)))
}

// appendStart appends the first bytes of a file, as many as there are.
func appendStart(dst []byte, f io.ReaderAt, n int) []byte {
	head := make([]byte, n)
	n, _ = f.ReadAt(head, 0)
	return append(dst, head[:n]...)
}

// query opens the view with SQLite and calls do.
func (v *view) query(do func(*sql.DB) error) (err error) {
	name, registered, err := vfs.New(single{v})
	if err != nil {
		return fmt.Errorf("read the database %s: %w", v.name, err)
	}
	defer func() { err = errors.Join(err, registered.Close()) }()
	db, err := sql.Open("sqlite", "file:"+dbName+"?vfs="+name+"&mode=ro&immutable=1&_pragma=temp_store(memory)&_pragma=query_only(1)")
	if err != nil {
		return fmt.Errorf("read the database %s: %w", v.name, err)
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}
