package richtext

import (
	"html"
	"slices"
	"strings"
)

// checked returns HTML of the renderer with uniform escapes. It reports false if the HTML
// has anything but the elements and attributes that the renderer produces. It is a second
// line of defense: every tag must be written exactly as the renderer writes tags, so nothing
// that a browser could read in another way passes.
func checked(text string) (string, bool) {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	var open []string
	for text != "" {
		before, rest, found := strings.Cut(text, "<")
		b.WriteString(escapedAgain(before))
		if !found {
			break
		}
		tag, after, closed := strings.Cut(rest, ">")
		if !closed || !writeTag(&b, tag) || !nests(&open, tag) {
			return "", false
		}
		text = after
	}
	return b.String(), len(open) == 0
}

// nests adds a start tag to the open elements, or removes the element that an end tag ends. It
// reports false if that is not the last one.
func nests(open *[]string, tag string) bool {
	n := len(*open)
	if name, end := strings.CutPrefix(tag, "/"); end {
		if n == 0 || (*open)[n-1] != name {
			return false
		}
		*open = (*open)[:n-1]
		return true
	}
	if name, _, _ := strings.Cut(tag, " "); name != "br" && name != "hr" {
		*open = append(*open, name)
	}
	return true
}

// escapedAgain returns escaped text with the same escapes for the same characters.
func escapedAgain(text string) string {
	if !strings.ContainsAny(text, "&>'\"\r") {
		return text
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return html.EscapeString(html.UnescapeString(text))
}

// writeTag writes a tag, given without its angle brackets. It reports false if the tag is
// not allowed.
func writeTag(b *strings.Builder, tag string) bool {
	if name, end := strings.CutPrefix(tag, "/"); end {
		b.WriteString("</" + name + ">")
		return allowedElement(name)
	}
	name, attributes, spaced := strings.Cut(tag, " ")
	if !allowedElement(name) || spaced && attributes == "" {
		return false
	}
	b.WriteString("<" + name)
	var keys []string
	for attributes != "" {
		key, rest, ok := strings.Cut(attributes, `="`)
		value, rest, closed := strings.Cut(rest, `"`)
		value = html.UnescapeString(value)
		if !ok || !closed || rest == " " || rest != "" && rest[0] != ' ' || slices.Contains(keys, key) || !allowedAttribute(name, key, value) {
			return false
		}
		keys = append(keys, key)
		b.WriteString(" " + key + `="` + html.EscapeString(value) + `"`)
		attributes = strings.TrimPrefix(rest, " ")
	}
	b.WriteString(">")
	// A link must not give its target access to the page, nor send a referrer.
	return !slices.Contains(keys, "href") || slices.Contains(keys, "target") && slices.Contains(keys, "rel")
}

// allowedElement reports whether the renderer produces an element.
func allowedElement(name string) bool {
	switch name {
	case "p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "em", "strong", "del",
		"table", "thead", "tbody", "tr", "th", "td", "kbd", "sub", "sup", "pre", "code", "span", "a":
		return true
	}
	return false
}

// allowedAttribute reports whether the renderer produces an attribute of an allowed element.
func allowedAttribute(element, key, value string) bool {
	switch element + " " + key {
	case "span class":
		return len(value) == 2 && value[0] == 'h' && value[1] >= 'a' && value[1] <= 'z'
	case "code class":
		name, named := strings.CutPrefix(value, "language-")
		return value == "math" || value == "math display" || named && languageName().MatchString(name)
	case "pre class":
		return value == "code" || value == "plain"
	case "a class":
		return value == "image"
	case "p class":
		return value == "note"
	case "sup class":
		return value == "note-ref" || value == "note-label"
	case "ol start":
		return len(value) > 0 && len(value) <= 9 && strings.Trim(value, "0123456789") == ""
	case "th align", "td align":
		return value == "left" || value == "right" || value == "center"
	case "a href":
		return safeAddress(value) == value
	case "a target":
		return value == "_blank"
	case "a rel":
		return value == "noopener noreferrer nofollow"
	}
	return false
}
