package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// A large table is copied to a backup before it is replaced: sessions.json.bak.<ms>, named
// by the time in milliseconds, as OpenClaw does. The table itself keeps all keys. Copies
// are made at most once per day, because each is as large as the table.
const (
	backupMark  = tableName + ".bak."
	backupsKept = 3
	backupEvery = 24 * time.Hour
)

// rotate backs up the table if it is too large, and removes old backups. Problems are
// reported only: the change of the table is more important. The table lock must be held.
func (t *table) rotate(now *document) {
	if t.opts.Rotate <= 0 || !now.saved || int64(len(now.raw)) <= t.opts.Rotate {
		return
	}
	at := t.opts.Now()
	if at.Sub(t.rotated) < backupEvery && !t.rotated.After(at) {
		return
	}
	backups, err := t.backups()
	if n := len(backups); err == nil && n > 0 {
		if t.rotated = backups[n-1]; at.Sub(t.rotated) < backupEvery && !t.rotated.After(at) {
			return
		}
	}
	if err == nil {
		err = vfs.WriteFile(t.fs, t.backupPath(at), now.raw)
	}
	if err != nil {
		t.report("table %s: backup failed: %v", t.path, err)
		return
	}
	t.rotated = at
	backups = append(backups, at)
	for _, old := range backups[:max(len(backups)-backupsKept, 0)] {
		if err := t.fs.Remove(t.backupPath(old)); err != nil {
			t.report("table %s: removing an old backup failed: %v", t.path, err)
		}
	}
}

func (t *table) backupPath(at time.Time) string {
	return filepath.Join(t.dir, backupMark+strconv.FormatInt(at.UnixMilli(), 10))
}

// backups returns the times of all backups, oldest first.
func (t *table) backups() ([]time.Time, error) {
	entries, err := t.fs.ReadDir(t.dir)
	if err != nil {
		return nil, err
	}
	var all []time.Time
	for _, e := range entries {
		ms, ok := strings.CutPrefix(e.Name(), backupMark)
		if n, err := strconv.ParseInt(ms, 10, 64); ok && err == nil && strconv.FormatInt(n, 10) == ms && !e.IsDir() {
			all = append(all, time.UnixMilli(n))
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all, nil
}

// eraseCopies removes the rows of a purged session from backups. A copy that cannot be
// parsed, such as a damaged table that was set aside, is erased if it contains the ID.
func (t *table) eraseCopies(id firn.ID, erase func(path string) (int64, error)) error {
	t.write.Lock()
	defer t.write.Unlock()
	unlock, err := t.lock()
	if err != nil {
		return err
	}
	defer unlock()
	entries, err := t.fs.ReadDir(t.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tableName+".") || e.IsDir() {
			continue
		}
		path := filepath.Join(t.dir, e.Name())
		data, err := t.readCopy(path)
		if err != nil {
			return fmt.Errorf("table %s: %w", path, err)
		}
		if !bytes.Contains(data, []byte(id)) {
			continue
		}
		rest, ok := withoutSession(data, id)
		if ok {
			err = vfs.WriteFile(t.fs, path, rest)
		} else {
			_, err = erase(path)
		}
		if err != nil {
			return fmt.Errorf("table %s: erase session %s: %w", path, id, err)
		}
	}
	return nil
}

func (t *table) readCopy(path string) (data []byte, err error) {
	file, err := t.fs.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(file)
	return data, errors.Join(err, file.Close())
}

// withoutSession returns a table without the rows that mention a session. ok is false if
// the table cannot be parsed.
func withoutSession(data []byte, id firn.ID) (rest []byte, ok bool) {
	table, err := parseObject(data)
	if err != nil {
		return nil, false
	}
	var names []string
	for _, m := range table.members {
		if bytes.Contains(m.value, []byte(id)) {
			names = append(names, m.name)
		}
	}
	table.remove(names...)
	return table.append(nil, 0), true
}
