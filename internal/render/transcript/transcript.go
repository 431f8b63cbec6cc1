// Package transcript writes a session as Markdown, for reading and sharing. Text that looks
// like a secret is masked, as on pages.
package transcript

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"firn.dev"
	"firn.dev/internal/find/mask"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

const (
	// resultLines is the number of lines of a tool result that are written, and callLength the
	// number of characters of a call's arguments.
	resultLines = 20
	callLength  = 300
)

// Writer writes the entries of a session in order.
type Writer struct {
	w io.Writer
	// author is the author of the section that was begun last.
	author string
	err    error
}

// New writes the heading of a session and returns a writer for its entries.
func New(w io.Writer, s wire.Session) *Writer {
	t := &Writer{w: w}
	title := s.Title
	if title == "" {
		title = s.Prompt
	}
	t.printf("# %s\n\nSession %s, %s\n", plain(title, 200), s.ID, s.Created.UTC().Format("2006-01-02 15:04 UTC"))
	return t
}

// Entry writes an entry, if it has something to read. It returns the first error of the
// writer.
func (t *Writer) Entry(e wire.Entry) error {
	if e.Damage != nil {
		t.section("Damage")
		t.printf("\n%s\n", plain(prose.Damage(*e.Damage), 300))
	}
	if e.Gap != "" {
		return t.err
	}
	l, ok := prose.ReadLine(e.Line)
	switch {
	case !ok || e.Out == "tombstoned":
	case l.Message != nil:
		t.message(l)
	case firn.Kind(l.Type) == firn.KindCompaction, firn.Kind(l.Type) == firn.KindBranchSummary:
		t.section("Summary")
		t.text(l.Summary)
	case firn.Kind(l.Type) == firn.KindCustomMessage && l.Display:
		t.section("Note")
		t.text((&prose.Message{Content: l.Content}).Text())
	}
	return t.err
}

// message writes a message. The answers of an agent and the results of its tools are one
// section.
func (t *Writer) message(l prose.Line) {
	m := l.Message
	switch m.Role {
	case "user":
		t.author = "" // each message has a heading
		t.section(heading(l.Author()))
	case "assistant":
		t.section(heading(l.Author()))
	case "toolResult":
		t.fence(m.Text())
		return
	case "bashExecution":
		t.section("Command")
		t.fence("$ " + m.Command + "\n" + m.Output)
		return
	default: // a system prompt is not part of the conversation
		return
	}
	for _, p := range m.Pieces() {
		switch p.Type {
		case "text":
			t.text(p.Text)
		case "toolCall":
			t.call(p.Name, p.Arguments)
		case "image":
			t.printf("\n[%s]\n", plain(p.MimeType, 40))
		}
	}
	if m.Error != "" {
		t.printf("\n(%s)\n", plain(m.Stop+": "+m.Error, 300))
	}
}

// heading returns an author as a heading.
func heading(author string) string {
	r := []rune(plain(author, 40))
	if len(r) == 0 {
		return "Message"
	}
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}

// section begins a section, unless it is that of the last entry.
func (t *Writer) section(author string) {
	if author == t.author {
		return
	}
	t.author = author
	t.printf("\n## %s\n", author)
}

// text writes Markdown as it was written.
func (t *Writer) text(text string) {
	if text = strings.TrimSpace(text); text != "" {
		t.printf("\n%s\n", mask.Text(prose.CleanLines(text)))
	}
}

// call writes a tool call on one line.
func (t *Writer) call(name string, arguments json.RawMessage) {
	given := strings.ReplaceAll(plain(string(arguments), callLength), "`", "'")
	t.printf("\n- **%s** `%s`\n", plain(name, 60), given)
}

// fence writes a text as a code block that its own backticks do not end.
func (t *Writer) fence(text string) {
	lines := prose.Lines(mask.Text(text))
	if len(lines) > resultLines {
		lines = append(lines[:resultLines:resultLines], fmt.Sprintf("… %d more lines", len(lines)-resultLines))
	}
	text = strings.Join(lines, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	t.printf("\n%s\n%s\n%s\n", mark, text, mark)
}

// plain returns a text on one line of at most n characters.
func plain(text string, n int) string { return prose.OneLine(mask.Text(text), n) }

func (t *Writer) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}
