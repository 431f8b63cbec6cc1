package unionstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// marks are files named after the sessions that are being taken over. They are durable: a
// takeover interrupted by a crash is continued later.
type marks struct {
	fs  vfs.FS
	dir string
}

// lockName is the file that is locked during a takeover. It is never deleted, and no
// session can have this name.
const lockName = ".lock"

func (m marks) path(id firn.ID) string { return filepath.Join(m.dir, string(id)) }

// set creates a mark durably.
func (m marks) set(id firn.ID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return vfs.WriteFile(m.fs, m.path(id), nil)
}

// clear removes a mark.
func (m marks) clear(id firn.ID) error {
	if err := m.fs.Remove(m.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return m.fs.SyncDir(m.dir)
}

// has reports whether a session is marked.
func (m marks) has(id firn.ID) (bool, error) {
	if id.Check() != nil {
		return false, nil
	}
	_, err := m.fs.Stat(m.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// all returns the marked sessions.
func (m marks) all() (map[firn.ID]bool, error) {
	entries, err := m.fs.ReadDir(m.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list sessions being adopted: %w", err)
	}
	marked := make(map[firn.ID]bool)
	for _, e := range entries {
		if id := firn.ID(e.Name()); id.Check() == nil {
			marked[id] = true
		}
	}
	return marked, nil
}

// Polling intervals for a lock held by another process.
const (
	shortestPause = time.Millisecond
	longestPause  = 50 * time.Millisecond
)

// lock prevents other takeovers, in this process or another, until unlock is called. It
// waits until ctx ends.
func (m marks) lock(ctx context.Context) (unlock func(), err error) {
	if err := m.fs.MkdirAll(m.dir); err != nil {
		return nil, err
	}
	file, err := m.fs.Open(filepath.Join(m.dir, lockName), vfs.Update)
	if err != nil {
		return nil, err
	}
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		free, err := file.TryLock()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if free {
			return func() { _ = file.Close() }, nil // releases the lock
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(context.Cause(ctx), file.Close())
		}
	}
}
