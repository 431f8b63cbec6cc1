package convert

import (
	"bytes"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// joined combines entries that a tool spread over several lines: pieces of one model
// response become one message, followed by the results between them and then by the other
// entries. Other tools can only read this order.
//
// Original lines of the target tool stay as they are.
//
// It holds back at most one response, its results and a few entries that are not sent to
// the model.
func joined(reported iter.Seq2[dialect.EntryLines, error], to dialect.Name) iter.Seq2[dialect.EntryLines, error] {
	return func(yield func(dialect.EntryLines, error) bool) {
		j := joiner{yield: yield, to: to, moved: make(map[firn.EntryID]firn.EntryID)}
		for t, err := range reported {
			if err != nil {
				yield(dialect.EntryLines{}, err)
				return
			}
			if !j.take(t) {
				return
			}
		}
		j.release()
	}
}

// joiner holds a response back until it is complete.
type joiner struct {
	yield func(dialect.EntryLines, error) bool
	to    dialect.Name
	// answer is the message that is being combined, id its response ID.
	answer dialect.EntryLines
	id     string
	// results are the results and other entries after a piece of it; more pieces may
	// follow.
	results []dialect.EntryLines
	// pieces are the IDs of the entries that are part of the response.
	pieces []firn.EntryID
	// moved maps entries of a combined response to the new parent of their children.
	moved map[firn.EntryID]firn.EntryID
}

// take processes the next entry. It returns false if iteration was stopped.
func (j *joiner) take(t dialect.EntryLines) bool {
	if to, ok := j.moved[t.Entry.Parent]; ok {
		t.Entry.Parent = to
	}
	if j.id != "" {
		switch {
		case isPiece(t.Entry, j.id) && j.isHeld(t.Entry.Parent):
			j.merge(t)
			return true
		case (isResult(t.Entry) || isAside(t.Entry) && len(j.results) < maxAside) && j.isHeld(t.Entry.Parent):
			j.results = append(j.results, keep(t))
			return true
		}
		if !j.release() {
			return false
		}
		if to, ok := j.moved[t.Entry.Parent]; ok {
			t.Entry.Parent = to
		}
	}
	if id := responseID(t.Entry); id != "" && !isOf(t.Entry, j.to) {
		j.answer, j.id = keep(t), id
		return true
	}
	return j.yield(t, nil)
}

// isHeld reports whether the entry is held back.
func (j *joiner) isHeld(id firn.EntryID) bool {
	return id == j.answer.Entry.ID || slices.Contains(j.pieces, id) || slices.ContainsFunc(j.results, func(t dialect.EntryLines) bool { return t.Entry.ID == id })
}

// merge adds a piece to the response.
func (j *joiner) merge(t dialect.EntryLines) {
	whole, piece := *j.answer.Entry.Body.(*firn.Message), t.Entry.Body.(*firn.Message)
	whole.Parts = append(slices.Clip(whole.Parts), piece.Parts...)
	if piece.StopReason != "" {
		whole.StopReason, whole.Error = piece.StopReason, piece.Error
	}
	if whole.Usage == nil {
		whole.Usage = piece.Usage
	}
	j.answer.Entry.Body = &whole
	j.answer.Lines = append(j.answer.Lines, keep(t).Lines...)
	j.pieces = append(j.pieces, t.Entry.ID)
}

// release yields the response and its results in order. If the response was combined,
// children of its pieces follow the last entry.
func (j *joiner) release() bool {
	if j.id == "" {
		return true
	}
	answer, results, pieces := j.answer, j.results, j.pieces
	j.id, j.answer, j.results, j.pieces = "", dialect.EntryLines{}, nil, nil
	if !j.yield(answer, nil) {
		return false
	}
	last := answer.Entry.ID
	for _, t := range results {
		if len(pieces) > 0 {
			t.Entry.Parent = last
		}
		last = t.Entry.ID
		if !j.yield(t, nil) {
			return false
		}
	}
	if len(pieces) > 0 {
		j.hang(last, answer.Entry.ID, pieces, results)
	}
	return true
}

// hang records that entries after a response follow its last result.
func (j *joiner) hang(last, answer firn.EntryID, pieces []firn.EntryID, results []dialect.EntryLines) {
	for _, id := range pieces {
		j.moved[id] = last
	}
	if last == answer {
		return
	}
	j.moved[answer] = last
	for _, t := range results[:len(results)-1] {
		j.moved[t.Entry.ID] = last
	}
}

// keep returns a copy that remains valid.
func keep(t dialect.EntryLines) dialect.EntryLines {
	lines := make([][]byte, len(t.Lines))
	for i, line := range t.Lines {
		lines[i] = bytes.Clone(line)
	}
	t.Lines = lines
	return t
}

// responseID returns the ID of the response that an entry belongs to.
func responseID(e firn.Entry) string {
	m, ok := e.Body.(*firn.Message)
	if !ok || m.Role != firn.RoleAssistant {
		return ""
	}
	return string(m.Extra.Get(dialect.ResponseID))
}

// isPiece reports whether an entry is a further piece of a response. The first piece has
// the usage, so an entry with usage belongs to another response even if a provider reused
// the ID.
func isPiece(e firn.Entry, id string) bool {
	m, ok := e.Body.(*firn.Message)
	return ok && m.Usage == nil && responseID(e) == id
}

// maxAside limits the entries held back that are not sent to the model.
const maxAside = 64

// isAside reports whether an entry is not part of the conversation: tools write such lines
// between the pieces of a response.
func isAside(e firn.Entry) bool {
	switch e.Body.(type) {
	case *firn.Custom, *firn.Opaque, *firn.Title:
		return true
	}
	return false
}

func isResult(e firn.Entry) bool {
	m, ok := e.Body.(*firn.Message)
	return ok && m.Role == firn.RoleToolResult
}
