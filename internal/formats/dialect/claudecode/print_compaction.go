package claudecode

import (
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// compaction writes the boundary and the summary of a compaction, followed by copies of the
// messages that it keeps, which all versions understand. If the messages cannot be read
// again, the boundary refers to them, which versions since 2.1 understand.
func (p *printer) compaction(dst []byte, e firn.Entry, c *firn.Compaction) []byte {
	logical := p.recordAbove(e.Parent)
	uuid := string(p.uuid(e.ID))
	boundary := dialect.UUID(p.scope, "boundary "+uuid)
	kept := p.kept(e, c)
	var segment []byte
	if kept != "" && !p.canRepeat(e, c) {
		p.to.ReportLoss(&e, limitKept, false)
		segment = object(text("headUuid", kept), text("anchorUuid", uuid), text("tailUuid", logical))
	}
	dst = p.record(dst, record{
		kind: "system", subtype: "compact_boundary", content: "Conversation compacted", logical: logical, uuid: boundary, at: p.stamp(e.Time), compact: metadata(c, kept, segment),
	})
	summary := c.Summary
	if !strings.HasPrefix(summary, "This session is being continued") {
		summary = preamble + summary
	}
	dst = p.record(dst, record{
		kind: "user", parent: boundary, uuid: uuid, at: p.stamp(e.Time), summary: true, message: userJSON([]firn.Part{firn.Text{Text: summary}}),
	})
	p.bindRecord(uuid, e)
	if kept == "" || segment != nil {
		return dst
	}
	return p.repeat(dst, e, c, logical)
}

// kept returns the uuid of the first record that a compaction keeps, "" if it keeps none.
func (p *printer) kept(e firn.Entry, c *firn.Compaction) string {
	l := p.links[c.FirstKept]
	if l == nil || c.FirstKept == e.ID {
		return ""
	}
	return l.from
}

// metadata returns the compactMetadata of the boundary.
func metadata(c *firn.Compaction, kept string, segment []byte) []byte {
	return object(
		text("trigger", "auto"), raw("preTokens", strconv.AppendInt(nil, c.TokensBefore, 10)), raw("preservedSegment", segment),
		raw("firn", object(text("firstKept", kept), raw("details", c.Details), flag("fromHook", c.FromHook))),
	)
}

// canRepeat reports whether the messages that a compaction keeps can be written again.
func (p *printer) canRepeat(e firn.Entry, c *firn.Compaction) bool {
	if p.to.Written == nil || p.copying != nil {
		return false
	}
	for t := range p.to.Written(c.FirstKept) {
		return t.Entry.ID != e.ID
	}
	return false
}

// repeat writes copies of the messages that a compaction keeps under new uuids.
func (p *printer) repeat(dst []byte, e firn.Entry, c *firn.Compaction, before string) []byte {
	to := p.to
	to.OnLoss, to.Written = nil, nil
	again := newPrinter(to)
	again.cwd, again.branch, again.side, again.agent = p.cwd, p.branch, p.side, p.agent
	again.scope = p.scope + " " + string(e.ID)
	again.copying = make(map[firn.EntryID]string)
	again.end, again.last = p.end, p.last
	for t := range p.to.Written(c.FirstKept) {
		l := p.links[t.Entry.ID]
		if t.Entry.ID == e.ID || l == nil || !l.own {
			continue
		}
		switch t.Entry.Body.(type) {
		case *firn.Message, *firn.CustomMessage, *firn.BranchSummary:
			again.copying[t.Entry.ID] = l.uuid
			dst = again.print(dst, dialect.Uncarried(t.Entry))
		}
	}
	dst = again.flush(dst)
	p.last, p.end = again.last, again.end
	p.links[e.ID].uuid = again.end
	if open := p.waiting[before]; len(open) > 0 {
		p.waiting[again.end] = open
	}
	return dst
}
