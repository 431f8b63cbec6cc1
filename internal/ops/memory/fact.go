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

// Category is the category of a fact.
type Category string

// The categories of facts.
const (
	// Preference is about the user and their preferences.
	Preference Category = "preference"
	// Project is about the project: architecture, dates, names.
	Project Category = "project"
	// Pattern is a recurring way of working.
	Pattern Category = "pattern"
	// Decision is a decision and its reason.
	Decision Category = "decision"
	// Constraint is a requirement or prohibition.
	Constraint Category = "constraint"
)

// parseCategory parses a category by any of its common names.
func parseCategory(name string) (Category, bool) {
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

// Fact is a single fact: a line of a note.
type Fact struct {
	// Category may be empty, as in handwritten notes.
	Category Category
	Text     string
	// Confidence is the confidence, from 0 to 1; zero if not given.
	Confidence float64
	// Sources are the source entries.
	Sources []Source
	// Day is when it was noted; zero if unknown.
	Day time.Time
	// Note is the name of its note, Line the line in its body, from 1.
	Note string
	Line int
	// Gone means that a newer fact has replaced it.
	Gone bool

	// written is the time of the latest source, spoken whether one of them is a person's own
	// statement; both are known only after extraction.
	written time.Time
	spoken  bool
}

// ID identifies a fact within its note. It is the same for equivalent texts.
func (f Fact) ID() string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(sameKey(f.Text))) // cannot fail
	return fmt.Sprintf("%08x", h.Sum32())
}

// Ref identifies a fact among the notes of its folder.
func (f Fact) Ref() string { return f.Note + "#" + f.ID() }

// sameKey returns the same key for texts that differ only in case, white space and the
// final full stop.
func sameKey(text string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(text), " ")), ".!")
}

// The line format of facts, as in Cersei; the comment at the end, which is our own, has the
// sources.
var (
	labeled   = pattern.New(`^\*\*\[([a-zA-Z_ -]{1,20})\]\*\* +(.+)$`)
	confident = pattern.New(` *\*\(confidence: (\d{1,3})%\)\*$`)
	evidence  = pattern.New(` *<!-- from ([^<>]*?) *-->$`)
	goneSince = pattern.New(` *\(superseded \d{4}-\d{2}-\d{2}\)$`)
)

// parseFact parses a list item. It returns false if the line is not a list item or is
// empty.
func parseFact(line string) (Fact, bool) {
	text, ok := listItem(line)
	if !ok {
		return Fact{}, false
	}
	var f Fact
	if m := evidence().FindStringSubmatchIndex(text); m != nil {
		for s := range strings.SplitSeq(text[m[2]:m[3]], ",") {
			if source := parseSource(s); source.Session != "" {
				f.Sources = append(f.Sources, source)
			}
		}
		text = text[:m[0]]
	}
	struck := goneSince().ReplaceAllString(text, "")
	if inner, ok := strings.CutPrefix(struck, "~~"); ok && strings.HasSuffix(inner, "~~") && len(inner) > 2 {
		text, f.Gone = strings.TrimSuffix(inner, "~~"), true
	}
	if m := confident().FindStringSubmatchIndex(text); m != nil {
		percent, _ := strconv.Atoi(text[m[2]:m[3]])
		f.Confidence = min(float64(percent)/100, 1)
		text = text[:m[0]]
	}
	if m := labeled().FindStringSubmatch(text); m != nil {
		if category, ok := parseCategory(m[1]); ok {
			f.Category, text = category, m[2]
		}
	}
	f.Text = strings.TrimSpace(text)
	return f, f.Text != ""
}

// listItem returns the text after a list marker.
func listItem(line string) (string, bool) {
	for _, mark := range []string{"- ", "* ", "+ ", "• "} {
		if text, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(text), true
		}
	}
	return "", false
}

// String formats a fact as a list item.
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

// plainLine returns the text of a Markdown line without list, heading and quote markers and
// without invisible characters. The result has no special meaning after a list marker.
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

// plainLines returns a fact for each line of a text that is not blank.
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
