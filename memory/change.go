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

// Change is a change of notes that was made as a whole. The old versions are
// kept, so that [Dir.Undo] can take it back.
type Change struct {
	ID string `json:"id"`
	// Kind is what asked for it: add, forget, clear, extract, dream or undo.
	Kind string    `json:"kind"`
	Time time.Time `json:"time"`
	// Of is the change that an undo took back.
	Of string `json:"of,omitempty"`
	// Request names the request that asked for it, if it had a name.
	Request string `json:"request,omitempty"`
	// Edits tell what was done and why, one by one.
	Edits []Edit `json:"edits"`
	// Files are the files it touched.
	Files []FileChange `json:"files"`
	// Undone says that it was taken back. It is found out, not written.
	Undone bool `json:"-"`
}

// Edit is one thing that a change does.
type Edit struct {
	// Do is add, merge, supersede, date, drop, prune, forget, write, remove, index or
	// restore.
	Do string `json:"do"`
	// Note is the name of the note; empty for MEMORY.md.
	Note string `json:"note,omitempty"`
	// Old are the lines that went, New those that came.
	Old []string `json:"old,omitempty"`
	New []string `json:"new,omitempty"`
	// Why says it in a sentence, Sources are the entries that it rests on.
	Why     string   `json:"why,omitempty"`
	Sources []Source `json:"sources,omitempty"`
}

// FileChange is what became of a file.
type FileChange struct {
	// Path is within the folder, with slashes.
	Path string `json:"path"`
	// Made and Removed say that there was none before, and is none now.
	Made    bool `json:"made,omitempty"`
	Removed bool `json:"removed,omitempty"`
}

// MarshalText spells a source as session/entry.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText spells.
func (s *Source) UnmarshalText(text []byte) error {
	*s = parseSource(string(text))
	return nil
}

// What is beside the notes, below the folder's memory.
const (
	historyDir = ".history"
	changeFile = "change.json"
	commitFile = ".commit"
	lockFile   = ".lock"
	// keptChanges is how many changes can be undone. Those before are cleared
	// away, oldest first.
	keptChanges = 256
)

// content is what is in a file; there says whether there is one.
type content struct {
	text  string
	there bool
}

// version is a set of files, by their paths in the folder.
type version map[string]content

// mark says which change is in force. Until it is done, what it says counts
// more than the files it touches.
type mark struct {
	ID   string `json:"id"`
	Done bool   `json:"done"`
}

// draft is a change that is being put together.
type draft struct {
	Change
	// before is what the files were when it was decided, after what they become.
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

// settle leaves out files that stay as they are, and names the others in order.
func (d *draft) settle() {
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

// commit puts a draft in force, all of it or nothing. The caller has the lock.
// Files that were changed since the draft was decided are [firn.ErrConflict].
func (d *Dir) commit(ctx context.Context, draft *draft) error {
	draft.settle()
	if len(draft.Files) == 0 {
		return nil
	}
	last, err := d.readMark()
	if err != nil {
		return err
	}
	// Names of changes grow, whatever the clocks of processes say.
	draft.ID = string(firn.NewEntryIDAfter(firn.EntryID(last.ID)))
	for _, f := range draft.Files {
		now, err := d.readFile(f.Path)
		if err != nil {
			return err
		}
		if now != draft.before[f.Path] {
			return fmt.Errorf("change the notes: %s was edited meanwhile: %w", f.Path, firn.ErrConflict)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("change the notes: %w", err)
	}
	if err := d.writeHistory(draft); err != nil {
		if errors.Is(err, firn.ErrUnknownOutcome) { // of a file; the change is not in force
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
		// It is in force, and is finished by whoever has the lock next.
		return fmt.Errorf("change the notes: %w: %w", firn.ErrUnknownOutcome, err)
	}
	d.clearHistory()
	return nil
}

// apply puts the files of a change in place. It may be done again: what is in
// place already stays, and so does what somebody edited since.
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

// recover finishes a change that was in force when its process died. The caller
// has the lock.
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
		d.removeHistory(f.Name()) // it never came into force
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

// historyPath is where a change is kept.
func (d *Dir) historyPath(id string, more ...string) string {
	return filepath.Join(append([]string{d.root, memoryDir, historyDir, id}, more...)...)
}

// writeHistory makes a change durable, without its being in force.
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
		return c, fmt.Errorf("find a change of the notes: %w: %q is no name of one", firn.ErrInvalid, id)
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

// readMark reads which change is in force; none if there is no mark.
func (d *Dir) readMark() (m mark, err error) {
	data, err := readAll(d.fs, d.memoryPath(commitFile))
	if errors.Is(err, fs.ErrNotExist) {
		return mark{Done: true}, nil
	}
	if err != nil {
		return m, fmt.Errorf("read which change of the notes is in force: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read which change of the notes is in force: %w: %s", firn.ErrCorrupt, d.memoryPath(commitFile))
	}
	return m, nil
}

// clearHistory forgets the oldest changes if there are too many. It can be done
// next time if something is in the way.
func (d *Dir) clearHistory() {
	found, err := d.fs.ReadDir(d.historyPath(""))
	if err != nil || len(found) <= keptChanges {
		return
	}
	for _, old := range found[:len(found)-keptChanges] {
		d.removeHistory(old.Name())
	}
}

// removeHistory takes away what is kept of a change. What is in the way of it
// now may not be next time.
func (d *Dir) removeHistory(id string) {
	_ = d.fs.Remove(d.historyPath(id, changeFile)) // then it is no change any more
	files, _ := d.fs.ReadDir(d.historyPath(id))
	for _, f := range files {
		_ = d.fs.Remove(d.historyPath(id, f.Name()))
	}
	_ = d.fs.Remove(d.historyPath(id))
}

// Changes lists the changes that were made, the latest first.
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
			continue // it never came into force
		}
		c.Undone = undone[c.ID]
		if c.Of != "" && !c.Undone {
			undone[c.Of] = true
		}
		all = append(all, c)
	}
	return all, nil
}
