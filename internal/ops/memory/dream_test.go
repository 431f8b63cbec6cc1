package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

// fiveTalks are conversations enough for a dream.
func fiveTalks() map[firn.ID][]firn.Entry {
	return map[firn.ID][]firn.Entry{
		"s1": talk(someDay, "I prefer tabs over spaces in all Go code.", "Noted."),
		"s2": talk(someDay, "We decided to use Postgres for the shop.", "Fine."),
		"s3": talk(someDay, "The release day must be Friday.", "Fine."),
		"s4": talk(someDay, "Nothing much today, thanks.", "Bye."),
		"s5": talk(someDay, "Remember that the demo is next week.", "Sure."),
	}
}

// dreamHome has something for every phase.
var dreamHome = map[string]string{
	"MEMORY.md":            "# Memory\n\n- [Gone](memory/gone.md) — stale\n- [Tea](memory/tea.md) — old words\n",
	"memory/tea.md":        "---\nname: Tea\n---\n\nGreen tea.\n",
	"memory/2026-08-03.md": "- The workshop is tomorrow\n- Anna reviews database changes\n",
	"memory/2026-08-04.md": "- Anna reviews the database changes\n",
	"memory/extracted.md":  "## Auto-extracted memories\n\n### Session memories — 2026-08-01\n- **[decision]** MySQL is used for the shop *(confidence: 80%)* <!-- from s0/e1 -->\n- **[project]** The office has a blue door *(confidence: 40%)* <!-- from s0/e2 -->\n",
}

func TestDreamPhases(t *testing.T) {
	d, _ := folderOf(t, dreamHome)
	model := scripted.New(provider.Info{},
		scripted.Reply("MEMORY: preference | 9 | The user prefers tabs over spaces in Go code | 1"),
		scripted.Reply("MEMORY: decision | 9 | Postgres is used for the shop | 1"),
		scripted.Reply("MEMORY: constraint | 8 | The release day must be Friday | 1"),
		scripted.Reply("NONE"),
		scripted.Reply("MEMORY: project | 8 | The demo is next week | 1"),
		scripted.Reply("SUPERSEDE: 3 | 6\nDROP: 4 | it will not matter\nDROP: 1 | noted by hand\nMERGE: 1, 2 | The moon is made of cheese"),
	)
	var steps []string
	d.stepped = func(step string) { steps = append(steps, step) }
	dreamer := &Dreamer{Dir: d, Model: model, Sessions: sessionsOf(fiveTalks()), Owner: "test"}
	dream, err := dreamer.Dream(t.Context(), DreamOptions{})
	if err != nil || dream.Shut != "" || dream.Sessions != 5 || dream.Found != 4 || len(dream.Fallbacks) > 0 {
		t.Fatalf("got %+v, %v", dream, err)
	}
	if model.Left() != 0 {
		t.Errorf("%d steps are left", model.Left())
	}
	if got := strings.Join(steps, " "); got != "orient gather consolidate prune written committed applying applied" {
		t.Errorf("the steps are %s", got)
	}
	want := map[string]string{
		"MEMORY.md":            "# Memory\n\n- [Tea](memory/tea.md) — Green tea.\n",
		"memory/2026-08-03.md": "- The workshop is on 2026-08-04\n- Anna reviews the database changes\n",
		"memory/2026-08-04.md": "(none)",
		"memory/tea.md":        dreamHome["memory/tea.md"],
		"memory/extracted.md": "## Auto-extracted memories\n\n### Session memories — 2026-08-05\n- **[preference]** The user prefers tabs over spaces in Go code *(confidence: 90%)* <!-- from s1/e01 -->\n" +
			"- **[decision]** Postgres is used for the shop *(confidence: 90%)* <!-- from s2/e01 -->\n- **[constraint]** The release day must be Friday *(confidence: 80%)* <!-- from s3/e01 -->\n" +
			"- **[project]** The demo is in the week of 2026-08-10 *(confidence: 80%)* <!-- from s5/e01 -->\n\n" +
			"## Superseded memories\n\n- ~~**[decision]** MySQL is used for the shop *(confidence: 80%)*~~ (superseded 2026-08-05) <!-- from s0/e1 -->\n",
	}
	for name, text := range want {
		if got := fileText(t, d, name); got != text {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, text)
		}
	}
	if got := fileText(t, d, "memory/.consolidation_state.json"); !strings.HasPrefix(got, fmt.Sprintf("{\n  \"last_consolidated_at\": %d,\n  \"lock_etag\": null", someDay.Unix())) {
		t.Errorf("the state is %s", got)
	}
	if fileText(t, d, "memory/.consolidation_lock") != "(none)" {
		t.Error("the lock is left")
	}
	for _, e := range dream.Change.Edits {
		if e.Why == "" || e.Do == "supersede" && len(e.Sources) == 0 {
			t.Errorf("an edit has no reason: %+v", e)
		}
	}
	if _, err := d.Undo(t.Context(), dream.Change.ID); err != nil {
		t.Fatal(err)
	}
	for name, text := range dreamHome {
		if got := fileText(t, d, name); got != text {
			t.Errorf("undone, %s is\n%s", name, got)
		}
	}
}

