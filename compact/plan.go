package compact

import (
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/window"
)

// Plan is where a conversation will be cut: what is summarised and what is
// kept. It shares memory with the path it was made of.
type Plan struct {
	// FirstKept is the first entry that is kept; empty if none is.
	FirstKept firn.EntryID
	// Summarize are the entries before the cut, oldest first, without those of
	// Prefix. Prefix are the entries of a turn that the cut splits, from its
	// beginning to the cut. Kept are the entries behind the cut.
	Summarize, Prefix, Kept []firn.Entry
	// Split says that the cut is within a turn.
	Split bool
	// Previous is the compaction that counts so far, nil if there is none. Its
	// summary is to be updated.
	Previous *firn.Entry
	// Tokens is what the counter makes of Summarize and Prefix, Tail what it
	// makes of Kept, Before the best that is known of the whole window.
	Tokens, Tail, Before int64

	// first and turn are the places of the cut and of the beginning of the turn
	// that it splits (-1 if it splits none) among the entries of the path.
	first, turn int
}

// PlanOptions say what else decides where to cut. The zero value plans for a
// window that is not known, with nothing else in it.
type PlanOptions struct {
	// Window is the size of the window that must fit.
	Window int64
	// Fixed are the tokens in it that compaction cannot shrink.
	Fixed int64
	// Counter counts tokens; nil means [window.Chars].
	Counter window.TokenCounter
	// Keep says how much is kept; the zero value is what the settings say.
	Keep Keep
	// Again plans also if nothing was said since the last compaction.
	Again bool
}

// Keep says how much of the latest messages is kept.
type Keep int

// How much is kept, from most to least.
const (
	// KeepRecent keeps what the settings say.
	KeepRecent Keep = iota
	// KeepTurn keeps no more than the latest turn: what the user said last, and
	// all that followed.
	KeepTurn
	// KeepLast keeps no more than the latest message with its results.
	KeepLast
	// KeepNothing keeps nothing, but for calls that still wait for a result.
	KeepNothing
)

// NewPlan decides where to cut a path. A cut never parts a call from its
// results. Where there is nothing to summarise the error is ErrNothing, and
// the plan tells what was found.
func NewPlan(p window.Path, s Settings, o PlanOptions) (Plan, error) {
	if o.Counter == nil {
		o.Counter = window.Chars{}
	}
	k := newKnife(p.Entries, o.Counter)
	room := s.Limit(o.Window) - o.Fixed
	plan := k.plan(k.place(s.keepRecent(room), o.Keep))
	plan.Previous = p.Compaction
	plan.Before = before(p, window.Options{Counter: o.Counter}, o.Fixed)
	switch {
	case !o.Again && p.Compaction != nil && !k.saidSince():
		return plan, fmt.Errorf("plan a compaction: nothing was said since the last one: %w", ErrNothing)
	case k.says(0, plan.first) == 0:
		return plan, fmt.Errorf("plan a compaction: nothing is older than what is kept: %w", ErrNothing)
	}
	return plan, nil
}

// before is the best that is known of the size of a window: what the provider
// reported has the fixed parts in it, what is counted has not.
func before(p window.Path, o window.Options, fixed int64) int64 {
	t := window.Build(p, o).Tokens
	if t.Reported > 0 {
		return t.Total
	}
	return t.Items + fixed
}

// knife knows where entries may be cut.
type knife struct {
	entries []firn.Entry
	// tokens are those of each entry, zero for those that no model sees.
	tokens []int64
	// fits tells of each place whether a cut before it is allowed: it is
	// something said or done, and parts no pair.
	fits []bool
	// wait is the place of an answer whose calls wait for results, else the
	// number of entries. Nothing from there on may be cut off.
	wait int
}

func newKnife(entries []firn.Entry, counter window.TokenCounter) *knife {
	k := &knife{entries: entries, tokens: make([]int64, len(entries)), fits: make([]bool, len(entries)), wait: len(entries)}
	for i := range entries {
		k.tokens[i] = tokensOf(&entries[i], counter)
		k.fits[i] = cutPoint(&entries[i])
	}
	k.bind()
	return k
}

// tokensOf counts what a model sees of an entry. A compaction's summary is not
// counted: the one that counts is not part of what is cut.
func tokensOf(e *firn.Entry, counter window.TokenCounter) int64 {
	switch b := e.Body.(type) {
	case *firn.Message:
		return counter.CountMessage(b)
	case *firn.CustomMessage:
		return counter.CountMessage(&firn.Message{Role: firn.RoleUser, Parts: b.Parts})
	case *firn.BranchSummary:
		return counter.CountText(b.Summary)
	}
	return 0
}

// cutPoint reports whether a cut may be before the entry, as far as it alone
// can tell: never before a result.
func cutPoint(e *firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Message:
		return b.Role == firn.RoleUser || b.Role == firn.RoleAssistant || b.Role == firn.RoleShell
	case *firn.CustomMessage, *firn.BranchSummary:
		return true
	}
	return false
}

// beginsTurn reports whether a turn begins with the entry.
func beginsTurn(e *firn.Entry) bool {
	m, ok := e.Body.(*firn.Message)
	return cutPoint(e) && (!ok || m.Role != firn.RoleAssistant)
}

