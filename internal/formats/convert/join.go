package convert

import (
	"bytes"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// joined puts together what a tool spread over several lines: pieces of one
// answer of a model become one message, and the results that stood between
// them come after it, and after those what else did. Only so can every other
// tool read them.
//
// Lines that the tool which is written to wrote itself stay as they are.
//
// It holds back one answer and the results to it, and a little that no model
// sees, never more.
func joined(told iter.Seq2[Told, error], to dialect.Name) iter.Seq2[Told, error] {
	return func(yield func(Told, error) bool) {
		j := joiner{yield: yield, to: to, moved: make(map[firn.EntryID]firn.EntryID)}
		for t, err := range told {
			if err != nil {
				yield(Told{}, err)
				return
			}
			if !j.take(t) {
				return
			}
		}
		j.release()
	}
}

// joiner holds an answer back until it is whole.
type joiner struct {
	yield func(Told, error) bool
	to    dialect.Name
	// answer is the message that is being put together, and id its answer's id.
	answer Told
	id     string
	// results came after a piece of it, with what else did, and other pieces may
	// come yet.
	results []Told
	// pieces are the ids of those that are part of the answer now.
	pieces []firn.EntryID
	// moved tells under which entry to hang what hung under one of an answer
	// that was put together.
	moved map[firn.EntryID]firn.EntryID
}

// take gives the joiner the next entry; false if nobody wants more.
func (j *joiner) take(t Told) bool {
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

// isHeld reports whether the entry is one of those held back.
func (j *joiner) isHeld(id firn.EntryID) bool {
	return id == j.answer.Entry.ID || slices.Contains(j.pieces, id) || slices.ContainsFunc(j.results, func(t Told) bool { return t.Entry.ID == id })
}

// merge adds a piece to the answer.
func (j *joiner) merge(t Told) {
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

// release yields the answer and the results to it, one after the other. If it
// was put together, what hung under a piece of it hangs under the last now.
func (j *joiner) release() bool {
	if j.id == "" {
		return true
	}
	answer, results, pieces := j.answer, j.results, j.pieces
	j.id, j.answer, j.results, j.pieces = "", Told{}, nil, nil
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

// hang remembers that what comes after an answer comes after the last result.
func (j *joiner) hang(last, answer firn.EntryID, pieces []firn.EntryID, results []Told) {
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

// keep makes a copy of what is told that outlives the step.
func keep(t Told) Told {
	lines := make([][]byte, len(t.Lines))
	for i, line := range t.Lines {
		lines[i] = bytes.Clone(line)
	}
	t.Lines = lines
	return t
}

// responseID is the id of the answer that an entry is a piece of.
func responseID(e firn.Entry) string {
	m, ok := e.Body.(*firn.Message)
	if !ok || m.Role != firn.RoleAssistant {
		return ""
	}
	return string(m.Extra.Get(dialect.ResponseID))
}

// isPiece reports whether an entry is a further piece of an answer. An answer
// has its usage with its first piece, so one with usage is another answer,
// whatever a careless provider called it.
func isPiece(e firn.Entry, id string) bool {
	m, ok := e.Body.(*firn.Message)
	return ok && m.Usage == nil && responseID(e) == id
}

// maxAside is how much is held back that no model sees.
const maxAside = 64

// isAside reports whether an entry is no part of the conversation: tools write
// such lines between the pieces of an answer.
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
