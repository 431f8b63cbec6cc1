package claudecode

import (
	"bytes"
	"slices"
	"time"

	"firn"
	"firn/internal/blocks"
	"firn/internal/rawjson"
)

// withheld stands where the result of a call was hidden: the call must have one.
const withheld = "[the result was removed]"

// fact is what a printer remembers of a record: the last copy of it counts.
type fact struct {
	parent, logical string
	// number says where it stands among the others.
	number             int
	boundary, followed bool
	copy               bool
	// results are the calls that it answers, and others whether it says more.
	results []string
	others  bool
}

// learn notes a record.
func (p *printer) learn(l *line) {
	if l.kind == "progress" || l.uuid == "" {
		return
	}
	f := &fact{parent: l.parent, logical: l.logical, number: len(p.facts), boundary: l.subtype == "compact_boundary", copy: l.copyOf != ""}
	if old := p.facts[l.uuid]; old != nil {
		f.number, f.followed = old.number, old.followed
	}
	if up := p.facts[l.parent]; up != nil {
		up.followed = true
	}
	if l.kind == "user" && len(l.message) > 0 {
		m := readMessage(l)
		f.results, f.others = m.results, len(m.parts) > len(m.results)
	}
	p.facts[l.uuid] = f
}

// strand is a part of the chain as it stands in the file, the last copy of each
// record, and what shall become of it.
type strand struct {
	records []*strandRecord
	facts   map[string]*fact
	// gone are records that are passed over, each with what to follow instead,
	// in that order.
	gone  map[string]string
	order []string
	// parents are new parents, and altered the records with new words.
	parents map[string]string
	altered []string
}

// strandRecord is a record in a strand.
type strandRecord struct {
	line
	data []byte
	// words are the message and the private member to write instead.
	words map[string][]byte
}

func newStrand(facts map[string]*fact) *strand {
	return &strand{facts: facts, gone: make(map[string]string), parents: make(map[string]string)}
}

// add reads lines; what the chain cannot go through is passed over.
func (s *strand) add(lines [][]byte) {
	for _, data := range lines {
		data = bytes.Clone(data)
		l, err := readLine(data)
		if err != nil || l.uuid == "" || !l.chained() || l.kind == "progress" {
			continue
		}
		s.records = slices.DeleteFunc(s.records, func(r *strandRecord) bool { return r.uuid == l.uuid })
		s.records = append(s.records, &strandRecord{line: l, data: data})
	}
}

func (s *strand) find(uuid string) *strandRecord {
	for _, r := range s.records {
		if r.uuid == uuid {
			return r
		}
	}
	return nil
}

// through is the record that stands for one: itself, or the nearest before it
// that is not gone.
func (s *strand) through(uuid string) string {
	for range len(s.gone) + 1 {
		up, ok := s.gone[uuid]
		if !ok {
			break
		}
		uuid = up
	}
	return uuid
}

// cut takes an entry out of its record.
func (s *strand) cut(e firn.Entry, uuid string) {
	r := s.find(uuid)
	m, ok := e.Body.(*firn.Message)
	switch {
	case e.Body.Kind() == firn.KindCompaction:
		s.cutCompaction(r)
	case ok && m.Role == firn.RoleToolResult:
		id, _ := callOf(m)
		s.replace(r, func(p firn.Part) firn.Part {
			if result, ok := p.(firn.ToolResult); ok && result.CallID == legal(id) {
				return firn.ToolResult{CallID: result.CallID, Content: []firn.Part{firn.Text{Text: withheld}}, IsError: result.IsError}
			}
			return p
		})
	case r.kind == "assistant":
		calls := callIDs(readMessage(&r.line).parts)
		s.remove(r.uuid, r.parent)
		s.cutResults(calls)
	default:
		s.replace(r, func(p firn.Part) firn.Part {
			if _, ok := p.(firn.ToolResult); ok {
				return p
			}
			return nil
		})
	}
}

// cutResults takes out the results of calls.
func (s *strand) cutResults(calls []string) {
	is := func(id string) bool { return slices.Contains(calls, id) }
	var hit []string
	for uuid, f := range s.facts {
		if slices.ContainsFunc(f.results, is) {
			hit = append(hit, uuid)
		}
	}
	slices.SortFunc(hit, func(a, b string) int { return s.facts[a].number - s.facts[b].number })
	for _, uuid := range hit {
		f := s.facts[uuid]
		if !f.others && !slices.ContainsFunc(f.results, func(id string) bool { return !is(id) }) {
			s.remove(uuid, f.parent)
			continue
		}
		if r := s.find(uuid); r != nil {
			s.replace(r, func(p firn.Part) firn.Part {
				if result, ok := p.(firn.ToolResult); ok && is(result.CallID) {
					return nil
				}
				return p
			})
		}
	}
}

// cutCompaction takes out a boundary, its summary and the copies behind it.
func (s *strand) cutCompaction(summary *strandRecord) {
	up := summary.parent
	if b := s.facts[up]; b != nil && b.boundary {
		s.remove(up, b.logical)
	}
	s.remove(summary.uuid, up)
	for last := summary.uuid; last != ""; {
		next := ""
		for uuid, f := range s.facts {
			if f.copy && f.parent == last {
				next = uuid
				s.remove(uuid, last)
			}
		}
		last = next
	}
}

