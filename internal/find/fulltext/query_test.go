package fulltext

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// library returns an index with texts that have many words in common.
func library(t testing.TB) (*testIndex, map[string]string) {
	b := newTestIndex(t)
	texts := make(map[string]string)
	rng := rand.New(rand.NewPCG(4, 2))
	for s := range 4 {
		var all []firn.Entry
		for i := range 20 {
			words := make([]string, 1+rng.IntN(8))
			for k := range words {
				words[k] = vocabulary[rng.IntN(len(vocabulary))]
			}
			e := firn.NewEntry(firn.UserText(strings.Join(words, " ")).Body)
			e.ID = firn.EntryID(fmt.Sprintf("e%d-%d", s, i))
			texts[string(e.ID)] = strings.Join(words, " ")
			all = append(all, e)
		}
		b.append(firn.ID(fmt.Sprintf("sess-%d", s)), all...)
	}
	return b, texts
}

// agree compares the hits of the index with a scan of the texts.
func agree(t *testing.T, b *testIndex, texts map[string]string, query string) {
	t.Helper()
	q, err := search.Parse(query, time.Now())
	if err != nil || q.Want == nil || q.In == search.InTools || !q.Free() {
		return
	}
	q.Limit = search.MaxLimit
	a, err := b.index.Search(context.Background(), q)
	if err != nil {
		if errors.Is(err, firn.ErrInvalid) {
			return
		}
		t.Fatalf("search %q: %v", query, err)
	}
	got, want := make(map[string]bool), make(map[string]bool)
	for _, h := range a.Hits {
		got[string(h.Entry)] = true
		for _, c := range h.Copies {
			got[string(c.Entry)] = true
		}
	}
	for id, text := range texts {
		if q.Want.Holds(search.TextOf(text)) {
			want[id] = true
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%q finds %v, want %v", query, keys(got), keys(want))
	}
}

// randomQuery returns a query of words, operators and groups.
func randomQuery(rng *rand.Rand, depth int) string {
	word := func() string {
		w := vocabulary[rng.IntN(len(vocabulary))]
		switch rng.IntN(6) {
		case 0:
			if r := []rune(w); len(r) > 2 {
				return string(r[:2]) + "*"
			}
		case 1:
			return `"` + w + " " + vocabulary[rng.IntN(len(vocabulary))] + `"`
		}
		return w
	}
	if depth == 0 {
		return word()
	}
	sub := func() string { return randomQuery(rng, depth-1) }
	switch rng.IntN(6) {
	case 0:
		return "(" + sub() + " AND " + sub() + ")"
	case 1:
		return "(" + sub() + " OR " + sub() + ")"
	case 2:
		return "(" + sub() + " NOT " + sub() + ")"
	case 3:
		return sub() + " " + sub()
	case 4:
		return "NOT (" + sub() + ")"
	}
	return word()
}

// TestQueriesMatchScan compares the index with a plain scan for queries of any form.
func TestQueriesMatchScan(t *testing.T) {
	b, texts := library(t)
	rng := rand.New(rand.NewPCG(7, 7))
	for range 250 {
		agree(t, b, texts, randomQuery(rng, 1+rng.IntN(4)))
	}
	b.sound()
}

func FuzzQuery(f *testing.F) {
	for _, q := range []string{`lock "test flaky" -server`, "(lock OR run*) AND NOT tries", "都 東京 NOT café", `get* OR "a"`, "AND ( NOT"} {
		f.Add(q)
	}
	b, texts := library(f)
	f.Fuzz(func(t *testing.T, query string) {
		agree(t, b, texts, query)
	})
}

// TestBounds checks the size limits of results.
func TestBounds(t *testing.T) {
	b := newTestIndex(t)
	long := strings.Repeat("a needle in a haystack of words ", 200)
	for s := range 6 {
		var all []firn.Entry
		for i := range 24 {
			all = append(all, firn.NewEntry(firn.UserText(fmt.Sprintf("%d %d %s", s, i, long)).Body))
		}
		b.append(firn.ID(fmt.Sprintf("sess-%d", s)), all...)
	}
	many := 50
	q := search.Words("needle")
	q.Before, q.After, q.Limit = &many, &many, 5000
	a, err := b.index.Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Hits) > search.MaxLimit || len(a.Hits) == 0 {
		t.Errorf("%d hits", len(a.Hits))
	}
	for _, h := range a.Hits {
		if len(h.Window) > search.MaxItems || len(h.Snippet) > search.MaxSnippet || !strings.Contains(h.Snippet, "needle") || len(h.Copies) > mostCopies {
			t.Errorf("a hit has %d items, %d bytes, %d copies", len(h.Window), len(h.Snippet), len(h.Copies))
		}
		for _, item := range h.Window {
			if len(item.Text) > search.MaxSnippet {
				t.Errorf("an item has %d bytes", len(item.Text))
			}
		}
	}
	if hits := b.search("needle"); len(hits) != search.DefaultLimit || len(hits[5].Window) > 1+2*search.DefaultContext {
		t.Errorf("%d hits are reported without a request", len(hits))
	}
}

// TestWindowsFollowTheBranch checks the context of a hit.
func TestWindowsFollowTheBranch(t *testing.T) {
	b := newTestIndex(t)
	say := func(id, parent, text string) firn.Entry {
		e := firn.NewEntry(firn.UserText(text).Body)
		e.ID, e.Parent = firn.EntryID(id), firn.EntryID(parent)
		return e
	}
	b.append("sess-1", say("a", "", "first"), say("b", "a", "second"), say("x", "b", "left alone"), say("y", "x", "left too"), say("c", "b", "third"), say("d", "c", "fourth"))
	for query, want := range map[string]string{"second": "a b c d", "fourth": "a b c d", "left alone": "a b x y", "too": "a b x y"} {
		hits := b.search(`"` + query + `"`)
		var ids []string
		for _, item := range hits[0].Window {
			ids = append(ids, string(item.Entry))
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("around %q stand %s, want %s", query, got, want)
		}
	}
	if hit, err := b.index.Window(context.Background(), "sess-1", "#2", search.Query{}); err != nil || hit.Entry != "b" || len(hit.Window) != 4 {
		t.Errorf("around #2: %+v, %v", hit, err)
	}
	for _, bad := range [][2]string{{"sess-1", "zzz"}, {"sess-1", "#99"}, {"nowhere", "a"}} {
		if _, err := b.index.Window(context.Background(), firn.ID(bad[0]), bad[1], search.Query{}); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("around %v: %v", bad, err)
		}
	}
	mine := search.Query{Owners: func(agent, _ string) bool { return agent == "somebody" }}
	if _, err := b.index.Window(context.Background(), "sess-1", "a", mine); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a session of another owner is shown: %v", err)
	}
}
