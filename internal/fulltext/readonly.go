package fulltext

import (
	"context"
	"errors"

	"firn"
)

// Where nothing can be written, as on a full disk or in a home that may only be
// read, an index that is there is searched as it is: sessions may say more.

// openToRead opens the file to be read alone, because it cannot be opened
// otherwise. It returns nil if that does not help. Such a file is opened anew
// at each use: others may change it, and then it may be written again.
func (x *Index) openToRead(ctx context.Context, why error) *database {
	info, err := x.fs.Stat(x.path())
	if err != nil || !info.Mode.IsRegular() || errors.Is(why, firn.ErrCorrupt) {
		return nil
	}
	read, err := openReadOnly(ctx, x.fs, x.path())
	if err != nil {
		return nil
	}
	read.SetMaxOpenConns(readers)
	d := &database{path: x.path(), read: read, inode: info.Inode, why: why}
	var is int
	if err := read.QueryRowContext(ctx, "pragma user_version").Scan(&is); err != nil || is != version {
		if err := d.close(); err != nil {
			x.report("close the index of words: %v", err)
		}
		return nil
	}
	return d
}

// onlyReads reports whether the index can be read but not written.
func (x *Index) onlyReads(ctx context.Context) bool {
	db, done, err := x.use(ctx)
	if err != nil {
		return false
	}
	defer done()
	return db.why != nil
}

// compared reports whether the sessions were compared with this file, or are
// being so. One that was made since, because the other was taken away, has
// nothing yet.
func (x *Index) compared(db *database) bool {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen == nil || w.seen == db || db.why != nil || w.state.Rebuilding
}
