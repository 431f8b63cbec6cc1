package doctor

import (
	"fmt"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/render/prose"
)

// conclude adds the findings that require the whole transcript.
func (e *exam) conclude() {
	e.addTally(e.crlf, CRLF, Warn, "%s with a carriage return and a newline", "line ends", "lines end")
	if !e.native() {
		return
	}
	e.addTally(e.erased, Erased, Info, "%s purged", "entry was", "entries were")
	e.concludeIDs()
	if e.bytes == 0 && !e.failed {
		e.add(Finding{Severity: Info, Kind: Empty, File: e.w.relative(e.base), Message: "the file is empty: its first append failed, and nothing was acknowledged"})
	}
	if e.records == 0 && e.bytes > 0 {
		e.add(Finding{Severity: Fault, Kind: NoHeader, File: e.w.relative(e.base), Message: "the transcript has no readable entries"})
	}
	if len(e.dangling) > 0 || e.twice {
		e.concludeLinks(newLinks(&e.tree))
	}
	e.concludeChain()
	e.concludeHead()
}

// addTally adds a finding for a tally.
func (e *exam) addTally(t tally, kind Kind, severity Severity, format, one, many string) {
	if t.count == 0 {
		return
	}
	message := fmt.Sprintf(format, "1 "+one)
	if t.count > 1 {
		message = fmt.Sprintf(format, prose.Grouped(int64(t.count))+" "+many) + "; this is the first"
	}
	e.add(Finding{Severity: severity, Kind: kind, File: t.file, At: &t.first, Message: message})
}

// concludeIDs adds findings for entries without an ID. Version 1 of pi's format had none.
func (e *exam) concludeIDs() {
	if e.header != nil && e.header.Version < 2 {
		e.addTally(e.noID, NoID, Info, "%s no id, as in all files of version 1: they are read in file order, outside the tree", "entry has", "entries have")
		return
	}
	e.addTally(e.noID, NoID, Warn, "%s no id, so no place in the tree", "entry has", "entries have")
}

// concludeLinks adds findings for parents that are missing, are later in the file, or form
// a cycle.
func (e *exam) concludeLinks(l *links) {
	for _, n := range e.dangling {
		switch up := l.up[n]; {
		case up == lost:
			e.addNode(n, Finding{
				Severity: Fault, Kind: Dangling, Hint: e.repairHint(),
				Message: fmt.Sprintf("its parent %s is not in the file; firn takes the entry before it as its parent, other programs lose everything before it", e.tree.Node(n).Parent),
			})
		case l.fate[n] == inCircle: // reported with its cycle
		case up >= 0 && e.standIns[up]:
			e.addNode(n, Finding{
				Severity: Info, Kind: Dangling, Repaired: true,
				Message: fmt.Sprintf("its parent %s was lost; line %d is its placeholder", e.tree.Node(n).Parent, e.lines[up]),
			})
		default:
			e.addNode(n, Finding{
				Severity: Fault, Kind: ParentAfter,
				Message: fmt.Sprintf("its parent %s is after it, in line %d; firn takes the entry before it as its parent", e.tree.Node(n).Parent, e.lines[up]),
			})
		}
	}
	e.concludeCycles(l)
}

// concludeCycles adds one finding per cycle, at its first entry.
func (e *exam) concludeCycles(l *links) {
	var visited map[int]bool
	reported := make(map[int]bool)
	for n := range l.fate {
		if l.fate[n] != inCircle || reported[n] {
			continue
		}
		if visited == nil {
			visited = l.reaches(e.tree.Head())
		}
		cycle := l.circle(n)
		f := Finding{Severity: Fault, Kind: Cycle, Hint: e.repairHint()}
		f.Message = fmt.Sprintf("its parents form a cycle of %s; firn uses file order, programs that follow parents loop forever", plural(len(cycle), "step"))
		if !visited[cycle[0]] {
			f.Severity, f.Hint = Warn, ""
			f.Message = "its parents form a cycle; the head is on another branch, so readers do not reach it"
		}
		for _, m := range cycle {
			reported[m] = true
		}
		e.addNode(cycle[0], f)
	}
}

// addNode adds a finding about an entry of the tree.
func (e *exam) addNode(n int, f Finding) {
	node := e.tree.Node(n)
	part, offset := journal.Split(node.At)
	f.File = e.w.relative(journal.PartPath(e.base, part))
	f.At = &Place{Line: int(e.lines[n]), Offset: offset}
	f.Entry = node.ID
	e.add(f)
}

// concludeHead adds a finding if the session ends with unanswered tool calls.
func (e *exam) concludeHead() {
	answered := make(map[string]bool)
	for n := e.tree.Head(); n >= 0; n = e.tree.Node(n).ParentIndex {
		if e.tree.Node(n).Kind != firn.KindMessage {
			continue
		}
		message, ok := e.message(n)
		if !ok || message.Role != firn.RoleToolResult && message.Role != firn.RoleAssistant {
			return
		}
		var open []string
		for _, p := range message.Parts {
			switch p := p.(type) {
			case firn.ToolResult:
				answered[p.CallID] = true
			case firn.ToolCall:
				if !answered[p.ID] {
					open = append(open, p.Name)
				}
			}
		}
		if message.Role == firn.RoleAssistant {
			e.addOpenCalls(n, open)
			return
		}
	}
}

func (e *exam) addOpenCalls(n int, open []string) {
	if len(open) == 0 {
		return
	}
	e.addNode(n, Finding{
		Severity: Info, Kind: Interrupted,
		Message: fmt.Sprintf("the session ends within a turn: %s (%s) without a result; the model sees it as interrupted", plural(len(open), "tool call"), open[0]),
	})
}

// message reads the message of a node again.
func (e *exam) message(n int) (*firn.Message, bool) {
	node := e.tree.Node(n)
	for line, err := range e.source().Lines(node.At) {
		if err != nil {
			return nil, false
		}
		for _, r := range e.reader.read(line).entries {
			if r.glance.ID == node.ID {
				m, ok := r.entry.Body.(*firn.Message)
				return m, ok
			}
		}
		break
	}
	return nil, false
}
