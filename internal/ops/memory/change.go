package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Change is an atomic change of notes. The old versions are kept, so that [Dir.Undo] can
// revert it.
type Change struct {
	ID string `json:"id"`
	// Kind is the operation: add, forget, clear, extract, dream or undo.
	Kind string    `json:"kind"`
	Time time.Time `json:"time"`
	// Of is the change that an undo reverted.
	Of string `json:"of,omitempty"`
	// Request is the ID of the request that caused it, if any.
	Request string `json:"request,omitempty"`
	// Edits describe the edits and their reasons.
	Edits []Edit `json:"edits"`
	// Files are the files it changed.
	Files []FileChange `json:"files"`
	// Undone means that it was reverted. It is computed, not stored.
	Undone bool `json:"-"`
}

// Edit is one edit of a change.
type Edit struct {
	// Do is add, merge, supersede, date, drop, prune, forget, write, remove, index or
	// restore.
	Do string `json:"do"`
	// Note is the name of the note; empty for MEMORY.md.
	Note string `json:"note,omitempty"`
	// Old are the removed lines, New the added ones.
	Old []string `json:"old,omitempty"`
	New []string `json:"new,omitempty"`
	// Why explains the edit, Sources are the entries that support it.
	Why     string   `json:"why,omitempty"`
	Sources []Source `json:"sources,omitempty"`
}

// FileChange describes the change of a file.
type FileChange struct {
	// Path is relative to the folder, with slashes.
	Path string `json:"path"`
	// Made means that the file did not exist before, Removed that it does not exist now.
	Made    bool `json:"made,omitempty"`
	Removed bool `json:"removed,omitempty"`
}

// MarshalText encodes a source as session/entry.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes the encoding of MarshalText.
func (s *Source) UnmarshalText(text []byte) error {
	*s = parseSource(string(text))
	return nil
}

// The other files in the folder's memory directory.
const (
	historyDir = ".history"
	changeFile = "change.json"
	commitFile = ".commit"
	lockFile   = ".lock"
	// keptChanges is the number of changes that can be undone. Older ones are deleted.
	keptChanges = 256
)

// content is the content of a file; there is false if it does not exist.
type content struct {
	text  string
	there bool
}

// version is a set of files, by their paths in the folder.
type version map[string]content

// mark names the change in effect. Until it is marked as done, its content takes precedence
// over the files it changes.
type mark struct {
	ID   string `json:"id"`
	Done bool   `json:"done"`
}

// draft is a change in preparation.
type draft struct {
	Change
	// before is the content of the files when the change was decided, after the new
	// content.
	before, after version
}

func newDraft(kind string, now time.Time) *draft {
	return &draft{Change: Change{ID: string(firn.NewEntryID()), Kind: kind, Time: now}, before: version{}, after: version{}}
}

// put changes a file.
func (d *draft) put(path string, from content, to content, edits ...Edit) {
	if _, ok := d.before[path]; !ok {
		d.before[path] = from
	}
	d.after[path] = to
	d.Edits = append(d.Edits, edits...)
}

