package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/ops/memory"
	"firn.dev/store"
)

// discardFolders removes the folders of people and projects that have no notes and no
// session, since their names identify the person or project. While facts are being
// extracted from the purged session it leaves them to the next purge: the extraction needs
// the list of erased sessions in the folder.
func (s *agentBuilder) discardFolders(ctx context.Context, purged firn.ID) error {
	if s.notes.isBusy(purged) {
		return nil
	}
	var used *subjects
	for _, dir := range s.allDirs() {
		text, err := readBounded(s.fs, filepath.Join(dir.Root(), "memory", aboutFile), 64<<10)
		var a about
		if err != nil || json.Unmarshal([]byte(text), &a) != nil || a.Scope == memory.ScopeAgent {
			continue
		}
		if empty, err := dir.Empty(ctx); err != nil || !empty {
			continue // one that cannot be read is kept
		}
		if used == nil {
			if used, err = s.subjects(ctx); err != nil {
				return fmt.Errorf("remove note directories: %w", err)
			}
		}
		if used.has(a) {
			continue
		}
		if _, err := dir.Discard(ctx); err != nil {
			return err
		}
	}
	return nil
}

// subjects are the keys of all sessions, with everything that contains them, and the
// directories in which they were used.
type subjects struct{ keys, dirs map[string]bool }

// subjects lists all sessions, including archived and hidden ones.
func (s *agentBuilder) subjects(ctx context.Context) (*subjects, error) {
	used := &subjects{keys: make(map[string]bool), dirs: make(map[string]bool)}
	for kind := range 4 {
		for info, err := range s.store.List(ctx, store.Query{Archived: kind&1 != 0, Hidden: kind&2 != 0}) {
			if err != nil {
				return nil, err
			}
			used.add(&info)
			used.dirs[s.notes.project(info.CWD)] = true
		}
	}
	return used, nil
}

func (u *subjects) add(info *store.Info) {
	for _, c := range append(info.Claims(), store.Claim{Key: info.Key}) {
		for key := c.Key; key != ""; key = key[:max(strings.LastIndexByte(key, ':'), 0)] {
			u.keys[key] = true
		}
	}
	for dir := range strings.SplitSeq(info.Directories, "\n") {
		u.dirs[dir] = true
	}
}

// has reports whether a folder is about a key or a directory of a session.
func (u *subjects) has(a about) bool {
	if a.Scope == memory.ScopeProject {
		return u.dirs[a.Project]
	}
	return u.keys[strings.TrimSuffix(a.Key, ":")]
}
