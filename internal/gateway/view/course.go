package view

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// Bounds of courses.
const (
	// mostEpisodes is how many episodes a course has at most.
	mostEpisodes = 400
	// coursePreview bounds what is told of what a user said, in characters.
	coursePreview = 80
)

// Course tells how the branch of the head went: its turns, each with what it
// added to the window, what it used and how full the window was at its end. The
// numbers are estimates, but for what was used. A session is read once; what
// is added to it is read when it is asked for again. Of one that is longer than
// 256 MB only the end is read.
func (v *View) Course(ctx context.Context, id firn.ID) (wire.Course, error) {
	out := wire.Course{Session: id, Step: 1, Episodes: []wire.Episode{}}
	if err := v.MustBe(ctx, id); err != nil {
		return out, err
	}
	now, err := v.Glimpse(ctx, id)
	if err != nil {
		return out, err
	}
	s, done, err := v.shapeOfEnd(ctx, id)
	if err != nil {
		return out, err
	}
	defer done()
	turns := s.turns(now.fixed)
	out.Turns, out.Partial = len(turns), s.from > store.Start
	out.Step, out.Episodes = merge(turns, mostEpisodes)
	return out, nil
}

// weighed is what counts of an entry.
type weighed struct {
	tokens int64
	// time is when it was written, in nanoseconds since 1970; zero if that is not
	// known. used is what it used, nil for nothing.
	time int64
	used *wire.Counters
	// preview is told of what the user said, compaction of compactions.
	preview    string
	compaction *wire.Compaction
	calls      int32
	part       part
	chooses    choice
	// sent says that a model is sent it, opens that a turn begins with it.
	sent, opens bool
}

// choice is what an entry chooses for all that comes.
type choice byte

const (
	choosesNothing choice = iota
	choosesModel
	choosesThinking
	choosesVerbose
	choosesSend
	choosesAuth
	choices
)

// choiceOf is what an entry chooses.
func choiceOf(b firn.Body) choice {
	switch b := b.(type) {
	case *firn.ModelChange:
		return choosesIf(choosesModel, b.Model != "")
	case *firn.ThinkingChange:
		return choosesIf(choosesThinking, b.Level != "")
	case *firn.Custom:
		switch b.Type {
		case firn.VerboseType:
			return choosesIf(choosesVerbose, hasString(b.Data, "level"))
		case firn.SendType:
			return choosesIf(choosesSend, hasString(b.Data, "policy"))
		case firn.AuthType:
			return choosesIf(choosesAuth, hasString(b.Data, "profile"))
		}
	}
	return choosesNothing
}

func choosesIf(c choice, does bool) choice {
	if does {
		return c
	}
	return choosesNothing
}

// hasWord reports whether a member of an object is a string that says something.
func hasString(object json.RawMessage, name string) bool {
	var members map[string]json.RawMessage
	var word string
	return json.Unmarshal(object, &members) == nil && json.Unmarshal(members[name], &word) == nil && word != ""
}

// part is who said an entry, as far as that matters for a course.
type part byte

const (
	partNone part = iota
	partUser
	partTool
	partAnswer
)

// partOf is the part that a message has.
func partOf(m *firn.Message) part {
	switch m.Role {
	case firn.RoleUser:
		return partUser
	case firn.RoleToolResult:
		return partTool
	case firn.RoleAssistant:
		return partAnswer
	}
	return partNone
}

// size is about how many bytes it takes up behind its pointers.
func (w *weighed) size() int64 {
	size := int64(len(w.preview))
	if w.used != nil {
		size += 48
	}
	if w.compaction != nil {
		size += 200 + int64(len(w.compaction.Summary))
	}
	return size
}

// at is when the entry was written.
func (w *weighed) at() time.Time {
	if w.time == 0 {
		return time.Time{}
	}
	return time.Unix(0, w.time).UTC()
}

// weigh tells what counts of an entry.
func weigh(e *firn.Entry) weighed {
	w := weighed{chooses: choiceOf(e.Body)}
	if !e.Time.IsZero() {
		w.time = e.Time.UnixNano()
	}
	var used agent.Counters
	if used.Add(*e); used.Answers > 0 {
		w.used = new(countersOf(used))
	}
	switch b := e.Body.(type) {
	case *firn.Message:
		w.part, w.tokens, w.sent = partOf(b), window.Chars{}.CountMessage(b), true
		for _, part := range b.Parts {
			if _, ok := part.(firn.ToolCall); ok {
				w.calls++
			}
		}
		if b.Role == firn.RoleUser {
			w.preview = Preview(b.Text(), coursePreview)
			w.opens = !slices.ContainsFunc(b.Parts, func(p firn.Part) bool { _, ok := p.(firn.ToolResult); return ok })
		}
	case *firn.CustomMessage:
		w.tokens, w.sent = window.Chars{}.CountMessage(&firn.Message{Parts: b.Parts}), true
	case *firn.BranchSummary:
		w.tokens, w.sent = window.Chars{}.CountText(b.Summary), true
	case *firn.Compaction:
		w.tokens = window.Chars{}.CountText(b.Summary)
		d := compact.DetailsOf(b)
		w.compaction = &wire.Compaction{
			ID: e.ID, Summary: Preview(b.Summary, coursePreview), Before: b.TokensBefore, After: d.TokensAfter, Strategy: string(d.Strategy),
			Reason: string(d.Reason), Model: d.Model, At: e.Time.UTC().Format(time.RFC3339Nano),
		}
	}
	return w
}