// bind takes away the cut points between a call and its results, and those
// behind calls that still wait. A result belongs to the latest answer before
// it that has its call.
func (k *knife) bind() {
	owner := make(map[string]int)
	open := make(map[string]bool)
	for i := range k.entries {
		m, ok := k.entries[i].Body.(*firn.Message)
		if !ok {
			continue
		}
		switch m.Role {
		case firn.RoleAssistant:
			k.bindCalls(i, m, owner, open)
		case firn.RoleUser:
			clear(open) // the user went on: no result will come
		case firn.RoleToolResult:
			for _, id := range resultIDs(m) {
				delete(open, id)
				if call, ok := owner[id]; ok {
					clear(k.fits[call+1 : i+1])
				}
			}
		}
	}
	for id := range open {
		k.wait = min(k.wait, owner[id])
	}
	if k.wait < len(k.entries) {
		clear(k.fits[k.wait+1:])
	}
}

// keep takes away the cut points behind an entry, and returns the tokens from there on;
// false if there is no such entry, or it is kept anyway.
func (k *knife) keep(id firn.EntryID) (tail int64, ok bool) {
	i := slices.IndexFunc(k.entries, func(e firn.Entry) bool { return id != "" && e.ID == id })
	if i < 0 || i >= k.wait {
		return 0, false
	}
	k.wait = i
	clear(k.fits[i+1:])
	for _, n := range k.tokens[i:] {
		tail += n
	}
	return tail, true
}

// bindCalls notes the calls of an answer. One that failed is never sent, and
// so are its calls.
func (k *knife) bindCalls(i int, m *firn.Message, owner map[string]int, open map[string]bool) {
	if failed(m) {
		return
	}
	clear(open)
	for _, id := range callIDs(m) {
		owner[id] = i
		open[id] = true
	}
}

// failed reports whether an answer is never sent because it is not whole.
func failed(m *firn.Message) bool {
	return m.StopReason == firn.StopError || m.StopReason == firn.StopAborted
}

// callIDs are the calls of an answer. One that failed has none that count.
func callIDs(m *firn.Message) []string {
	var ids []string
	for _, part := range m.Parts {
		if call, ok := part.(firn.ToolCall); ok && !failed(m) {
			ids = append(ids, call.ID)
		}
	}
	return ids
}

func resultIDs(m *firn.Message) []string {
	var ids []string
	for _, part := range m.Parts {
		if result, ok := part.(firn.ToolResult); ok {
			ids = append(ids, result.CallID)
		}
	}
	return ids
}

// place finds where to cut so that about keep tokens are left behind it, or
// less if that is wanted.
func (k *knife) place(keep int64, how Keep) int {
	at := k.recent(keep)
	switch how {
	case KeepTurn:
		at = max(at, k.last(func(i int) bool { return k.fits[i] && beginsTurn(&k.entries[i]) }))
	case KeepLast:
		at = max(at, k.last(func(i int) bool { return k.fits[i] }))
	case KeepNothing:
		return k.wait
	}
	return at
}

// recent walks back until there are keep tokens, and cuts at the next place
// behind; where there is none, at the nearest before.
func (k *knife) recent(keep int64) int {
	sum, at := int64(0), -1
	for i := len(k.entries) - 1; i >= 0; i-- {
		if sum += k.tokens[i]; sum >= keep {
			at = i
			break
		}
	}
	if at < 0 {
		return 0
	}
	for i := at; i < len(k.entries); i++ {
		if k.fits[i] {
			return i
		}
	}
	return k.last(func(i int) bool { return k.fits[i] })
}

// last is the last place for which ok holds, zero if there is none.
func (k *knife) last(ok func(int) bool) int {
	for i := len(k.entries) - 1; i >= 0; i-- {
		if ok(i) {
			return i
		}
	}
	return 0
}

// plan makes the plan of a cut.
func (k *knife) plan(at int) Plan {
	plan := Plan{turn: -1}
	if at < len(k.entries) && !beginsTurn(&k.entries[at]) {
		plan.turn = k.turnStart(at)
	}
	for at > 0 && at < len(k.entries) && !solid(&k.entries[at-1]) {
		at-- // what belongs to the first message kept goes with it
	}
	plan.first = at
	summarized := at
	if plan.turn >= at {
		plan.turn = -1
	}
	if plan.turn >= 0 {
		plan.Split, summarized = true, plan.turn
	}
	plan.Summarize, plan.Prefix, plan.Kept = k.entries[:summarized], k.entries[summarized:at], k.entries[at:]
	if at < len(k.entries) {
		plan.FirstKept = k.entries[at].ID
	}
	for i, n := range k.tokens {
		if i < at {
			plan.Tokens += n
		} else {
			plan.Tail += n
		}
	}
	return plan
}

// solid reports whether a cut stays behind the entry, and does not move
// before it.
func solid(e *firn.Entry) bool {
	switch e.Body.(type) {
	case *firn.Message, *firn.Compaction:
		return true
	}
	return false
}

// turnStart is where the turn of an entry begins, -1 if that is not there.
func (k *knife) turnStart(at int) int {
	for i := at; i >= 0; i-- {
		if beginsTurn(&k.entries[i]) {
			return i
		}
	}
	return -1
}

// says counts the entries in a range that a model sees something of.
func (k *knife) says(from, to int) int {
	n := 0
	for i := from; i < to; i++ {
		if k.tokens[i] > 0 {
			n++
		}
	}
	return n
}

// saidSince reports whether anything was said behind the last compaction.
func (k *knife) saidSince() bool {
	for i := len(k.entries) - 1; i >= 0; i-- {
		if k.tokens[i] > 0 {
			return true
		}
		if _, ok := k.entries[i].Body.(*firn.Compaction); ok {
			return false
		}
	}
	return false
}
