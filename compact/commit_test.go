package compact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/window"
)

// TestConflict checks that messages appended during a compaction are kept and visible.
func TestConflict(t *testing.T) {
	const size = 16_000
	for _, keep := range []int64{0, 1} {
		st := open(t, talk(30, 1000)...)
		n := 0
		m := model(size, scripted.Forever(scripted.Step{
			Before: func(context.Context) error {
				n++
				add(t, st, userEntry(fmt.Sprintf("Meanwhile %d", n)), reply("Aha."))
				return nil
			},
			Parts: []firn.Part{firn.Text{Text: "## Goal\nsrc/part0.go, src/part1.go, src/part9.go and others"}},
		}))
		j := job(st, m, size)
		j.KeepRecent = keep
		result, err := Run(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		p := live(t, st)
		if p.Compaction == nil || p.Compaction.ID != result.Entry.ID || p.Head != result.Entry.ID || n == 0 {
			t.Fatal("the compaction is not the head")
		}
		w := window.Build(p, j.Build)
		text := asked(provider.Request{Window: w})
		for i := range n {
			if want := fmt.Sprintf("Meanwhile %d", i+1); strings.Count(text, want) != 1 {
				t.Errorf("%q is in the window %d times", want, strings.Count(text, want))
			}
		}
		if w.Tokens.Total != result.After {
			t.Errorf("after is %d, want %d", result.After, w.Tokens.Total)
		}
	}
}

// TestMoved checks that nothing is written if the head moved to another branch.
func TestMoved(t *testing.T) {
	const size = 16_000
	pending := append(talk(30, 1000), use("late", "bash", `{}`, "")[0])
	cases := []struct {
		name      string
		entries   []firn.Entry
		meanwhile func(entries []firn.Entry) firn.Entry
		moved     bool
	}{
		{"another branch", talk(30, 1000), func(all []firn.Entry) firn.Entry {
			e := userEntry("Back to the beginning.")
			e.Parent = all[5].ID
			return e
		}, true},
		{"a branch from a kept entry", talk(30, 1000), func(all []firn.Entry) firn.Entry {
			e := userEntry("Back a little.")
			e.Parent = all[len(all)-2].ID
			return e
		}, true},
		{"another compaction", talk(30, 1000), func(all []firn.Entry) firn.Entry {
			return firn.NewEntry(&firn.Compaction{Summary: "x", FirstKept: all[len(all)-1].ID})
		}, true},
		{"something hidden", talk(30, 1000), func(all []firn.Entry) firn.Entry { return firn.Hide(all[3].ID) }, true},
		{"a title", talk(30, 1000), func([]firn.Entry) firn.Entry { return firn.NewEntry(&firn.Title{Name: "x"}) }, false},
		{"a result of a kept call", pending, func([]firn.Entry) firn.Entry { return answer("late", "bash", "done") }, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			st := open(t, c.entries...)
			once := false
			m := model(size, scripted.Forever(scripted.Step{
				Before: func(context.Context) error {
					if !once {
						once = true
						add(t, st, c.meanwhile(all(t, st)))
					}
					return nil
				},
				Parts: []firn.Part{firn.Text{Text: "## Goal\nsrc/part0.go, src/part1.go, src/part9.go and others"}},
			}))
			result, err := Run(t.Context(), job(st, m, size))
			if moved := errors.Is(err, ErrMoved); moved != c.moved || err != nil && !moved {
				t.Fatalf("error %v", err)
			}
			entries := all(t, st)
			if last := entries[len(entries)-1].ID; c.moved == (last == result.Entry.ID) {
				t.Errorf("the last entry is %s", last)
			}
			usable(t, st, 1<<40)
			if c.name == "a result of a kept call" && !strings.Contains(fmt.Sprint(window.Build(live(t, st), window.Options{}).Items), "done") {
				t.Error("the result is not in the window")
			}
		})
	}
}
