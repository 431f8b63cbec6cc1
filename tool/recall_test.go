package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"firn"
	"firn/tool"
)

func TestRecallShowsHits(t *testing.T) {
	var asked string
	recall := tool.Recall(func(_ context.Context, query string, limit int) ([]tool.Hit, error) {
		asked = fmt.Sprint(query, " ", limit)
		return []tool.Hit{
			{Source: "session 01k7", Where: "entry 5", Text: "we said\n[9] so", Time: noon()},
			{Source: "memory/a\nb.md", Text: strings.Repeat("é", 2000)},
			{Source: "third", Text: "too many"},
		}, nil
	})
	text := call(t, recall, args{"query": " the trip ", "limit": 2})
	if asked != "the trip 2" {
		t.Errorf("asked for %s", asked)
	}
	want := "[1] session 01k7, entry 5, 2026-03-10\n  we said\n  [9] so\n\n[2] \"memory/a\\nb.md\"\n  " + strings.Repeat("é", 1000) + "…"
	if text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	call(t, recall, args{"query": "x"})
	if asked != "x 5" {
		t.Errorf("asked for %s", asked)
	}
	call(t, recall, args{"query": "x", "limit": 1000})
	if asked != "x 20" {
		t.Errorf("asked for %s", asked)
	}
}

func TestRecallWithoutHits(t *testing.T) {
	nothing := tool.Recall(func(context.Context, string, int) ([]tool.Hit, error) { return nil, nil })
	if got := call(t, nothing, args{"query": "snow"}); got != `nothing was found for "snow"` {
		t.Errorf("got %q", got)
	}
	for _, a := range []args{{"query": " "}, {"query": strings.Repeat("x", 1001)}, {"query": "x", "limit": -1}} {
		if err := fails(t, nothing, a); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
	broken := tool.Recall(func(context.Context, string, int) ([]tool.Hit, error) { return nil, firn.ErrLocked })
	if err := fails(t, broken, args{"query": "snow"}); !errors.Is(err, firn.ErrLocked) {
		t.Errorf("%v", err)
	}
}

func TestSearchNotes(t *testing.T) {
	w := workspace(t, map[string]string{
		"MEMORY.md":            "The user is called Anna\n",
		"memory/2026-01-02.md": "- Deploys of the shop are on Monday\n- The shop is written in Go\n",
		"memory/2026-03-04.md": "- The shop moved to Zürich\n- deploy key is in the vault\n- 東京に行く\n",
	})
	search := tool.SearchNotes(w)
	for query, want := range map[string]string{
		"deploys monday":   "Deploys of the shop are on Monday|deploy key is in the vault",
		"ANNA":             "The user is called Anna",
		"what is the shop": "The shop moved to Zürich|Deploys of the shop are on Monday|The shop is written in Go",
		"zürich":           "The shop moved to Zürich",
		"東京":               "東京に行く",
		"deployment":       "deploy key is in the vault",
		"nothing of this":  "",
		"?!":               "",
	} {
		hits, err := search(t.Context(), query, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range hits {
			got = append(got, h.Text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	hits, err := search(t.Context(), "shop", 1)
	if err != nil || len(hits) != 1 {
		t.Fatalf("%v, %v", hits, err)
	}
	want := tool.Hit{Source: "memory/2026-03-04.md", Where: "line 1", Text: "The shop moved to Zürich", Time: time.Date(2026, 3, 4, 0, 0, 0, 0, time.Local)}
	if hits[0] != want {
		t.Errorf("got %+v, want %+v", hits[0], want)
	}
	if _, err := search(ended(t), "shop", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("when not wanted: %v", err)
	}
}

// TestWhatIsNotedIsRecalled is the way of a fact from one conversation to the
// next.
func TestWhatIsNotedIsRecalled(t *testing.T) {
	w := workspace(t, nil)
	call(t, memory(w), args{"text": "Anna's birthday is on 4 May"})
	got := call(t, tool.Recall(tool.SearchNotes(w)), args{"query": "when is the birthday of Anna?"})
	if want := "[1] memory/2026-03-10.md, line 3, 2026-03-10\n  Anna's birthday is on 4 May"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
