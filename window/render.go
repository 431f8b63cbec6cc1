package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
)

// rendering converts the entries of a path to items, one per message that is sent, with the
// recorded parts.
type rendering struct {
	items   []Item
	system  []*firn.Message
	out     []Omission
	repairs []Repair
	// ids backs the From field of all items, to save allocations.
	ids []firn.EntryID
	// gone is the path index of the last message that is not sent.
	gone int
}

func renderPath(p Path, agent, owner string) rendering {
	r := rendering{
		items: make([]Item, 0, len(p.Entries)+1),
		ids:   make([]firn.EntryID, 0, len(p.Entries)+1),
		gone:  -2,
	}
	if m := summary(p); m != nil {
		r.fenced(p.Compaction)
		r.add(p.Compaction.ID, -1, m)
	}
	for i := range p.Entries {
		r.entry(&p.Entries[i], i, agent, owner)
		if len(p.Entries[i].Extra) > 0 {
			r.moveUnknownMessages(p.Entries, i)
		}
	}
	return r
}

// entry renders one entry. The compaction in effect was rendered first; others are skipped.
func (r *rendering) entry(e *firn.Entry, at int, agent, owner string) {
	m, ok := e.Body.(*firn.Message)
	switch {
	case isSent(e):
		r.fenced(e)
		r.add(e.ID, at, sent(e, agent, owner))
		r.items[len(r.items)-1].byUser = ok && m.Role == firn.RoleUser
	case ok && m.Role == firn.RoleSystem:
		r.system = append(r.system, m)
	case ok:
		r.leaveOut(e.ID, at)
	}
}

// IsSent reports whether any part of an entry is sent to a model.
func IsSent(e *firn.Entry) bool { return isSent(e) }

// isSent reports whether any part of an entry is sent to a model. Kinds that are not listed
// are never sent.
func isSent(e *firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.BranchSummary:
		return b.Summary != ""
	case *firn.CustomMessage:
		return true
	case *firn.Message:
		switch b.Role {
		case firn.RoleUser, firn.RoleToolResult:
			return true
		case firn.RoleAssistant:
			return b.StopReason != firn.StopError && b.StopReason != firn.StopAborted
		case firn.RoleShell:
			return slices.ContainsFunc(b.Parts, isShown)
		}
	}
	return false
}

// isShown reports whether a part of a shell message may be sent.
func isShown(part firn.Part) bool {
	s, ok := part.(firn.Shell)
	return !ok || !s.Hidden
}

// sent returns the message that an agent's model receives for an entry. The entry must
// satisfy isSent.
func sent(e *firn.Entry, agent, owner string) *firn.Message {
	switch b := e.Body.(type) {
	case *firn.BranchSummary:
		return asUser(e, branchText(fence(b.Summary)))
	case *firn.CustomMessage:
		return &firn.Message{Role: firn.RoleUser, Parts: b.Parts, Time: e.Time}
	case *firn.Message:
		if b.Role == firn.RoleShell {
			return shell(b)
		}
		return Named(e, agent, owner)
	}
	return &firn.Message{}
}

// summary returns the message for the compaction in effect, or nil if there is none.
func summary(p Path) *firn.Message {
	if p.Compaction == nil {
		return nil
	}
	c, ok := p.Compaction.Body.(*firn.Compaction)
	if !ok {
		return nil
	}
	return asUser(p.Compaction, compactionText(fence(c.Summary)))
}

// asUser returns a user message with a text about an entry.
func asUser(e *firn.Entry, text string) *firn.Message {
	return &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}, Time: e.Time}
}

// shell renders a shell command as a user message.
func shell(m *firn.Message) *firn.Message {
	var parts []firn.Part
	for _, p := range m.Parts {
		if s, ok := p.(firn.Shell); !ok {
			parts = append(parts, p)
		} else if !s.Hidden {
			parts = append(parts, firn.Text{Text: shellText(s)})
		}
	}
	return &firn.Message{Role: firn.RoleUser, Parts: parts, Time: m.Time}
}

func (r *rendering) add(id firn.EntryID, at int, m *firn.Message) {
	if r.join(id, m) {
		return
	}
	r.ids = append(r.ids, id)
	n := len(r.ids)
	r.items = append(r.items, Item{Message: *m, From: r.ids[n-1 : n : n], at: at})
}

// leaveOut records a message of the path that is not sent.
func (r *rendering) leaveOut(id firn.EntryID, at int) {
	if n := len(r.out); n > 0 && r.gone == at-1 {
		r.out[n-1].Last = id
		r.out[n-1].Count++
	} else {
		r.out = append(r.out, Omission{Why: Hidden, First: id, Last: id, Count: 1})
	}
	r.gone = at
}

// fence prevents a summary from ending its own fence, so that text from a web page or a
// file cannot pass for a user message.
func fence(summary string) string { return strings.ReplaceAll(summary, fenceEnd, fenceSafe) }

const fenceEnd, fenceSafe = "</summary>", "<\\/summary>"

// fenced records that fence changed a summary.
func (r *rendering) fenced(e *firn.Entry) {
	var text string
	switch b := e.Body.(type) {
	case *firn.Compaction:
		text = b.Summary
	case *firn.BranchSummary:
		text = b.Summary
	}
	if strings.Contains(text, fenceEnd) {
		r.repairs = append(r.repairs, Repair{Rule: "fence", Entry: e.ID, What: "the summary contains its own closing tag; written as " + fenceSafe})
	}
}

// The texts around summaries are those of pi, so that a model sees a converted session
// unchanged.
func compactionText(summary string) string {
	return "The conversation history before this point was compacted into the following summary:\n\n<summary>\n" + summary + "\n</summary>"
}

func branchText(summary string) string {
	return "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n" + summary + "</summary>"
}

// shellText describes a command that the user ran and its output to a model.
func shellText(s firn.Shell) string {
	var b strings.Builder
	b.WriteString("Ran `" + s.Command + "`\n")
	if s.Output == "" {
		b.WriteString("(no output)")
	} else {
		fence := fenceFor(s.Output)
		b.WriteString(fence + "\n" + s.Output + "\n" + fence)
	}
	switch {
	case s.Cancelled:
		b.WriteString("\n\n(the user canceled the command)")
	case s.ExitCode != nil && *s.ExitCode != 0:
		b.WriteString("\n\nExit code: " + strconv.Itoa(*s.ExitCode))
	}
	if s.Truncated {
		b.WriteString("\n\n(the output is truncated")
		if s.FullOutput != "" {
			fmt.Fprintf(&b, "; all of it is in %s", s.FullOutput)
		}
		b.WriteString(")")
	}
	return b.String()
}

// fenceFor returns a run of backticks longer than any in the text.
func fenceFor(text string) string {
	longest := 2
	for rest := text; ; {
		i := strings.Index(rest, "```")
		if i < 0 {
			return strings.Repeat("`", longest+1)
		}
		rest = rest[i:]
		n := len(rest) - len(strings.TrimLeft(rest, "`"))
		longest = max(longest, n)
		rest = rest[n:]
	}
}
