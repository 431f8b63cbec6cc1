package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// item is a fact on the desk, and what becomes of it.
type item struct {
	Fact
	// fresh says that it is not in a note yet.
	fresh bool
	// was is how it was before something was done to it.
	was Fact
	// gone says that it leaves its note: superseded if a newer one took its place,
	// or else for good.
	gone, superseded bool
	changed          bool
}

// desk is where facts are sorted: those of the notes, and new ones. Nothing is
// written before all is decided.
type desk struct {
	items []*item
	notes map[string]Note
	// made are notes that are to be made of facts.
	made []Note
	log  []Edit
	day  time.Time
}

func newDesk(files version, day time.Time) *desk {
	d := &desk{notes: make(map[string]Note), day: day}
	for _, n := range files.notes() {
		d.notes[n.Name] = n
		if _, daily := n.Day(); !daily && n.Name != extractedNote {
			continue // what people wrote in their own words is theirs
		}
		for _, f := range n.Facts() {
			if !f.Gone {
				d.items = append(d.items, &item{Fact: f, was: f})
			}
		}
	}
	return d
}

// note writes down what was done.
func (d *desk) note(do string, f Fact, old, fresh []string, why string) {
	name := f.Note
	if name == "" {
		name = extractedNote
	}
	d.log = append(d.log, Edit{Do: do, Note: name, Old: old, New: fresh, Why: why, Sources: slices.Clone(f.Sources)})
}

// date makes the dates of facts absolute, seen from when they were said.
func (d *desk) date() {
	for _, it := range d.items {
		at := it.said
		if at.IsZero() {
			at = it.Day
		}
		text := Absolute(it.Text, at)
		if text == it.Text || it.gone {
			continue
		}
		before := it.Fact
		it.Text, it.changed = text, true
		if !it.fresh {
			d.note("date", it.Fact, []string{before.String()}, []string{it.String()}, "it was said on "+at.Format(dayFormat))
		}
	}
}

// add takes in new facts: what is known gets more evidence, what is contrary to
// what is known takes its place. What only the agent itself said again is no
// news.
func (d *desk) add(facts []Fact) {
	for _, f := range facts {
		if !f.said.IsZero() {
			f.Text = Absolute(f.Text, f.said)
		}
		f.Day = d.day
		d.place(f)
	}
}

func (d *desk) place(f Fact) {
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
				return // an old tale of what has changed since
			}
			d.supersede(it, f.Text)
		}
	}
	if d.known(f) {
		return
	}
	d.items = append(d.items, &item{Fact: f, fresh: true})
}

// known reports whether a note that people wrote says it already, or it was
// superseded on the same evidence.
func (d *desk) known(f Fact) bool {
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

// unite adds what a new fact knows to one that says the same.
func (d *desk) unite(it *item, f Fact) {
	to := united(it.Fact, f)
	if to.String() == it.String() {
		return
	}
	old := it.String()
	it.Fact, it.changed = to, true
	if !it.fresh {
		d.note("merge", it.Fact, []string{old}, []string{to.String()}, "it was said again")
	}
}

// supersede lets a newer fact take the place of an item.
func (d *desk) supersede(it *item, by string) {
	it.gone, it.superseded = true, true
	if !it.fresh {
		d.note("supersede", it.Fact, []string{it.was.String()}, []string{d.struck(it)}, "newer: "+by)
	}
}

// struck is the line of a fact that a newer one took the place of.
func (d *desk) struck(it *item) string {
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

// merge makes one of items that say the same: the oldest stays.
func (d *desk) merge() {
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
				d.mergeInto(keeper(it, other))
			case contrary:
				d.supersede(older, later.Text)
			}
		}
	}
}

// keeper decides which of two items stays: one that is in the note of what was
// found, or else the first.
func keeper(a, b *item) (stays, goes *item) {
	if b.Note == extractedNote && a.Note != extractedNote {
		return b, a
	}
	return a, b
}

func (d *desk) mergeInto(stays, goes *item) {
	old := stays.String()
	goes.spoken = true
	to := united(stays.Fact, goes.Fact)
	goes.gone = true
	if !goes.fresh {
		d.note("merge", goes.Fact, []string{goes.was.String()}, nil, fmt.Sprintf("it says the same as “%s”", stays.Text))
	}
	if to.String() != old {
		stays.Fact, stays.changed = to, true
		if !stays.fresh {
			d.note("merge", stays.Fact, []string{old}, []string{to.String()}, "it has the evidence of both")
		}
	}
}

// bodies are the notes that change, as they become.
func (d *desk) bodies() []Note {
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
			gone = append(gone, d.struck(it))
			edits[it.Note] = append(edits[it.Note], edit{line: it.Line, drop: true})
		case it.superseded:
			edits[it.Note] = append(edits[it.Note], edit{line: it.Line, text: d.struck(it)})
		case it.gone:
			edits[it.Note] = append(edits[it.Note], edit{line: it.Line, drop: true})
		case it.changed:
			edits[it.Note] = append(edits[it.Note], edit{line: it.Line, text: it.String()})
		}
	}
	for _, f := range fresh {
		d.note("add", f, nil, []string{f.String()}, "it was said")
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
				d.note("prune", f, []string{line}, nil, "it was superseded long ago")
			}
		}
		if body != n.Body {
			n.Body = body
			notes = append(notes, n)
		}
	}
	if _, ok := d.notes[extractedNote]; !ok && len(fresh) > 0 {
		notes = append(notes, Note{Name: extractedNote, Title: "Extracted memories", Description: "What was found in conversations, with its evidence.", Created: d.day, Body: withFacts("", d.day, fresh)})
	}
	return append(notes, d.made...)
}

// maxGone bounds how many superseded facts are shown; older ones are in the
// history only.
const maxGone = 100

// write puts what was decided into a draft, and into the set.
func (d *desk) write(to *draft, files version) {
	for _, n := range d.bodies() {
		rel := notePath(n.Name)
		c := content{string(n.Markdown()), true}
		if len(lineList(c.text)) == 0 {
			c = content{} // nothing is left of it
		}
		to.put(rel, files[rel], c)
		if files[rel] = c; !c.there {
			delete(files, rel)
		}
	}
	to.Edits = append(to.Edits, d.log...)
}
