package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/tool"
)

// noon is a fixed clock.
func noon() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.Local) }

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
		t.Errorf("requested %s", asked)
	}
	want := "[1] session 01k7, entry 5, 2026-03-10\n  we said\n  [9] so\n\n[2] \"memory/a\\nb.md\"\n  " + strings.Repeat("é", 1000) + "…"
	if text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	call(t, recall, args{"query": "x"})
	if asked != "x 5" {
		t.Errorf("requested %s", asked)
	}
	call(t, recall, args{"query": "x", "limit": 1000})
	if asked != "x 20" {
		t.Errorf("requested %s", asked)
	}
}

func TestRecallWithoutHits(t *testing.T) {
	nothing := tool.Recall(func(context.Context, string, int) ([]tool.Hit, error) { return nil, nil })
	if got := call(t, nothing, args{"query": "snow"}); got != `nothing found for "snow"` {
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

// TestRememberAndForget checks that the model's requests to remember and forget are passed
// on.
func TestRememberAndForget(t *testing.T) {
	var kept []tool.Memo
	var dropped []string
	remember := tool.Remember(func(_ context.Context, m tool.Memo) (string, error) {
		kept = append(kept, m)
		return "noted", nil
	})
	forget := tool.Forget(func(_ context.Context, what string) (string, error) {
		dropped = append(dropped, what)
		return "forgotten", nil
	})
	if got := call(t, remember, args{"text": "Anna likes tea", "name": "Anna", "type": "preference"}); got != "noted" {
		t.Errorf("got %q", got)
	}
	if got := call(t, forget, args{"what": " agent/anna "}); got != "forgotten" {
		t.Errorf("got %q", got)
	}
	if len(kept) != 1 || kept[0] != (tool.Memo{Text: "Anna likes tea", Name: "Anna", Type: "preference"}) || len(dropped) != 1 || dropped[0] != "agent/anna" {
		t.Errorf("kept %+v, dropped %q", kept, dropped)
	}
	for _, a := range []args{{}, {"text": " \n"}, {"text": strings.Repeat("x", 9000)}, {"text": "x", "name": strings.Repeat("x", 300)}} {
		if err := fails(t, remember, a); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%.40v: %v", a, err)
		}
	}
	for _, a := range []args{{}, {"what": " "}, {"what": strings.Repeat("x", 2000)}} {
		if err := fails(t, forget, a); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%.40v: %v", a, err)
		}
	}
	if len(kept) != 1 || len(dropped) != 1 {
		t.Error("an invalid query was passed on")
	}
	broken := tool.Remember(func(context.Context, tool.Memo) (string, error) { return "", firn.ErrLocked })
	if err := fails(t, broken, args{"text": "x"}); !errors.Is(err, firn.ErrLocked) {
		t.Errorf("%v", err)
	}
}
