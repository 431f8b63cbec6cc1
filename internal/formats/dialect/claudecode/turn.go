package claudecode

import (
	"slices"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/formats/dialect"
)

// turn is an answer with the results of its calls, held back until both are
// whole, because only then they are two records.
type turn struct {
	// answer is nil if it was written before.
	answer *firn.Entry
	// pieces are the entries that are part of the answer.
	pieces  []firn.Entry
	results []firn.Entry
	open    map[string]bool
	// queue is what was said before all results were there; it goes behind them.
	queue []firn.Entry
}

// has reports whether an entry is part of the turn.
func (t *turn) has(id firn.EntryID) bool {
	is := func(e firn.Entry) bool { return e.ID == id }
	return slices.ContainsFunc(t.pieces, is) || slices.ContainsFunc(t.results, is) || slices.ContainsFunc(t.queue, is)
}

// message takes a message.
func (p *printer) message(dst []byte, e firn.Entry, m *firn.Message) []byte {
	switch m.Role {
	case firn.RoleAssistant:
		return p.answer(dst, e, m)
	case firn.RoleToolResult:
		return p.result(dst, e, m)
	case firn.RoleUser, firn.RoleSystem, firn.RoleShell:
		return p.aside(dst, e)
	}
	dst = p.flush(dst)
	p.drop(e, limitRoles)
	return dst
}

// answer takes an answer, or a piece of one.
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

// expect notes the calls of an answer that will be sent.
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

// sameAnswer reports whether two messages are pieces of one answer.
func sameAnswer(a, b *firn.Message) bool {
	id := a.Extra.Get(dialect.ResponseID)
	return id != nil && string(id) == string(b.Extra.Get(dialect.ResponseID)) && !failed(a) && !failed(b)
}

// failed reports whether an answer is not to be sent.
func failed(m *firn.Message) bool {
	return m.StopReason == firn.StopError || m.StopReason == firn.StopAborted
}

// result takes the result of a call.
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
		p.turn = &turn{results: []firn.Entry{e}, open: p.unanswered(p.above(e.Parent), id)}
		for other := range p.turn.open {
			delete(p.open, other)
		}
		return dst
	}
	dst = p.flush(dst)
	p.drop(e, limitOrphans)
	return dst
}

// unanswered are the calls that the chain up to a record leaves open, but one.
func (p *printer) unanswered(uuid, but string) map[string]bool {
	open := make(map[string]bool)
	for _, id := range p.waiting[uuid] {
		if id != but && p.open[id] {
			open[id] = true
		}
	}
	return open
}

// callOf is the id of the call that a message answers.
func callOf(m *firn.Message) (string, bool) {
	if len(m.Parts) != 1 {
		return "", false
	}
	r, ok := m.Parts[0].(firn.ToolResult)
	return r.CallID, ok
}

// aside takes what is said beside answers: by the user, or for the model to
// read. What came in the middle of a turn waits for its end.
func (p *printer) aside(dst []byte, e firn.Entry) []byte {
	if t := p.turn; t != nil && len(t.open) > 0 && t.has(e.Parent) {
		t.queue = append(t.queue, e)
		return dst
	}
	return p.told(p.flush(dst), e)
}

// flush writes what was held back.
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
		if dst, written = p.answered(dst, t); !written {
			t.results = nil
		}
		parent = p.above(t.answer.ID)
	} else {
		parent = p.above(t.results[0].Parent)
	}
	if len(t.results) > 0 {
		dst = p.results(dst, t, parent)
	}
	for _, e := range t.queue {
		dst = p.told(dst, e)
	}
	if len(t.queue) > 0 { // what follows the results follows what was put behind them
		for _, e := range t.results {
			p.links[e.ID].uuid = p.end
		}
	}
	return dst
}

// answered writes the record of an answer; false if nothing of it can be said.
func (p *printer) answered(dst []byte, t *turn) ([]byte, bool) {
	e, m := *t.answer, t.answer.Body.(*firn.Message)
	parts := p.sayable(e, m, m.Parts)
	r := record{kind: "assistant", uuid: string(p.uuid(e.ID)), failure: failed(m), request: textField(e.Extra, "requestId")}
	r.firn = whose(m)
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
	dst, r.parent = p.close(dst, p.above(e.Parent), e)
	r.at = p.stamp(e.Time)
	r.message = p.answerJSON(r.uuid, m, parts)
	r.copyOf = p.copying[e.ID]
	p.say(r.uuid, t.pieces...)
	for _, piece := range t.pieces {
		p.links[piece.ID].id = firn.EntryID(r.uuid)
	}
	if !r.failure {
		p.waiting[r.uuid] = callIDs(parts)
	}
	return p.record(dst, r), true
}

// results writes the record of the results of a turn.
func (p *printer) results(dst []byte, t *turn, parent string) []byte {
	last := t.results[len(t.results)-1]
	r := record{kind: "user", parent: parent, uuid: string(p.uuid(last.ID)), at: p.stamp(last.Time), copyOf: p.copying[last.ID]}
	var parts []firn.Part
	for _, e := range t.results {
		result := e.Body.(*firn.Message).Parts[0].(firn.ToolResult)
		result.Content = p.sayable(e, &firn.Message{Role: firn.RoleToolResult}, result.Content)
		result.CallID = p.legalID(e, result.CallID)
		if len(result.Details) > 0 {
			r.result, r.firn = result.Details, nil
			if !theirs(result.Name) || len(t.results) > 1 {
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
	p.say(r.uuid, t.results...)
	return p.record(dst, r)
}

// close answers the calls that a chain leaves open where something else than
// results follows: without, some versions drop the answer that made them. It
// returns the record to go on from.
func (p *printer) close(dst []byte, parent string, e firn.Entry) ([]byte, string) {
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

// userJSON is a message of the user.
func userJSON(parts []firn.Part) []byte {
	return append(blocks.Append([]byte(`{"role":"user","content":`), parts, blocks.Compact), '}')
}
