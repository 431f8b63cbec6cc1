package filehistory

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"path/filepath"

	"firn.dev"
)

// Sizes returns the bytes on disk of each session's history. A content that several sessions
// share is divided between them, so that the sum is what the history occupies.
func (h *History) Sizes() (map[firn.ID]int64, error) {
	dirs, err := h.fs.ReadDir(filepath.Join(h.dir, "sessions"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	sizes := make(map[firn.ID]int64, len(dirs))
	for _, d := range dirs {
		id := firn.ID(d.Name())
		if checkID(id) != nil || !d.IsDir() {
			continue
		}
		n, sizeErr := h.sizeOf(id)
		sizes[id] = n
		err = errors.Join(err, sizeErr)
	}
	return sizes, err
}

// sizeOf returns the bytes of one session's history.
func (h *History) sizeOf(id firn.ID) (total int64, err error) {
	names, err := h.fs.ReadDir(h.sessionDir(id))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // removed meanwhile
	}
	for _, e := range names {
		info, err := h.fs.Stat(filepath.Join(h.sessionDir(id), e.Name()))
		if err != nil {
			continue // removed meanwhile
		}
		share := int64(1)
		if info.Links > 2 { // the shared name, and one for each session
			share = int64(info.Links) - 1
		}
		total += info.Size / share
	}
	return total, err
}

// Examined is the outcome of [History.Examine].
type Examined struct {
	Sessions int
	Bytes    int64
	// Missing are contents that a journal refers to and that are not there, by session.
	Missing map[firn.ID]int
	// Unused is the size of contents that no session refers to.
	Unused int64
}

// Examine checks that the contents which journals refer to exist. It does not read them.
func (h *History) Examine() (Examined, error) {
	e := Examined{Missing: make(map[firn.ID]int)}
	sizes, err := h.Sizes()
	e.Sessions = len(sizes)
	for id, n := range sizes {
		e.Bytes += n
		changes, readErr := h.Changes(id)
		err = errors.Join(err, readErr)
		for hash, stored := range storedHashes(changes) {
			if _, statErr := h.fs.Stat(filepath.Join(h.sessionDir(id), hash)); stored && errors.Is(statErr, fs.ErrNotExist) {
				e.Missing[id]++
			}
		}
	}
	dirs, readErr := h.fs.ReadDir(filepath.Join(h.dir, "objects"))
	if errors.Is(readErr, fs.ErrNotExist) {
		return e, err
	}
	err = errors.Join(err, readErr)
	for _, d := range dirs {
		files, readErr := h.fs.ReadDir(filepath.Join(h.dir, "objects", d.Name()))
		err = errors.Join(err, readErr)
		for _, f := range files {
			if info, statErr := h.fs.Stat(filepath.Join(h.dir, "objects", d.Name(), f.Name())); statErr == nil && info.Links == 1 {
				e.Unused += info.Size
			}
		}
	}
	return e, err
}

// storedHashes returns the hashes of contents that changes refer to, and whether they were
// stored.
func storedHashes(changes []Change) map[string]bool {
	hashes := make(map[string]bool)
	note := func(s State) {
		if s.Exists && len(s.Hash) == 2*sha256.Size {
			hashes[s.Hash] = hashes[s.Hash] || !s.Omitted
		}
	}
	for _, c := range changes {
		note(c.Before)
		if c.After != nil {
			note(*c.After)
		}
	}
	return hashes
}
