package view

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// holed is a store without files that cannot read some entries, for an unknown reason.
type holed struct {
	store.Store
	lost map[firn.EntryID]bool
}

func (h *holed) hole(records iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for rec, err := range records {
			if err == nil && h.lost[rec.Glance.ID] {
				rec = firn.GapRecord(firn.Gap{Kind: "of-another-kind", At: rec.At, Next: rec.Next, Detail: "it is somewhere else"})
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (h *holed) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return h.hole(h.Store.Read(ctx, id, after))
}

func (h *holed) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return h.hole(h.Store.ReadBack(ctx, id, before))
}

// TestDamageInEveryView pages through a session with lost entries, with all page sizes:
// in every view and direction, each lost place and each entry occurs once and in order.
// Adjacent places are merged.
func TestDamageInEveryView(t *testing.T) {
	mem := memstore.New(memstore.Options{})
	st := &holed{Store: mem, lost: map[firn.EntryID]bool{"e03": true, "e06": true, "e07": true, "e10": true}}
	a := &agent.Agent{Store: st, Model: scripted.New(scripted.Info()), NoTitles: true}
	v := New(Options{
		Store: st, List: st.List, Dialect: native.New(),
		Agent: func(context.Context, firn.ID) (*agent.Agent, error) { return a, nil },
		Turns: func(context.Context, firn.ID) int { return 0 },
	}, Setup{})
	id := firn.NewID()
	entries := []firn.Entry{{Body: &firn.Header{Session: id, Agent: "main"}}}
	for i := 1; i <= 10; i++ {
		e := firn.UserText(fmt.Sprintf("message %d", i))
		e.ID = firn.EntryID(fmt.Sprintf("e%02d", i))
		entries = append(entries, e)
	}
	if _, err := mem.Append(t.Context(), id, store.Any, entries...); err != nil {
		t.Fatal(err)
	}
	const want = "1 2 ? 4 5 ? 8 9 ?"
	for _, look := range []string{wire.ViewDisk, wire.ViewBranch, wire.ViewWindow} {
		for _, back := range []bool{false, true} {
			for limit := 1; limit <= 12; limit++ {
				if got := paged(t, v, id, EntryQuery{View: look, Back: back, Limit: limit}); got != want {
					t.Errorf("view %s, back %v, pages of %d: %s, want %s", look, back, limit, got, want)
				}
			}
		}
	}
	all, err := v.Damage(t.Context(), id)
	if err != nil || all.Total != 3 || CountLosses(all.Items) != 3 || all.Items[1].After != 4 || all.Items[1].Part != 0 {
		t.Errorf("the damage is %+v, %v", all, err)
	}
	for _, d := range all.Items {
		if s := d.String(); !strings.Contains(s, "could not be read (it is somewhere else; at position ") {
			t.Errorf("it is called %q", s)
		}
	}
}

// paged reads all pages and returns the entries, oldest first, with a mark for each
// unreadable place.
func paged(t *testing.T, v *View, id firn.ID, q EntryQuery) string {
	t.Helper()
	var words []string
	for range 100 {
		page, err := v.Entries(t.Context(), id, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			switch _, text, content := strings.Cut(string(e.Line), "message "); {
			case e.Damage != nil:
				words = append(words, "?")
			case content:
				n, _, _ := strings.Cut(text, `"`)
				words = append(words, n)
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if q.Back {
		for i, j := 0, len(words)-1; i < j; i, j = i+1, j-1 {
			words[i], words[j] = words[j], words[i]
		}
	}
	return strings.Join(words, " ")
}
