package memory

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
)

// Note is one file of notes.
type Note struct {
	// Name is that of the file, without its ending.
	Name string
	// Title and Description say what it is about, Type what kind of note it is:
	// one of the categories of facts, or any other word. All may be empty.
	Title, Description, Type string
	// Confidence is how sure it is, from 0 to 1; zero if that is not said.
	Confidence float64
	// Created is when it was made, zero if that is not said.
	Created time.Time
	// Sources are where it was said.
	Sources []Source
	// Extra are lines of the front matter that mean nothing to us. They are
	// kept as they are.
	Extra []string
	// Body is the text below the front matter.
	Body string
}

// Source is where something was said: an entry of a session.
type Source struct {
	Session firn.ID
	Entry   firn.EntryID
}

// String spells a source as session/entry.
func (s Source) String() string {
	if s.Entry == "" {
		return string(s.Session)
	}
	return string(s.Session) + "/" + string(s.Entry)
}

// parseSource reads what [Source.String] spells.
func parseSource(text string) Source {
	session, entry, _ := strings.Cut(unquote(strings.TrimSpace(text)), "/")
	return Source{firn.ID(session), firn.EntryID(entry)}
}

// fence begins and ends the front matter.
const fence = "---"

// ParseNote reads a note. It never fails: what it does not understand is kept,
// and a file without front matter is all body.
func ParseNote(name string, data []byte) Note {
	text := cleanBody(string(bytes.TrimPrefix(data, []byte("\ufeff"))))
	n := Note{Name: name, Body: text}
	front, body, ok := cutFront(text)
	if !ok {
		return n
	}
	n.Body = strings.TrimLeft(body, "\n")
	key := ""
	for line := range strings.SplitSeq(front, "\n") {
		key = n.frontLine(key, line)
	}
	return n
}

// cutFront parts the front matter from the body.
func cutFront(text string) (front, body string, ok bool) {
	rest, ok := strings.CutPrefix(text, fence+"\n")
	if !ok {
		return "", "", false
	}
	if body, ok = strings.CutPrefix(rest, fence+"\n"); ok || rest == fence {
		return "", body, true
	}
	if front, body, ok = strings.Cut(rest, "\n"+fence+"\n"); ok {
		return front, body, true
	}
	front, ok = strings.CutSuffix(rest, "\n"+fence)
	return front, "", ok
}

// frontLine takes in one line of the front matter, below the key that came last,
// and returns the key that counts for the next.
func (n *Note) frontLine(last, line string) (key string) {
	if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && last == "sources" {
		n.addSource(item)
		return last
	}
	key, value, ok := strings.Cut(line, ":")
	if ok && n.set(key, strings.TrimSpace(value)) {
		return key
	}
	if strings.TrimSpace(line) != "" {
		n.Extra = append(n.Extra, line)
	}
	return ""
}

// set takes in a value that is known, once; false if it is not, or makes no
// sense.
func (n *Note) set(key, value string) bool {
	plain := func(to *string) bool {
		text := unquote(value)
		if *to != "" || text == "" || strings.ContainsAny(text, "\n\r") {
			return false
		}
		*to = text
		return true
	}
	switch key {
	case "name":
		return plain(&n.Title)
	case "description":
		return plain(&n.Description)
	case "type":
		return plain(&n.Type)
	case "confidence":
		c, err := strconv.ParseFloat(value, 64)
		if err != nil || c <= 0 || c > 1 || n.Confidence != 0 {
			return false
		}
		n.Confidence = c
		return true
	case "created":
		at, ok := parseTime(unquote(value))
		if !ok || !n.Created.IsZero() {
			return false
		}
		n.Created = at
		return true
	case "sources":
		inline := strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
		for item := range strings.SplitSeq(inline, ",") {
			n.addSource(item)
		}
		return true
	}
	return false
}

func (n *Note) addSource(text string) {
	s := parseSource(text)
	if s.String() == "" || strings.ContainsAny(s.String(), "\n\r") || slices.Contains(n.Sources, s) {
		return
	}
	n.Sources = append(n.Sources, s)
}

