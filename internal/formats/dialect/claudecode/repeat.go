package claudecode

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Repeat records lines that are already in the file. An entry may carry lines of other
// entries, where Claude Code wrote them in another order than it reads them; the entry's ID
// identifies its own line.
func (p *printer) Repeat(e firn.Entry, lines [][]byte) {
	for _, data := range lines {
		p.since += len(data) + 1
		l, err := readLine(data)
		if err != nil {
			continue
		}
		p.observeLine(&l)
	}
	switch b := e.Body.(type) {
	case *firn.Header:
		if p.cwd == "" {
			p.cwd = b.CWD
		}
		return
	case *firn.Tombstone:
		p.readHiding(e, b, lines)
	case *firn.Title:
		p.setTitle(b)
	case *firn.Message:
		p.observeMessage(e, b, lines)
		return
	case *firn.Compaction, *firn.CustomMessage, *firn.BranchSummary:
		p.bindExisting(e, baseUUID(string(e.ID)))
		return
	}
	p.followParent(e)
	p.links[e.ID].id = e.ID
	if uuid := p.linkIn(e, lines); uuid != "" {
		p.links[e.ID].uuid = uuid
		p.end = uuid
	}
}

// observeLine records the facts about a line in the file.
func (p *printer) observeLine(l *line) {
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
		p.noteRecord(l)
	}
}

// observeMessage records a message in the file and its calls.
func (p *printer) observeMessage(e firn.Entry, m *firn.Message, lines [][]byte) {
	before := p.recordAbove(e.Parent)
	uuid := baseUUID(string(e.ID))
	if m.Role == firn.RoleAssistant {
		uuid = lastPiece(uuid, textField(m.Extra, dialect.ResponseID), lines)
	}
	p.bindExisting(e, uuid)
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
	for _, id := range p.waiting[before] { // of parts of the same response
		if p.open[id] {
			open = append(open, id)
		}
	}
	if len(open) > 0 {
		p.waiting[uuid] = open
	}
}

// bindExisting records that a record in the file represents an entry.
func (p *printer) bindExisting(e firn.Entry, uuid string) {
	p.bindRecord(uuid, e)
	p.links[e.ID].id = e.ID
}

// lastPiece returns the uuid of the last line of a merged response.
func lastPiece(uuid, answer string, lines [][]byte) string {
	for _, data := range lines {
		l, err := readLine(data)
		if err == nil && l.kind == "assistant" && l.uuid != "" && answer != "" && textOf(l.message, "id") == answer {
			uuid = l.uuid
		}
	}
	return uuid
}

// linkIn returns the uuid of a carried line from which the chain can continue: attachments,
// system notes, and copies and results that firn wrote, which all versions accept. For a
// last-prompt line it is the named leaf.
func (p *printer) linkIn(e firn.Entry, lines [][]byte) string {
	c, ok := e.Body.(*firn.Custom)
	if !ok || c.Type == dialect.LineType(dialect.ClaudeCode, "sidechain") {
		return ""
	}
	for _, data := range lines {
		l, err := readLine(data)
		if err == nil && l.uuid != "" && l.uuid == baseUUID(string(e.ID)) && l.chained() && l.kind != "progress" && l.subtype != "compact_boundary" {
			return l.uuid
		}
		if f := p.facts[l.leaf]; err == nil && l.kind == "last-prompt" && f != nil && !f.followed {
			return l.leaf
		}
	}
	return ""
}

// baseUUID returns the uuid from which an entry's ID was derived.
func baseUUID(id string) string {
	for _, mark := range []string{".", "~"} {
		if i := strings.LastIndex(id, mark); i > 0 && i+1 < len(id) && strings.Trim(id[i+1:], "0123456789") == "" {
			id = id[:i]
		}
	}
	return id
}
