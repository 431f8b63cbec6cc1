package digest

import "strings"

// UserText returns a user message without text inserted by programs: blocks like
// <environment>…</environment> at the beginning of a line, and the notice of a compaction.
func UserText(text string) string {
	if strings.HasPrefix(text, "The conversation history before this point was compacted") ||
		strings.HasPrefix(text, "The following is a summary of a branch that this conversation came back from") {
		return ""
	}
	if !strings.Contains(text, "<") {
		return strings.TrimSpace(text)
	}
	var b strings.Builder
	unclosed := make(map[string]bool)
	for text != "" {
		at := blockStart(text)
		b.WriteString(text[:at])
		text = text[at:]
		name := blockName(text)
		if len(unclosed) > 16 {
			b.WriteString(text) // searching for the end of each would be slow
			break
		}
		if name == "" || unclosed[name] {
			at = min(1, len(text))
			b.WriteString(text[:at])
			text = text[at:]
			continue
		}
		end := strings.Index(text, "</"+name+">")
		if end < 0 {
			unclosed[name] = true
			continue
		}
		text = text[end+len(name)+3:]
	}
	return strings.TrimSpace(b.String())
}

// blockStart returns the offset of the next "<" at the beginning of a line.
func blockStart(text string) int {
	if strings.HasPrefix(text, "<") {
		return 0
	}
	if i := strings.Index(text, "\n<"); i >= 0 {
		return i + 1
	}
	return len(text)
}

// injected are names of blocks inserted by programs, in addition to all names with a dash
// or an underscore.
var injected = nameSet("agents recall environment instructions memory memories notes summary context reminder skills files tools system now workspace speakers")

// blockName returns the name of the block at the beginning of text; empty if it is not one
// inserted by a program.
func blockName(text string) string {
	if text == "" || text[0] != '<' {
		return ""
	}
	n := 1
	for n < len(text) && n < 64 && nameByte(text[n]) {
		n++
	}
	name := text[1:n]
	if n == len(text) || text[n] != '>' && text[n] != ' ' {
		return ""
	}
	if injected[name] || strings.ContainsAny(name, "-_") {
		return name
	}
	return ""
}
