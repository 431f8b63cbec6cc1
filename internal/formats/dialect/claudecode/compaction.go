package claudecode

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// preamble introduces a summary that firn wrote to the model. Claude Code writes its own
// preamble.
const preamble = "This session is being continued from a previous conversation that ran out of context. What was said before is summarized below.\n\n"

// boundary is the first of the two lines of a compaction.
type boundary struct {
	uuid    string
	logical string
	number  int
	at      time.Time
	data    []byte
	compact []byte
	line    line
}

func newBoundary(l *line, data []byte, number int) *boundary {
	b := &boundary{uuid: l.uuid, logical: l.logical, number: number, at: l.at, data: bytes.Clone(data), compact: bytes.Clone(l.compact)}
	b.line = line{kind: l.kind, subtype: l.subtype, uuid: l.uuid, parent: l.logical, hasParent: true}
	return b
}

// dropBoundary carries a boundary without a summary.
func (s *scanner) dropBoundary() {
	b := s.boundary
	if b == nil {
		return
	}
	s.boundary = nil
	e := firn.Entry{Time: b.at, Body: &firn.Custom{Type: dialect.LineType(dialect.ClaudeCode, b.line.label()), Data: rawjson.CleanLine(b.data)}}
	if e.Time.IsZero() {
		e.Time = s.now
	}
	number := s.number
	s.number = b.number
	e.ID = s.id(&b.line)
	s.number = number
	s.add(e)
	s.thread.alias(&b.line, e.ID)
}

// compaction creates one entry from a boundary and the summary after it.
func (s *scanner) compaction(l *line) {
	b := s.boundary
	s.boundary = nil
	m := readMessage(l)
	id := s.id(l)
	c := &firn.Compaction{Summary: strings.TrimPrefix(firn.JoinText(m.parts), preamble), FirstKept: id, Details: rawjson.CleanLine(b.compact)}
	c.TokensBefore, _ = intOf(b.compact, "preTokens")
	segment := valueOf(b.compact, "preservedSegment")
	kept := textOf(segment, "headUuid")
	if own := valueOf(b.compact, "firn"); own != nil {
		kept = textOf(own, "firstKept")
		c.Details, c.FromHook = details(own), boolOf(own, "fromHook")
	}
	if n := s.thread.nodes[kept]; kept != "" && n != nil {
		c.FirstKept = n.first
	}
	before := s.thread.spoken
	if n := s.thread.nodes[b.logical]; n != nil {
		before = s.thread.continuation(n.spoken, nil)
	}
	s.reply = nil
	p := &piece{uuid: l.uuid, before: before, entries: []firn.Entry{{ID: id, Time: s.now, Body: c, Extra: s.extra(l)}}}
	if p.uuid == "" {
		p.uuid = string(id)
	}
	up := s.thread.parentFor(before)
	n := &node{entry: id, first: id, spoken: p.uuid, up: up}
	s.thread.nodes[p.uuid] = n
	if b.uuid != "" {
		s.thread.nodes[b.uuid] = n
	}
	if tail := s.thread.nodes[textOf(segment, "tailUuid")]; tail != nil {
		tail.after, tail.reply = p.uuid, nil // later lines follow the compaction
	}
	s.emitUnder(p, up)
}

// details returns the details of a compaction that firn wrote.
func details(own []byte) json.RawMessage {
	return rawjson.CleanLine(valueOf(own, "details"))
}
