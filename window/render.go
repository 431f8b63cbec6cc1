package window

import (
	"fmt"
	"strconv"
	"strings"

	"firn"
)

// rendering turns the entries of a path into items, one for each message that
// is sent, with the parts as they were recorded.
type rendering struct {
	items   []Item
	system  []string
	out     []Omission
	repairs []Repair
	// ids backs the From of all items, so that they cost one allocation.
	ids []firn.EntryID
	// gone is the place on the path of the last message that is not sent.
	gone int
}

func renderPath(p Path) rendering {
	r := rendering{
		items: make([]Item, 0, len(p.Entries)+1),
		ids:   make([]firn.EntryID, 0, len(p.Entries)+1),
		gone:  -2,
	}
	if p.Compaction != nil {
		if c, ok := p.Compaction.Body.(*firn.Compaction); ok {
			r.user(*p.Compaction, -1, compactionText(r.fence(p.Compaction.ID, c.Summary)))
		}
	}
	for i := range p.Entries {
		r.entry(&p.Entries[i], i)
	}
	return r
}

// entry renders one entry. The kinds that are not named say nothing to a
// model; a compaction that counts was rendered first, others say nothing.
func (r *rendering) entry(e *firn.Entry, at int) {
	switch b := e.Body.(type) {
	case *firn.Message:
		r.message(e, b, at)
	case *firn.BranchSummary:
		if b.Summary != "" {
			r.user(*e, at, branchText(r.fence(e.ID, b.Summary)))
		}
	case *firn.CustomMessage:
		r.add(e.ID, at, firn.Message{Role: firn.RoleUser, Parts: b.Parts, Time: e.Time})
	}
}

func (r *rendering) message(e *firn.Entry, m *firn.Message, at int) {
	switch m.Role {
	case firn.RoleUser:
		r.add(e.ID, at, *m)
		r.items[len(r.items)-1].said = true
	case firn.RoleToolResult:
		r.add(e.ID, at, *m)
	case firn.RoleAssistant:
		if m.StopReason == firn.StopError || m.StopReason == firn.StopAborted {
			r.leaveOut(e.ID, at)
			return
		}
		r.add(e.ID, at, *m)
	case firn.RoleShell:
		r.shell(e, m, at)
	case firn.RoleSystem:
		r.system = append(r.system, m.Text())
	default:
		r.leaveOut(e.ID, at)
	}
}

// shell renders a command as what the user tells of it.
func (r *rendering) shell(e *firn.Entry, m *firn.Message, at int) {
	var parts []firn.Part
	for _, p := range m.Parts {
		if s, ok := p.(firn.Shell); !ok {
			parts = append(parts, p)
		} else if !s.Hidden {
			parts = append(parts, firn.Text{Text: shellText(s)})
		}
	}
	if len(parts) == 0 {
		r.leaveOut(e.ID, at)
		return
	}
	r.add(e.ID, at, firn.Message{Role: firn.RoleUser, Parts: parts, Time: m.Time})
}

func (r *rendering) user(e firn.Entry, at int, text string) {
	r.add(e.ID, at, firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}, Time: e.Time})
}

func (r *rendering) add(id firn.EntryID, at int, m firn.Message) {
	r.ids = append(r.ids, id)
	n := len(r.ids)
	r.items = append(r.items, Item{Message: m, From: r.ids[n-1 : n : n], at: at})
}

// leaveOut notes a message of the path that is not sent.
func (r *rendering) leaveOut(id firn.EntryID, at int) {
	if n := len(r.out); n > 0 && r.gone == at-1 {
		r.out[n-1].Last = id
		r.out[n-1].Count++
	} else {
		r.out = append(r.out, Omission{Why: Hidden, First: id, Last: id, Count: 1})
	}
	r.gone = at
}

// fence keeps a summary from ending its own fence, so that nothing it carries
// from a web page or a file can pass for what the user says.
func (r *rendering) fence(id firn.EntryID, summary string) string {
	const end, safe = "</summary>", "<\\/summary>"
	if !strings.Contains(summary, end) {
		return summary
	}
	r.repairs = append(r.repairs, Repair{Rule: "fence", Entry: id, What: "the summary holds the end of its own fence; written as " + safe})
	return strings.ReplaceAll(summary, end, safe)
}

// The texts around summaries are those of pi, so that a session carried over
// reads the same to a model.
func compactionText(summary string) string {
	return "The conversation history before this point was compacted into the following summary:\n\n<summary>\n" + summary + "\n</summary>"
}

func branchText(summary string) string {
	return "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n" + summary + "</summary>"
}

// shellText tells a model what the user ran and what came of it.
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
		b.WriteString("\n\n(the user cancelled the command)")
	case s.ExitCode != nil && *s.ExitCode != 0:
		b.WriteString("\n\nExit code: " + strconv.Itoa(*s.ExitCode))
	}
	if s.Truncated {
		b.WriteString("\n\n(the output is cut")
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
