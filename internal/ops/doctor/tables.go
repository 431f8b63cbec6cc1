package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/render/prose"
)

// File names of a routing table.
const (
	tableName     = "sessions.json"
	tableLockName = ".sessions.lock"
	corruptMark   = ".corrupt-"
)

// checkTables checks that the routing tables are readable and point to existing sessions.
func (h *homeExam) checkTables() (string, error) {
	keys, lost := 0, 0
	for _, agent := range h.agents {
		names, err := h.list(h.path("agents", agent, "sessions"))
		if err != nil {
			return "", err
		}
		for _, name := range names {
			path := h.path("agents", agent, "sessions", name)
			switch {
			case name == tableName:
				n, bad, err := h.checkTable(path)
				if err != nil {
					return "", err
				}
				keys, lost = keys+n, lost+bad
			case name == tableLockName:
				h.checkLock(path)
			case strings.HasPrefix(name, tableName+corruptMark):
				h.add(Info, Table, path, "an unreadable routing table was moved here and rebuilt", "copy out anything worth keeping, then delete it")
			}
		}
	}
	if lost > 0 {
		return fmt.Sprintf("%s, %s dangling", plural(keys, "key"), prose.Grouped(int64(lost))), nil
	}
	return plural(keys, "key"), nil
}

// checkTable checks one table. It returns the number of keys, and of those that point to no
// session.
func (h *homeExam) checkTable(path string) (keys, lost int, err error) {
	data, err := h.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("check table %s: %w", path, err)
	}
	var rows map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &rows); err != nil || rows == nil {
		h.add(Fault, Table, path, fmt.Sprintf("the routing table cannot be read: %v", errOr(err, "it is not an object")), "fix it by hand, or firn moves it aside and rebuilds it from the transcripts at its next use")
		return 0, 0, nil
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if !h.checkRow(path, key, rows[key]) {
			lost++
		}
	}
	return len(rows), lost, nil
}

func errOr(err error, message string) error {
	if err == nil {
		return errors.New(message)
	}
	return err
}

// checkRow reports whether a key points to an existing session.
func (h *homeExam) checkRow(path, key string, value json.RawMessage) bool {
	var row map[string]json.RawMessage
	var id firn.ID
	if json.Unmarshal(value, &row) != nil || json.Unmarshal(row["sessionId"], &id) != nil || id.Check() != nil {
		h.add(Warn, Table, path, fmt.Sprintf("key %s has no valid sessionId", key), "the next message with this key starts a new session")
		return false
	}
	places := h.sessions[id]
	if slices.ContainsFunc(places, func(t transcript) bool { return !t.binned }) {
		return true
	}
	f := Finding{Severity: Warn, Kind: Table, Session: id, File: relative(h.home, path)}
	f.Message, f.Hint = fmt.Sprintf("key %s points at session %s, which does not exist", key, id), "the next message with this key starts a new session"
	if len(places) > 0 {
		f.Severity = Info
		f.Message = fmt.Sprintf("key %s points at session %s, which is in the trash bin", key, id)
	}
	h.report.add(f)
	return false
}

// checkLock adds a finding if a process is changing a table.
func (h *homeExam) checkLock(path string) {
	file, err := h.fs.Open(path, vfs.Read)
	if err != nil {
		return // it has no content
	}
	defer file.Close() // releases the lock
	if ok, err := file.TryLock(); err == nil && !ok {
		h.add(Info, InUse, path, "a process is changing the routing table", "")
	}
}
