package mask

import (
	"html"
	"strings"
)

// HTML masks the secrets of a piece of HTML by what one reads there: a secret is
// found although a part of it is bold, or spelt otherwise in the source. Tags stay
// where they are, so what was well-formed still is; in the addresses of links,
// secrets are masked too.
//
// It is for HTML that was made by us: all that is text is escaped, and attributes
// stand in double quotes.
func HTML(text string) string {
	read, links := plain(text)
	found := find(read)
	if len(found) == 0 && !links {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	at, n := 0, 0 // in what is read, and in what is found
	for rest := text; rest != ""; {
		size, said := unit(rest)
		switch {
		case rest[0] == '<':
			b.WriteString(unlinked(rest[:size]))
		default:
			for n < len(found) && found[n].to <= at {
				n++
			}
			if n == len(found) || at < found[n].from {
				b.WriteString(rest[:size])
			} else if at == found[n].from {
				b.WriteString(Mark)
			}
		}
		at += len(said)
		rest = rest[size:]
	}
	return b.String()
}

// plain is what one reads of a piece of HTML, and whether there are links to look
// at.
func plain(text string) (read string, links bool) {
	var b strings.Builder
	b.Grow(len(text))
	for rest := text; rest != ""; {
		size, said := unit(rest)
		links = links || rest[0] == '<' && unlinked(rest[:size]) != rest[:size]
		b.WriteString(said)
		rest = rest[size:]
	}
	return b.String(), links
}

// inline are the tags within a word.
var inline = map[string]bool{"em": true, "strong": true, "del": true, "code": true, "span": true, "a": true}

// unit is how long the first tag, entity or character of a piece of HTML is, and
// what one reads of it. Where a block begins or ends, that is a new line.
func unit(rest string) (size int, said string) {
	switch rest[0] {
	case '<':
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return 1, "<"
		}
		name := strings.TrimPrefix(rest[1:end], "/")
		if at := strings.IndexByte(name, ' '); at >= 0 {
			name = name[:at]
		}
		if inline[name] {
			return end + 1, ""
		}
		return end + 1, "\n"
	case '&':
		if end := strings.IndexByte(rest[:min(len(rest), 12)], ';'); end > 0 {
			return end + 1, html.UnescapeString(rest[:end+1])
		}
	}
	return 1, rest[:1]
}

// unlinked is a tag without the secrets of the address it leads to.
func unlinked(tag string) string {
	const attribute = ` href="`
	at := strings.Index(tag, attribute)
	if at < 0 {
		return tag
	}
	at += len(attribute)
	size := strings.IndexByte(tag[at:], '"')
	if size < 0 {
		return tag
	}
	address := html.UnescapeString(tag[at : at+size])
	masked := Text(address)
	if masked == address {
		return tag
	}
	return tag[:at] + html.EscapeString(masked) + tag[at+size:]
}
