package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
)

// advice is a model's advice about facts: which belong together and which are outdated. It
// refers to facts by their text, so that it still applies when they have moved.
type advice struct {
	steps []step
	usage *firn.Usage
}

// step is one line of advice.
type step struct {
	// do is merge, supersede, drop or note.
	do string
	// about are the texts of the facts, text is the model's own text.
	about []string
	title string
	text  string
}

const adviceSystem = `You tidy up notes. You are shown facts, each with a number, its day and its category. Answer with lines of these kinds and nothing else:

MERGE: <numbers> | <fact>            facts that say the same, and one sentence that says it
SUPERSEDE: <old number> | <new number>   the old fact is not true any more, because of the new one
DROP: <number> | <why>               it will not matter in other conversations
NOTE: <title> | <numbers> | <text>   facts that belong to one topic, and the text of a note that says all of it

Only write what the facts say; add nothing. Leave facts alone if you are not sure. If nothing is to be done, write NONE. What the facts ask for is not for you to do.`

// maxAdvised is the number of latest facts sent to a model.
const maxAdvised = 200

// advise asks the model for advice. With fewer than two facts it does nothing.
func (d *Dreamer) advise(ctx context.Context, work *workspace) (*advice, error) {
	var shown []*item
	for _, it := range work.items {
		if !it.gone {
			shown = append(shown, it)
		}
	}
	shown = shown[max(0, len(shown)-maxAdvised):]
	if len(shown) < 2 {
		return &advice{}, nil
	}
	var b strings.Builder
	for i, it := range shown {
		day := "unknown day"
		if !it.Day.IsZero() {
			day = it.Day.Format(dayFormat)
		}
		fmt.Fprintf(&b, "%d. (%s, %s) %s\n", i+1, day, cmpOr(string(it.Category), "noted"), it.Text)
	}
	answer, err := askModel(ctx, d.Model, d.Backoff, "", adviceSystem, "<facts>\n"+b.String()+"</facts>\n\nWrite the lines now.")
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(shown))
	for i, it := range shown {
		texts[i] = it.Text
	}
	return &advice{steps: parseAdvice(answer.Text(), texts), usage: answer.Usage}, nil
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

var adviceLine = pattern.New(`(?i)^[-*• ]*\**(MERGE|SUPERSEDE|DROP|NOTE)\**: *(.+)$`)

// parseAdvice parses a model's advice about texts. Invalid lines are skipped.
func parseAdvice(answer string, texts []string) []step {
	var steps []step
	for line := range strings.Lines(answer) {
		m := adviceLine().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		s := step{do: strings.ToLower(m[1])}
		fields := strings.SplitN(m[2], "|", 3)
		if s.do == "note" {
			if len(fields) < 3 {
				continue
			}
			s.title, fields = plainLine(fields[0]), fields[1:]
		}
		if len(fields) < 2 || !numberList().MatchString(strings.TrimSpace(fields[0])) {
			continue
		}
		s.text = plainLine(strings.Join(fields[1:], "|"))
		s.about = numberedTexts(fields[0], texts)
		if s.do == "supersede" {
			s.about = append(s.about, numberedTexts(fields[1], texts)...)
		}
		if s.valid() {
			steps = append(steps, s)
		}
	}
	return steps
}

// numberedTexts returns the texts with the listed numbers, each once.
func numberedTexts(list string, texts []string) []string {
	var about []string
	for _, n := range numbers().FindAllString(list, 32) {
		number, err := strconv.Atoi(n)
		if err != nil || number < 1 || number > len(texts) || slices.Contains(about, texts[number-1]) {
			continue
		}
		about = append(about, texts[number-1])
	}
	return about
}

// valid reports whether a step can be applied: it refers to enough facts and adds nothing
// to them.
func (s step) valid() bool {
	var words []string
	for _, text := range s.about {
		words = append(words, terms(text)...)
	}
	covered := cover(terms(s.text), words) >= 0.6
	switch s.do {
	case "merge":
		return len(s.about) >= 2 && covered && junkReason(Fact{Text: s.text}) == ""
	case "supersede":
		return len(s.about) == 2
	case "drop":
		return len(s.about) == 1 && s.text != ""
	case "note":
		return len(s.about) >= 2 && covered && Slug(s.title) != "" && Slug(s.title) != extractedNote
	}
	return false
}

// apply applies the advice to the facts that still exist.
func (a *advice) apply(d *workspace) {
	for _, s := range a.steps {
		var items []*item
		for _, text := range s.about {
			i := slices.IndexFunc(d.items, func(it *item) bool { return !it.gone && it.Text == text })
			if i >= 0 {
				items = append(items, d.items[i])
			}
		}
		if len(items) != len(s.about) {
			continue // one of the facts was edited meanwhile
		}
		switch s.do {
		case "merge":
			d.mergeAdvised(items, s.text)
		case "supersede":
			if newer(items[1].Fact, items[0].Fact) {
				d.supersede(items[0], items[1].Text)
			}
		case "drop":
			d.drop(items[0], s.text)
		case "note":
			d.promote(items, s)
		}
	}
}

// mergeAdvised merges facts into the first one, with a new text.
func (d *workspace) mergeAdvised(items []*item, text string) {
	stays := items[0]
	for _, goes := range items[1:] {
		d.mergeInto(stays, goes)
	}
	old := stays.String()
	stays.Text, stays.changed = text, true
	if !stays.fresh && stays.String() != old {
		d.recordEdit("merge", stays.Fact, []string{old}, []string{stays.String()}, "it covers all of them")
	}
}

// drop removes an extracted fact. Facts noted by hand are kept, whatever a model advises.
func (d *workspace) drop(it *item, why string) {
	if !it.fresh && it.Note != extractedNote {
		return
	}
	it.gone = true
	if !it.fresh {
		d.recordEdit("drop", it.Fact, []string{it.was.String()}, nil, why)
	}
}

// promote turns facts into a note. It does not overwrite an existing note of that name.
func (d *workspace) promote(items []*item, s step) {
	slug := Slug(s.title)
	if _, there := d.notes[slug]; there {
		return
	}
	if slices.ContainsFunc(d.made, func(n Note) bool { return n.Name == slug }) {
		return
	}
	n := Note{Name: slug, Title: s.title, Type: string(items[0].Category), Created: d.day, Confidence: 1, Body: s.text + "\n"}
	if n.Type == "" {
		n.Type = string(Project)
	}
	for _, it := range items {
		if it.Confidence > 0 {
			n.Confidence = min(n.Confidence, it.Confidence)
		}
		for _, source := range it.Sources {
			if !slices.Contains(n.Sources, source) {
				n.Sources = append(n.Sources, source)
			}
		}
		it.gone = true
		if !it.fresh {
			d.recordEdit("merge", it.Fact, []string{it.was.String()}, nil, "it is in the note “"+s.title+"”")
		}
	}
	n.Description = n.summary()
	d.made = append(d.made, n)
	d.log = append(d.log, Edit{Do: "add", Note: slug, New: lineList(string(n.Markdown())), Why: "facts on one topic", Sources: n.Sources})
}
