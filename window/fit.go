package window

import (
	"slices"

	"firn.dev"
)

// The methods of this file leave out what is sent, and only that: entries that
// no model sees (labels, titles, compactions and the like) stay on the path and
// are not counted, and so do messages that are never sent, which [Build] names.
// Messages of role system stay too: they are part of the system prompt.
//
// A turn begins with a message that the user said and ends before the next one;
// what stands before the first is a turn of its own. A round begins with a
// message in which the assistant says or calls something, and ends before the
// next one. A call and its result are thus in the same round, though not always
// in the same turn: where the user spoke between them, the result goes with the
// call.

// Limit leaves out all but the last turns that the user began. What stands
// before the first of them goes as soon as a turn does. With turns <= 0 nothing
// is left out. [Path.Out] tells what went as [TurnLimit].
//
// Like all methods that leave something out or shorten it, it returns a new
// path and never changes p nor any entry, which belong to the log. Done twice
// it does nothing more.
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

// Fit leaves out the oldest whole turns until what is sent is at most budget
// tokens by the counter; nil means [Chars]. The system prompt of the options,
// what is injected and the few words that rules add are not on the path: take
// them off the budget first. [Path.Out] tells what went as [OverBudget].
//
// The summary of a compaction always stays, and so does the last turn. If that
// is still too much, the oldest rounds of the last turn go. Its beginning stays,
// which is what the user said and all up to the first answer, and so does its
// newest round: a model that does not see what it has just done does it again.
// What cannot be left out may still be too much; [Build] tells how much it is.
//
// The path is read from its end, and no further than there is room.
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
	return p.leaveOut(f.lastTurn(0), OverBudget) // nobody began it, or results that have no call are in the way
}

// fixed counts what of a path is always sent.
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

// fitting is a walk from the newest entry to the oldest that there is room for.
type fitting struct {
	room int64
	// used counts all that is sent from here on, and loose the results among it
	// that no answer stands before: their calls are older.
	used, loose int64
	// first is the oldest answer met, or the end.
	first, end int
	// begun says that the beginning of the last turn was met; rounds are those of
	// the last turn, newest first.
	begun  bool
	rounds []round
	best   cut
}

// round is where a round begins, and the tokens from there to the end.
type round struct {
	at     int
	tokens int64
}

// over reports whether there is no room for all that was met. Loose results
// need none: should their calls be left out, so are they.
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

// lastTurn decides what stays of the last turn, which begins at a place. If
// there is room all stays but the loose results.
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

// place is the part that an entry has in a turn.
type place int

const (
	silent  place = iota // no model sees it
	opening              // the user speaks: a turn begins
	answer               // the assistant speaks: a round begins
	outcome              // it brings the result of a call
	aside                // anything else: a note, a command, a summary
)

// placeOf looks at an entry as the rules will: an answer in which nothing is
// left once they took away what is empty is none, and whoever brings a result,
// it goes with its call.
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

// cut says what stays of all that is sent: what begins the window, from head
// to before first, without the results in it, whose calls are gone; and all
// from tail on, which is never before first.
type cut struct {
	head, first, tail int
}

func (c cut) keeps(i int, place place) bool {
	if i >= c.head && i < c.first {
		return place != outcome
	}
	return place == silent || i >= c.tail
}

// leaveOut returns the path without what a cut does not keep.
func (p Path) leaveOut(c cut, why Why) Path {
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

// omitNext adds the next newer entry to a list of omissions, in one run with
// the entry before it if that one is still growing.
func omitNext(out []Omission, run *bool, why Why, id firn.EntryID) []Omission {
	if n := len(out); *run {
		out[n-1].Last = id
		out[n-1].Count++
		return out
	}
	*run = true
	return append(out, Omission{Why: why, First: id, Last: id, Count: 1})
}

// changed returns the path with other entries. An answer behind the oldest of
// those that were left out or shortened told the size of something else, so
// none is asked then.
func (p Path) changed(entries []firn.Entry, out []Omission, oldest int) Path {
	if at, said := reporter(p); said == nil || at >= oldest {
		p.stale = len(entries)
	}
	p.Entries = entries
	p.Out = slices.Concat(p.Out, out)
	return p
}