// dropUnchanged removes unchanged files and lists the others in order.
func (d *draft) dropUnchanged() {
	d.Files = nil
	for path, after := range d.after {
		before := d.before[path]
		if before == after {
			delete(d.after, path)
			delete(d.before, path)
			continue
		}
		d.Files = append(d.Files, FileChange{Path: path, Made: !before.there, Removed: !after.there})
	}
	slices.SortFunc(d.Files, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
}

// commit makes a draft take effect atomically. The caller holds the lock. If files were
// changed since the draft was prepared, it fails with [firn.ErrConflict].
func (d *Dir) commit(ctx context.Context, draft *draft) error {
	draft.dropUnchanged()
	if len(draft.Files) == 0 {
		return nil
	}
	last, err := d.readMark()
	if err != nil {
		return err
	}
	// The IDs of changes increase, whatever the clocks of the processes.
	draft.ID = string(firn.NewEntryIDAfter(firn.EntryID(last.ID)))
	for _, f := range draft.Files {
		now, err := d.readFile(f.Path)
		if err != nil {
			return err
		}
		if now != draft.before[f.Path] {
			return fmt.Errorf("change the notes: %s was edited concurrently: %w", f.Path, firn.ErrConflict)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("change the notes: %w", err)
	}
	if err := d.writeHistory(draft); err != nil {
		if errors.Is(err, firn.ErrUnknownOutcome) { // the outcome of a file; the change is not in effect
			err = fmt.Errorf("%w: %v", firn.ErrNotSaved, err)
		}
		return fmt.Errorf("keep the old versions of notes: %w", err)
	}
	d.step("written")
	if err := d.writeMark(mark{ID: draft.ID}); err != nil {
		return fmt.Errorf("change the notes: %w", err)
	}
	d.step("committed")
	if err := d.apply(draft.Change, draft.before, draft.after); err != nil {
		// The change is in effect and is completed by the next holder of the lock.
		return fmt.Errorf("change the notes: %w: %w", firn.ErrUnknownOutcome, err)
	}
	d.clearHistory()
	return nil
}

// apply writes the files of a change. It is idempotent: it skips files that are already
// written and files that were edited since.
func (d *Dir) apply(c Change, before, after version) error {
	for i, f := range c.Files {
		now, err := d.readFile(f.Path)
		if err != nil {
			return err
		}
		if now == after[f.Path] { // the sync of its directory may have failed
			if err := vfs.SyncNames(d.fs, filepath.Dir(filepath.Join(d.root, filepath.FromSlash(f.Path)))); err != nil {
				return err
			}
			continue
		}
		if now != before[f.Path] {
			continue
		}
		if err := d.writeContent(f.Path, after[f.Path]); err != nil {
			return err
		}
		if i == 0 {
			d.step("applying")
		}
	}
	d.step("applied")
	return d.writeMark(mark{ID: c.ID, Done: true})
}

// recover completes a change whose process died after it took effect. The caller holds the
// lock.
func (d *Dir) recover() error {
	m, err := d.readMark()
	if err != nil {
		return err
	}
	found, _ := d.fs.ReadDir(d.historyPath(""))
	for _, f := range slices.Backward(found) {
		if f.Name() <= m.ID {
			break
		}
		d.removeHistory(f.Name()) // it never took effect
	}
	if m.Done || m.ID == "" {
		return nil
	}
	c, before, after, err := d.readHistory(m.ID)
	if err != nil {
		return fmt.Errorf("finish a change of the notes: %w", err)
	}
	return d.apply(c, before, after)
}

// historyPath returns the path of a stored change.
func (d *Dir) historyPath(id string, more ...string) string {
	return filepath.Join(append([]string{d.root, memoryDir, historyDir, id}, more...)...)
}

// writeHistory stores a change durably before it takes effect.
func (d *Dir) writeHistory(draft *draft) error {
	dir := d.historyPath(draft.ID)
	if err := d.fs.MkdirAll(dir); err != nil {
		return fmt.Errorf("%w: %w", firn.ErrNotSaved, err)
	}
	for i, f := range draft.Files {
		for ending, c := range map[string]content{"old": draft.before[f.Path], "new": draft.after[f.Path]} {
			if !c.there {
				continue
			}
			if err := vfs.WriteFile(d.fs, filepath.Join(dir, fmt.Sprintf("%d.%s", i, ending)), []byte(c.text)); err != nil {
				return err
			}
		}
	}
	data, err := json.MarshalIndent(draft.Change, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(d.fs, filepath.Join(dir, changeFile), append(data, '\n'))
}

// readHistory reads a change and the versions before and after it.
func (d *Dir) readHistory(id string) (c Change, before, after version, err error) {
	c, err = d.readChange(id)
	if err != nil {
		return c, nil, nil, err
	}
	before, after = version{}, version{}
	for i, f := range c.Files {
		for ending, to := range map[string]version{"old": before, "new": after} {
			if ending == "old" && f.Made || ending == "new" && f.Removed {
				to[f.Path] = content{}
				continue
			}
			data, err := readAll(d.fs, d.historyPath(id, fmt.Sprintf("%d.%s", i, ending)))
			if err != nil {
				return c, nil, nil, err
			}
			to[f.Path] = content{string(data), true}
		}
	}
	return c, before, after, nil
}

func (d *Dir) readChange(id string) (c Change, err error) {
	if id == "" || strings.ContainsAny(id, `/\.`) {
		return c, fmt.Errorf("find a change of the notes: %w: %q is not a valid name", firn.ErrInvalid, id)
	}
	data, err := readAll(d.fs, d.historyPath(id, changeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("find the change %s of the notes: %w", id, firn.ErrNotFound)
	}
	if err != nil {
		return c, fmt.Errorf("read the change %s of the notes: %w", id, err)
	}
	if err := json.Unmarshal(data, &c); err != nil || c.ID != id {
		return c, fmt.Errorf("read the change %s of the notes: %w", id, firn.ErrCorrupt)
	}
	return c, nil
}

func (d *Dir) writeMark(m mark) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return vfs.WriteFile(d.fs, d.memoryPath(commitFile), append(data, '\n'))
}

// readMark reads the change in effect; it is empty if there is no mark.
func (d *Dir) readMark() (m mark, err error) {
	data, err := readAll(d.fs, d.memoryPath(commitFile))
	if errors.Is(err, fs.ErrNotExist) {
		return mark{Done: true}, nil
	}
	if err != nil {
		return m, fmt.Errorf("read the current change of the notes: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read the current change of the notes: %w: %s", firn.ErrCorrupt, d.memoryPath(commitFile))
	}
	return m, nil
}

// clearHistory deletes the oldest changes if there are too many. Errors are ignored; the
// next call tries again.
func (d *Dir) clearHistory() {
	found, err := d.fs.ReadDir(d.historyPath(""))
	if err != nil || len(found) <= keptChanges {
		return
	}
	for _, old := range found[:len(found)-keptChanges] {
		d.removeHistory(old.Name())
	}
}

// removeHistory deletes a stored change. Errors are ignored; the next call tries again.
func (d *Dir) removeHistory(id string) {
	_ = d.fs.Remove(d.historyPath(id, changeFile)) // without this file the change does not count
	files, _ := d.fs.ReadDir(d.historyPath(id))
	for _, f := range files {
		_ = d.fs.Remove(d.historyPath(id, f.Name()))
	}
	_ = d.fs.Remove(d.historyPath(id))
}

// Changes lists the changes, latest first.
func (d *Dir) Changes() ([]Change, error) {
	found, err := d.fs.ReadDir(d.historyPath(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the changes of the notes: %w", err)
	}
	m, err := d.readMark()
	if err != nil {
		return nil, err
	}
	var all []Change
	undone := make(map[string]bool)
	for _, f := range slices.Backward(found) {
		c, err := d.readChange(f.Name())
		if err != nil || c.ID > m.ID {
			continue // it never took effect
		}
		c.Undone = undone[c.ID]
		if c.Of != "" && !c.Undone {
			undone[c.Of] = true
		}
		all = append(all, c)
	}
	return all, nil
}
