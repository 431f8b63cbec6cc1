package compact

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/find/digest"
	"firn.dev/window"
)

// sections are what a summary says besides its body, word for word and not in
// the words of whoever summarised.
type sections struct {
	// ask is what the user asked for first, request what they asked for last,
	// where the messages that say so are not kept.
	ask, request string
	pins         []Pin
	// read and modified are files, most of them for all that shall be told.
	read, modified []string
}

// The tags of the sections, in the order they stand behind the body. pi knows
// the last two.
const (
	tagGoal     = "first-request"
	tagRequest  = "latest-request"
	tagPinned   = "pinned"
	tagRead     = "read-files"
	tagModified = "modified-files"
)

// compose puts a summary together.
func (s sections) compose(body string, maxFiles int) string {
	var b strings.Builder
	b.WriteString(guard(strings.TrimSpace(body)))
	section := func(tag, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n\n<%s>\n%s\n</%s>", tag, text, tag)
		}
	}
	section(tagGoal, guard(s.ask))
	section(tagRequest, guard(s.request))
	section(tagPinned, s.pinned())
	section(tagRead, listFiles(s.read, maxFiles))
	section(tagModified, listFiles(s.modified, maxFiles))
	return strings.TrimSpace(b.String())
}

// pinned spells the pins.
func (s sections) pinned() string {
	var texts []string
	for _, pin := range s.pins {
		if pin.Text != "" {
			texts = append(texts, fmt.Sprintf("[%s, entry %s]\n%s", pin.Role, pin.ID, guard(pin.Text)))
		}
	}
	return strings.Join(texts, "\n\n")
}

// listFiles names at most n files, one on each line.
func listFiles(files []string, n int) string {
	if len(files) <= n {
		return guard(strings.Join(files, "\n"))
	}
	return guard(strings.Join(files[:n], "\n")) + fmt.Sprintf("\n(and %d more)", len(files)-n)
}

// sectionTag finds tags of ours in text that others wrote, and the end of the
// fence that a window puts around a summary.
var sectionTag = pattern.New(`(?i)<(\s*/\s*summary\s*>|\s*/?\s*(?:` +
	strings.Join([]string{tagGoal, tagRequest, tagPinned, tagRead, tagModified, tagConversation, tagPrevious, tagIdentity, tagHint}, "|") +
	`)\s*>)`)

// guard keeps text from ending the section or the fence it stands in, or
// beginning another. Text without such tags stays as it is, to the byte.
func guard(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	return sectionTag.ReplaceAllString(text, `<\$1`)
}

// bodyOf takes the sections off a summary. They are remembered in details, and
// put back each time.
func bodyOf(summary string) string {
	summary = strings.TrimSpace(summary)
	for {
		cut := false
		for _, tag := range [...]string{tagModified, tagRead, tagPinned, tagRequest, tagGoal} {
			if !strings.HasSuffix(summary, "</"+tag+">") {
				continue
			}
			if at := strings.LastIndex(summary, "<"+tag+">\n"); at >= 0 {
				summary, cut = strings.TrimSpace(summary[:at]), true
			}
		}
		if !cut {
			return summary
		}
	}
}

// pinLabel is the name of the label that pins an entry.
const pinLabel = "pin"

// pinned decides what is pinned: what the previous compaction carried and what
// labels on the path say since, the last one for each entry. missing are those
// whose text is not at hand.
func pinned(p window.Path, plan Plan, carried []Pin) (pins []Pin, missing []firn.EntryID) {
	last := make(map[firn.EntryID]string)
	var targets []firn.EntryID
	for i := range p.Entries {
		if l, ok := p.Entries[i].Body.(*firn.Label); ok {
			if _, again := last[l.Target]; !again {
				targets = append(targets, l.Target)
			}
			last[l.Target] = l.Name
		}
	}
	have := make(map[firn.EntryID]bool)
	for _, pin := range carried {
		name, labelled := last[pin.ID]
		if (!labelled || name == pinLabel) && !p.Hides(pin.ID) && !have[pin.ID] {
			have[pin.ID] = true
			pins = append(pins, pin)
		}
	}
	gone, kept := byID(plan.Summarize, plan.Prefix), byID(plan.Kept)
	for _, target := range targets {
		if last[target] != pinLabel || have[target] || kept[target] != nil || p.Hides(target) {
			continue
		}
		if e := gone[target]; e != nil {
			pins = append(pins, pinOf(e))
		} else {
			pins = append(pins, Pin{ID: target})
			missing = append(missing, target)
		}
	}
	return pins, missing
}

func byID(ranges ...[]firn.Entry) map[firn.EntryID]*firn.Entry {
	found := make(map[firn.EntryID]*firn.Entry)
	for _, entries := range ranges {
		for i := range entries {
			found[entries[i].ID] = &entries[i]
		}
	}
	return found
}

// pinOf takes the text of an entry.
func pinOf(e *firn.Entry) Pin {
	pin := Pin{ID: e.ID, Role: firn.RoleUser}
	switch b := e.Body.(type) {
	case *firn.Message:
		pin.Role, pin.Text = b.Role, allText(b.Parts)
	case *firn.CustomMessage:
		pin.Text = allText(b.Parts)
	case *firn.BranchSummary:
		pin.Text = b.Summary
	case *firn.Compaction:
		pin.Text = bodyOf(b.Summary)
	}
	return pin
}

// allText joins all that is readable in parts.
func allText(parts []firn.Part) string {
	var texts []string
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Text:
			texts = append(texts, p.Text)
		case firn.ToolResult:
			texts = append(texts, allText(p.Content))
		case firn.ToolCall:
			texts = append(texts, p.Name+" "+string(p.Arguments))
		case firn.Shell:
			if !p.Hidden {
				texts = append(texts, "$ "+p.Command, p.Output)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// The lengths to which what was asked for is cut.
const (
	maxGoal    = 1000
	maxRequest = 4000
)

// firstAsk is what the user asked for first: not an empty message, a command
// to the program, or something that a program put there. It is -1 without one.
func firstAsk(entries []firn.Entry) (at int, text string) {
	for i := range entries {
		if text := askOf(&entries[i]); text != "" {
			return i, text
		}
	}
	return -1, ""
}

// lastAsk is what the user asked for last.
func lastAsk(entries []firn.Entry) (at int, text string) {
	for i := len(entries) - 1; i >= 0; i-- {
		if text := askOf(&entries[i]); text != "" {
			return i, text
		}
	}
	return -1, ""
}

// command is a message that was meant for the program.
var command = pattern.New(`^/[a-z][\w-]*$`)

// askOf is what a message of the user asks for, empty if nothing.
func askOf(e *firn.Entry) string {
	m, ok := e.Body.(*firn.Message)
	if !ok || m.Role != firn.RoleUser {
		return ""
	}
	text := strings.TrimSpace(digest.Genuine(m.Text()))
	if command.MatchString(text) {
		return ""
	}
	return text
}

// cutChars cuts a text that has more than n characters, and says so.
func cutChars(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i] + "…"
		}
		n--
	}
	return text
}
