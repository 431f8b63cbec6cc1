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

// strand is a part of the chain as it stands in the file, the last copy of each
// record, and what shall become of it.
type strand struct {
	records []*strandRecord
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

func newStrand() *strand {
	return &strand{gone: make(map[string]string), parents: make(map[string]string)}
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

// addMissing reads lines of which none is known better already.
func (s *strand) addMissing(lines [][]byte) {
	for _, data := range lines {
		if l, err := readLine(data); err == nil && s.find(l.uuid) == nil {
			s.add([][]byte{data})
		}
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
		s.remove(r, r.parent)
		for _, other := range s.records {
			s.replace(other, func(p firn.Part) firn.Part {
				if result, ok := p.(firn.ToolResult); ok && slices.Contains(calls, result.CallID) {
					return nil
				}
				return p
			})
		}
	default:
		s.replace(r, func(p firn.Part) firn.Part {
			if _, ok := p.(firn.ToolResult); ok {
				return p
			}
			return nil
		})
	}
}

// cutCompaction takes out a boundary, its summary and the copies behind it.
func (s *strand) cutCompaction(summary *strandRecord) {
	up := summary.parent
	if b := s.find(summary.parent); b != nil && b.subtype == "compact_boundary" {
		s.remove(b, b.logical)
		up = b.uuid
	}
	s.remove(summary, up)
	for _, r := range s.records {
		if _, below := s.gone[r.parent]; below && r.copyOf != "" {
			s.remove(r, r.parent)
		}
	}
}

// remove passes over a record.
func (s *strand) remove(r *strandRecord, up string) {
	s.gone[r.uuid] = up
	s.order = append(s.order, r.uuid)
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
		s.remove(r, r.parent)
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
	for grown := true; grown; { // a parent may stand behind its child
		grown = false
		for _, r := range s.records {
			if !in[r.uuid] && (in[r.parent] || r.logical != "" && in[r.logical]) {
				in[r.uuid], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(s.records), func(r *strandRecord) bool {
		_, gone := s.gone[r.uuid]
		return gone || !in[r.uuid]
	})
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
