package window

import (
	"bytes"
	"slices"

	"firn.dev"
)

// join merges a message into the answer that it is a piece of, and reports whether it did.
// Some tools record an answer in pieces, each call on its own line, and run a call before
// the next one is written. The model must see one answer, followed by the results.
func (r *rendering) join(id firn.EntryID, m *firn.Message) bool {
	answer := m.Extra.Get(firn.ResponseIDField)
	if m.Role != firn.RoleAssistant || m.Usage != nil || len(answer) == 0 {
		return false
	}
	for i := len(r.items) - 1; i >= 0; i-- {
		it := &r.items[i]
		switch it.Message.Role {
		case firn.RoleToolResult:
			continue
		case firn.RoleAssistant:
			if !bytes.Equal(it.Message.Extra.Get(firn.ResponseIDField), answer) {
				return false
			}
			it.add(id, m)
			return true
		}
		return false
	}
	return false
}

// add adds a piece to an answer.
func (it *Item) add(id firn.EntryID, m *firn.Message) {
	it.Message.Parts = append(slices.Clip(it.Message.Parts), m.Parts...)
	it.From = append(slices.Clip(it.From), id)
	if m.StopReason != "" {
		it.Message.StopReason, it.Message.Error = m.StopReason, m.Error
	}
}
