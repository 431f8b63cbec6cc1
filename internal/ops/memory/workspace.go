package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// item is a fact in the workspace with its pending change.
type item struct {
	Fact
	// fresh means that it is not in a note yet.
	fresh bool
	// was is the original fact.
	was Fact
	// gone means that it is removed from its note, superseded that a newer fact replaced
	// it.
	gone, superseded bool
	changed          bool
}

// workspace holds the facts of the notes and new facts while they are consolidated. Nothing
// is written before all decisions are made.
type workspace struct {
	items []*item
	notes map[string]Note
	// made are notes to be created from facts.
	made []Note
	log  []Edit
	day  time.Time
}

func newWorkspace(files version, day time.Time) *workspace {
	d := &workspace{notes: make(map[string]Note), day: day}
	for _, n := range files.notes() {
		d.notes[n.Name] = n
		if _, daily := n.Day(); !daily && n.Name != extractedNote {
			continue // free text written by people is left alone
		}
		for _, f := range n.Facts() {
			if !f.Gone {
				d.items = append(d.items, &item{Fact: f, was: f})
			}
		}
	}
	return d
}

// recordEdit records an edit.
func (d *workspace) recordEdit(do string, f Fact, old, fresh []string, why string) {
	name := f.Note
	if name == "" {
		name = extractedNote
	}
	d.log = append(d.log, Edit{Do: do, Note: name, Old: old, New: fresh, Why: why, Sources: slices.Clone(f.Sources)})
}

// resolveDates makes the dates of facts absolute, relative to when they were written.
func (d *workspace) resolveDates() {
	for _, it := range d.items {
		at := it.written
		if at.IsZero() {
			at = it.Day
		}
		text := absoluteDates(it.Text, at)
		if text == it.Text || it.gone {
			continue
		}
		before := it.Fact
		it.Text, it.changed = text, true
		if !it.fresh {
			d.recordEdit("date", it.Fact, []string{before.String()}, []string{it.String()}, "stated on "+at.Format(dayFormat))
		}
	}
}

// add adds new facts: a known fact gets more sources, and a contrary one replaces the known
// fact. A repetition by the agent alone does not count.
func (d *workspace) add(facts []Fact) {
	for _, f := range facts {
		if !f.written.IsZero() {
			f.Text = absoluteDates(f.Text, f.written)
		}
		f.Day = d.day
		d.place(f)
	}
}

func (d *workspace) place(f Fact) {
	for _, it := range d.items {
		if it.gone {
			continue
		}
		switch relate(it.Text, f.Text) {
		case same:
			if f.spoken || it.fresh {
				d.unite(it, f)
			}
			return
		case contrary:
			if !newer(f, it.Fact) {
				return // an older statement that has been superseded since
			}
			d.supersede(it, f.Text)
		}
	}
	if d.known(f) {
		return
	}
	d.items = append(d.items, &item{Fact: f, fresh: true})
}

// known reports whether a handwritten note already contains the fact, or whether it was
// superseded with the same sources.
func (d *workspace) known(f Fact) bool {
	words := terms(f.Text)
	for _, n := range d.notes {
		if _, daily := n.Day(); !daily && n.Name != extractedNote {
			for line := range strings.SplitSeq(n.Body, "\n") {
				if cover(words, terms(line)) >= 0.9 && negated(line) == negated(f.Text) {
					return true
				}
			}
			continue
		}
		for _, old := range n.Facts() {
			if old.Gone && relate(old.Text, f.Text) == same && subset(f.Sources, old.Sources) {
				return true
			}
		}
	}
	return false
}

func subset(a, b []Source) bool {
	return !slices.ContainsFunc(a, func(s Source) bool { return !slices.Contains(b, s) })
}

// unite merges a new fact into an item with the same meaning.
func (d *workspace) unite(it *item, f Fact) {
	to := mergeFacts(it.Fact, f)
	if to.String() == it.String() {
		return
	}
	old := it.String()
	it.Fact, it.changed = to, true
	if !it.fresh {
		d.recordEdit("merge", it.Fact, []string{old}, []string{to.String()}, "stated again")
	}
}

// supersede replaces an item with a newer fact.
func (d *workspace) supersede(it *item, by string) {
	it.gone, it.superseded = true, true
	if !it.fresh {
		d.recordEdit("supersede", it.Fact, []string{it.was.String()}, []string{d.supersededLine(it)}, "newer: "+by)
	}
}

