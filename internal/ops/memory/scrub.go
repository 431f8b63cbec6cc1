package memory

import (
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
)

// eraser removes erased data from files and changes.
type eraser struct {
	session firn.ID
	entries []firn.EntryID
	// gone are texts without another source, names the names of removed notes.
	gone  map[string]bool
	names map[string]bool
	done  Erased
}

// covers reports whether a source is erased.
func (e *eraser) covers(s Source) bool {
	return s.Session == e.session && (len(e.entries) == 0 || slices.Contains(e.entries, s.Entry))
}

// remaining returns the sources that are not erased.
func (e *eraser) remaining(sources []Source) []Source {
	return slices.DeleteFunc(slices.Clone(sources), e.covers)
}

// scan finds the data to remove in all versions and counts it in the current one.
func (e *eraser) scan(files version, past []pastChange) {
	for i := range past {
		for _, v := range []version{past[i].before, past[i].after} {
			for rel, c := range v {
				e.scanFile(rel, c)
			}
		}
	}
	e.done = Erased{}
	for rel, c := range files {
		e.scanFile(rel, c)
	}
	// Text that remains in the notes need not be removed elsewhere.
	for rel, c := range files {
		text := strings.ToLower(e.scrub(rel, c).text)
		for gone := range e.gone {
			if rel != IndexFile && strings.Contains(text, gone) {
				delete(e.gone, gone)
			}
		}
	}
}

// scanFile records the data to remove from a version of a file.
func (e *eraser) scanFile(rel string, c content) {
	name, ok := noteName(rel)
	if !ok || !strings.Contains(c.text, string(e.session)) {
		return
	}
	if n := parseNote(name, []byte(c.text)); e.restsOnErased(n) {
		e.names[name] = true
		e.done.Notes++
		e.addText(n.Title, n.Description)
		for line := range strings.SplitSeq(n.Body, "\n") {
			e.addText(plainLine(line))
		}
		return
	}
	for line := range strings.SplitSeq(c.text, "\n") {
		to, keep := e.line(line)
		switch {
		case !keep:
			e.done.Facts++
			if f, ok := parseFact(strings.TrimSpace(line)); ok {
				e.addText(f.Text)
			} else {
				e.addText(evidenceIn().ReplaceAllString(line, ""))
			}
		case to != line:
			e.done.Kept++
		}
	}
}

// addText adds texts to remove. Texts of fewer than two words are too unspecific.
func (e *eraser) addText(texts ...string) {
	for _, text := range texts {
		if text = sameKey(text); len(strings.Fields(text)) > 1 || len(text) > 8 {
			e.gone[text] = true
		}
	}
}

// noteName returns the name of the note at a path.
func noteName(rel string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSuffix(rel, ending), memoryDir+"/")
	return name, ok && !isState(rel)
}

// restsOnErased reports whether all sources of a note are erased.
func (e *eraser) restsOnErased(n Note) bool {
	return len(n.Sources) > 0 && len(e.remaining(n.Sources)) == 0
}

// evidenceIn matches the sources of a fact anywhere in a line.
var evidenceIn = pattern.New(` *<!-- from ([^<>]*?) *-->`)

// line returns a line without the erased sources; keep is false if there are no others.
func (e *eraser) line(line string) (to string, keep bool) {
	m := evidenceIn().FindStringSubmatchIndex(line)
	if m == nil {
		return line, true
	}
	var sources []Source
	for s := range strings.SplitSeq(line[m[2]:m[3]], ",") {
		sources = append(sources, parseSource(s))
	}
	left := e.remaining(sources)
	switch len(left) {
	case len(sources):
		return line, true
	case 0:
		return "", false
	}
	_, evidence, _ := strings.Cut(Fact{Sources: left}.String(), "<!--")
	return line[:m[0]] + " <!--" + evidence + line[m[1]:], true
}

