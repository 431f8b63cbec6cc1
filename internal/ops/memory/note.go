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
	// Name is the name of the file without its extension.
	Name string
	// Title and Description describe the content. Type is the kind of note: one of the
	// categories of facts, or any other word. All may be empty.
	Title, Description, Type string
	// Confidence is the confidence, from 0 to 1; zero if not given.
	Confidence float64
	// Created is when it was created; zero if not given.
	Created time.Time
	// Sources are the source entries.
	Sources []Source
	// Extra are unknown lines of the front matter, which are kept unchanged.
	Extra []string
	// Body is the text below the front matter.
	Body string
}

// Source is a source of a fact: an entry of a session.
type Source struct {
	Session firn.ID
	Entry   firn.EntryID
}

// String formats a source as session/entry.
func (s Source) String() string {
	if s.Entry == "" {
		return string(s.Session)
	}
	return string(s.Session) + "/" + string(s.Entry)
}

// parseSource parses the format of [Source.String].
func parseSource(text string) Source {
	session, entry, _ := strings.Cut(unquote(strings.TrimSpace(text)), "/")
	return Source{firn.ID(session), firn.EntryID(entry)}
}

// fence starts and ends the front matter.
const fence = "---"

// parseNote parses a note. It never fails: unknown lines are kept, and a file without front
// matter is all body.
func parseNote(name string, data []byte) Note {
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

// cutFront splits the front matter from the body.
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

// frontLine parses one line of the front matter, given the last key, and returns the key
// that applies to the next line.
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

// set sets a known value, once; it returns false if the key is unknown or the value is
// invalid.
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

// parseTime parses a time or a day.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, dayFormat} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 0 && !at.IsZero() {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// dayFormat is the format of days.
const dayFormat = "2006-01-02"

// Markdown returns the content of the note's file. A note without metadata is only its
// body.
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

// front writes the lines of the front matter. Sources are last, because list items of an
// unknown key look like sources.
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

// quote quotes a value that would otherwise be parsed differently.
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

// unquote removes the quotes of a value.
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

// Day returns the day of a daily note; false if it is not one.
func (n Note) Day() (time.Time, bool) { return dayOf(n.Name) }

func dayOf(name string) (time.Time, bool) {
	day, err := time.Parse(dayFormat, name)
	return day, err == nil
}

// heading returns the display name of the note.
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

// summary returns a one-line summary of the note.
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

// maxSlug is the maximum length of a file name in bytes.
const maxSlug = 60

// Slug derives a file name from a title: lowercase letters and digits, separated by dashes.
// It is empty if there are none, and never looks like a day.
func Slug(title string) string {
	slug := strings.Join(strings.FieldsFunc(strings.ToLower(fold(title)), notWord), "-")
	slug = strings.TrimRight(firn.CutText(slug, maxSlug), "-")
	if _, day := dayOf(slug); day {
		slug = "note-" + slug
	}
	return slug
}
