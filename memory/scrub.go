package memory

import (
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
)

// eraser knows what is erased.
type eraser struct {
	session firn.ID
	entries []firn.EntryID
	// gone are texts that nobody else said, names those of notes that go.
	gone  map[string]bool
	names map[string]bool
	done  Erased
}

// of reports whether a source is erased.
func (e *eraser) of(s Source) bool {
	return s.Session == e.session && (len(e.entries) == 0 || slices.Contains(e.entries, s.Entry))
}

// left are the sources that are not erased.
func (e *eraser) left(sources []Source) []Source {
	return slices.DeleteFunc(slices.Clone(sources), e.of)
}

// see looks for what goes in all versions, and counts it in the current one.
func (e *eraser) see(files version, past []pastChange) {
	for i := range past {
		for _, v := range []version{past[i].before, past[i].after} {
			for rel, c := range v {
				e.take(rel, c)
			}
		}
	}
	e.done = Erased{}
	for rel, c := range files {
		e.take(rel, c)
	}
	// What is still there is no secret.
	for rel, c := range files {
		text := strings.ToLower(e.scrub(rel, c).text)
		for gone := range e.gone {
			if rel != IndexFile && strings.Contains(text, gone) {
				delete(e.gone, gone)
			}
		}
	}
}

// take notes what a version of a file loses.
func (e *eraser) take(rel string, c content) {
	name, ok := noteName(rel)
	if !ok || !strings.Contains(c.text, string(e.session)) {
		return
	}
	if n := ParseNote(name, []byte(c.text)); e.whole(n) {
		e.names[name] = true
		e.done.Notes++
		e.tell(n.Title, n.Description)
		for line := range strings.SplitSeq(n.Body, "\n") {
			e.tell(plainLine(line))
		}
		return
	}
	for line := range strings.SplitSeq(c.text, "\n") {
		to, keep := e.line(line)
		switch {
		case !keep:
			e.done.Facts++
			if f, ok := parseFact(strings.TrimSpace(line)); ok {
				e.tell(f.Text)
			} else {
				e.tell(evidenceIn.ReplaceAllString(line, ""))
			}
		case to != line:
			e.done.Kept++
		}
	}
}

// tell adds texts that go. Less than two words tell nothing.
func (e *eraser) tell(texts ...string) {
	for _, text := range texts {
		if text = sameKey(text); len(strings.Fields(text)) > 1 || len(text) > 8 {
			e.gone[text] = true
		}
	}
}

// noteName is the name of the note that a path is of.
func noteName(rel string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSuffix(rel, ending), memoryDir+"/")
	return name, ok && !isState(rel)
}

// whole reports whether a note rests on nothing but what is erased.
func (e *eraser) whole(n Note) bool { return len(n.Sources) > 0 && len(e.left(n.Sources)) == 0 }

// evidenceIn is the evidence of a fact, wherever it stands in a line.
var evidenceIn = pattern.New(` *<!-- from ([^<>]*?) *-->`)

// line is a line without the evidence that is erased; keep is false if there is
// no other.
func (e *eraser) line(line string) (to string, keep bool) {
	m := evidenceIn.FindStringSubmatchIndex(line)
	if m == nil {
		return line, true
	}
	var sources []Source
	for s := range strings.SplitSeq(line[m[2]:m[3]], ",") {
		sources = append(sources, parseSource(s))
	}
	left := e.left(sources)
	switch len(left) {
	case len(sources):
		return line, true
	case 0:
		return "", false
	}
	_, evidence, _ := strings.Cut(Fact{Sources: left}.String(), "<!--")
	return line[:m[0]] + " <!--" + evidence + line[m[1]:], true
}

// scrub is a version of a file without what is erased. It depends on nothing
// but the version, so that versions that were the same still are.
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
	n := ParseNote(name, []byte(c.text))
	if e.whole(n) {
		return content{}
	}
	text := c.text
	if left := e.left(n.Sources); len(left) < len(n.Sources) {
		n.Sources = left
		text = string(n.Markdown())
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if to, keep := e.line(line); keep {
			lines = append(lines, to)
		}
	}
	return content{strings.Join(withoutBare(lines), "\n"), true}
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

// change is what a change says of itself without what is erased, and whether
// its edits and its files are less.
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

// erasedName stands for a file of which nothing is left, not even its name. It
// counts as state, which nobody undoes.
const erasedName = ".erased"

// edit is an edit without what is erased; keep is false if nothing is left of
// it.
func (e *eraser) edit(edit Edit, unnamed map[string]bool) (to Edit, keep bool) {
	if unnamed[edit.Note] {
		return Edit{}, false
	}
	to = edit
	to.Sources = e.left(edit.Sources)
	to.Old, to.New = e.lines(edit.Note, edit.Old), e.lines(edit.Note, edit.New)
	if e.tells(edit.Why) {
		to.Why = "what it rests on was erased"
	}
	lost := len(to.Old) < len(edit.Old) || len(to.New) < len(edit.New)
	return to, !lost || len(to.Old)+len(to.New) > 0
}

// lines are lines of an edit without those that are erased.
func (e *eraser) lines(note string, lines []string) []string {
	var left []string
	for _, line := range lines {
		to, keep := e.line(line)
		if name, ok := pointsAt(line); ok && note == "" && e.names[name] {
			keep = false
		}
		if to != line && keep {
			left = append(left, to) // others said it too
			continue
		}
		if keep && !e.tells(line) {
			left = append(left, line)
		}
	}
	return left
}

// tells reports whether a text has something in it that is erased.
func (e *eraser) tells(text string) bool {
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
