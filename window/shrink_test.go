package window_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/window"
	"firn.dev/window/windowtest"

	"pgregory.net/rapid"
)

// shrink is one way to make a path smaller.
type shrink struct {
	name string
	do   func(window.Path) window.Path
	// leaves reports whether entries may be left out; otherwise they may only be shortened.
	leaves bool
}

// failer is the part of testing.TB that a check needs.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// drawChoices returns uniformly random choices.
func drawChoices(t *rapid.T, what string, most int) *choices {
	size := rapid.IntRange(0, most).Draw(t, what+" size")
	dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, what), 1))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(dice.Uint32())
	}
	return &choices{data}
}

// shrinkOf chooses a shrink with sizes that suit the generated sessions.
func (c *choices) shrinkOf() shrink {
	switch c.of(4) {
	case 1:
		budget := int64(c.of(200))
		return shrink{fmt.Sprint("fit ", budget), func(p window.Path) window.Path { return p.Fit(budget, nil) }, true}
	case 2:
		pr := window.Pruning{
			KeepLastAssistants: pick(c, 0, 1, 2, -1), SoftTrimRatio: pick(c, 0, -1, 0.9), HardClearRatio: pick(c, 0, -1, 0.9),
			MinPrunableChars: pick(c, -1, 20, 0), SoftTrim: window.SoftTrim{MaxChars: pick(c, 20, -1, 200), HeadChars: pick(c, 3, -1, 50), TailChars: pick(c, 4, -1, 50)},
			HardClear: window.HardClear{Disabled: c.of(3) == 1, Placeholder: pick(c, "", "-")},
			Allow:     pick(c, nil, []string{"l*"}), Deny: pick(c, nil, []string{"cat"}),
		}
		size := int64(c.of(100))
		return shrink{fmt.Sprint("prune ", size), func(p window.Path) window.Path { return p.Prune(pr, size) }, false}
	case 3:
		bound := c.of(250) * c.of(8)
		return shrink{fmt.Sprint("bound ", bound), func(p window.Path) window.Path { return p.BoundResults(bound) }, false}
	}
	turns := c.of(6)
	return shrink{fmt.Sprint("limit ", turns), func(p window.Path) window.Path { return p.Limit(turns) }, true}
}

// verifyShrunk applies a shrink and checks the guarantees that all of them share.
func verifyShrunk(t failer, s shrink, p window.Path) window.Path {
	t.Helper()
	before, out := fmt.Sprintf("%#v", snapshot(p)), outs(p)
	got := s.do(p)
	if fmt.Sprintf("%#v", snapshot(p)) != before || outs(p) != out {
		t.Fatalf("%s modified its input", s.name)
	}
	if again := s.do(got); ids(again.Entries) != ids(got.Entries) || outs(again) != outs(got) || fmt.Sprintf("%#v", snapshot(again)) != fmt.Sprintf("%#v", snapshot(got)) {
		t.Fatalf("%s applied twice still makes changes\n%s\n%s", s.name, outs(got), outs(again))
	}
	if got.Head != p.Head || got.Compaction != p.Compaction || got.State != p.State || got.Chosen != p.Chosen || got.End != p.End {
		t.Fatalf("%s changed more than the entries", s.name)
	}
	named := 0
	for _, o := range got.Out[len(p.Out):] {
		named += o.Count
		if (o.Why == window.Pruned) == s.leaves || o.Why == window.OverBudget && s.name[0] != 'f' || o.Why == window.TurnLimit && s.name[0] != 'l' {
			t.Fatalf("%s gives the reason %s", s.name, o.Why)
		}
	}
	gone, short := differences(t, s, p, got)
	if s.leaves && (named != gone || short != 0) || !s.leaves && (named != short || gone != 0) {
		t.Fatalf("%s left out %d, shortened %d and listed %d: %s", s.name, gone, short, named, outs(got))
	}
	verifyReport(t, s, p, got)
	return got
}

