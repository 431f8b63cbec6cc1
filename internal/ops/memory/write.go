package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"firn.dev"
)

// Draft is a note to be stored.
type Draft struct {
	// Text is the text to remember. Without a name, each line is a separate fact.
	Text string
	// Name is the name of the note; empty means the note of the day.
	Name string
	// Description is a one-line description; empty means the first line of the text.
	Description, Type string
	// Confidence is the confidence; zero if not given.
	Confidence float64
	Sources    []Source
	// Request is the ID of the request; may be empty. A draft with the request ID of a
	// change of the last day is not stored again.
	Request string
}

// Saved is the result of Remember.
type Saved struct {
	// Note is the name of the note, Refs are its new facts.
	Note string
	Refs []string
	// Known is the number of facts that were already noted.
	Known int
	// Change is the ID of the change, empty if nothing is new.
	Change string
}

// The limits of notes.
const (
	maxDraft = 64 << 10
	maxDay   = 256 << 10
	// recentDays is the number of days within which a fact is not noted again.
	recentDays = 7
)

// Remember stores a note: under its name, or as facts of the current day, which are only
// ever added. A fact that was noted in the last days or extracted from conversations is not
// noted again.
func (d *Dir) Remember(ctx context.Context, draft Draft) (Saved, error) {
	if len(draft.Text) > maxDraft {
		return Saved{}, fmt.Errorf("write a note: %d bytes is %w, at most %d are allowed", len(draft.Text), firn.ErrTooLarge, maxDraft)
	}
	lines := plainLines(draft.Text)
	if len(lines) == 0 {
		return Saved{}, fmt.Errorf("write a note: the text is empty: %w", firn.ErrInvalid)
	}
	if draft.Name != "" {
		return d.writeNote(ctx, draft)
	}
	var kept Saved
	err := d.retryLocked(ctx, func() error {
		done, ok, err := d.changeOfRequest(draft.Request)
		if err != nil || ok {
			kept = factsOf(done, len(lines))
			return err
		}
		kept, err = d.noteToday(ctx, lines, draft)
		return err
	})
	return kept, err
}

// requestFor is how long a request ID is remembered.
const requestFor = 24 * time.Hour

