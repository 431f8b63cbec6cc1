package window_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/window"
)

// The tests write windows as text, one message a line: a role, the entry it
// comes from, the model that wrote it, and its parts.
//
//	user e1: text "look" ; image "image/png" "iVBORw0K"
//	assistant e2 @anthropic-messages/anthropic/claude: thinking "hm" ^"c2ln" ; call "1" "ls" "{}"
//	result e3: "1" "ls" ; text "a.txt"
//
// ^ is a mark; ! makes thinking redacted and a result an error.

// scanner splits a line into words, quoted strings (with their quotes) and the signs : ; ^ and
// !.
type scanner struct {
	rest string
}

func (s *scanner) next() string {
	s.rest = strings.TrimLeft(s.rest, " ")
	if s.rest == "" {
		return ""
	}
	if q, err := strconv.QuotedPrefix(s.rest); err == nil {
		s.rest = s.rest[len(q):]
		return q
	}
	n := strings.IndexAny(s.rest, " :;^!\"")
	if n == 0 {
		n = 1
	}
	if n < 0 {
		n = len(s.rest)
	}
	word := s.rest[:n]
	s.rest = s.rest[n:]
	return word
}

func (s *scanner) peek() string {
	copied := *s
	return copied.next()
}

// text reads a quoted string.
func (s *scanner) text() string {
	word := s.next()
	t, err := strconv.Unquote(word)
	if err != nil {
		panic(fmt.Sprintf("want a quoted string, found %s before %s", word, s.rest))
	}
	return t
}

// sign consumes a sign if it is next.
func (s *scanner) sign(sign string) bool {
	if s.peek() != sign {
		return false
	}
	s.next()
	return true
}

func (s *scanner) mark() string {
	if s.sign("^") {
		return s.text()
	}
	return ""
}

// parseItems reads messages in the notation.
func parseItems(text string) []window.Item {
	var items []window.Item
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			items = append(items, parseItem(line))
		}
	}
	return items
}

func parseItem(line string) window.Item {
	s := &scanner{rest: line}
	it := window.Item{Message: firn.Message{Role: firn.Role(s.next())}}
	if it.Message.Role == "result" {
		it.Message.Role = firn.RoleToolResult
	}
	for word := s.next(); word != ":"; word = s.next() {
		if who, ok := strings.CutPrefix(word, "@"); ok {
			fields := strings.Split(who, "/")
			it.Message.API, it.Message.Provider, it.Message.Model = fields[0], fields[1], fields[2]
		} else if word == "synthetic" {
			it.Synthetic = true
		} else if word != "-" {
			for id := range strings.SplitSeq(word, "+") {
				it.From = append(it.From, firn.EntryID(id))
			}
		}
	}
	if it.Message.Role == firn.RoleToolResult {
		it.Message.Parts = []firn.Part{s.result()}
	} else {
		it.Message.Parts = s.parts()
	}
	return it
}

func (s *scanner) result() firn.ToolResult {
	failed := s.sign("!")
	r := firn.ToolResult{CallID: s.text(), Name: s.text(), IsError: failed}
	if s.sign(";") {
		r.Content = s.parts()
	}
	return r
}

func (s *scanner) parts() []firn.Part {
	var parts []firn.Part
	for s.rest != "" {
		parts = append(parts, s.part())
		if !s.sign(";") {
			break
		}
	}
	return parts
}

func (s *scanner) part() firn.Part {
	switch word := s.next(); word {
	case "text":
		return firn.Text{Text: s.text(), Signature: s.mark()}
	case "image":
		return firn.Image{MimeType: s.text(), Data: s.text()}
	case "thinking":
		return firn.Thinking{Redacted: s.sign("!"), Text: s.text(), Signature: s.mark()}
	case "call":
		return firn.ToolCall{ID: s.text(), Name: s.text(), Arguments: json.RawMessage(s.text()), Signature: s.mark()}
	case "result":
		return firn.ToolResult{CallID: s.text(), Name: s.text()}
	case "shell":
		return firn.Shell{Command: s.text(), Output: s.text()}
	case "opaque":
		return firn.OpaquePart{Type: s.text()}
	default:
		panic("unknown part " + word)
	}
}

// formatItems writes messages in the notation.
func formatItems(items []window.Item) string {
	var b strings.Builder
	for i := range items {
		formatItem(&b, &items[i])
	}
	return b.String()
}

func formatItem(b *strings.Builder, it *window.Item) {
	m := &it.Message
	b.WriteString(strings.Replace(string(m.Role), "toolResult", "result", 1))
	from := make([]string, len(it.From))
	for i, id := range it.From {
		from[i] = string(id)
	}
	if len(from) > 0 {
		b.WriteString(" " + strings.Join(from, "+"))
	}
	if it.Synthetic {
		b.WriteString(" synthetic")
	}
	if m.Model != "" {
		fmt.Fprintf(b, " @%s/%s/%s", m.API, m.Provider, m.Model)
	}
	b.WriteString(":")
	for i, part := range m.Parts {
		if i > 0 {
			b.WriteString(" ;")
		}
		formatPart(b, m.Role, part)
	}
	b.WriteString("\n")
}

func formatPart(b *strings.Builder, role firn.Role, part firn.Part) {
	switch p := part.(type) {
	case firn.Text:
		fmt.Fprintf(b, " text %q%s", p.Text, formatMark(p.Signature))
	case firn.Image:
		fmt.Fprintf(b, " image %q %q", p.MimeType, p.Data)
	case firn.Thinking:
		redacted := ""
		if p.Redacted {
			redacted = "!"
		}
		fmt.Fprintf(b, " thinking%s %q%s", redacted, p.Text, formatMark(p.Signature))
	case firn.ToolCall:
		fmt.Fprintf(b, " call %q %q %q%s", p.ID, p.Name, p.Arguments, formatMark(p.Signature))
	case firn.ToolResult:
		if role != firn.RoleToolResult {
			b.WriteString(" result")
		} else if p.IsError {
			b.WriteString(" !")
		}
		fmt.Fprintf(b, " %q %q", p.CallID, p.Name)
		for _, inner := range p.Content {
			b.WriteString(" ;")
			formatPart(b, firn.RoleUser, inner)
		}
	default:
		fmt.Fprintf(b, " %#v", part)
	}
}

func formatMark(mark string) string {
	if mark == "" {
		return ""
	}
	return fmt.Sprintf(" ^%q", mark)
}

// entriesOf makes a session of items, one entry each.
func entriesOf(items []window.Item) []firn.Entry {
	entries := make([]firn.Entry, len(items))
	for i := range items {
		entries[i] = firn.Entry{ID: firn.EntryID(fmt.Sprint("e", i+1)), Body: &items[i].Message}
		if i > 0 {
			entries[i].Parent = entries[i-1].ID
		}
	}
	return entries
}