// TestDreamPartlyUndone undoes one edit and leaves the others.
func TestDreamPartlyUndone(t *testing.T) {
	d, _ := folderOf(t, dreamHome)
	dream, err := (&Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}).Dream(t.Context(), DreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(dream.Change.Edits, func(e Edit) bool { return e.Do == "date" })
	if i < 0 {
		t.Fatalf("no date in %+v", dream.Change.Edits)
	}
	before := fileText(t, d, "memory/extracted.md")
	if _, err := d.Undo(t.Context(), dream.Change.ID, i); err != nil {
		t.Fatal(err)
	}
	if got := fileText(t, d, "memory/2026-08-03.md"); got != "- The workshop is tomorrow\n- Anna reviews the database changes\n" || fileText(t, d, "memory/extracted.md") != before {
		t.Errorf("in part undone it is %q", got)
	}
	if _, err := d.Undo(t.Context(), dream.Change.ID, 99); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a missing edit: %v", err)
	}
}

func TestDreamPlanChangesNothing(t *testing.T) {
	d, _ := folderOf(t, dreamHome)
	dreamer := &Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}
	plan, err := dreamer.Dream(t.Context(), DreamOptions{Plan: true})
	if err != nil || len(plan.Change.Edits) == 0 || plan.Change.ID != "" {
		t.Fatalf("got %+v, %v", plan, err)
	}
	for name, text := range dreamHome {
		if got := fileText(t, d, name); got != text {
			t.Errorf("%s changed", name)
		}
	}
	if fileText(t, d, "memory/.consolidation_state.json") != "(none)" || fileText(t, d, "memory/.lock") != "(none)" {
		t.Error("something was written")
	}
	real, err := dreamer.Dream(t.Context(), DreamOptions{})
	if err != nil || fmt.Sprint(real.Change.Edits) != fmt.Sprint(plan.Change.Edits) {
		t.Errorf("planned\n%+v\ndone\n%+v, %v", plan.Change.Edits, real.Change.Edits, err)
	}
}

