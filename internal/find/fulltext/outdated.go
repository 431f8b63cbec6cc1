package fulltext

import (
	"context"
	"errors"
)

// Outdated reports whether there is an index written by another version of firn, which will
// be rebuilt on the next use. It changes nothing and takes no lock.
func (x *Index) Outdated(ctx context.Context) (_ bool, err error) {
	if !x.Exists() {
		return false, nil
	}
	db, err := openReadOnly(ctx, x.fs, x.path())
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var is, tables int
	if err := db.QueryRowContext(ctx, "pragma user_version").Scan(&is); err != nil {
		return false, explain("read the word index", err)
	}
	if err := db.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&tables); err != nil {
		return false, explain("read the word index", err)
	}
	return is != version && (is != 0 || tables != 0), nil
}
