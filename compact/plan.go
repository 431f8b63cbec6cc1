package compact

import (
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/window"
)

// Plan defines where a conversation is cut: the entries to summarize and the entries to
// keep. It shares memory with the path it was made from.
type Plan struct {
	// FirstKept is the first entry that is kept; empty if there is none.
	FirstKept firn.EntryID
	// Summarize are the entries before the cut without those of Prefix, oldest first.
	// Prefix are the entries of a turn that the cut splits, from its start to the cut. Kept
	// are the entries after the cut.
	Summarize, Prefix, Kept []firn.Entry
	// Split reports whether the cut is within a turn.
	Split bool
	// Previous is the compaction in effect, or nil. Its summary is updated.
	Previous *firn.Entry
	// Tokens is the counter's total for Summarize and Prefix, Tail that for Kept. Before is
	// the best estimate for the whole window.
	Tokens, Tail, Before int64

	// first and turn are the indexes of the cut and of the start of the turn that it splits
	// (-1 if none) in the entries of the path.
	first, turn int
}

// PlanOptions are further parameters of a plan. The zero value plans for a window of
// unknown size without fixed parts.
type PlanOptions struct {
	// Window is the size of the model's window.
	Window int64
	// Fixed is the number of tokens in it that compaction cannot shrink.
	Fixed int64
	// Counter counts tokens; nil means [window.Chars].
	Counter window.TokenCounter
	// Keep selects how much is kept; the zero value follows the settings.
	Keep Keep
	// Again also plans if there are no new messages since the last compaction.
	Again bool
}

// Keep selects how much of the latest messages is kept.
type Keep int

// How much is kept, from most to least.
const (
	// KeepRecent keeps the amount given by the settings.
	KeepRecent Keep = iota
	// KeepTurn keeps at most the latest turn: the last user message and everything after
	// it.
	KeepTurn
	// KeepLast keeps at most the latest message with its results.
	KeepLast
	// KeepNothing keeps nothing except calls without a result.
	KeepNothing
)

// NewPlan decides where to cut a path. A cut never separates a call from its results. If
// there is nothing to summarize, the error is ErrNothing and the plan still has the
// figures.
func NewPlan(p window.Path, s Settings, o PlanOptions) (Plan, error) {
	if o.Counter == nil {
		o.Counter = window.Chars{}
	}
	k := newCutter(p.Entries, o.Counter)
	room := s.Limit(o.Window) - o.Fixed
	plan := k.plan(k.place(s.keepRecent(room), o.Keep))
	plan.Previous = p.Compaction
	plan.Before = windowTokens(p, window.Options{Counter: o.Counter}, o.Fixed)
	switch {
	case !o.Again && p.Compaction != nil && !k.hasNewMessages():
		return plan, fmt.Errorf("plan a compaction: no messages since the last one: %w", ErrNothing)
	case k.countSeen(0, plan.first) == 0:
		return plan, fmt.Errorf("plan a compaction: no messages are older than the ones kept: %w", ErrNothing)
	}
	return plan, nil
}

// windowTokens returns the best estimate of a window's size. A size reported by the
// provider includes the fixed parts; a counted size does not, so they are added.
func windowTokens(p window.Path, o window.Options, fixed int64) int64 {
	t := window.Build(p, o).Tokens
	if t.Reported > 0 {
		return t.Total
	}
	return t.Items + fixed
}

// cutter finds the places where entries may be cut.
type cutter struct {
	entries []firn.Entry
	// tokens holds the size of each entry, zero for those that no model sees.
	tokens []int64
	// fits reports for each index whether a cut before it is allowed: the entry is a cut
	// point and the cut separates no call from its result.
	fits []bool
	// wait is the index of an answer with calls that have no result yet, or the number of
	// entries. Entries from there on must be kept.
	wait int
}

func newCutter(entries []firn.Entry, counter window.TokenCounter) *cutter {
	k := &cutter{entries: entries, tokens: make([]int64, len(entries)), fits: make([]bool, len(entries)), wait: len(entries)}
	for i := range entries {
		k.tokens[i] = tokensOf(&entries[i], counter)
		k.fits[i] = cutPoint(&entries[i])
	}
	k.bind()
	return k
}

