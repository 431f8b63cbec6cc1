package compact

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/find/digest"
	"firn.dev/window"
)

// sections are the parts of a summary besides its body, quoted verbatim from the
// conversation.
type sections struct {
	// ask is the user's first request, request the last one, if their messages are not
	// kept.
	ask, request string
	pins         []Pin
	// read and modified are the files that calls touched.
	read, modified []string
}

// The tags of the sections, in the order in which they follow the body. pi knows the last
// two.
const (
	tagGoal     = "first-request"
	tagRequest  = "latest-request"
	tagPinned   = "pinned"
	tagRead     = "read-files"
	tagModified = "modified-files"
)

// compose assembles a summary.
func (s sections) compose(body string, maxFiles int) string {
	var b strings.Builder
	b.WriteString(escapeTags(strings.TrimSpace(body)))
	section := func(tag, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n\n<%s>\n%s\n</%s>", tag, text, tag)
		}
	}
	section(tagGoal, escapeTags(s.ask))
	section(tagRequest, escapeTags(s.request))
	section(tagPinned, s.pinned())
	section(tagRead, listFiles(s.read, maxFiles))
	section(tagModified, listFiles(s.modified, maxFiles))
	return strings.TrimSpace(b.String())
}

// pinned formats the pins.
func (s sections) pinned() string {
	var texts []string
	for _, pin := range s.pins {
		if pin.Text != "" {
			texts = append(texts, fmt.Sprintf("[%s, entry %s]\n%s", pin.Role, pin.ID, escapeTags(pin.Text)))
		}
	}
	return strings.Join(texts, "\n\n")
}

// listFiles lists at most n files, one per line.
func listFiles(files []string, n int) string {
	if len(files) <= n {
		return escapeTags(strings.Join(files, "\n"))
	}
	return escapeTags(strings.Join(files[:n], "\n")) + fmt.Sprintf("\n(and %d more)", len(files)-n)
}

// sectionTag matches section tags in quoted text, and the end of the fence that a window
// puts around a summary.
var sectionTag = pattern.New(`(?i)<(\s*/\s*summary\s*>|\s*/?\s*(?:` +
	strings.Join([]string{tagGoal, tagRequest, tagPinned, tagRead, tagModified, tagConversation, tagPrevious, tagIdentity, tagHint}, "|") +
	`)\s*>)`)

// escapeTags prevents text from ending its section or fence, or from starting another. Text
// without such tags is unchanged.
func escapeTags(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	return sectionTag().ReplaceAllString(text, `<\$1`)
}

// bodyOf removes the sections from a summary. They are recorded in the details and added
// again each time.
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

// pinLabel is the label that pins an entry.
const pinLabel = "pin"

// pinned returns the pinned entries: those carried by the previous compaction, updated by
// the last label of each entry on the path. missing are those whose text is not in the live
// part.
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
		name, labeled := last[pin.ID]
		if (!labeled || name == pinLabel) && !p.Hides(pin.ID) && !have[pin.ID] {
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

// pinOf returns a pin with the text of an entry.
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

// allText joins all readable text of parts.
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

// The maximum lengths of quoted requests.
const (
	maxGoal    = 1000
	maxRequest = 4000
)

// firstAsk returns the user's first request. Empty messages, commands and messages inserted
// by programs do not count. The index is -1 if there is none.
func firstAsk(entries []firn.Entry) (at int, text string) {
	for i := range entries {
		if text := askOf(&entries[i]); text != "" {
			return i, text
		}
	}
	return -1, ""
}

// lastAsk returns the user's last request.
func lastAsk(entries []firn.Entry) (at int, text string) {
	for i := len(entries) - 1; i >= 0; i-- {
		if text := askOf(&entries[i]); text != "" {
			return i, text
		}
	}
	return -1, ""
}

// command matches a message that is a command to the program.
var command = pattern.New(`^/[a-z][\w-]*$`)

// askOf returns the request in a user message, or an empty string.
func askOf(e *firn.Entry) string {
	m, ok := e.Body.(*firn.Message)
	if !ok || m.Role != firn.RoleUser {
		return ""
	}
	text := strings.TrimSpace(digest.UserText(m.Text()))
	if command().MatchString(text) {
		return ""
	}
	return text
}

// cutChars cuts a text of more than n characters and marks the cut.
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
