package window

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"firn.dev"
)

// cleanText makes all text valid UTF-8 without NUL. Changing signed text invalidates its
// signature, so the signature is removed too. Arguments and image data have rules of their
// own.
var cleanText = Rule{"clean-text", func(items []Item, p *Pass) []Item {
	clean := func(it *Item, part firn.Part) (firn.Part, verdict) {
		q, what := cleanPart(part)
		if what == "" {
			return part, keep
		}
		p.Note(it, "%s: invalid UTF-8 replaced", what)
		return q, change
	}
	return editAll(items, clean)
}}

// cleanPart returns a part with clean text and the name of its kind. The name is empty if
// the part was clean.
func cleanPart(part firn.Part) (cleaned firn.Part, what string) {
	switch b := part.(type) {
	case firn.Text:
		if scrub(&b.Text) || isUnclean(b.Signature) {
			b.Signature = ""
			return b, "text"
		}
	case firn.Image:
		if scrub(&b.MimeType) {
			return b, "image type"
		}
	case firn.Thinking:
		if scrub(&b.Text) || isUnclean(b.Signature) {
			b.Signature = ""
			return b, "thinking"
		}
	case firn.ToolCall:
		id, name := scrub(&b.ID), scrub(&b.Name)
		if isUnclean(b.Signature) {
			b.Signature = ""
			id = true
		}
		if id || name {
			return b, "tool call"
		}
	case firn.ToolResult:
		if id, name := scrub(&b.CallID), scrub(&b.Name); id || name {
			return b, "tool result"
		}
	}
	return nil, ""
}

// scrub cleans a text and reports whether that changed it.
func scrub(s *string) bool {
	clean, changed := firn.CleanText(*s)
	*s = clean
	return changed
}

func isUnclean(s string) bool { return !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 }

// blank reports whether a text has no visible characters.
func blank(s string) bool {
	for _, r := range s { // usually ends at the first rune
		if !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}

// noOutput replaces the empty output of a tool.
const noOutput = "(no output)"

// noEmptyText removes empty text, which several APIs reject, and puts a notice into tool
// results that become empty.
var noEmptyText = Rule{"no-empty-text", func(items []Item, p *Pass) []Item {
	fill := func(it *Item, part firn.Part) (firn.Part, verdict) {
		switch b := part.(type) {
		case firn.Text:
			if blank(b.Text) {
				p.Note(it, "empty text left out")
				return nil, drop
			}
		case firn.ToolResult:
			if len(b.Content) == 0 {
				p.Note(it, "empty result of call %s filled with %q", b.CallID, noOutput)
				b.Content = []firn.Part{firn.Text{Text: noOutput}}
				return b, change
			}
		}
		return part, keep
	}
	return editAll(items, fill)
}}

// noEmptyMessage leaves out messages that have no parts.
var noEmptyMessage = Rule{"no-empty-message", func(items []Item, p *Pass) []Item {
	full := items[:0]
	for i := range items {
		if len(items[i].Message.Parts) == 0 {
			p.Note(&items[i], "empty %s message left out", items[i].Message.Role)
			continue
		}
		full = append(full, items[i])
	}
	return full
}}
