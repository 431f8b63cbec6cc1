package codex

import (
	"iter"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// compaction writes a compaction: the summary and the kept entries become the new history.
// A compaction read from a rollout waits for the history entries that were read with it.
func (p *printer) compaction(dst []byte, e *firn.Entry, c *firn.Compaction) []byte {
	if details, err := readMembers(c.Details); err == nil && details.get("summary_at") != nil && lineOf(e.ID) != "" {
		return p.openGroup(dst, e, c.Summary, int(details.number("summary_at")))
	}
	var items [][]byte
	if c.FirstKept != "" && c.FirstKept != e.ID {
		p.to.ReportLoss(e, limitKept, false)
		for t := range p.written(c.FirstKept) {
			if t.Entry.ID == e.ID {
				break
			}
			items = append(items, p.itemsAgain(t)...)
		}
	}
	return p.compacted(dst, e, c.Summary, 0, items)
}

// openGroup starts collecting a history.
func (p *printer) openGroup(dst []byte, e *firn.Entry, summary string, at int) []byte {
	p.group = &group{name: lineOf(e.ID), entry: *e, summary: summary, at: at}
	if !strings.Contains(string(e.ID), ".") { // it has no history entries
		return p.closeGroup(dst)
	}
	return dst
}

// collect adds an entry to the history. The entry whose ID is the line's name completes it.
func (p *printer) collect(dst []byte, e *firn.Entry) []byte {
	p.group.items = append(p.group.items, p.items(e, p.to.ReportLoss)...)
	if string(e.ID) == p.group.name {
		return p.closeGroup(dst)
	}
	return dst
}

// closeGroup writes the collected history, if any.
func (p *printer) closeGroup(dst []byte) []byte {
	g := p.group
	if g == nil {
		return dst
	}
	p.group = nil
	return p.compacted(dst, &g.entry, g.summary, g.at, g.items)
}

// compacted writes the line that replaces all earlier history. The summary is inserted at
// index at; if at is negative, it is not part of the history.
func (p *printer) compacted(dst []byte, e *firn.Entry, summary string, at int, items [][]byte) []byte {
	if summary != "" && at >= 0 {
		text := summaryText(summary)
		if p.fromRollout(e) {
			text = summary
		}
		item := messageItem("user", []firn.Part{firn.Text{Text: text}}, nil)
		items = slices.Insert(slices.Clip(items), min(at, len(items)), item)
	}
	w := object{}
	w.text("message", summary)
	w.list("replacement_history", items)
	for _, f := range e.Extra {
		if p.fromRollout(e) && !strings.HasPrefix(f.Name, "codex.") {
			w.value(f.Name, f.Value)
		}
	}
	return p.line(dst, e.Time, "compacted", w.close())
}

// written yields the written entries from since on.
func (p *printer) written(since firn.EntryID) iter.Seq[dialect.EntryLines] {
	if p.to.Written == nil {
		return func(func(dialect.EntryLines) bool) {}
	}
	return p.to.Written(since)
}

// itemsAgain returns the items of an entry that was written before.
func (p *printer) itemsAgain(t dialect.EntryLines) [][]byte {
	if p.hidden[t.Entry.ID] || t.Entry.Body == nil {
		return nil
	}
	return p.items(&t.Entry, ignoreLoss)
}

// ignoreLoss ignores losses that were reported before.
func ignoreLoss(*firn.Entry, string, bool) {}

// tombstone hides an entry. A tombstone for another tombstone restores the entry that that
// one hid.
func (p *printer) tombstone(dst []byte, e *firn.Entry, t *firn.Tombstone) []byte {
	live := p.live()
	changed := t.Target
	if back, ok := p.taken[t.Target]; ok {
		changed = back
	}
	at := find(live, changed)
	if at < 0 || isCompaction(live[at].Entry) { // not sent anyway, or the earlier history is unreachable
		p.applyTombstone(e, t)
		p.to.ReportLoss(e, limitHiding, true)
		return dst
	}
	p.to.ReportLoss(e, limitHiding, false)
	from, turns := p.turnOf(live, at)
	p.applyTombstone(e, t)
	return p.rewrite(dst, e, live, from, turns)
}

// applyTombstone records the effect of a tombstone: it hides or restores its target.
func (p *printer) applyTombstone(e *firn.Entry, t *firn.Tombstone) {
	if back, ok := p.taken[t.Target]; ok {
		delete(p.taken, t.Target)
		delete(p.hidden, back)
		return
	}
	p.hidden[t.Target] = true
	p.taken[e.ID] = t.Target
}

// head moves back to an earlier entry, unless it is already the last one.
func (p *printer) head(dst []byte, e *firn.Entry, h *firn.Head) []byte {
	switch {
	case p.fromRollout(e) && h.Reason == replacedReason:
		return p.openGroup(dst, e, "", -1)
	case p.last == "" || e.Parent == p.last:
		return dst
	}
	live := p.live()
	at := find(live, e.Parent)
	if at < 0 {
		p.to.ReportLoss(e, limitBranches, true)
		return dst
	}
	if at == len(live)-1 {
		return dst
	}
	from, turns := p.turnOf(live, at+1)
	return p.rewrite(dst, e, live[:at+1], from, turns)
}

// live lists the entries that Codex would send, including hidden ones.
func (p *printer) live() (live []dialect.EntryLines) {
	for item := range p.written(p.since) {
		if item.Entry.Body != nil {
			live = append(live, item)
		}
	}
	return live
}

func find(live []dialect.EntryLines, id firn.EntryID) int {
	return slices.IndexFunc(live, func(t dialect.EntryLines) bool { return t.Entry.ID == id })
}

// turnOf finds the turn that an entry belongs to. It returns the index of the turn's first
// entry, including the context that Codex put before it, and the number of turns from there
// on. turns is 0 if a rollback cannot reach it: before the first turn, or before a replaced
// history.
func (p *printer) turnOf(live []dialect.EntryLines, at int) (from, turns int) {
	from = -1
	for i := at; i >= 0 && from < 0; i-- {
		if p.isTurn(live[i].Entry) {
			from = i
		}
	}
	if from < 0 || from <= find(live, p.floor) || slices.ContainsFunc(live[from:], func(t dialect.EntryLines) bool { return isCompaction(t.Entry) && !p.hidden[t.Entry.ID] }) {
		return 0, 0
	}
	for _, t := range live[from:] {
		if p.isTurn(t.Entry) {
			turns++
		}
	}
	first := !slices.ContainsFunc(live[:from], func(t dialect.EntryLines) bool { return p.isTurn(t.Entry) })
	for !first && from > 0 && isContextEntry(live[from-1].Entry) {
		from--
	}
	return from, turns
}

// rewrite writes the visible entries from index from again, after a rollback of turns. If
// turns is 0, it writes them as a new history.
func (p *printer) rewrite(dst []byte, e *firn.Entry, live []dialect.EntryLines, from, turns int) []byte {
	if turns > 0 {
		w := object{}
		w.text("type", "thread_rolled_back")
		w.number("num_turns", int64(turns))
		dst = p.line(dst, e.Time, "event_msg", w.close())
		for _, t := range live[min(from, len(live)):] {
			if !p.hidden[t.Entry.ID] {
				dst = p.reprint(dst, e, t.Entry)
			}
		}
		return dst
	}
	var items [][]byte
	summary := ""
	for _, t := range live {
		if c, ok := t.Entry.Body.(*firn.Compaction); ok && !p.hidden[t.Entry.ID] {
			summary = c.Summary
		}
		items = append(items, p.itemsAgain(t)...)
	}
	if len(live) > 0 {
		p.floor = live[len(live)-1].Entry.ID
	}
	return p.compacted(dst, &firn.Entry{Time: e.Time}, summary, 0, items)
}

// reprint writes an earlier entry again with the time of now, with the events that delimit
// turns and without usage.
func (p *printer) reprint(dst []byte, now *firn.Entry, e firn.Entry) []byte {
	e.Time = now.Time
	switch b := e.Body.(type) {
	case *firn.Message:
		m := *b
		m.Usage = nil
		e.Body = &m
	case *firn.BranchSummary, *firn.CustomMessage:
	default:
		return dst
	}
	own := p.own
	p.own, p.again = false, "."+string(now.ID) // the original events are not carried again
	dst = p.printMessage(dst, &e, ignoreLoss)
	p.own, p.again = own, ""
	return dst
}

func isCompaction(e firn.Entry) bool {
	_, ok := e.Body.(*firn.Compaction)
	return ok
}

// isTurn reports whether Codex counts an entry as the start of a turn.
func (p *printer) isTurn(e firn.Entry) bool {
	if p.hidden[e.ID] {
		return false
	}
	switch b := e.Body.(type) {
	case *firn.Message:
		return b.Role == firn.RoleUser && !isContext(b.Parts)
	case *firn.BranchSummary:
		return true
	case *firn.CustomMessage:
		return !isContextEntry(e)
	}
	return false
}

// isContextEntry reports whether an entry is context that Codex generated, or is not sent
// at all.
func isContextEntry(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.CustomMessage:
		switch b.Type {
		case dialect.LineType(dialect.Codex, kindContext), dialect.LineType(dialect.Codex, "developer"), dialect.LineType(dialect.Codex, "system"):
			return true
		}
		return isContext(b.Parts)
	case *firn.Message:
		return b.Role == firn.RoleShell || b.Role == firn.RoleSystem
	case *firn.BranchSummary, *firn.Compaction:
		return false
	}
	return true
}