func TestDreamGates(t *testing.T) {
	d, c := folderOf(t, dreamHome)
	talks := fiveTalks()
	asked := 0
	dreamer := &Dreamer{Dir: d, Owner: "a", Sessions: func(ctx context.Context, is ChangeFilter) ([]Session, error) {
		asked++
		return sessionsOf(talks)(ctx, is)
	}}
	expect := func(o DreamOptions, want Gate) {
		t.Helper()
		dream, err := dreamer.Dream(t.Context(), o)
		if err != nil || dream.Shut != want {
			t.Errorf("the gate is %q (%s), %v, want %q", dream.Shut, dream.Why, err, want)
		}
	}
	four := maps.Clone(talks)
	delete(four, "s5")
	all := talks
	talks = four
	expect(DreamOptions{}, GateSessions)
	talks = all
	expect(DreamOptions{}, "")
	asked = 0
	expect(DreamOptions{}, GateTime)
	if asked != 0 {
		t.Error("the cheaper gate is not checked first")
	}
	expect(DreamOptions{Now: true}, "")
	c.pass(24 * time.Hour)
	claim, err := d.claim(t.Context(), "another", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	expect(DreamOptions{}, GateLock)
	expect(DreamOptions{Now: true}, GateLock)
	c.pass(time.Hour) // it is stale now
	expect(DreamOptions{}, "")
	if err := d.checkClaim(claim); err == nil {
		t.Error("the process that was too slow still has the lock")
	}
}

// TestStaleDreamIsDiscarded takes over a stale lock: the changes of the slow process are
// discarded.
func TestStaleDreamIsDiscarded(t *testing.T) {
	d, c := folderOf(t, dreamHome)
	other := Open(d.root, Options{Clock: c.now})
	slow := &Dreamer{Dir: d, Owner: "slow", Sessions: sessionsOf(fiveTalks())}
	d.stepped = func(step string) {
		if step != PhaseGather {
			return
		}
		c.pass(2 * time.Hour)
		if dream, err := (&Dreamer{Dir: other, Owner: "quick", Sessions: sessionsOf(fiveTalks())}).Dream(t.Context(), DreamOptions{}); err != nil || dream.Shut != "" {
			t.Errorf("the other: %+v, %v", dream, err)
		}
	}
	if _, err := slow.Dream(t.Context(), DreamOptions{}); !errors.Is(err, firn.ErrLocked) {
		t.Errorf("the slow one ends with %v", err)
	}
	if all, err := d.Changes(); err != nil || len(all) != 1 {
		t.Errorf("there are %d changes, %v", len(all), err)
	}
}

// TestDreamDuringEdits edits notes during a consolidation: the edit is kept, and the
// changes are applied to it without calling the model again.
func TestDreamDuringEdits(t *testing.T) {
	d, _ := folderOf(t, dreamHome)
	model := scripted.New(provider.Info{}, scripted.Reply("NONE"), scripted.Reply("NONE"), scripted.Reply("NONE"), scripted.Reply("NONE"), scripted.Reply("NONE"), scripted.Reply("NONE"))
	edited := false
	d.stepped = func(step string) {
		if step == PhasePrune && !edited {
			edited = true
			writeFile(t, d.root, "memory/2026-08-03.md", dreamHome["memory/2026-08-03.md"]+"- Written by hand\n")
			writeFile(t, d.root, "memory/tea.md", "---\nname: Tea\n---\n\nBlack tea.\n")
		}
	}
	if _, err := (&Dreamer{Dir: d, Model: model, Sessions: sessionsOf(fiveTalks())}).Dream(t.Context(), DreamOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := fileText(t, d, "memory/2026-08-03.md"); got != "- The workshop is on 2026-08-04\n- Anna reviews the database changes\n- Written by hand\n" {
		t.Errorf("the day is %q", got)
	}
	if !strings.Contains(fileText(t, d, "MEMORY.md"), "Black tea") || !strings.Contains(fileText(t, d, "memory/tea.md"), "Black") {
		t.Error("the edit of tea is lost")
	}
}

// TestDreamEnds checks that a canceled consolidation changes nothing.
func TestDreamEnds(t *testing.T) {
	for _, at := range []string{PhaseOrient, PhaseGather, PhaseConsolidate, PhasePrune} {
		d, _ := folderOf(t, dreamHome)
		ctx, cancel := context.WithCancel(t.Context())
		d.stepped = func(step string) {
			if step == at {
				cancel()
			}
		}
		if _, err := (&Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}).Dream(ctx, DreamOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: it ends with %v", at, err)
		}
		for name, text := range dreamHome {
			if got := fileText(t, d, name); got != text {
				t.Errorf("%s: %s changed", at, name)
			}
		}
		if fileText(t, d, "memory/.consolidation_lock") != "(none)" {
			t.Errorf("%s: the lock is left", at)
		}
	}
}

// TestRepeatedDreamsConverge feeds a folder its own notes for a hundred nights: it does
// not grow, and nothing changes once all is tidy.
func TestRepeatedDreamsConverge(t *testing.T) {
	d, c := folderOf(t, dreamHome)
	shelf := Shelf{Agent: d}
	count := func() (facts, bytes int) {
		notes, err := d.Notes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range notes {
			facts += len(n.Facts())
			bytes += len(n.Body)
		}
		return facts, bytes
	}
	var after int
	for night := range 100 {
		talks := map[firn.ID][]firn.Entry{}
		for i := range 5 {
			hits, err := shelf.Recall(t.Context(), "tabs Postgres release demo Anna database shop", Limits{Count: 20, Bytes: 10_000})
			if err != nil {
				t.Fatal(err)
			}
			output := "<recall>\n" + FormatHits(hits) + "\n</recall>\n"
			talks[firn.ID(fmt.Sprintf("s%d", i+1))] = talk(c.now(), output+"What do you know?", "I know this: "+FormatHits(hits))
		}
		if night == 0 {
			talks = fiveTalks()
		}
		c.pass(25 * time.Hour)
		dream, err := (&Dreamer{Dir: d, Sessions: sessionsOf(talks)}).Dream(t.Context(), DreamOptions{})
		if err != nil || dream.Shut != "" {
			t.Fatalf("night %d: %+v, %v", night, dream, err)
		}
		facts, _ := count()
		if night == 0 {
			after = facts
		} else if facts != after || len(dream.Change.Edits) > 0 {
			t.Fatalf("night %d: %d facts, %d before; %+v", night, facts, after, dream.Change.Edits)
		}
	}
}

func TestPromotion(t *testing.T) {
	d, _ := folderOf(t, map[string]string{"memory/extracted.md": "## Auto-extracted memories\n\n### Session memories — 2026-08-01\n- **[project]** The shop runs on Postgres *(confidence: 80%)* <!-- from s1/e1 -->\n- **[project]** The shop runs in Frankfurt *(confidence: 60%)* <!-- from s1/e2 -->\n"})
	model := scripted.New(provider.Info{}, scripted.Reply("NOTE: The shop | 1, 2 | The shop runs on Postgres in Frankfurt.\nNOTE: The shop | 1, 2 | The shop runs on Postgres in Frankfurt again."))
	if _, err := (&Dreamer{Dir: d, Model: model, Sessions: sessionsOf(nil)}).Dream(t.Context(), DreamOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	want := "---\nname: The shop\ndescription: The shop runs on Postgres in Frankfurt.\ntype: project\nconfidence: 0.6\ncreated: 2026-08-05T00:00:00Z\nsources:\n  - s1/e1\n  - s1/e2\n---\n\nThe shop runs on Postgres in Frankfurt.\n"
	if got := fileText(t, d, "memory/the-shop.md"); got != want {
		t.Errorf("the note is\n%s", got)
	}
	if got := fileText(t, d, "MEMORY.md"); got != "# Memory\n\n- [The shop](memory/the-shop.md) — The shop runs on Postgres in Frankfurt.\n" {
		t.Errorf("the index is\n%s", got)
	}
	if strings.Contains(fileText(t, d, "memory/extracted.md"), "Frankfurt") {
		t.Error("the facts are duplicated")
	}
}