// parseTime reads a time or a day.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, dayFormat} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 0 && !at.IsZero() {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// dayFormat is how days are spelt.
const dayFormat = "2006-01-02"

// Markdown spells the note as its file has it. A note of which only a body is
// known is that body.
func (n Note) Markdown() []byte {
	var b strings.Builder
	n.front(&b)
	if b.Len() == 0 && !strings.HasPrefix(n.Body, fence) {
		return []byte(n.Body)
	}
	text := fence + "\n" + b.String() + fence + "\n"
	if n.Body != "" {
		text += "\n" + n.Body
	}
	return []byte(text)
}

// front writes the lines of the front matter. Sources come last, since items
// of a list that belongs to a key we do not know look like sources.
func (n Note) front(b *strings.Builder) {
	line := func(key, value string) {
		if value != "" {
			b.WriteString(key + ": " + value + "\n")
		}
	}
	line("name", quote(n.Title))
	line("description", quote(n.Description))
	line("type", quote(n.Type))
	if n.Confidence > 0 {
		line("confidence", strconv.FormatFloat(n.Confidence, 'f', -1, 64))
	}
	if !n.Created.IsZero() {
		line("created", n.Created.Format(time.RFC3339))
	}
	for _, l := range n.Extra {
		b.WriteString(l + "\n")
	}
	if len(n.Sources) > 0 {
		b.WriteString("sources:\n")
		for _, s := range n.Sources {
			b.WriteString("  - " + quote(s.String()) + "\n")
		}
	}
}

// quote puts a value in quotes if it could be read as something else.
func quote(value string) string {
	if value == "" {
		return ""
	}
	plain := strings.TrimSpace(value) == value && !strings.ContainsAny(value[:1], "\"'[]{}>|*&!%#`@-?,") &&
		!strings.Contains(value, ": ") && !strings.Contains(value, " #") && !strings.HasSuffix(value, ":")
	for _, r := range value {
		plain = plain && strconv.IsPrint(r)
	}
	if plain {
		return value
	}
	return strconv.Quote(value)
}

// unquote takes the quotes off a value.
func unquote(value string) string {
	if len(value) < 2 {
		return value
	}
	switch q := value[0]; {
	case q == '"' && value[len(value)-1] == q:
		if plain, err := strconv.Unquote(value); err == nil {
			plain, _ = firn.CleanText(plain)
			return plain
		}
	case q == '\'' && value[len(value)-1] == q:
		return strings.ReplaceAll(value[1:len(value)-1], "''", "'")
	}
	return value
}

// Day is the day of a note that holds what was noted on one; false if it is no
// such note.
func (n Note) Day() (time.Time, bool) { return dayOf(n.Name) }

func dayOf(name string) (time.Time, bool) {
	day, err := time.Parse(dayFormat, name)
	return day, err == nil
}

// heading is what to call the note.
func (n Note) heading() string {
	if n.Title != "" {
		return n.Title
	}
	for line := range strings.SplitSeq(n.Body, "\n") {
		if text := strings.TrimSpace(strings.TrimLeft(line, "# ")); strings.HasPrefix(line, "#") && text != "" {
			return text
		}
	}
	return n.Name
}

// summary is the note in a line.
func (n Note) summary() string {
	if n.Description != "" {
		return n.Description
	}
	for line := range strings.SplitSeq(n.Body, "\n") {
		if text := plainLine(line); text != "" && !strings.HasPrefix(line, "#") {
			return firn.CutText(text, 160)
		}
	}
	return ""
}

// maxSlug bounds the name of a file, in bytes.
const maxSlug = 60

// Slug makes a name for a file of a title: letters and digits in lower case,
// with dashes between them. It is empty if there are none, and never looks like
// a day.
func Slug(title string) string {
	slug := strings.Join(strings.FieldsFunc(strings.ToLower(fold(title)), notWord), "-")
	slug = strings.TrimRight(firn.CutText(slug, maxSlug), "-")
	if _, day := dayOf(slug); day {
		slug = "note-" + slug
	}
	return slug
}