// changeOfRequest returns the change that a request made before, if it has an ID and made
// one. It writes the mark again first, because the outcome of the change may have been
// unknown. The caller holds the lock.
func (d *Dir) changeOfRequest(name string) (Change, bool, error) {
	if name == "" {
		return Change{}, false, nil
	}
	found, err := d.fs.ReadDir(d.historyPath(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Change{}, false, fmt.Errorf("list the changes of the notes: %w", err)
	}
	for _, f := range slices.Backward(found) {
		c, err := d.readChange(f.Name())
		if err != nil {
			continue // it is being deleted
		}
		if d.clock().Sub(c.Time) > requestFor {
			break
		}
		if c.Request != name {
			continue
		}
		m, err := d.readMark()
		if err == nil {
			err = d.writeMark(m)
		}
		if err != nil {
			return Change{}, false, fmt.Errorf("change the notes: %w", err)
		}
		return c, true, nil
	}
	return Change{}, false, nil
}

// factsOf returns the facts that a change added to a daily note.
func factsOf(c Change, lines int) Saved {
	kept := Saved{Change: c.ID}
	for _, e := range c.Edits {
		kept.Note = e.Note
		for _, line := range e.New {
			if f, ok := parseFact(line); ok {
				f.Note = e.Note
				kept.Refs = append(kept.Refs, f.Ref())
			}
		}
	}
	kept.Known = max(0, lines-len(kept.Refs))
	return kept
}

// retryLocked calls do under the lock, and again if the files were edited meanwhile.
func (d *Dir) retryLocked(ctx context.Context, do func() error) error {
	for range readTries {
		err := d.locked(ctx, do)
		if !errors.Is(err, firn.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("change the notes in %s: %w repeatedly", d.root, firn.ErrReplaced)
}

// noteToday adds facts to the note of the day.
func (d *Dir) noteToday(ctx context.Context, lines []string, draft Draft) (Saved, error) {
	files, err := d.read(ctx)
	if err != nil {
		return Saved{}, err
	}
	now := d.clock()
	name := now.Format(dayFormat)
	kept := Saved{Note: name}
	known := recentFacts(files, now)
	old := files[notePath(name)]
	text := old.text
	if text == "" {
		text = "# " + name + "\n\n"
	} else if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	var came []string
	for _, line := range lines {
		f := Fact{Text: line, Note: name, Sources: draft.Sources, Confidence: draft.Confidence}
		if category, ok := parseCategory(draft.Type); ok {
			f.Category = category
		}
		if known[sameKey(line)] {
			kept.Known++
			continue
		}
		known[sameKey(line)] = true
		text += f.String() + "\n"
		came = append(came, f.String())
		kept.Refs = append(kept.Refs, f.Ref())
	}
	if len(kept.Refs) == 0 {
		return kept, nil
	}
	if len(text) > maxDay {
		return kept, fmt.Errorf("write a note in %s: today's notes would be %w, at most %d bytes are allowed", notePath(name), firn.ErrTooLarge, maxDay)
	}
	change := newDraft("add", now)
	change.Request = draft.Request
	change.put(notePath(name), old, content{text, true}, Edit{Do: "add", Note: name, New: came, Sources: draft.Sources, Why: "requested"})
	err = d.commit(ctx, change)
	kept.Change = change.ID
	return kept, err
}

// recentFacts returns the facts that need not be noted again.
func recentFacts(files version, now time.Time) map[string]bool {
	known := make(map[string]bool)
	oldest := now.AddDate(0, 0, -recentDays).Format(dayFormat)
	for _, n := range files.notes() {
		if _, daily := n.Day(); daily && n.Name < oldest || !daily && n.Name != extractedNote {
			continue
		}
		for _, f := range n.Facts() {
			if !f.Gone {
				known[sameKey(f.Text)] = true
			}
		}
	}
	for _, line := range strings.Split(files[IndexFile].text, "\n") {
		known[sameKey(plainLine(line))] = true
	}
	return known
}

// writeNote creates a named note or replaces its text.
func (d *Dir) writeNote(ctx context.Context, draft Draft) (Saved, error) {
	slug := Slug(draft.Name)
	if slug == "" || slug == extractedNote {
		return Saved{}, fmt.Errorf("write a note: %q is not a valid note name: %w", firn.CutText(draft.Name, 80), firn.ErrInvalid)
	}
	kept := Saved{Note: slug, Refs: []string{slug}}
	err := d.retryLocked(ctx, func() error {
		done, ok, err := d.changeOfRequest(draft.Request)
		if err != nil || ok {
			kept.Change = done.ID
			return err
		}
		files, err := d.read(ctx)
		if err != nil {
			return err
		}
		change := newDraft("add", d.clock())
		change.Request = draft.Request
		old := files[notePath(slug)]
		n := parseNote(slug, []byte(old.text))
		n.revise(draft, change.Time)
		text := string(n.Markdown())
		do := "write"
		if !old.there {
			do = "add"
		}
		change.put(notePath(slug), old, content{text, true}, Edit{Do: do, Note: slug, Old: oldLines(old), New: lineList(text), Sources: draft.Sources, Why: "requested"})
		files[notePath(slug)] = content{text, true}
		change.index(files)
		err = d.commit(ctx, change)
		kept.Change = change.ID
		return err
	})
	return kept, err
}

// revise applies a draft to a note.
func (n *Note) revise(draft Draft, now time.Time) {
	n.Body = strings.TrimSpace(cleanBody(draft.Text)) + "\n"
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	n.Title = oneLine(draft.Name)
	if text := oneLine(draft.Description); text != "" {
		n.Description = text
	}
	if n.Description == "" {
		n.Description = n.summary()
	}
	if draft.Type != "" {
		n.Type = oneLine(draft.Type)
	}
	if draft.Confidence > 0 {
		n.Confidence = min(draft.Confidence, 1)
	}
	if n.Created.IsZero() {
		n.Created = now.UTC().Truncate(time.Second)
	}
	for _, s := range draft.Sources {
		if !slices.Contains(n.Sources, s) {
			n.Sources = append(n.Sources, s)
		}
	}
}

func cleanBody(text string) string {
	text, _ = firn.CleanText(text)
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

func oldLines(c content) []string {
	if !c.there {
		return nil
	}
	return lineList(c.text)
}

// lineList returns the lines of a text that are not blank.
func lineList(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Forget removes a note or one of its facts. ref is name or name#id, or the text of a fact.
// The change can be undone.
func (d *Dir) Forget(ctx context.Context, ref string) (Change, error) {
	var done Change
	err := d.retryLocked(ctx, func() error {
		files, err := d.read(ctx)
		if err != nil {
			return err
		}
		change := newDraft("forget", d.clock())
		if err := change.forget(files, ref); err != nil {
			return err
		}
		change.index(files)
		err = d.commit(ctx, change)
		done = change.Change
		return err
	})
	return done, err
}

// forget removes the note or fact of a ref from a set.
func (d *draft) forget(files version, ref string) error {
	name, id, one := strings.Cut(ref, "#")
	name = strings.TrimSuffix(strings.TrimPrefix(name, memoryDir+"/"), ending)
	rel := notePath(name)
	if old := files[rel]; old.there && !one {
		d.put(rel, old, content{}, Edit{Do: "remove", Note: name, Old: lineList(old.text), Why: "requested"})
		delete(files, rel)
		return nil
	}
	for _, n := range files.notes() {
		if one && n.Name != name {
			continue
		}
		for _, f := range n.Facts() {
			if one && f.ID() != id || !one && sameKey(f.Text) != sameKey(ref) {
				continue
			}
			old := files[notePath(n.Name)]
			line := strings.Split(n.Body, "\n")[f.Line-1]
			n.Body = withEdits(n.Body, []edit{{line: f.Line, drop: true}})
			to := content{string(n.Markdown()), true}
			d.put(notePath(n.Name), old, to, Edit{Do: "forget", Note: n.Name, Old: []string{line}, Sources: f.Sources, Why: "requested"})
			files[notePath(n.Name)] = to
			return nil
		}
	}
	return fmt.Errorf("forget %q: %w among the notes", firn.CutText(ref, 80), firn.ErrNotFound)
}

// Clear removes all notes of the folder. The change can be undone.
func (d *Dir) Clear(ctx context.Context) (Change, error) {
	var done Change
	err := d.retryLocked(ctx, func() error {
		files, err := d.read(ctx)
		if err != nil {
			return err
		}
		change := newDraft("clear", d.clock())
		for rel, old := range files {
			name := strings.TrimSuffix(strings.TrimPrefix(rel, memoryDir+"/"), ending)
			if rel == IndexFile {
				name = ""
			}
			change.put(rel, old, content{}, Edit{Do: "remove", Note: name, Old: lineList(old.text), Why: "all notes were cleared"})
		}
		slices.SortFunc(change.Edits, func(a, b Edit) int { return strings.Compare(a.Note, b.Note) })
		err = d.commit(ctx, change)
		done = change.Change
		return err
	})
	return done, err
}