// differences counts the removed and the shortened entries. The others must be in the same
// order.
func differences(t failer, s shrink, p, got window.Path) (gone, short int) {
	t.Helper()
	k := 0
	for _, e := range p.Entries {
		if k == len(got.Entries) || got.Entries[k].ID != e.ID {
			gone++
			if len(itemsOf(e, window.Profile{})) == 0 {
				t.Fatalf("%s left out %s, which is not sent", s.name, e.ID)
			}
			continue
		}
		if got.Entries[k].Body != e.Body {
			short++
			if now, was := size(got.Entries[k]), size(e); now >= was {
				t.Fatalf("%s did not shorten %s: %d, was %d", s.name, e.ID, now, was)
			}
		}
		k++
	}
	if k != len(got.Entries) {
		t.Fatalf("%s changed the order: %s, was %s", s.name, ids(got.Entries), ids(p.Entries))
	}
	return gone, short
}

// itemsOf returns the items of a single entry.
func itemsOf(e firn.Entry, profile window.Profile) []window.Item {
	return window.Build(window.Path{Entries: []firn.Entry{e}}, window.Options{Profile: profile}).Items
}

func size(e firn.Entry) int64 {
	n := int64(0)
	for _, it := range itemsOf(e, window.Profile{}) {
		n += letters{}.CountMessage(&it.Message)
		for _, part := range it.Message.Parts {
			if r, ok := part.(firn.ToolResult); ok {
				for _, inner := range r.Content {
					switch b := inner.(type) {
					case firn.Text:
						n += int64(len(b.Text))
					default:
						n += 4800
					}
				}
			}
		}
	}
	return n
}

// verifyReport checks that a reported size is used only if nothing before the reporting
// answer was changed.
func verifyReport(t failer, s shrink, p, got window.Path) {
	t.Helper()
	if window.Build(got, window.Options{}).Tokens.Reported == 0 {
		return
	}
	for i := range got.Entries {
		if m, ok := got.Entries[i].Body.(*firn.Message); ok && m.Usage != nil && m.Usage.Context() > 0 {
			return // the first candidate: everything before it is unchanged
		}
		if got.Entries[i].Body != p.Entries[i].Body {
			t.Fatalf("%s changed %s, but a size is still reported", s.name, p.Entries[i].ID)
		}
	}
}

// verifyPairs checks that no call was separated from its result: pairing has no more repairs
// to make than before.
func verifyPairs(t failer, p, got window.Path) {
	t.Helper()
	for _, profile := range window.Profiles() {
		w := window.Build(got, window.Options{Profile: profile})
		if err := windowtest.Check(profile, w); err != nil {
			t.Fatalf("%v\n%s", err, formatItems(w.Items))
		}
		known := window.Build(p, window.Options{Profile: profile}).Repairs
		for _, r := range w.Repairs {
			if r.Rule == "pair" && !slices.Contains(known, r) {
				t.Fatalf("%s: separated: %v\n%s", profile.Name, r, ids(got.Entries))
			}
		}
	}
}

// TestShrunkIsAlwaysValid applies the shrinking methods in any order and checks that every
// provider accepts the result and no call is separated from its result.
func TestShrunkIsAlwaysValid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := collectLog(t, drawChoices(rt, "session", 1500).session())
		verifyShrinks(rt, p, drawChoices(rt, "ways", 80))
	})
}

// verifyShrinks applies several shrinks in turn.
func verifyShrinks(t failer, p window.Path, c *choices) {
	t.Helper()
	got := p
	for range 1 + c.of(4) {
		got = verifyShrunk(t, c.shrinkOf(), got)
	}
	verifyPairs(t, p, got)
}

// trait is a property of an entry, determined by building its window.
type trait struct {
	sent, opening, speaks, result bool
}

func traitsOf(entries []firn.Entry) []trait {
	traits := make([]trait, len(entries))
	for i, e := range entries {
		items := itemsOf(e, window.Profile{})
		if len(items) == 0 {
			continue
		}
		m := &items[0].Message
		carries := m.Role != firn.RoleAssistant && slices.ContainsFunc(m.Parts, func(p firn.Part) bool { _, ok := p.(firn.ToolResult); return ok })
		text, ok := e.Body.(*firn.Message)
		traits[i].sent = true
		traits[i].result = m.Role == firn.RoleToolResult || carries
		traits[i].opening = ok && text.Role == firn.RoleUser && !carries
		for _, it := range itemsOf(e, window.OpenAIChat()) {
			traits[i].speaks = traits[i].speaks || m.Role == firn.RoleAssistant && it.Message.Role == firn.RoleAssistant
		}
	}
	return traits
}

