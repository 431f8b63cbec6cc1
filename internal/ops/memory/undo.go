package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// Undo reverts a change: all of it, or only some of its edits, by their indexes. Later
// edits are kept: only the lines of the change itself are reverted. An undo is a change too
// and can be undone.
func (d *Dir) Undo(ctx context.Context, id string, edits ...int) (Change, error) {
	if _, err := d.readChange(id); err != nil { // checked before anything is written
		return Change{}, fmt.Errorf("undo: %w", err)
	}
	var done Change
	err := d.retryLocked(ctx, func() error {
		c, before, after, err := d.readHistory(id)
		if err != nil {
			return err
		}
		draft := newDraft("undo", d.clock())
		draft.Of = id
		if len(edits) > 0 {
			draft.Of = "" // the rest of it is still in effect
		}
		for _, i := range edits {
			if i < 0 || i >= len(c.Edits) {
				return fmt.Errorf("undo the change %s: there is no edit %d: %w", id, i, firn.ErrInvalid)
			}
		}
		var spared []string
		for _, f := range c.Files {
			if isState(f.Path) {
				continue // the recorded progress stays valid
			}
			now, err := d.readFile(f.Path)
			if err != nil {
				return err
			}
			to := revertFile(before[f.Path], after[f.Path], now)
			if others := c.otherLines(before[f.Path], after[f.Path], now); f.Path == IndexFile && len(edits) == 0 && len(others) > 0 {
				spared = others
				to = revertIndex(before[f.Path], after[f.Path], now, others)
			}
			if len(edits) > 0 {
				to = revertEdits(now, before[f.Path], f.Path, c.Edits, edits)
			}
			draft.put(f.Path, now, to)
		}
		draft.Edits = reverseEdits(c.Edits, edits)
		draft.keepLines(spared)
		if err := d.commit(ctx, draft); err != nil {
			return err
		}
		if done = draft.Change; len(done.Files) == 0 {
			return fmt.Errorf("undo the change %s: nothing is left to undo: %w", id, firn.ErrInvalid)
		}
		return nil
	})
	return done, err
}

// reverseEdits returns the inverse edits.
func reverseEdits(all []Edit, chosen []int) []Edit {
	var back []Edit
	for i, e := range all {
		if len(chosen) > 0 && !slices.Contains(chosen, i) {
			continue
		}
		back = append(back, Edit{Do: "restore", Note: e.Note, Old: e.New, New: e.Old, Sources: e.Sources, Why: "it was undone"})
	}
	return back
}

// revertFile returns the content of a file after the change from before to after is
// reverted, given its current content.
func revertFile(before, after, now content) content {
	switch {
	case now == after:
		return before
	case !now.there: // the file was removed since
		return now
	case !before.there:
		text := withoutLines(now.text, lineList(after.text))
		if len(lineList(text)) == 0 {
			return content{}
		}
		return content{text, true}
	}
	gone, came := diffLines(lineList(before.text), lineList(after.text))
	return content{restoreLines(withoutLines(now.text, came), before.text, gone), true}
}

// otherLines returns the lines that a change added to the index for notes that it did not
// change: they are handwritten notes that the index picked up. Reverting the change keeps
// them.
func (c Change) otherLines(before, after, now content) []string {
	touched := make(map[string]bool)
	for _, f := range c.Files {
		touched[f.Path] = true
	}
	for _, line := range lineList(before.text) {
		if name, ok := pointsAt(line); ok {
			touched[notePath(name)] = true // the index already pointed to it
		}
	}
	_, came := diffLines(lineList(before.text), lineList(after.text))
	there := lineList(now.text)
	return slices.DeleteFunc(came, func(line string) bool {
		name, ok := pointsAt(line)
		return !ok || touched[notePath(name)] || !slices.Contains(there, line)
	})
}

// keepLines removes lines that stay in the index from the reported removals.
func (d *draft) keepLines(lines []string) {
	for i := range d.Edits {
		if e := &d.Edits[i]; e.Note == "" {
			e.Old = slices.DeleteFunc(slices.Clone(e.Old), func(line string) bool { return slices.Contains(lines, line) })
		}
	}
}

// revertIndex is revertFile for the index, which keeps the lines in others.
func revertIndex(before, after, now content, others []string) content {
	gone, came := diffLines(lineList(before.text), lineList(after.text))
	came = slices.DeleteFunc(came, func(line string) bool {
		_, points := pointsAt(line)
		// A new index needs its heading as long as it has lines.
		return slices.Contains(others, line) || !before.there && !points
	})
	return content{restoreLines(withoutLines(now.text, came), before.text, gone), true}
}

// revertEdits reverts some edits of a file.
func revertEdits(now, before content, rel string, all []Edit, chosen []int) content {
	for i, e := range all {
		at := IndexFile
		if e.Note != "" {
			at = notePath(e.Note)
		}
		if at != rel || !slices.Contains(chosen, i) {
			continue
		}
		gone, came := diffLines(e.Old, e.New)
		text := restoreLines(withoutLines(now.text, came), before.text, gone)
		now = content{text, len(lineList(text)) > 0}
	}
	return now
}

// diffLines returns the lines of old that are not in fresh, and vice versa. Repeated lines
// are counted.
func diffLines(old, fresh []string) (gone, came []string) {
	count := make(map[string]int)
	for _, line := range old {
		count[line]++
	}
	for _, line := range fresh {
		if count[line] > 0 {
			count[line]--
		} else {
			came = append(came, line)
		}
	}
	for _, line := range old {
		if count[line] > 0 {
			count[line]--
			gone = append(gone, line)
		}
	}
	return gone, came
}

// withoutLines removes lines from a text, each once.
func withoutLines(text string, lines []string) string {
	count := make(map[string]int)
	for _, line := range lines {
		count[line]++
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if count[line] > 0 {
			count[line]--
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// restoreLines inserts lines into a text, each after the line it followed before, or else
// at the end.
func restoreLines(text, before string, lines []string) string {
	order := lineList(before)
	all := strings.Split(text, "\n")
	for _, line := range lines {
		at := slices.Index(order, line)
		place := -1
		for back := at - 1; back >= 0 && place < 0; back-- {
			place = slices.Index(all, order[back])
		}
		if place < 0 && at != 0 {
			place = len(all) - 1
			for place > 0 && all[place] == "" {
				place--
			}
		}
		all = slices.Insert(all, place+1, line)
	}
	return strings.Join(all, "\n")
}

// isState reports whether a file is a state file and not a note.
func isState(rel string) bool { return strings.HasPrefix(rel, memoryDir+"/.") }
