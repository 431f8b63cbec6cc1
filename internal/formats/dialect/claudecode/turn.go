package claudecode

import (
	"slices"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/formats/dialect"
)

// turn is a response with the results of its calls. It is held back until both are
// complete, because they are written as two records.
type turn struct {
	// answer is nil if it was written before.
	answer *firn.Entry
	// pieces are the entries of the response.
	pieces  []firn.Entry
	results []firn.Entry
	open    map[string]bool
	// queue holds messages that arrived before all results; they are written after the
	// results.
	queue []firn.Entry
}

// has reports whether an entry is part of the turn.
func (t *turn) has(id firn.EntryID) bool {
	is := func(e firn.Entry) bool { return e.ID == id }
	return slices.ContainsFunc(t.pieces, is) || slices.ContainsFunc(t.results, is) || slices.ContainsFunc(t.queue, is)
}

// message adds a message.
func (p *printer) message(dst []byte, e firn.Entry, m *firn.Message) []byte {
	switch m.Role {
	case firn.RoleAssistant:
		return p.answer(dst, e, m)
	case firn.RoleToolResult:
		return p.result(dst, e, m)
	case firn.RoleUser, firn.RoleSystem, firn.RoleShell:
		return p.queueAside(dst, e)
	}
	dst = p.flush(dst)
	p.drop(e, limitRoles)
	return dst
}

// answer adds a response or a part of one.
func (p *printer) answer(dst []byte, e firn.Entry, m *firn.Message) []byte {
	if t := p.turn; t != nil && t.answer != nil && len(t.queue) == 0 && t.has(e.Parent) && sameAnswer(t.answer.Body.(*firn.Message), m) {
		whole := *t.answer.Body.(*firn.Message)
		whole.Parts = append(slices.Clip(whole.Parts), m.Parts...)
		whole.StopReason, whole.Error = m.StopReason, m.Error
		if whole.Usage == nil {
			whole.Usage = m.Usage
		}
		t.answer.Body = &whole
		t.pieces = append(t.pieces, e)
		t.expect(m)
		return dst
	}
	dst = p.flush(dst)
	first := e
	p.turn = &turn{answer: &first, pieces: []firn.Entry{e}, open: make(map[string]bool)}
	p.turn.expect(m)
	return dst
}

// expect records the calls of a response that will be sent.
func (t *turn) expect(m *firn.Message) {
	if failed(m) {
		return
	}
	for _, part := range m.Parts {
		if call, ok := part.(firn.ToolCall); ok {
			t.open[call.ID] = true
		}
	}
}

// sameAnswer reports whether two messages are parts of one response.
func sameAnswer(a, b *firn.Message) bool {
	id := a.Extra.Get(dialect.ResponseID)
	return id != nil && string(id) == string(b.Extra.Get(dialect.ResponseID)) && !failed(a) && !failed(b)
}

// failed reports whether a response failed and is not sent to the model.
func failed(m *firn.Message) bool {
	return m.StopReason == firn.StopError || m.StopReason == firn.StopAborted
}

// result adds the result of a call.
func (p *printer) result(dst []byte, e firn.Entry, m *firn.Message) []byte {
	id, ok := callOf(m)
	switch t := p.turn; {
	case ok && t != nil && t.open[id]:
		delete(t.open, id)
		t.results = append(t.results, e)
		return dst
	case ok && p.open[id]:
		dst = p.flush(dst)
		delete(p.open, id)
		p.turn = &turn{results: []firn.Entry{e}, open: p.openCalls(p.recordAbove(e.Parent), id)}
		for other := range p.turn.open {
			delete(p.open, other)
		}
		return dst
	}
	dst = p.flush(dst)
	p.drop(e, limitOrphans)
	return dst
}

// openCalls returns the calls, except but, that the chain up to a record leaves open.
func (p *printer) openCalls(uuid, but string) map[string]bool {
	open := make(map[string]bool)
	for _, id := range p.waiting[uuid] {
		if id != but && p.open[id] {
			open[id] = true
		}
	}
	return open
}

// callOf returns the ID of the call that a message answers.
func callOf(m *firn.Message) (string, bool) {
	if len(m.Parts) != 1 {
		return "", false
	}
	r, ok := m.Parts[0].(firn.ToolResult)
	return r.CallID, ok
}

// queueAside writes a message outside of responses. During a turn the message is queued
// until the turn ends.
func (p *printer) queueAside(dst []byte, e firn.Entry) []byte {
	if t := p.turn; t != nil && len(t.open) > 0 && t.has(e.Parent) {
		t.queue = append(t.queue, e)
		return dst
	}
	return p.printAside(p.flush(dst), e)
}