// slowFit is an unoptimized Fit: it removes the oldest piece, builds the window again, and
// repeats until it fits.
func slowFit(p window.Path, budget int64) []firn.Entry {
	for {
		tokens := window.Build(p, window.Options{}).Tokens
		traits := traitsOf(p.Entries)
		gone := oldestPiece(traits)
		if tokens.System+tokens.Items <= budget || len(gone) == 0 {
			return p.Entries
		}
		p.Entries = without(p.Entries, gone)
	}
}

// oldestPiece returns the entries to remove next: results without a call, else the first of
// several turns with the results of its calls, else the first of several rounds.
func oldestPiece(traits []trait) map[int]bool {
	gone := make(map[int]bool)
	looseFrom := func(i int) {
		for ; i < len(traits) && !traits[i].speaks; i++ {
			if traits[i].result {
				gone[i] = true
			}
		}
	}
	if looseFrom(0); len(gone) > 0 {
		return gone
	}
	first := slices.IndexFunc(traits, func(t trait) bool { return t.sent })
	if first < 0 {
		return nil
	}
	begins := func(t trait) bool { return t.opening }
	from := first
	second := slices.IndexFunc(traits[first+1:], begins)
	if second < 0 {
		begins = func(t trait) bool { return t.speaks }
		if from = slices.IndexFunc(traits, begins); from < 0 {
			return nil
		}
		if second = slices.IndexFunc(traits[from+1:], begins); second < 0 {
			return nil
		}
	}
	second += from + 1
	for i := from; i < second; i++ {
		if traits[i].sent {
			gone[i] = true
		}
	}
	looseFrom(second)
	return gone
}

func without(entries []firn.Entry, gone map[int]bool) []firn.Entry {
	var kept []firn.Entry
	for i, e := range entries {
		if !gone[i] {
			kept = append(kept, e)
		}
	}
	return kept
}

// TestFitMatchesReference compares Fit with a slow reference implementation.
func TestFitMatchesReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := collectLog(t, drawChoices(rt, "session", 600).session())
		budget := rapid.Int64Range(-1, 400).Draw(rt, "budget")
		if got, want := ids(p.Fit(budget, nil).Entries), ids(slowFit(p, budget)); got != want {
			rt.Fatalf("budget %d of\n%s\ngot\n%s\nwant\n%s", budget, ids(p.Entries), got, want)
		}
	})
}

// TestLimitMatchesReference compares Limit with a slow reference implementation.
func TestLimitMatchesReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := collectLog(t, drawChoices(rt, "session", 600).session())
		turns := rapid.IntRange(1, 6).Draw(rt, "turns")
		traits := traitsOf(p.Entries)
		var begun []int
		for i := range traits {
			if traits[i].opening {
				begun = append(begun, i)
			}
		}
		gone := make(map[int]bool)
		if len(begun) > turns {
			from := begun[len(begun)-turns]
			spoken := false
			for i, tr := range traits {
				spoken = spoken || i >= from && tr.speaks
				gone[i] = tr.sent && i < from || tr.result && !spoken
			}
		}
		if got, want := ids(p.Limit(turns).Entries), ids(without(p.Entries, gone)); got != want {
			rt.Fatalf("%d turns of\n%s\ngot\n%s\nwant\n%s", turns, ids(p.Entries), got, want)
		}
	})
}

// TestRulesAddLittleAfterFit checks that the rules add only a few words per repair to a
// path that fits.
func TestRulesAddLittleAfterFit(t *testing.T) {
	const words = 64 // tokens
	p := collectLog(t, busySession(500))
	for budget := int64(50); budget < 2000; budget += 150 {
		fitted := p.Fit(budget, nil)
		for _, profile := range window.Profiles() {
			w := window.Build(fitted, window.Options{Profile: profile})
			if most := budget + words*int64(len(w.Repairs)); w.Tokens.Items > most {
				t.Errorf("%s: %d tokens with %d repairs, the budget is %d", profile.Name, w.Tokens.Items, len(w.Repairs), budget)
			}
		}
	}
}