// tokensOf counts the tokens of an entry that a model sees. The summary of a compaction is
// not counted, since the one in effect is not among the entries that are cut.
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

// cutPoint reports whether a cut may be before the entry, judging by the entry alone: never
// before a result.
func cutPoint(e *firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Message:
		return b.Role == firn.RoleUser || b.Role == firn.RoleAssistant || b.Role == firn.RoleShell
	case *firn.CustomMessage, *firn.BranchSummary:
		return true
	}
	return false
}

// startsTurn reports whether the entry starts a turn.
func startsTurn(e *firn.Entry) bool {
	m, ok := e.Body.(*firn.Message)
	return cutPoint(e) && (!ok || m.Role != firn.RoleAssistant)
}

// bind removes the cut points between calls and their results, and those after calls
// without a result. A result belongs to the latest earlier answer that has its call.
func (k *cutter) bind() {
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
			clear(open) // the user continued, so no results will follow
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

// keep removes the cut points after an entry and returns the number of tokens from there
// on. It returns false if the entry does not exist or is kept anyway.
func (k *cutter) keep(id firn.EntryID) (tail int64, ok bool) {
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

// bindCalls records the calls of an answer. A failed answer is never sent, so its calls do
// not count.
func (k *cutter) bindCalls(i int, m *firn.Message, owner map[string]int, open map[string]bool) {
	if failed(m) {
		return
	}
	clear(open)
	for _, id := range callIDs(m) {
		owner[id] = i
		open[id] = true
	}
}

// failed reports whether an answer is incomplete and therefore never sent.
func failed(m *firn.Message) bool {
	return m.StopReason == firn.StopError || m.StopReason == firn.StopAborted
}

// callIDs returns the IDs of an answer's calls; a failed answer has none.
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

// place finds the cut that leaves about keep tokens after it, or less if how requires it.
func (k *cutter) place(keep int64, how Keep) int {
	at := k.recent(keep)
	switch how {
	case KeepTurn:
		at = max(at, k.last(func(i int) bool { return k.fits[i] && startsTurn(&k.entries[i]) }))
	case KeepLast:
		at = max(at, k.last(func(i int) bool { return k.fits[i] }))
	case KeepNothing:
		return k.wait
	}
	return at
}

// recent returns the first cut point after which there are at most keep tokens or, if there
// is none, the nearest one before.
func (k *cutter) recent(keep int64) int {
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

// last returns the last index for which ok holds, or zero.
func (k *cutter) last(ok func(int) bool) int {
	for i := len(k.entries) - 1; i >= 0; i-- {
		if ok(i) {
			return i
		}
	}
	return 0
}

// plan returns the plan for a cut.
func (k *cutter) plan(at int) Plan {
	plan := Plan{turn: -1}
	if at < len(k.entries) && !startsTurn(&k.entries[at]) {
		plan.turn = k.turnStart(at)
	}
	for at > 0 && at < len(k.entries) && !anchorsCut(&k.entries[at-1]) {
		at-- // entries attached to the first kept message are kept with it
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

// anchorsCut reports whether an entry stays before a cut that follows it. Other entries are
// kept with the message after them.
func anchorsCut(e *firn.Entry) bool {
	switch e.Body.(type) {
	case *firn.Message, *firn.Compaction:
		return true
	}
	return false
}

// turnStart returns the index where the turn of an entry starts, or -1.
func (k *cutter) turnStart(at int) int {
	for i := at; i >= 0; i-- {
		if startsTurn(&k.entries[i]) {
			return i
		}
	}
	return -1
}

// countSeen counts the entries in a range that a model sees.
func (k *cutter) countSeen(from, to int) int {
	n := 0
	for i := from; i < to; i++ {
		if k.tokens[i] > 0 {
			n++
		}
	}
	return n
}

// hasNewMessages reports whether there are messages after the last compaction.
func (k *cutter) hasNewMessages() bool {
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
