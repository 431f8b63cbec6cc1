package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/disk/vfs"
)

// Erased counts the data erased from a folder.
type Erased struct {
	// Facts and Notes are erased because they had no other source; Kept counts those with
	// other sources.
	Facts, Notes, Kept int
}

// Erase removes everything learned from a session, or from some of its entries: from the
// notes, from their old versions and from the lists of changes. A fact with other sources
// stays, with those sources only. It is the only change of notes that cannot be undone. If
// it fails or the process dies, it can be repeated. A running consolidation is canceled,
// since it may have read the erased entries.
func (d *Dir) Erase(ctx context.Context, session firn.ID, entries ...firn.EntryID) (Erased, error) {
	e := &eraser{session: session, entries: entries, gone: make(map[string]bool), names: make(map[string]bool)}
	if _, err := d.fs.Stat(filepath.Join(d.root, memoryDir)); errors.Is(err, fs.ErrNotExist) {
		return e.done, nil // nothing was ever noted
	}
	err := d.locked(ctx, func() error { return d.erase(ctx, e) })
	if err != nil {
		err = fmt.Errorf("erase the facts from session %s: %w", session, err)
	}
	return e.done, err
}

// erase does the work of Erase. A repetition after a crash must still find all affected
// texts: texts are therefore removed before their sources, and whole notes, whose names are
// also searched for, last.
func (d *Dir) erase(ctx context.Context, e *eraser) error {
	if err := d.addTombstone(e.session, e.entries); err != nil {
		return err
	}
	if err := d.forgetSeen(e.session); err != nil {
		return err
	}
	files, err := d.read(ctx)
	if err != nil {
		return err
	}
	looked, err := d.readState(progressFile)
	if err != nil {
		return err
	}
	if looked.there {
		files[memoryDir+"/"+progressFile] = looked
	}
	past, err := d.pastChanges()
	if err != nil {
		return err
	}
	e.scan(files, past)
	for _, last := range []bool{false, true} {
		if err := d.rewrite(files, past, e, last); err != nil {
			return err
		}
	}
	if err := d.fs.Remove(d.memoryPath(dreamLockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cancel a dream: %w", err)
	}
	return d.removeTemps()
}

// pastChange is a change with the versions of its files.
type pastChange struct {
	Change
	before, after version
}

// pastChanges reads all stored changes. A change that cannot be read cannot be undone
// either and is deleted.
func (d *Dir) pastChanges() ([]pastChange, error) {
	found, err := d.fs.ReadDir(d.historyPath(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the changes of the notes: %w", err)
	}
	var all []pastChange
	for _, f := range found {
		c, before, after, err := d.readHistory(f.Name())
		if errors.Is(err, firn.ErrCorrupt) || errors.Is(err, firn.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			d.removeHistory(f.Name())
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, pastChange{c, before, after})
	}
	return all, nil
}

// rewrite removes the erased data from all files; with last set, from the files that are
// removed completely.
func (d *Dir) rewrite(files version, past []pastChange, e *eraser, last bool) error {
	for i := range past {
		if err := d.rewriteChange(&past[i], e, last); err != nil {
			return err
		}
	}
	for i := range past {
		if err := d.rewriteVersions(&past[i], e, last); err != nil {
			return err
		}
	}
	for rel, c := range files {
		if to := e.scrub(rel, c); to != c && to.there != last {
			if err := d.writeContent(rel, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewriteChange removes the erased data from the description of a change; with last set,
// also file names.
func (d *Dir) rewriteChange(p *pastChange, e *eraser, last bool) error {
	to, edits, names := e.change(p)
	if last && !names || !last && !edits {
		return nil
	}
	if !last {
		to.Files = p.Files
	}
	data, err := json.MarshalIndent(to, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(d.fs, d.historyPath(p.ID, changeFile), append(data, '\n'))
}

// rewriteVersions removes the erased data from the stored versions of a change.
func (d *Dir) rewriteVersions(p *pastChange, e *eraser, last bool) error {
	for i, f := range p.Files {
		for ending, c := range map[string]content{"old": p.before[f.Path], "new": p.after[f.Path]} {
			rel := fmt.Sprintf("%s/%s/%s/%d.%s", memoryDir, historyDir, p.ID, i, ending)
			to := e.scrub(f.Path, c)
			if to == c && c.there || to.there == last {
				continue
			}
			if _, err := d.fs.Stat(filepath.Join(d.root, filepath.FromSlash(rel))); !c.there && errors.Is(err, fs.ErrNotExist) {
				continue // otherwise it was left by a process that died here
			}
			if err := d.writeContent(rel, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeTemps deletes the temporary files of processes that died. The caller holds the
// lock, so no other process is writing.
func (d *Dir) removeTemps() error {
	dirs := []string{d.root, filepath.Join(d.root, memoryDir)}
	found, _ := d.fs.ReadDir(d.historyPath(""))
	for _, f := range found {
		dirs = append(dirs, d.historyPath(f.Name()))
	}
	for _, dir := range dirs {
		files, err := d.fs.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, f := range files {
			if !f.IsDir() && ours().MatchString(f.Name()) {
				if err := d.fs.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("remove a leftover temporary file: %w", err)
				}
			}
		}
	}
	return nil
}

// ours matches the names of temporary files.
var ours = pattern.New(`^\.(.+\.md|change\.json|\d+\.(old|new)|\.commit|\.extraction_state\.json|\.consolidation_state\.json|\.erased\.json|\.dreamt\.json)\.tmp-`)
