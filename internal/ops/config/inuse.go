package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Use is the purpose of opening a store.
type Use int

// The uses of a store.
const (
	// Reading changes nothing.
	Reading Use = iota
	// Writing is a command that changes sessions without a gateway.
	Writing
	// Serving is a gateway, or any other use that makes the store the one in use.
	Serving
)

// WrongStore is the error for a command that would use a different store than the one that
// holds the sessions of the home.
type WrongStore struct {
	Message, Hint string
	// Kind is the wrapped error.
	Kind error
}

// Error returns the message.
func (w *WrongStore) Error() string { return w.Message }

// Unwrap returns the kind of error.
func (w *WrongStore) Unwrap() error { return w.Kind }

// storeRecord applies the recorded store unless the file, the environment or a flag names
// one.
func (o *overlay) storeRecord(r *StoreRecord) {
	if r == nil || o.root.at([]string{"store", "url"}) != nil {
		return
	}
	origin := Origin{Layer: FromRecord, File: r.file}
	o.set([]string{"store", "url"}, r.URL, origin)
	if r.Space != "" && o.root.at([]string{"store", "space"}) == nil {
		o.set([]string{"store", "space"}, r.Space, origin)
	}
}

// originOf returns the origin of a setting.
func (s *Settings) originOf(path string) Origin {
	segments, _ := splitPath(path) // the path is a constant
	if n := s.tree.at(segments); n != nil {
		return n.origin
	}
	return Origin{Layer: FromDefault}
}

func (s *Settings) storeOrigin() Origin { return s.originOf("store.url") }

// StoreOverridden reports whether the store is named by a flag or the environment, for this
// command only.
func (s *Settings) StoreOverridden() bool {
	layer := s.storeOrigin().Layer
	return layer == FromFlag || layer == FromEnvironment
}

// OwnFiles reports whether the sessions are in the home's own files.
func (s *Settings) OwnFiles() bool {
	return SameStore(s.Home, s.storeRecord(), StoreRecord{URL: "file:"})
}

// storeRecord returns the record of the store in the settings.
func (s *Settings) storeRecord() StoreRecord { return s.Store.Record(s.Home) }

// Record returns the record of the store for a home.
func (s Store) Record(home string) StoreRecord {
	r := StoreRecord{URL: s.URL, Space: s.Space}
	_, files := s.Files(home)
	_, embedded := s.Embedded()
	if files || embedded && r.Space == defaultSpace {
		r.Space = ""
	}
	return r
}

const defaultSpace = "firn"

// CheckStore compares the store in the settings with the one recorded in the home, which it
// reads again. It succeeds if they are the same or nothing is recorded. Otherwise:
//
//   - for Reading, a flag or variable takes precedence, and the note says so;
//   - all other cases are a [WrongStore] error, so that the history is not split between two stores.
func (s *Settings) CheckStore(fsys vfs.FS, use Use) (note string, err error) {
	r, err := ReadRecord(fsys, s.Home)
	if errors.Is(err, firn.ErrCorrupt) {
		if s.StoreOverridden() && use == Reading {
			return err.Error(), nil
		}
		return "", &WrongStore{Message: err.Error(), Kind: firn.ErrCorrupt,
			Hint: "to read that store, use --store; if the sessions are in the home's own files, remove the file"}
	}
	if err != nil || r == nil {
		return "", err
	}
	if !SameStore(s.Home, *r, s.storeRecord()) {
		return s.otherStore(r, use)
	}
	return "", s.checkStoreExists(fsys, r)
}

// otherStore returns the note or error for a store that differs from the recorded one.
func (s *Settings) otherStore(r *StoreRecord, use Use) (note string, err error) {
	moved := fmt.Sprintf("the sessions of %s are in %s", s.Home, StoreName(r.URL))
	if !r.Since.IsZero() {
		moved += ", since " + r.Since.Local().Format("2006-01-02 15:04")
	}
	if s.StoreOverridden() && use == Reading {
		return fmt.Sprintf("%s; this command reads %s", moved, StoreName(s.Store.URL)), nil
	}
	w := &WrongStore{Kind: firn.ErrConflict, Message: fmt.Sprintf("%s, but %s names %s", moved, s.nameOfStore(), StoreName(s.Store.URL))}
	switch origin := s.storeOrigin(); origin.Layer {
	case FromFlag, FromEnvironment:
		w.Hint = fmt.Sprintf("omit it, or move the sessions: firn migrate --from %s --to %s", r.URL, s.Store.URL)
	case FromFile:
		w.Hint = fmt.Sprintf("remove store.url from %s, or run firn migrate --from %s --to %s; if it is the same store at another address, remove %s", origin.File, r.URL, s.Store.URL, filepath.Join(s.Home, RecordName))
	default:
		w.Message, w.Hint = moved+": they were just moved", "run it again"
	}
	return "", w
}

// nameOfStore returns the name of the flag, variable or file that names the store.
func (s *Settings) nameOfStore() string {
	if o := s.storeOrigin(); o.Layer != FromFlag {
		return o.String()
	}
	return "--store"
}

// StoreName returns a store's name for messages.
func StoreName(url string) string {
	if url == "file:" || url == "" {
		return "the home's own files"
	}
	return url
}

// checkStoreExists fails if the directory of the recorded store is missing, so that it is
// not created again.
func (s *Settings) checkStoreExists(fsys vfs.FS, r *StoreRecord) error {
	dir, ok := s.Store.Files(s.Home)
	if !ok {
		dir, ok = s.Store.Embedded()
	}
	if !ok || dir == s.Home {
		return nil
	}
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it reports any error
	}
	return &WrongStore{Kind: firn.ErrNotFound, Message: fmt.Sprintf("the sessions of %s are in %s, but that directory does not exist", s.Home, r.URL),
		Hint: fmt.Sprintf("restore it, or remove %s and set the store with --store", filepath.Join(s.Home, RecordName))}
}

// RecordStore records that the store of the settings holds the sessions of the home. It
// writes nothing if that is already recorded, or if the sessions are in the home's own
// files and there is no record.
func (s *Settings) RecordStore(fsys vfs.FS, r StoreRecord) (written bool, err error) {
	now := s.storeRecord()
	old, err := ReadRecord(fsys, s.Home)
	if err != nil {
		return false, err
	}
	switch {
	case old == nil && s.OwnFiles():
		return false, nil
	case old != nil && SameStore(s.Home, *old, now):
		if old.URL == now.URL || s.OwnFiles() {
			return false, nil
		}
		r.Since, r.Before = old.Since, old.Before // the same servers under other addresses
	}
	r.URL, r.Space = now.URL, now.Space
	return true, r.Write(fsys, s.Home)
}