// scrub returns a version of a file without the erased data. It depends only on the
// version, so that equal versions stay equal.
func (e *eraser) scrub(rel string, c content) content {
	if rel == memoryDir+"/"+progressFile {
		return e.scrubProgress(c)
	}
	if rel == IndexFile {
		return e.scrubIndex(c)
	}
	name, ok := noteName(rel)
	if !ok || !strings.Contains(c.text, string(e.session)) {
		return c
	}
	n := parseNote(name, []byte(c.text))
	if e.restsOnErased(n) {
		return content{}
	}
	text := c.text
	if left := e.remaining(n.Sources); len(left) < len(n.Sources) {
		n.Sources = left
		text = string(n.Markdown())
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if to, keep := e.line(line); keep {
			lines = append(lines, to)
		}
	}
	return content{strings.Join(dropEmptyDays(lines), "\n"), true}
}

func (e *eraser) scrubIndex(c content) content {
	if !c.there {
		return c
	}
	lines := slices.DeleteFunc(strings.Split(c.text, "\n"), func(line string) bool {
		name, ok := pointsAt(line)
		return ok && e.names[name]
	})
	return content{strings.Join(lines, "\n"), true}
}

func (e *eraser) scrubProgress(c content) content {
	p := readProgress(c.text)
	if _, ok := p.Sessions[e.session]; !ok || len(e.entries) > 0 {
		return c
	}
	delete(p.Sessions, e.session)
	return p.content()
}

// change returns the description of a change without the erased data, and reports whether
// its edits and its file names changed.
func (e *eraser) change(p *pastChange) (to Change, edits, names bool) {
	to = p.Change
	to.Files, to.Edits = []FileChange{}, []Edit{}
	unnamed := make(map[string]bool)
	for _, f := range p.Files {
		fresh := FileChange{Path: f.Path, Made: !e.scrub(f.Path, p.before[f.Path]).there, Removed: !e.scrub(f.Path, p.after[f.Path]).there}
		if name, ok := noteName(f.Path); ok && fresh.Made && fresh.Removed {
			unnamed[name] = true
			fresh.Path = memoryDir + "/" + erasedName
		}
		names = names || fresh != f
		to.Files = append(to.Files, fresh)
	}
	for _, edit := range p.Edits {
		fresh, keep := e.edit(edit, unnamed)
		if keep {
			to.Edits = append(to.Edits, fresh)
		}
		edits = edits || !keep || !sameEdit(fresh, edit)
	}
	return to, edits, names
}

// erasedName replaces the name of a file that was erased completely. It counts as a state
// file, which is never restored by an undo.
const erasedName = ".erased"

// edit returns an edit without the erased data; keep is false if nothing is left of it.
func (e *eraser) edit(edit Edit, unnamed map[string]bool) (to Edit, keep bool) {
	if unnamed[edit.Note] {
		return Edit{}, false
	}
	to = edit
	to.Sources = e.remaining(edit.Sources)
	to.Old, to.New = e.lines(edit.Note, edit.Old), e.lines(edit.Note, edit.New)
	if e.containsErased(edit.Why) {
		to.Why = "its evidence was erased"
	}
	lost := len(to.Old) < len(edit.Old) || len(to.New) < len(edit.New)
	return to, !lost || len(to.Old)+len(to.New) > 0
}

// lines returns the lines of an edit without the erased ones.
func (e *eraser) lines(note string, lines []string) []string {
	var left []string
	for _, line := range lines {
		to, keep := e.line(line)
		if name, ok := pointsAt(line); ok && note == "" && e.names[name] {
			keep = false
		}
		if to != line && keep {
			left = append(left, to) // it has other sources
			continue
		}
		if keep && !e.containsErased(line) {
			left = append(left, line)
		}
	}
	return left
}

// containsErased reports whether a text contains an erased text.
func (e *eraser) containsErased(text string) bool {
	key := strings.ToLower(strings.Join(strings.Fields(text), " "))
	for gone := range e.gone {
		if strings.Contains(key, gone) {
			return true
		}
	}
	return false
}

func sameEdit(a, b Edit) bool {
	return a.Why == b.Why && slices.Equal(a.Old, b.Old) && slices.Equal(a.New, b.New) && slices.Equal(a.Sources, b.Sources)
}