// flush writes the pending turn.
func (p *printer) flush(dst []byte) []byte {
	t := p.turn
	p.turn = nil
	if t == nil {
		return dst
	}
	for id := range t.open {
		p.open[id] = true
	}
	parent := ""
	if t.answer != nil {
		var written bool
		if dst, written = p.printAnswer(dst, t); !written {
			t.results = nil
		}
		parent = p.recordAbove(t.answer.ID)
	} else {
		parent = p.recordAbove(t.results[0].Parent)
	}
	if len(t.results) > 0 {
		dst = p.printResults(dst, t, parent)
	}
	for _, e := range t.queue {
		dst = p.printAside(dst, e)
	}
	if len(t.queue) > 0 { // children of the results follow the queued messages
		for _, e := range t.results {
			p.links[e.ID].uuid = p.end
		}
	}
	return dst
}

// printAnswer writes the record of a response. It returns false if no part of it can be
// represented.
func (p *printer) printAnswer(dst []byte, t *turn) ([]byte, bool) {
	e, m := *t.answer, t.answer.Body.(*firn.Message)
	parts := p.supportedParts(e, m, m.Parts)
	r := record{kind: "assistant", uuid: string(p.uuid(e.ID)), failure: failed(m), request: textField(e.Extra, "requestId")}
	r.firn = privateAnswer(m)
	if len(parts) == 0 {
		if !r.failure {
			p.dropAll(t.pieces, limitEmpty)
			for _, result := range t.results {
				p.drop(result, limitOrphans)
			}
			return dst, false
		}
		parts = []firn.Part{firn.Text{Text: orElse(m.Error, "(no content)")}}
	}
	dst, r.parent = p.closeOpenCalls(dst, p.recordAbove(e.Parent), e)
	r.at = p.stamp(e.Time)
	r.message = p.answerJSON(r.uuid, m, parts)
	r.copyOf = p.copying[e.ID]
	p.bindRecord(r.uuid, t.pieces...)
	for _, piece := range t.pieces {
		p.links[piece.ID].id = firn.EntryID(r.uuid)
	}
	if !r.failure {
		p.waiting[r.uuid] = callIDs(parts)
	}
	return p.record(dst, r), true
}

// printResults writes the record of a turn's results.
func (p *printer) printResults(dst []byte, t *turn, parent string) []byte {
	last := t.results[len(t.results)-1]
	r := record{kind: "user", parent: parent, uuid: string(p.uuid(last.ID)), at: p.stamp(last.Time), copyOf: p.copying[last.ID]}
	var parts []firn.Part
	for _, e := range t.results {
		result := e.Body.(*firn.Message).Parts[0].(firn.ToolResult)
		result.Content = p.supportedParts(e, &firn.Message{Role: firn.RoleToolResult}, result.Content)
		result.CallID = p.legalID(e, result.CallID)
		if len(result.Details) > 0 {
			r.result, r.firn = result.Details, nil
			if !isClaudeTool(result.Name) || len(t.results) > 1 {
				r.result, r.firn = nil, object(raw("details", detailsOf(t.results)))
			}
		}
		parts = append(parts, result)
	}
	r.message = userJSON(parts)
	for _, id := range p.waiting[parent] {
		if t.open[id] {
			p.waiting[r.uuid] = append(p.waiting[r.uuid], id)
		}
	}
	p.bindRecord(r.uuid, t.results...)
	return p.record(dst, r)
}

// closeOpenCalls adds placeholder results for open calls before a record other than their
// results: without them, some versions drop the response. It returns the record to continue
// from.
func (p *printer) closeOpenCalls(dst []byte, parent string, e firn.Entry) ([]byte, string) {
	if uuid, ok := p.stopgap[parent]; ok {
		return dst, uuid
	}
	var parts []firn.Part
	for _, id := range p.waiting[parent] {
		if p.open[id] {
			delete(p.open, id)
			parts = append(parts, firn.ToolResult{CallID: legal(id), Content: []firn.Part{firn.Text{Text: "[no result was recorded]"}}, IsError: true})
		}
	}
	if len(parts) == 0 {
		return dst, parent
	}
	uuid := dialect.UUID(p.scope, "no result after "+parent)
	p.stopgap[parent] = uuid
	return p.record(dst, record{
		kind: "user", parent: parent, uuid: uuid, at: p.stamp(e.Time), message: userJSON(parts), firn: object(flag("synthetic", true)),
	}), uuid
}

func callIDs(parts []firn.Part) []string {
	var ids []string
	for _, part := range parts {
		if call, ok := part.(firn.ToolCall); ok {
			ids = append(ids, call.ID)
		}
	}
	return ids
}

// userJSON encodes a user message.
func userJSON(parts []firn.Part) []byte {
	return append(blocks.Append([]byte(`{"role":"user","content":`), parts, blocks.Compact), '}')
}
