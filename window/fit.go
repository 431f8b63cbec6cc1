package window

import (
	"slices"

	"firn.dev"
)

// The methods of this file leave out messages that would be sent, and nothing else. Entries
// that no model sees (labels, titles, compactions) stay on the path and are not counted.
// The same applies to messages that are never sent, which [Build] lists. System messages
// also stay: they are part of the system prompt.
//
// A turn starts with a user message and ends before the next one; the messages before the
// first user message form a turn of their own. A round starts with an assistant message
// that has content or calls and ends before the next one. A call and its result are
// therefore in the same round, but not always in the same turn: if the user wrote between
// them, the result belongs to the turn of the call.

// Limit leaves out all but the last turns started by the user. The messages before the
// first turn are left out with it. With turns <= 0 nothing is left out. [Path.Out] lists
// the entries as [TurnLimit].
//
// Like all methods that leave out or shorten entries, Limit returns a new path. It never
// changes p or any entry, which belong to the log. It is idempotent.
func (p Path) Limit(turns int) Path {
	if turns <= 0 {
		return p
	}
	first := len(p.Entries)
	var last cut
	for i, begun := first-1, 0; i >= 0; i-- {
		switch placeOf(&p.Entries[i]) {
		case answer:
			first = i
		case opening:
			if begun == turns {
				return p.leaveOut(last, TurnLimit)
			}
			begun++
			last = cut{head: i, first: first, tail: first}
		}
	}
	return p
}

// Fit leaves out the oldest whole turns until the messages have at most budget tokens
// according to the counter; nil means [Chars]. The system prompt of the options, injections
// and text added by rules are not on the path: subtract them from the budget first.
// [Path.Out] lists the entries as [OverBudget].
//
// The summary of a compaction and the last turn are always kept. If they are still too
// large, the oldest rounds of the last turn are left out. The start of that turn (the user
// message and everything up to the first answer) and its newest round are kept: a model
// that does not see its latest work repeats it. The remainder may still exceed the budget;
// [Build] reports its size.
//
// The path is read from its end, and no further than the budget allows.
func (p Path) Fit(budget int64, counter TokenCounter) Path {
	if counter == nil {
		counter = Chars{}
	}
	f := fitting{room: budget - fixed(p, counter), end: len(p.Entries), first: len(p.Entries)}
	for i := len(p.Entries) - 1; i >= 0; i-- {
		place := placeOf(&p.Entries[i])
		if place == silent {
			continue
		}
		f.take(i, place, counter.CountMessage(sent(&p.Entries[i], "", "")))
		if f.begun && f.over() {
			return p.leaveOut(f.best, OverBudget)
		}
	}
	if f.used <= f.room {
		return p
	}
	return p.leaveOut(f.lastTurn(0), OverBudget) // there is no user message, or results without a call are in the way
}

// fixed counts the tokens of the path that are always sent.
func fixed(p Path, counter TokenCounter) int64 {
	n := int64(0)
	if m := summary(p); m != nil {
		n = counter.CountMessage(m)
	}
	var system []*firn.Message
	for i := range p.Entries {
		if m, ok := p.Entries[i].Body.(*firn.Message); ok && m.Role == firn.RoleSystem {
			system = append(system, m)
		}
	}
	if len(system) > 0 {
		n += counter.CountText(joinSystem(firn.SystemPrompt(system...)))
	}
	return n
}

// fitting walks from the newest entry to the oldest one that fits.
type fitting struct {
	room int64
	// used counts the tokens from here to the end. loose counts those of results whose
	// calls are older than every answer seen so far.
	used, loose int64
	// first is the oldest answer seen, or the end.
	first, end int
	// begun is set once the start of the last turn was seen. rounds are the rounds of the
	// last turn, newest first.
	begun  bool
	rounds []round
	best   cut
}

// round is the start of a round and the number of tokens from there to the end.
type round struct {
	at     int
	tokens int64
}

// over reports whether the entries seen so far exceed the room. Loose results are not
// counted: they are left out together with their calls.
func (f *fitting) over() bool { return f.used-f.loose > f.room }

func (f *fitting) take(i int, place place, tokens int64) {
	f.used += tokens
	switch place {
	case outcome:
		f.loose += tokens
	case answer:
		f.first, f.loose = i, 0
		if !f.begun {
			f.rounds = append(f.rounds, round{i, f.used})
		}
	case opening:
		if !f.begun {
			f.begun, f.best = true, f.lastTurn(i)
		} else if !f.over() {
			f.best = cut{head: i, first: f.first, tail: f.first}
		}
	}
}

