package claudecode

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
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
	// thin is set for lines that only report on progress: they are links of the
	// chain and are never written again.
	thin bool
	// results are the calls that it answers, and others whether it says more.
	results []string
	others  bool
}

// learn notes a record.
func (p *printer) learn(l *line) {
	f := &fact{
		parent: l.parent, logical: l.logical, number: len(p.facts), boundary: l.subtype == "compact_boundary", copy: l.copyOf != "", thin: l.kind == "progress",
	}
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
	index   map[string]*strandRecord
	facts   map[string]*fact
	// side is set if it is a sub-agent's.
	side bool
	// gone are records that are passed over, each with what to follow instead,
	// in that order.
	gone  map[string]string
	order []string
	// parents are new parents, and altered the records with new words.
	parents map[string]string
	altered []string
	// answer is the id of the answer of which a piece is gone: what is left of
	// it needs another, or Claude Code puts it together again.
	answer  string
	renamed []string
}

// strandRecord is a record in a strand.
type strandRecord struct {
	line
	data []byte
	// words are the message and the private member to write instead.
	words map[string][]byte
}

func (p *printer) strand() *strand {
	return &strand{facts: p.facts, side: p.side, index: make(map[string]*strandRecord), gone: make(map[string]string), parents: make(map[string]string)}
}

// add reads lines; what the chain cannot go through is passed over.
func (s *strand) add(lines [][]byte) {
	for _, data := range lines {
		data = bytes.Clone(data)
		l, err := readLine(data)
		if err != nil || l.uuid == "" || !l.chained() || l.kind == "progress" || l.sidechain && !s.side {
			continue
		}
		if old := s.index[l.uuid]; old != nil {
			old.data = nil
		}
		r := &strandRecord{line: l, data: data}
		s.index[l.uuid] = r
		s.records = append(s.records, r)
	}
	s.records = slices.DeleteFunc(s.records, func(r *strandRecord) bool { return r.data == nil })
}

func (s *strand) find(uuid string) *strandRecord { return s.index[uuid] }

// through is the record that stands for one: itself, or the nearest before it
// that is not gone. Reports on what is gone are gone with it.
func (s *strand) through(uuid string) string {
	for range len(s.gone) + 1 {
		solid := uuid
		for range len(s.facts) {
			f := s.facts[solid]
			if f == nil || !f.thin {
				break
			}
			solid = f.parent
		}
		up, ok := s.gone[solid]
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
		s.rename(s.asker(id), s.asker(id)+renamed)
	case r.kind == "assistant":
		m := readMessage(&r.line)
		s.remove(r.uuid, r.parent)
		s.cutResults(m.calls)
		s.rename(m.id, m.id+renamed)
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

// asker is the id of the answer that made a call.
func (s *strand) asker(call string) string {
	for _, r := range s.records {
		if r.kind != "assistant" {
			continue
		}
		if m := readMessage(&r.line); slices.Contains(m.calls, call) {
			return m.id
		}
	}
	return ""
}

// moved tells the parents of the records that follow what is gone.
func (s *strand) moved() map[string]string {
	all := make(map[string]string)
	for _, r := range s.records {
		if _, gone := s.gone[r.uuid]; !gone && s.through(r.parent) != r.parent {
			all[r.uuid] = r.parent
		}
	}
	return all
}

// renamed stands behind the id of an answer of which a piece is gone.
const renamed = "-cut"

// rename gives another id to what is left of an answer.
func (s *strand) rename(id, name string) {
	for _, r := range s.records {
		if _, gone := s.gone[r.uuid]; gone || r.kind != "assistant" || id == "" || textOf(r.message, "id") != id {
			continue
		}
		if strings.HasSuffix(name, renamed+renamed) {
			return // it has another already
		}
		w := writer{dst: []byte{'{'}}
		in := rawjson.New(r.message)
		for in.Object(); in.Member(); {
			if key, value := in.KeyText(), in.Raw(); key == "id" {
				w.text(key, name)
			} else {
				w.raw(key, value)
			}
		}
		r.words = map[string][]byte{"message": append(w.dst, '}')}
		if r.firn != nil {
			r.words["firn"] = r.firn
		}
		s.answer = id
		s.renamed = append(s.renamed, r.uuid)
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
	for _, uuid := range slices.Concat(s.altered, s.renamed) {
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

// pairs writes texts by their names, in order.
func pairs(all map[string]string) []byte {
	if len(all) == 0 {
		return nil
	}
	w := writer{dst: []byte{'{'}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w.text(name, all[name])
	}
	return append(w.dst, '}')
}

// unpaired reads texts by their names.
func unpaired(raw []byte) map[string]string {
	all := make(map[string]string)
	r := rawjson.New(raw)
	for ok := len(raw) > 0 && r.Object(); ok && r.Member(); {
		name := r.KeyText()
		if value, ok := r.Text(); ok {
			all[name] = value
			continue
		}
		r.Skip()
	}
	return all
}