// supersededLine returns the line of a superseded fact.
func (d *workspace) supersededLine(it *item) string {
	f := it.was
	sources := f.Sources
	f.Sources, f.Gone = nil, true
	line := f.String() + " (superseded " + d.day.Format(dayFormat) + ")"
	if len(sources) > 0 {
		_, evidence, _ := strings.Cut(Fact{Sources: sources}.String(), "<!--")
		line += " <!--" + evidence
	}
	return line
}

// merge merges items with the same meaning: the oldest is kept.
func (d *workspace) merge() {
	for i, it := range d.items {
		for _, other := range d.items[i+1:] {
			if it.gone {
				break
			}
			if other.gone {
				continue
			}
			older, later := it, other
			if newer(it.Fact, other.Fact) && !newer(other.Fact, it.Fact) {
				older, later = other, it
			}
			switch relate(older.Text, later.Text) {
			case same:
				d.mergeInto(chooseKept(it, other))
			case contrary:
				d.supersede(older, later.Text)
			}
		}
	}
}

// chooseKept decides which of two items is kept: the one in the note of extracted facts,
// otherwise the first.
func chooseKept(a, b *item) (stays, goes *item) {
	if b.Note == extractedNote && a.Note != extractedNote {
		return b, a
	}
	return a, b
}

func (d *workspace) mergeInto(stays, goes *item) {
	old := stays.String()
	goes.spoken = true
	to := mergeFacts(stays.Fact, goes.Fact)
	goes.gone = true
	if !goes.fresh {
		d.recordEdit("merge", goes.Fact, []string{goes.was.String()}, nil, fmt.Sprintf("a duplicate of “%s”", stays.Text))
	}
	if to.String() != old {
		stays.Fact, stays.changed = to, true
		if !stays.fresh {
			d.recordEdit("merge", stays.Fact, []string{old}, []string{to.String()}, "has the evidence of both")
		}
	}
}

// bodies returns the changed notes with their new bodies.
func (d *workspace) bodies() []Note {
	edits := make(map[string][]edit)
	var gone []string
	var fresh []Fact
	for _, it := range d.items {
		switch {
		case it.fresh && !it.gone:
			f := it.Fact
			fresh = append(fresh, f)
		case it.fresh:
		case it.superseded && it.Note == extractedNote:
			gone = append(gone, d.supersededLine(it))
			edits[it.Note] = append(edits[it.Note], edit{line: it.Line, drop: true})
		case it.superseded:
			edits[it.Note] = append(edits[it.Note], edit{line: it.Line, text: d.supersededLine(it)})
		case it.gone:
			edits[it.Note] = append(edits[it.Note], edit{line: it.Line, drop: true})
		case it.changed:
			edits[it.Note] = append(edits[it.Note], edit{line: it.Line, text: it.String()})
		}
	}
	for _, f := range fresh {
		d.recordEdit("add", f, nil, []string{f.String()}, "stated in a conversation")
	}
	var notes []Note
	for name, n := range d.notes {
		body := withEdits(n.Body, edits[name])
		if name == extractedNote {
			var left []string
			body, left = withGone(body, gone, maxGone)
			body = withFacts(body, d.day, fresh)
			for _, line := range left {
				f, _ := parseFact(line)
				d.recordEdit("prune", f, []string{line}, nil, "superseded long ago")
			}
		}
		if body != n.Body {
			n.Body = body
			notes = append(notes, n)
		}
	}
	if _, ok := d.notes[extractedNote]; !ok && len(fresh) > 0 {
		notes = append(notes, Note{Name: extractedNote, Title: "Extracted memories", Description: "Facts extracted from conversations, with their evidence.", Created: d.day, Body: withFacts("", d.day, fresh)})
	}
	return append(notes, d.made...)
}

// maxGone is the maximum number of superseded facts in a note; older ones are only in the
// history.
const maxGone = 100

// write adds the decisions to a draft and to the set of files.
func (d *workspace) write(to *draft, files version) {
	for _, n := range d.bodies() {
		rel := notePath(n.Name)
		c := content{string(n.Markdown()), true}
		if len(lineList(c.text)) == 0 {
			c = content{} // the note is empty
		}
		to.put(rel, files[rel], c)
		if files[rel] = c; !c.there {
			delete(files, rel)
		}
	}
	to.Edits = append(to.Edits, d.log...)
}
