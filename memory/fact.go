package memory

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"firn.dev"
	"firn.dev/internal/base/pattern"
)

// Category is what kind of fact something is.
type Category string

// The categories of facts.
const (
	// Preference is who the user is and what they like.
	Preference Category = "preference"
	// Project is how something is: architecture, dates, names.
	Project Category = "project"
	// Pattern is how things are done again and again.
	Pattern Category = "pattern"
	// Decision is what was chosen, and why.
	Decision Category = "decision"
	// Constraint is what must or must not be.
	Constraint Category = "constraint"
)

// ParseCategory reads a category, by any of the names that are in use for it.
func ParseCategory(name string) (Category, bool) {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	switch plain {
	case "preference", "preferences", "userpreference", "user":
		return Preference, true
	case "project", "projectfact", "fact":
		return Project, true
	case "pattern", "patterns", "codepattern":
		return Pattern, true
	case "decision", "decisions":
		return Decision, true
	case "constraint", "constraints":
		return Constraint, true
	}
	return "", false
}

// Fact is one thing to know: a line of a note.
type Fact struct {
	// Category may be empty, as in what was noted by hand.
	Category Category
	Text     string
	// Confidence is how sure it is, from 0 to 1; zero if that is not said.
	Confidence float64
	// Sources are the entries that say so.
	Sources []Source
	// Day is when it was noted, zero if that is not known.
	Day time.Time
	// Note is the name of the note that it is in, Line the line of its body, from
	// 1.
	Note string
	Line int
	// Gone says that a newer fact has taken its place.
	Gone bool

	// said is when the latest of its sources was said, and spoken whether one of
	// them is a person's own words; both are known only where it is found.
	said   time.Time
	spoken bool
}

// ID names a fact within its note. It is the same for texts that say the same.
func (f Fact) ID() string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(sameKey(f.Text))) // which cannot fail
	return fmt.Sprintf("%08x", h.Sum32())
}

// Ref names a fact among the notes of its folder.
func (f Fact) Ref() string { return f.Note + "#" + f.ID() }

// sameKey is the same for texts that differ in case, white space and the last
// full stop only.
func sameKey(text string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(text), " ")), ".!")
}

// The lines that facts are spelt in, as Cersei does; the comment at the end,
// which is ours, has the evidence.
var (
	labelled  = pattern.New(`^\*\*\[([a-zA-Z_ -]{1,20})\]\*\* +(.+)$`)
	confident = pattern.New(` *\*\(confidence: (\d{1,3})%\)\*$`)
	evidence  = pattern.New(` *<!-- from ([^<>]*?) *-->$`)
	goneSince = pattern.New(` *\(superseded \d{4}-\d{2}-\d{2}\)$`)
)

// parseFact reads a line of a list. It is false if the line is none, or says
// nothing.
func parseFact(line string) (Fact, bool) {
	text, ok := listItem(line)
	if !ok {
		return Fact{}, false
	}
	var f Fact
	if m := evidence.FindStringSubmatchIndex(text); m != nil {
		for s := range strings.SplitSeq(text[m[2]:m[3]], ",") {
			if source := parseSource(s); source.Session != "" {
				f.Sources = append(f.Sources, source)
			}
		}
		text = text[:m[0]]
	}
	struck := goneSince.ReplaceAllString(text, "")
	if inner, ok := strings.CutPrefix(struck, "~~"); ok && strings.HasSuffix(inner, "~~") && len(inner) > 2 {
		text, f.Gone = strings.TrimSuffix(inner, "~~"), true
	}
	if m := confident.FindStringSubmatchIndex(text); m != nil {
		percent, _ := strconv.Atoi(text[m[2]:m[3]])
		f.Confidence = min(float64(percent)/100, 1)
		text = text[:m[0]]
	}
	if m := labelled.FindStringSubmatch(text); m != nil {
		if category, ok := ParseCategory(m[1]); ok {
			f.Category, text = category, m[2]
		}
	}
	f.Text = strings.TrimSpace(text)
	return f, f.Text != ""
}

// listItem is what stands behind the mark of a list.
func listItem(line string) (string, bool) {
	for _, mark := range []string{"- ", "* ", "+ ", "• "} {
		if text, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(text), true
		}
	}
	return "", false
}

// String spells a fact as a line of a list.
func (f Fact) String() string {
	text := f.Text
	if f.Category != "" {
		text = "**[" + string(f.Category) + "]** " + text
	}
	if f.Confidence > 0 {
		text += fmt.Sprintf(" *(confidence: %d%%)*", int(math.Round(f.Confidence*100)))
	}
	if f.Gone {
		text = "~~" + text + "~~"
	}
	if len(f.Sources) > 0 {
		names := make([]string, len(f.Sources))
		for i, s := range f.Sources {
			names[i] = s.String()
		}
		text += " <!-- from " + strings.Join(names, ", ") + " -->"
	}
	return "- " + text
}

// plainLine is what a line of Markdown says: without the marks of lists,
// headings and quotes before it, and without what one cannot see. What is left
// cannot be any of those once it stands behind a mark of its own.
func plainLine(line string) string {
	line = strings.Join(strings.FieldsFunc(line, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || isLineEnd(r)
	}), " ")
	line = strings.NewReplacer("<!--", "", "-->", "").Replace(line)
	for {
		mark, rest, _ := strings.Cut(line, " ")
		if mark == "" || strings.Trim(mark, "#>-*+•=_~") != "" {
			return line
		}
		line = rest
	}
}

func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// plainLines makes facts of a text, one of each line that says something.
func plainLines(text string) []string {
	text, _ = firn.CleanText(text)
	var lines []string
	for line := range strings.FieldsFuncSeq(text, isLineEnd) {
		if plain := plainLine(line); plain != "" {
			lines = append(lines, plain)
		}
	}
	return lines
}
