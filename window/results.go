package window

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"firn.dev"
)

const (
	// recentMessages is the number of latest messages whose results are kept.
	recentMessages = 6
	// smallResult is the number of characters up to which a result is always kept.
	smallResult = 200
	// resultGone replaces the content of a result that was left out.
	resultGone = "[firn] this old tool result was left out to make room; run the tool again if it is needed"
)

// BoundResults replaces the oldest tool results with a short notice until all results
// together have at most chars characters, as Cersei does. Results in the last six messages
// and results of up to 200 characters are kept, even if the total is then too large. With
// chars <= 0 nothing is changed. [Path.Out] lists the changed results as [Pruned]; they are
// still sent.
func (p Path) BoundResults(chars int) Path {
	if chars <= 0 {
		return p
	}
	d := draft{path: p}
	total := 0
	for i := range p.Entries {
		if r, ok := d.result(i); ok {
			total += resultSize(r)
		}
	}
	for i := range p.countOlder(recentMessages) {
		if total <= chars {
			break
		}
		r, ok := d.result(i)
		if size := resultSize(r); ok && size > smallResult {
			d.replace(i, resultGone)
			total -= size - units(resultGone)
		}
	}
	return d.done()
}

func resultSize(r firn.ToolResult) int { return chars(r.Content, imageChars) }

// countOlder returns the number of entries before the last messages that are sent.
func (p Path) countOlder(messages int) int {
	i := len(p.Entries)
	for ; i > 0 && messages > 0; i-- {
		if isSent(&p.Entries[i-1]) {
			messages--
		}
	}
	return i
}

// draft is a path in which tool results are replaced. The entries are copied at the first
// replacement.
type draft struct {
	path    Path
	entries []firn.Entry
}

// result returns the current tool result of an entry that consists of one.
func (d *draft) result(i int) (firn.ToolResult, bool) {
	entries := d.entries
	if entries == nil {
		entries = d.path.Entries
	}
	m, ok := entries[i].Body.(*firn.Message)
	if !ok || m.Role != firn.RoleToolResult || len(m.Parts) != 1 {
		return firn.ToolResult{}, false
	}
	r, ok := m.Parts[0].(firn.ToolResult)
	return r, ok
}

// replace replaces the content of a result with a text.
func (d *draft) replace(i int, text string) {
	r, _ := d.result(i)
	r.Content = []firn.Part{firn.Text{Text: text}}
	if d.entries == nil {
		d.entries = slices.Clone(d.path.Entries)
	}
	if m, ok := d.entries[i].Body.(*firn.Message); ok {
		changed := *m
		changed.Parts = []firn.Part{r}
		d.entries[i].Body = &changed
	}
}

// done returns the path with the replacements and lists them in Out.
func (d *draft) done() Path {
	if d.entries == nil {
		return d.path
	}
	var out []Omission
	oldest, run := -1, false
	for i := range d.entries {
		e := &d.entries[i]
		if e.Body != d.path.Entries[i].Body {
			if oldest < 0 {
				oldest = i
			}
			out = omitNext(out, &run, Pruned, e.ID)
		} else if run {
			run = !isSent(e)
		}
	}
	return d.path.changed(d.entries, out, oldest)
}

// isPlain reports whether there are no images.
func isPlain(content []firn.Part) bool {
	for _, part := range content {
		if _, ok := part.(firn.Image); ok {
			return false
		}
	}
	return true
}

// textOf joins the texts of a result; usually there is one.
func textOf(content []firn.Part) string {
	if len(content) == 1 {
		if t, ok := content[0].(firn.Text); ok {
			return t.Text
		}
	}
	return firn.JoinText(content)
}

// trimNote is OpenClaw's note below a shortened result.
func trimNote(head, tail, size int) string {
	return fmt.Sprintf("\n\n[Tool result trimmed: kept first %d chars and last %d chars of %d chars.]", head, tail, size)
}

// headUnits returns the longest prefix of at most n UTF-16 units.
func headUnits(s string, n int) string {
	i := 0
	for i < len(s) {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if n -= unitsOf(r); n < 0 {
			break
		}
		i += size
	}
	return s[:i]
}

// tailUnits returns the longest suffix of at most n UTF-16 units.
func tailUnits(s string, n int) string {
	i := len(s)
	for i > 0 {
		r, size := rune(s[i-1]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeLastRuneInString(s[:i])
		}
		if n -= unitsOf(r); n < 0 {
			break
		}
		i -= size
	}
	return s[i:]
}

// unitsOf returns the number of UTF-16 units of a rune.
func unitsOf(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}
