package claudecode

import (
	"slices"
	"time"

	"firn.dev"
)

// reply is an answer of a model with the results of its calls. Claude Code
// writes one line for each block of it and hangs each result off its own call,
// so that of parallel calls only one lies on the chain that later lines go on
// with, and only those tell which. What comes behind the first call is held
// back until then.
type reply struct {
	id    string
	calls map[string]bool
	// open is how many calls have no result yet.
	open int
	// uuids are those of all lines of it, and held what is held back.
	uuids map[string]bool
	held  []*piece
}

// piece is a line of a reply.
type piece struct {
	uuid    string
	before  string // the message it follows
	entries []firn.Entry
	at      time.Time
	answer  bool // not a result
}

// said takes a message.
func (s *scanner) said(l *line, data []byte) {
	m := readMessage(l)
	if s.reply != nil && (s.reply.uuids[l.uuid] || !s.reply.takes(&m)) {
		again := s.reply.uuids[l.uuid]
		s.settle(l.parent)
		if again || m.answer {
			s.reply = nil
		}
	}
	s.dropBoundary()
	p := &piece{uuid: l.uuid, before: s.thread.before(l), at: s.now, answer: m.answer}
	if s.repeats(l, &m, p, data) {
		return
	}
	p.entries = s.entries(l, &m)
	s.numbered(p.entries, s.id(l))
	if p.uuid == "" {
		p.uuid = string(p.entries[len(p.entries)-1].ID)
	}
	s.know(l, &m, p)
	if s.reply == nil && m.answer && m.id != "" {
		s.reply = &reply{id: m.id, calls: make(map[string]bool), uuids: make(map[string]bool)}
	}
	if s.reply == nil || !s.reply.takes(&m) {
		s.speak(p)
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

// join adds a line to the reply and hands it out if no other order is possible
// any more: nothing is held back, and it follows the line before it.
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
		s.speak(p)
		return
	}
	r.held = append(r.held, p)
}

// speak hands out a message where it belongs.
func (s *scanner) speak(p *piece) {
	s.hang(p, s.thread.under(p.before))
}

// hang hands out a message under an entry.
func (s *scanner) hang(p *piece, under firn.EntryID) {
	for _, e := range p.entries {
		e.Parent = under
		s.push(e)
		under = e.ID
	}
	s.thread.spoken = p.uuid
}

// settle hands out what was held back, now that the line is known that the
// conversation goes on from; empty if it is the last.
func (s *scanner) settle(next string) {
	r := s.reply
	if r == nil {
		return
	}
	if len(r.held) > 0 {
		for _, p := range r.order(s.thread.spokenBy(next)) {
			p.before = s.thread.spoken
			s.hang(p, s.thread.tail)
		}
	}
	if !r.uuids[s.thread.spoken] {
		return // the conversation left it
	}
	for uuid := range r.uuids {
		if n := s.thread.nodes[uuid]; n != nil {
			n.after, n.reply = s.thread.spoken, r
		}
	}
	r.held = nil
}

// spokenBy is the message that a uuid is or follows.
func (t *thread) spokenBy(uuid string) string {
	if n := t.nodes[uuid]; n != nil {
		return n.spoken
	}
	return ""
}

// order puts what is held back in the order of the SDK: the chain up from the
// line that the conversation goes on from; what is not on it, by time, behind
// the last piece of the answer that is.
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
