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

// Limits of courses.
const (
	// mostEpisodes is the maximum number of episodes of a course.
	mostEpisodes = 400
	// coursePreview is the maximum length of a message preview, in characters.
	coursePreview = 80
)

// inRange returns the turns of a range.
func inRange(turns []wire.Episode, part wire.TurnRange) []wire.Episode {
	to := len(turns)
	if part.To > 0 {
		to = min(to, part.To)
	}
	return turns[min(max(part.From-1, 0), to):to]
}

// Course returns the turns of the branch that ends at an entry, given as a reference (empty
// means the head), or a range of them, each with the tokens it added, its usage,
// and the size of the window at its end. All numbers except the usage are estimates. A
// session is read once; later calls read only new entries. Of a session longer than 256 MB
// only the end is read.
func (v *View) Course(ctx context.Context, id firn.ID, head string, part wire.TurnRange) (wire.Course, error) {
	out := wire.Course{Session: id, Step: 1, Episodes: []wire.Episode{}}
	if err := v.CheckExists(ctx, id); err != nil {
		return out, err
	}
	now, err := v.Glimpse(ctx, id)
	if err != nil {
		return out, err
	}
	var last firn.EntryID
	if head != "" {
		if last, err = v.EntryAt(ctx, id, head); err != nil {
			return out, err
		}
	}
	s, done, err := (shaper{v}).shapeOfEnd(ctx, id)
	if err != nil {
		return out, err
	}
	defer done()
	end := s.Tree.Head()
	if last != "" {
		if end = s.Tree.Find(last); end < 0 {
			return out, NoEntry(id, string(last), "it is not in the part that was read")
		}
	}
	turns := s.turns(now.fixed, end)
	out.Turns, out.Partial = len(turns), s.from > store.Start
	out.Step, out.Episodes = merge(inRange(turns, part), mostEpisodes)
	return out, nil
}

// weighed is the summary of an entry for courses.
type weighed struct {
	tokens int64
	// time is in nanoseconds since 1970; zero if unknown. used is the usage; nil if none.
	time int64
	used *wire.Counters
	// preview is set for user messages, compaction for compactions.
	preview    string
	compaction *wire.Compaction
	calls      int32
	part       part
	chooses    choice
	// sent is set if the entry is sent to a model, opens if it starts a turn.
	sent, opens bool
}

// choice is the setting that an entry changes for the following turns.
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

// choiceOf returns the setting that an entry changes.
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

// hasString reports whether a member of an object is a non-empty string.
func hasString(object json.RawMessage, name string) bool {
	var members map[string]json.RawMessage
	var word string
	return json.Unmarshal(object, &members) == nil && json.Unmarshal(members[name], &word) == nil && word != ""
}

// part is the author of an entry, as far as courses distinguish it.
type part byte

const (
	partNone part = iota
	partUser
	partTool
	partAnswer
)

// partOf returns the author of a message.
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

// size returns the approximate number of bytes referenced by w.
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

// at returns the time of the entry.
func (w *weighed) at() time.Time {
	if w.time == 0 {
		return time.Time{}
	}
	return time.Unix(0, w.time).UTC()
}

// weigh summarizes an entry.
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