// remove passes over a record.
func (s *strand) remove(uuid, up string) {
	s.gone[uuid] = up
	s.order = append(s.order, uuid)
}

// replace changes the parts of a message of the user. One that has none left is
// passed over.
func (s *strand) replace(r *strandRecord, change func(firn.Part) firn.Part) {
	if _, gone := s.gone[r.uuid]; gone || r.kind != "user" {
		return
	}
	var parts []firn.Part
	changed := false
	old := readMessage(&r.line).parts
	for _, p := range old {
		part := change(p)
		if part != nil {
			parts = append(parts, part)
		}
		changed = changed || part == nil || !same(part, p)
	}
	switch {
	case !changed && len(old) > 0:
	case len(parts) == 0:
		s.remove(r.uuid, r.parent)
	default:
		r.words = map[string][]byte{
			"message": userJSON(parts),
			"firn":    object(raw("hidden", object(raw("message", r.message), raw("firn", r.firn)))),
		}
		s.altered = append(s.altered, r.uuid)
	}
}

// same reports whether two parts are written alike.
func same(a, b firn.Part) bool {
	return bytes.Equal(blocks.AppendPart(nil, a, blocks.Compact), blocks.AppendPart(nil, b, blocks.Compact))
}

// recover gives a record its words back.
func (s *strand) recover(uuid string) bool {
	r := s.find(uuid)
	if r == nil {
		return false
	}
	hidden := valueOf(r.firn, "hidden")
	message := valueOf(hidden, "message")
	if message == nil {
		return false
	}
	r.words = map[string][]byte{"message": message, "firn": valueOf(hidden, "firn")}
	s.altered = append(s.altered, uuid)
	return true
}

// below are the records to be written again: those that change, those whose
// parent does, and all that follow them.
func (s *strand) below() []*strandRecord {
	in := make(map[string]bool)
	for uuid := range s.gone {
		in[uuid] = true
	}
	for uuid := range s.parents {
		in[uuid] = true
	}
	for _, uuid := range s.altered {
		in[uuid] = true
	}
	for _, r := range s.records {
		var way []string
		for uuid := r.uuid; uuid != "" && len(way) <= len(s.facts); {
			way = append(way, uuid)
			if in[uuid] {
				for _, below := range way {
					in[below] = true
				}
				break
			}
			f := s.facts[uuid]
			if f == nil {
				break
			}
			if uuid = f.parent; uuid == "" {
				uuid = f.logical
			}
		}
	}
	s.whole(in)
	return slices.DeleteFunc(slices.Clone(s.records), func(r *strandRecord) bool {
		_, gone := s.gone[r.uuid]
		return gone || !in[r.uuid]
	})
}

// whole adds to a set of records all of each answer, with the results to it,
// that some of are in it: they are read together.
func (s *strand) whole(in map[string]bool) {
	asked := make(map[string]string) // by which answer
	answer := make(map[string]string)
	for _, r := range s.records {
		if r.kind == "assistant" {
			m := readMessage(&r.line)
			answer[r.uuid] = orElse(m.id, r.uuid)
			for _, id := range m.calls {
				asked[id] = answer[r.uuid]
			}
		}
	}
	some := make(map[string]bool)
	for _, r := range s.records {
		if f := s.facts[r.uuid]; r.kind == "user" && f != nil && len(f.results) > 0 {
			answer[r.uuid] = asked[f.results[0]]
		}
		if _, gone := s.gone[r.uuid]; in[r.uuid] && !gone {
			some[answer[r.uuid]] = true
		}
	}
	for uuid, name := range answer {
		in[uuid] = in[uuid] || name != "" && some[name]
	}
}

// again writes a record once more, as it is to be.
func (s *strand) again(dst []byte, r *strandRecord, at time.Time) []byte {
	parent, ok := s.parents[r.uuid]
	if !ok {
		parent = s.through(r.parent)
	}
	w := writer{dst: append(dst, '{')}
	in := rawjson.New(r.data)
	for in.Object(); in.Member(); {
		name, value := in.KeyText(), in.Raw()
		switch words, ok := r.words[name]; {
		case name == "parentUuid":
			w.orNull(name, parent)
		case name == "logicalParentUuid":
			w.optional(name, s.through(r.logical))
		case name == "timestamp" && !at.IsZero():
			w.text(name, at.Format(stampForm))
		case ok:
			w.raw(name, words)
		default:
			w.raw(name, value)
		}
	}
	if words := r.words["firn"]; words != nil && r.firn == nil {
		w.raw("firn", words)
	}
	return append(w.dst, '}')
}

// list writes texts as an array; nothing if there are none.
func list(all []string) []byte {
	if len(all) == 0 {
		return nil
	}
	dst := []byte{'['}
	for i, s := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, s)
	}
	return append(dst, ']')
}

// texts reads an array of texts.
func texts(raw []byte) (all []string) {
	r := rawjson.New(raw)
	for ok := r.Array(); ok && r.Element(); {
		if s, ok := r.Text(); ok {
			all = append(all, s)
			continue
		}
		r.Skip()
	}
	return all
}
