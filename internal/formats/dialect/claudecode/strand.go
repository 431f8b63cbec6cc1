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

// removedResult replaces a hidden tool result, because the call needs a result.
const removedResult = "[the result was removed]"

// recordInfo holds facts about a record in the file, from its last copy.
type recordInfo struct {
	parent, logical string
	// number is its ordinal in the file.
	number             int
	boundary, followed bool
	copy               bool
	// thin is set for progress lines: they are part of the chain and are never written
	// again.
	thin bool
	// results are the call IDs that it answers; others is set if it has further parts.
	results []string
	others  bool
}

// noteRecord stores the facts about a record.
func (p *printer) noteRecord(l *line) {
	f := &recordInfo{
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

// strand is a segment of the chain in the file, with the last copy of each record, and the
// pending changes to it.
type strand struct {
	records []*strandRecord
	index   map[string]*strandRecord
	facts   map[string]*recordInfo
	// side is set if it is a sub-agent's.
	side bool
	// gone maps removed records to their replacement as a parent; order lists them in order
	// of removal.
	gone  map[string]string
	order []string
	// parents maps records to new parents; altered lists the records with new content.
	parents map[string]string
	altered []string
	// answer is the ID of the response that lost a part. The rest of it needs another ID,
	// or Claude Code would merge the lines again.
	answer  string
	renamed []string
}

// strandRecord is a record in a strand.
type strandRecord struct {
	line
	data []byte
	// replaced holds the new values of the members "message" and "firn".
	replaced map[string][]byte
}

func (p *printer) strand() *strand {
	return &strand{facts: p.facts, side: p.side, index: make(map[string]*strandRecord), gone: make(map[string]string), parents: make(map[string]string)}
}

// add adds the records among lines. It skips lines outside the chain.
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

// survivor returns the record itself or its nearest ancestor that is not removed. Progress
// lines on a removed record are removed with it.
func (s *strand) survivor(uuid string) string {
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

// cut removes an entry from its record.
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
				return firn.ToolResult{CallID: result.CallID, Content: []firn.Part{firn.Text{Text: removedResult}}, IsError: result.IsError}
			}
			return p
		})
		s.rename(s.answerOfCall(id), s.answerOfCall(id)+cutSuffix)
	case r.kind == "assistant":
		m := readMessage(&r.line)
		s.remove(r.uuid, r.parent)
		s.cutResults(m.calls)
		s.rename(m.id, m.id+cutSuffix)
	default:
		s.replace(r, func(p firn.Part) firn.Part {
			if _, ok := p.(firn.ToolResult); ok {
				return p
			}
			return nil
		})
	}
}

// cutResults removes the results of calls.
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

// answerOfCall returns the ID of the response with a call.
func (s *strand) answerOfCall(call string) string {
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

// moved returns the records that follow removed ones, with their old parents.
func (s *strand) moved() map[string]string {
	all := make(map[string]string)
	for _, r := range s.records {
		if _, gone := s.gone[r.uuid]; !gone && s.survivor(r.parent) != r.parent {
			all[r.uuid] = r.parent
		}
	}
	return all
}

// cutSuffix is appended to the ID of a response that lost a part.
const cutSuffix = "-cut"

// rename changes the ID of the remaining records of a response.
func (s *strand) rename(id, name string) {
	for _, r := range s.records {
		if _, gone := s.gone[r.uuid]; gone || r.kind != "assistant" || id == "" || textOf(r.message, "id") != id {
			continue
		}
		if strings.HasSuffix(name, cutSuffix+cutSuffix) {
			return // already renamed
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
		r.replaced = map[string][]byte{"message": append(w.dst, '}')}
		if r.firn != nil {
			r.replaced["firn"] = r.firn
		}
		s.answer = id
		s.renamed = append(s.renamed, r.uuid)
	}
}

// cutCompaction removes a boundary, its summary and the copies after it.
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

// remove marks a record as removed.
func (s *strand) remove(uuid, up string) {
	s.gone[uuid] = up
	s.order = append(s.order, uuid)
}

// replace changes the parts of a user message. A message without remaining parts is
// removed.
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
		r.replaced = map[string][]byte{
			"message": userJSON(parts),
			"firn":    object(raw("hidden", object(raw("message", r.message), raw("firn", r.firn)))),
		}
		s.altered = append(s.altered, r.uuid)
	}
}

// same reports whether two parts have the same encoding.
func same(a, b firn.Part) bool {
	return bytes.Equal(blocks.AppendPart(nil, a, blocks.Compact), blocks.AppendPart(nil, b, blocks.Compact))
}

// recover restores the original content of a record.
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
	r.replaced = map[string][]byte{"message": message, "firn": valueOf(hidden, "firn")}
	s.altered = append(s.altered, uuid)
	return true
}

// affected returns the records to write again: the changed ones, those with a changed
// parent, and all their descendants.
func (s *strand) affected() []*strandRecord {
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
	s.completeAnswers(in)
	return slices.DeleteFunc(slices.Clone(s.records), func(r *strandRecord) bool {
		_, gone := s.gone[r.uuid]
		return gone || !in[r.uuid]
	})
}

// completeAnswers extends a set of records to whole responses with their results, because
// they are read together.
func (s *strand) completeAnswers(in map[string]bool) {
	asked := make(map[string]string) // call ID to response
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

// appendRecord appends a record with its changes applied.
func (s *strand) appendRecord(dst []byte, r *strandRecord, at time.Time) []byte {
	parent, ok := s.parents[r.uuid]
	if !ok {
		parent = s.survivor(r.parent)
	}
	w := writer{dst: append(dst, '{')}
	in := rawjson.New(r.data)
	for in.Object(); in.Member(); {
		name, value := in.KeyText(), in.Raw()
		switch words, ok := r.replaced[name]; {
		case name == "parentUuid":
			w.orNull(name, parent)
		case name == "logicalParentUuid":
			w.optional(name, s.survivor(r.logical))
		case name == "timestamp" && !at.IsZero():
			w.text(name, at.Format(stampForm))
		case ok:
			w.raw(name, words)
		default:
			w.raw(name, value)
		}
	}
	if words := r.replaced["firn"]; words != nil && r.firn == nil {
		w.raw("firn", words)
	}
	return append(w.dst, '}')
}

// encodeStrings encodes strings as an array, nil if there are none.
func encodeStrings(all []string) []byte {
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

// parseStrings decodes an array of strings.
func parseStrings(raw []byte) (all []string) {
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

// encodePairs encodes a map as an object in key order, nil if it is empty.
func encodePairs(all map[string]string) []byte {
	if len(all) == 0 {
		return nil
	}
	w := writer{dst: []byte{'{'}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w.text(name, all[name])
	}
	return append(w.dst, '}')
}

// parsePairs decodes an object of strings.
func parsePairs(raw []byte) map[string]string {
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
