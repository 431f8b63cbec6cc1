package fulltext

import (
	"context"
	"errors"

	"firn.dev"
)

// If nothing can be written, as on a full disk or in a read-only home, an existing index is
// searched as it is. It may lack recent messages.

// openToRead opens the file read-only, after opening it for writing failed with why. It
// returns nil if that fails too. Such a file is reopened on every use, since another
// process may change it, or it may have become writable.
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
			x.report("close the word index: %v", err)
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

// compared reports whether the sessions have been compared with this file, or are being
// compared. A file created since then, because the old one was removed, is still empty.
func (x *Index) compared(db *database) bool {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen == nil || w.seen == db || db.why != nil || w.state.Rebuilding
}
