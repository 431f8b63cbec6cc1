package claudecode

import (
	"slices"
	"time"

	"firn.dev"
)

// reply is a model response with the results of its calls. Claude Code writes one line per
// block and makes each result a child of its own call, so with parallel calls only one
// result is on the chain that later lines continue, and only those lines determine which.
// Lines after the first call are held back until then.
type reply struct {
	id    string
	calls map[string]bool
	// open is the number of calls without a result.
	open int
	// uuids are those of all its lines; held are the pending ones.
	uuids map[string]bool
	held  []*piece
}

// piece is a line of a reply.
type piece struct {
	uuid    string
	before  string // uuid of the message before it
	entries []firn.Entry
	at      time.Time
	answer  bool // not a result
}

// addMessage adds a message.
func (s *scanner) addMessage(l *line, data []byte) {
	m := readMessage(l)
	if s.reply != nil && (s.reply.uuids[l.uuid] || !s.reply.takes(&m)) {
		again := s.reply.uuids[l.uuid]
		s.releaseReply(l.parent)
		if again || m.answer {
			s.reply = nil
		}
	}
	s.dropBoundary()
	p := &piece{uuid: l.uuid, before: s.thread.messageBefore(l), at: s.now, answer: m.answer}
	if s.repeats(l, &m, p, data) {
		return
	}
	p.entries = s.entries(l, &m)
	s.assignIDs(p.entries, s.id(l))
	if p.uuid == "" {
		p.uuid = string(p.entries[len(p.entries)-1].ID)
	}
	s.registerMessage(l, &m, p)
	if s.reply == nil && m.answer && m.id != "" {
		s.reply = &reply{id: m.id, calls: make(map[string]bool), uuids: make(map[string]bool)}
	}
	if s.reply == nil || !s.reply.takes(&m) {
		s.emitMessage(p)
		return
	}
	s.join(p, &m)
}

// takes reports whether a message is part of the reply.
func (r *reply) takes(m *message) bool {
	if m.answer {
		return m.id != "" && m.id == r.id
	}
	return slices.ContainsFunc(m.results, func(id string) bool { return r.calls[id] })
}

// join adds a line to the reply. It emits the line if its place is certain: no lines are
// held back, and it follows the previous line.
func (s *scanner) join(p *piece, m *message) {
	r := s.reply
	r.uuids[p.uuid] = true
	straight := len(r.held) == 0 && (p.before == s.thread.spoken || len(r.uuids) == 1)
	sure := straight && (!m.answer || r.open == 0)
	for _, id := range m.calls {
		if !r.calls[id] {
			r.calls[id] = true
			r.open++
		}
	}
	if !m.answer {
		r.open = max(0, r.open-len(m.results))
	}
	if sure {
		s.emitMessage(p)
		return
	}
	r.held = append(r.held, p)
}

// emitMessage emits a message after the message before it.
func (s *scanner) emitMessage(p *piece) {
	s.emitUnder(p, s.thread.parentFor(p.before))
}

// emitUnder emits a message as a child of an entry.
func (s *scanner) emitUnder(p *piece, under firn.EntryID) {
	for _, e := range p.entries {
		e.Parent = under
		s.push(e)
		under = e.ID
	}
	s.thread.spoken = p.uuid
}

// releaseReply emits the lines held back. next is the line that the conversation continues
// from, "" at the end of the file.
func (s *scanner) releaseReply(next string) {
	r := s.reply
	if r == nil {
		return
	}
	if len(r.held) > 0 {
		for _, p := range r.order(s.thread.spokenBy(next)) {
			p.before = s.thread.spoken
			s.emitUnder(p, s.thread.tail)
		}
	}
	if !r.uuids[s.thread.spoken] {
		return // the conversation continued elsewhere
	}
	for uuid := range r.uuids {
		if n := s.thread.nodes[uuid]; n != nil {
			n.after, n.reply = s.thread.spoken, r
		}
	}
	r.held = nil
}

// spokenBy returns the message that a uuid belongs to or follows.
func (t *thread) spokenBy(uuid string) string {
	if n := t.nodes[uuid]; n != nil {
		return n.spoken
	}
	return ""
}

// order sorts the held lines in the order of the SDK: the chain up to the line that the
// conversation continues from, with the other lines, by time, after the last part of the
// response on the chain.
func (r *reply) order(next string) []*piece {
	held := make(map[string]*piece, len(r.held))
	for _, p := range r.held {
		held[p.uuid] = p
	}
	if held[next] == nil {
		next = r.held[len(r.held)-1].uuid
	}
	var chain []*piece
	for p := held[next]; p != nil; p = held[p.before] {
		chain = append(chain, p)
		delete(held, p.uuid)
	}
	slices.Reverse(chain)
	var aside []*piece
	for _, p := range r.held {
		if held[p.uuid] == p {
			aside = append(aside, p)
		}
	}
	slices.SortStableFunc(aside, func(a, b *piece) int { return a.at.Compare(b.at) })
	last := 0
	for i, p := range chain {
		if p.answer {
			last = i + 1
		}
	}
	return slices.Insert(chain, last, aside...)
}
