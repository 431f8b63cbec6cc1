package index_test

import (
	"context"
	"fmt"
	"testing"

	"firn.dev"
	"firn.dev/internal/find/index"
	"firn.dev/store"
)

// tagged returns an entry that sets tags.
func tagged(f *fixture, n int, tags ...string) firn.Entry {
	e, err := store.NewTags(tags)
	f.ok(err)
	e.Time = at(n)
	return e
}

// TestCountMatchesList checks that the catalog counts as many sessions as the store
// lists after every change, also by tag, time and text.
func TestCountMatchesList(t *testing.T) {
	f := newFixture(t)
	wrapped := index.Wrap(f.store, f.cat)
	counter := wrapped.(interface {
		Count(ctx context.Context, q store.Query) (int, error)
	})
	check := func(when string) {
		t.Helper()
		for _, q := range append(queries(), store.Query{Tag: "red"}, store.Query{Tag: "blue"}, store.Query{Since: at(5)}, store.Query{Until: at(5)},
			store.Query{Since: at(3), Until: at(8), Tag: "red"}, store.Query{Text: "word"}, store.Query{Source: store.OwnSource}, store.Query{Source: "pi"}) {
			q.Limit = 0
			want := len(f.list(f.store, q))
			for range 2 { // and again, from the cache
				got, err := counter.Count(t.Context(), q)
				if err != nil || got != want {
					t.Errorf("%s: %+v counts %d of %d, %v", when, q, got, want, err)
				}
			}
			q.Limit = 2
			if page := f.page(q, index.Cursor{}); page.Total >= 0 && page.Total != want {
				t.Errorf("%s: a page of %+v reports %d of %d", when, q, page.Total, want)
			}
		}
	}
	check("without sessions")
	for i := range 10 {
		id := firn.ID(fmt.Sprintf("s%02d", i))
		f.append(wrapped, id, headed(id, "main", "", i), message(fmt.Sprint("a word ", i), i), tagged(f, i, []string{"red", "blue"}[i%2]))
	}
	check("begun")
	f.append(wrapped, "s03", tagged(f, 20, "red"))
	f.append(wrapped, "s04", tagged(f, 21))
	check("other tags")
	remover, _ := store.As[store.Remover](wrapped)
	f.ok(remover.Archive(t.Context(), "s05"))
	f.append(wrapped, "s06", firn.Entry{Time: at(22), Body: &firn.Tombstone{Target: "s06"}})
	_, err := remover.Purge(t.Context(), "s07", "gone")
	f.ok(err)
	check("put away")
}
