package claudecode

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Repeat tells the printer what stands in the file already. Lines may stand
// beside another entry than their own, where Claude Code wrote them in another
// order than it reads them in: what an entry is called tells which is its own.
func (p *printer) Repeat(e firn.Entry, lines [][]byte) {
	for _, data := range lines {
		p.since += len(data) + 1
		l, err := readLine(data)
		if err != nil {
			continue
		}
		p.meet(&l)
	}
	switch b := e.Body.(type) {
	case *firn.Header:
		if p.cwd == "" {
			p.cwd = b.CWD
		}
		return
	case *firn.Tombstone:
		p.remember(e, b, lines)
	case *firn.Title:
		p.entitle(b)
	case *firn.Message:
		p.met(e, b, lines)
		return
	case *firn.Compaction, *firn.CustomMessage, *firn.BranchSummary:
		p.own(e, base(string(e.ID)))
		return
	}
	p.follow(e)
	p.links[e.ID].id = e.ID
	if uuid := p.linkIn(e, lines); uuid != "" {
		p.links[e.ID].uuid = uuid
		p.end = uuid
	}
}

// meet notes what a line tells of the file.
func (p *printer) meet(l *line) {
	if l.at.After(p.last) {
		p.last = l.at
	}
	switch {
	case l.kind == "custom-title", l.kind == "ai-title" && p.title.Source == firn.SourceAuto:
		p.since = 0
	case l.kind == "last-prompt":
		p.pointed, p.led = l.leaf, ""
	case l.chained() && l.uuid != "":
		p.branch = orElse(l.branch, p.branch)
		if l.kind != "progress" && l.sidechain {
			p.side, p.agent = true, orElse(l.agent, p.agent)
		}
		p.learn(l)
	}
}

// met notes a message that is in the file, and its calls.
func (p *printer) met(e firn.Entry, m *firn.Message, lines [][]byte) {
	before := p.above(e.Parent)
	uuid := base(string(e.ID))
	if m.Role == firn.RoleAssistant {
		uuid = lastPiece(uuid, textField(m.Extra, dialect.ResponseID), lines)
	}
	p.own(e, uuid)
	if id, ok := callOf(m); ok && m.Role == firn.RoleToolResult {
		delete(p.open, id)
	}
	if m.Role == firn.RoleAssistant && failed(m) {
		return
	}
	open := callIDs(m.Parts)
	for _, id := range open {
		p.open[id] = true
	}
	for _, id := range p.waiting[before] { // of pieces of the same answer
		if p.open[id] {
			open = append(open, id)
		}
	}
	if len(open) > 0 {
		p.waiting[uuid] = open
	}
}

// own notes that a record in the file says an entry.
func (p *printer) own(e firn.Entry, uuid string) {
	p.say(uuid, e)
	p.links[e.ID].id = e.ID
}

// lastPiece is the uuid of the last line of an answer that was put together.
func lastPiece(uuid, answer string, lines [][]byte) string {
	for _, data := range lines {
		l, err := readLine(data)
		if err == nil && l.kind == "assistant" && l.uuid != "" && answer != "" && textOf(l.message, "id") == answer {
			uuid = l.uuid
		}
	}
	return uuid
}

// linkIn is the uuid of the line that an entry carries if the chain can go on
// from it: all versions know attachments and notes of the system there, and
// copies and results that firn wrote. A line that names a leaf goes on from that.
func (p *printer) linkIn(e firn.Entry, lines [][]byte) string {
	c, ok := e.Body.(*firn.Custom)
	if !ok || c.Type == dialect.LineType(dialect.ClaudeCode, "sidechain") {
		return ""
	}
	for _, data := range lines {
		l, err := readLine(data)
		if err == nil && l.uuid != "" && l.uuid == base(string(e.ID)) && l.chained() && l.kind != "progress" && l.subtype != "compact_boundary" {
			return l.uuid
		}
		if f := p.facts[l.leaf]; err == nil && l.kind == "last-prompt" && f != nil && !f.followed {
			return l.leaf
		}
	}
	return ""
}

// base is the uuid that an entry's id was made from.
func base(id string) string {
	for _, mark := range []string{".", "~"} {
		if i := strings.LastIndex(id, mark); i > 0 && i+1 < len(id) && strings.Trim(id[i+1:], "0123456789") == "" {
			id = id[:i]
		}
	}
	return id
}
