package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Use is what a store is opened for.
type Use int

// The uses of a store.
const (
	// Reading changes nothing.
	Reading Use = iota
	// Writing is a command that changes sessions without a gateway.
	Writing
	// Serving is a gateway, or whatever else makes a store the one in use.
	Serving
)

// WrongStore says that a command would act on another store than the one that
// holds the sessions of the home.
type WrongStore struct {
	Message, Hint string
	// Kind is the kind of error.
	Kind error
}

// Error says which store holds the sessions.
func (w *WrongStore) Error() string { return w.Message }

// Unwrap returns the kind of error.
func (w *WrongStore) Unwrap() error { return w.Kind }

// storeRecord makes the recorded store the one that is meant unless the file, the
// environment or a flag names one.
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

// originOf tells where a setting comes from.
func (s *Settings) originOf(path string) Origin {
	segments, _ := splitPath(path) // a path of ours
	if n := s.tree.at(segments); n != nil {
		return n.origin
	}
	return Origin{Layer: FromDefault}
}

func (s *Settings) storeOrigin() Origin { return s.originOf("store.url") }

// StoreInPassing reports whether a flag or the environment names the store, for
// this command only.
func (s *Settings) StoreInPassing() bool {
	layer := s.storeOrigin().Layer
	return layer == FromFlag || layer == FromEnvironment
}

// OwnFiles reports whether the sessions are in the home's own files.
func (s *Settings) OwnFiles() bool {
	return SameStore(s.Home, s.storeRecord(), StoreRecord{URL: "file:"})
}

// storeRecord is the store of the settings as it would be recorded.
func (s *Settings) storeRecord() StoreRecord { return s.Store.Record(s.Home) }

// Record returns the store as a home records it.
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

// CheckStore holds the store that the settings name against the one that the home
// records, which it reads anew. If they are one, or nothing is recorded, all is
// well. If they are not:
//
//   - to read, a flag or a variable goes before the record, and the note says so;
//   - everything else is a [WrongStore], so that no history is split over two stores.
func (s *Settings) CheckStore(fsys vfs.FS, use Use) (note string, err error) {
	r, err := ReadRecord(fsys, s.Home)
	if errors.Is(err, firn.ErrCorrupt) {
		if s.StoreInPassing() && use == Reading {
			return err.Error(), nil
		}
		return "", &WrongStore{Message: err.Error(), Kind: firn.ErrCorrupt,
			Hint: "name the store with --store to read it; if the sessions are in the home's own files, remove the file"}
	}
	if err != nil || r == nil {
		return "", err
	}
	if !SameStore(s.Home, *r, s.storeRecord()) {
		return s.otherStore(r, use)
	}
	return "", s.storeThere(fsys, r)
}

// otherStore says what follows from a store that is not the recorded one.
func (s *Settings) otherStore(r *StoreRecord, use Use) (note string, err error) {
	moved := fmt.Sprintf("the sessions of %s are in %s", s.Home, StoreName(r.URL))
	if !r.Since.IsZero() {
		moved += ", since " + r.Since.Local().Format("2006-01-02 15:04")
	}
	if s.StoreInPassing() && use == Reading {
		return fmt.Sprintf("%s; this reads %s", moved, StoreName(s.Store.URL)), nil
	}
	w := &WrongStore{Kind: firn.ErrConflict, Message: fmt.Sprintf("%s, and %s names %s", moved, s.nameOfStore(), StoreName(s.Store.URL))}
	switch origin := s.storeOrigin(); origin.Layer {
	case FromFlag, FromEnvironment:
		w.Hint = fmt.Sprintf("leave it out; firn migrate --from %s --to %s moves them", r.URL, s.Store.URL)
	case FromFile:
		w.Hint = fmt.Sprintf("take store.url out of %s, or run firn migrate --from %s --to %s; if that is the same store at another address, remove %s", origin.File, r.URL, s.Store.URL, filepath.Join(s.Home, RecordName))
	default:
		w.Message, w.Hint = moved+": they were moved just now", "run it again"
	}
	return "", w
}

// nameOfStore is where the store is named, as people know it.
func (s *Settings) nameOfStore() string {
	if o := s.storeOrigin(); o.Layer != FromFlag {
		return o.String()
	}
	return "--store"
}

// StoreName is a store as messages name it.
func StoreName(url string) string {
	if url == "file:" || url == "" {
		return "the home's own files"
	}
	return url
}

// storeThere refuses to make the recorded store anew if its directory is gone.
func (s *Settings) storeThere(fsys vfs.FS, r *StoreRecord) error {
	dir, ok := s.Store.Files(s.Home)
	if !ok {
		dir, ok = s.Store.Embedded()
	}
	if !ok || dir == s.Home {
		return nil
	}
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // whoever opens it will see
	}
	return &WrongStore{Kind: firn.ErrNotFound, Message: fmt.Sprintf("the sessions of %s are in %s, and that directory is not there", s.Home, r.URL),
		Hint: fmt.Sprintf("bring it back, or remove %s and name the store with --store if it is elsewhere", filepath.Join(s.Home, RecordName))}
}

// RecordStore records that the store of the settings holds the sessions of the
// home from now on. Nothing is written if that is known: a home that keeps them in
// its own files needs no record.
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
		r.Since, r.Before = old.Since, old.Before // the same servers by other addresses
	}
	r.URL, r.Space = now.URL, now.Space
	return true, r.Write(fsys, s.Home)
}
