package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// Undo takes a change back: the whole of it, or only some of its edits, by their
// places in the list. What was edited since stays: only what the change itself
// did to the lines is taken back. It is a change as well, and can be undone.
func (d *Dir) Undo(ctx context.Context, id string, edits ...int) (Change, error) {
	if _, err := d.readChange(id); err != nil { // before anything is made
		return Change{}, fmt.Errorf("undo: %w", err)
	}
	var done Change
	err := d.again(ctx, func() error {
		c, before, after, err := d.readHistory(id)
		if err != nil {
			return err
		}
		draft := newDraft("undo", d.clock())
		draft.Of = id
		if len(edits) > 0 {
			draft.Of = "" // the rest of it is still in force
		}
		for _, i := range edits {
			if i < 0 || i >= len(c.Edits) {
				return fmt.Errorf("undo the change %s: it has no edit %d: %w", id, i, firn.ErrInvalid)
			}
		}
		var spared []string
		for _, f := range c.Files {
			if isState(f.Path) {
				continue // how far it was looked stays true
			}
			now, err := d.readFile(f.Path)
			if err != nil {
				return err
			}
			to := takeBack(before[f.Path], after[f.Path], now)
			if others := c.others(before[f.Path], after[f.Path], now); f.Path == IndexFile && len(edits) == 0 && len(others) > 0 {
				spared = others
				to = takeBackIndex(before[f.Path], after[f.Path], now, others)
			}
			if len(edits) > 0 {
				to = takeBackSome(now, before[f.Path], f.Path, c.Edits, edits)
			}
			draft.put(f.Path, now, to)
		}
		draft.Edits = reversed(c.Edits, edits)
		draft.spare(spared)
		if err := d.commit(ctx, draft); err != nil {
			return err
		}
		if done = draft.Change; len(done.Files) == 0 {
			return fmt.Errorf("undo the change %s: nothing of it is left to take back: %w", id, firn.ErrInvalid)
		}
		return nil
	})
	return done, err
}

// reversed are edits the other way round.
func reversed(all []Edit, chosen []int) []Edit {
	var back []Edit
	for i, e := range all {
		if len(chosen) > 0 && !slices.Contains(chosen, i) {
			continue
		}
		back = append(back, Edit{Do: "restore", Note: e.Note, Old: e.New, New: e.Old, Sources: e.Sources, Why: "it was undone"})
	}
	return back
}

// takeBack is what a file becomes when the change from before to after is taken
// back, if it is now as given.
func takeBack(before, after, now content) content {
	switch {
	case now == after:
		return before
	case !now.there: // somebody removed it since
		return now
	case !before.there:
		text := withoutLines(now.text, lineList(after.text))
		if len(lineList(text)) == 0 {
			return content{}
		}
		return content{text, true}
	}
	gone, came := differ(lineList(before.text), lineList(after.text))
	return content{restored(withoutLines(now.text, came), before.text, gone), true}
}

// others are lines that a change put into the index for notes that it had
// nothing to do with: people wrote them, and the list only followed. To take the
// change back takes nothing away from them.
func (c Change) others(before, after, now content) []string {
	touched := make(map[string]bool)
	for _, f := range c.Files {
		touched[f.Path] = true
	}
	for _, line := range lineList(before.text) {
		if name, ok := pointsAt(line); ok {
			touched[notePath(name)] = true // the list pointed at it before
		}
	}
	_, came := differ(lineList(before.text), lineList(after.text))
	there := lineList(now.text)
	return slices.DeleteFunc(came, func(line string) bool {
		name, ok := pointsAt(line)
		return !ok || touched[notePath(name)] || !slices.Contains(there, line)
	})
}

// spare leaves lines that stay in the index out of what is told to have gone.
func (d *draft) spare(lines []string) {
	for i := range d.Edits {
		if e := &d.Edits[i]; e.Note == "" {
			e.Old = slices.DeleteFunc(slices.Clone(e.Old), func(line string) bool { return slices.Contains(lines, line) })
		}
	}
}

// takeBackIndex is takeBack for the index, which keeps the lines of others.
func takeBackIndex(before, after, now content, others []string) content {
	gone, came := differ(lineList(before.text), lineList(after.text))
	came = slices.DeleteFunc(came, func(line string) bool {
		_, points := pointsAt(line)
		// A list that was made needs its heading as long as there is a line in it.
		return slices.Contains(others, line) || !before.there && !points
	})
	return content{restored(withoutLines(now.text, came), before.text, gone), true}
}

// takeBackSome takes back some edits of a file.
func takeBackSome(now, before content, rel string, all []Edit, chosen []int) content {
	for i, e := range all {
		at := IndexFile
		if e.Note != "" {
			at = notePath(e.Note)
		}
		if at != rel || !slices.Contains(chosen, i) {
			continue
		}
		gone, came := differ(e.Old, e.New)
		text := restored(withoutLines(now.text, came), before.text, gone)
		now = content{text, len(lineList(text)) > 0}
	}
	return now
}

// differ tells which lines of old are not in new, and the other way round. A
// line that is there twice counts twice.
func differ(old, fresh []string) (gone, came []string) {
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

// withoutLines takes lines out of a text, each once.
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

// restored puts lines back into a text, each behind the line that it stood
// behind before, or else at the end.
func restored(text, before string, lines []string) string {
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

// isState reports whether a file is not a note, but tells how far things are.
func isState(rel string) bool { return strings.HasPrefix(rel, memoryDir+"/.") }