// lastTurn decides which part of the last turn, which starts at the given index, is kept.
// If there is room, only the loose results are left out.
func (f *fitting) lastTurn(at int) cut {
	c := cut{head: at, first: f.first, tail: f.first}
	if !f.over() || len(f.rounds) == 0 {
		return c
	}
	beginning := f.used - f.loose - f.rounds[len(f.rounds)-1].tokens
	for _, r := range slices.Backward(f.rounds) {
		c.tail = r.at
		if beginning+r.tokens <= f.room {
			break
		}
	}
	return c
}

// place is the role of an entry within a turn.
type place int

const (
	silent  place = iota // no model sees it
	opening              // a user message: a turn starts
	answer               // an assistant message: a round starts
	outcome              // the result of a call
	aside                // anything else: a note, a command, a summary
)

// placeOf classifies an entry as the rules will see it. An answer that is empty after the
// rules are applied is not an answer, and a result from any role belongs to its call.
func placeOf(e *firn.Entry) place {
	if !isSent(e) {
		return silent
	}
	switch b := e.Body.(type) {
	case *firn.CustomMessage:
		if slices.ContainsFunc(b.Parts, isResult) {
			return outcome
		}
	case *firn.Message:
		return placeOfMessage(b)
	}
	return aside
}

func placeOfMessage(m *firn.Message) place {
	switch {
	case m.Role == firn.RoleAssistant && slices.ContainsFunc(m.Parts, isSpoken):
		return answer
	case m.Role == firn.RoleAssistant:
		return aside
	case m.Role == firn.RoleToolResult || slices.ContainsFunc(m.Parts, isResult):
		return outcome
	case m.Role == firn.RoleUser:
		return opening
	}
	return aside
}

func isResult(part firn.Part) bool {
	_, ok := part.(firn.ToolResult)
	return ok
}

func isSpoken(part firn.Part) bool {
	switch b := part.(type) {
	case firn.Text:
		return !blank(b.Text)
	case firn.ToolCall, firn.Image:
		return true
	case firn.Shell:
		return !b.Hidden
	case firn.OpaquePart:
		return b.Type == DocumentPart
	}
	return false
}

// cut defines the messages that are kept: those from head up to first, without the results
// among them, whose calls are left out; and all from tail on. tail is never before first.
type cut struct {
	head, first, tail int
}

func (c cut) keeps(i int, place place) bool {
	if i >= c.head && i < c.first {
		return place != outcome
	}
	return place == silent || i >= c.tail
}

// leaveOut returns the path without the entries that a cut does not keep.
func (p Path) leaveOut(c cut, why Reason) Path {
	var out []Omission
	gone, oldest, run := 0, 0, false
	for i := range c.tail {
		e := &p.Entries[i]
		place := placeOf(e)
		if c.keeps(i, place) {
			run = run && place == silent
			continue
		}
		if gone == 0 {
			oldest = i
		}
		gone++
		out = omitNext(out, &run, why, e.ID)
	}
	if gone == 0 {
		return p
	}
	entries := make([]firn.Entry, 0, len(p.Entries)-gone)
	for i := range p.Entries {
		if i >= c.tail || c.keeps(i, placeOf(&p.Entries[i])) {
			entries = append(entries, p.Entries[i])
		}
	}
	return p.changed(entries, out, oldest)
}

// omitNext adds the next newer entry to a list of omissions. It extends the last run if
// that is still growing.
func omitNext(out []Omission, run *bool, why Reason, id firn.EntryID) []Omission {
	if n := len(out); *run {
		out[n-1].Last = id
		out[n-1].Count++
		return out
	}
	*run = true
	return append(out, Omission{Why: why, First: id, Last: id, Count: 1})
}

// changed returns the path with other entries. The reported usage no longer applies if
// the answer that reported it is not older than the oldest changed entry.
func (p Path) changed(entries []firn.Entry, out []Omission, oldest int) Path {
	if at, answered := reporter(p); answered == nil || at >= oldest {
		p.stale = len(entries)
	}
	p.Entries = entries
	p.Out = slices.Concat(p.Out, out)
	return p
}
