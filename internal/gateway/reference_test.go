package gateway

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// branchedSession is a session with two branches and names on some entries:
//
//	1 user-1 ─ 2 answer-1 ─ 3 user-2 ─ 4 answer-2 ─ 5 label good ─ 6 label bad
//	                      └ 7 head ─ 8 user-3 ─ 9 answer-3 ─ 10 label twin ×2 …
func branchedSession(r *room) firn.ID {
	label := func(id, target, name string) firn.Entry {
		return body(id, &firn.Label{Target: firn.EntryID(target), Name: name})
	}
	return r.start(firn.Header{},
		says("user-1", "one"), answers("answer-1", "uno"),
		says("user-2", "two"), answers("answer-2", "dos"),
		label("label-1", "answer-2", "good"), label("label-2", "user-2", "bad"),
		under("answer-1", body("head-1", &firn.Head{})),
		says("user-3", "three"), answers("answer-3", "tres"),
		label("label-3", "user-1", "twin"), label("label-4", "user-2", "twin"),
		label("label-5", "answer-1", "gone"), label("label-6", "answer-1", ""),
		label("label-7", "answer-3", "veiled"), firn.Hide("label-7"),
		label("label-8", "user-3", "user-1"),
	)
}

func TestEntryReferences(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := branchedSession(r)
		good := map[string]firn.EntryID{
			"HEAD": "label-8", "HEAD~0": "label-8", "HEAD~": "head-1", "HEAD~1": "head-1", "HEAD~2": firn.Root,
			"#1": "user-1", "#7": "head-1", "#9": "answer-3",
			"user-1":   "user-1", // an ID before a label
			"good":     "answer-2",
			"label-8":  "label-8",
			"answer-3": "answer-3",
			"head":     "head-1", "answer-1": "answer-1",
		}
		for ref, want := range good {
			if got, err := r.FindEntry(r.ctx, id, ref); err != nil || got != want {
				t.Errorf("%q means %q (%v), want %q", ref, got, err, want)
			}
		}
		bad := map[string]wire.Kind{
			"HEAD~3": wire.NotFound, "#17": wire.NotFound, "#1000000": wire.NotFound, "gone": wire.NotFound, "veiled": wire.NotFound,
			"use": wire.NotFound, "nothing": wire.NotFound, "../x": wire.NotFound,
			"user": wire.Ambiguous, "answer-": wire.Ambiguous, "twin": wire.Ambiguous, "": wire.Invalid, "#x": wire.Invalid,
			"bad": wire.NotFound, // replaced by a later label
		}
		for ref, kind := range bad {
			_, err := r.FindEntry(r.ctx, id, ref)
			isKind(t, ref, err, kind)
		}
		_, err := r.FindEntry(r.ctx, "no-such-session", "HEAD")
		isKind(t, "no session", err, wire.NotFound)
		_, err = r.FindEntry(r.ctx, "../x", "HEAD")
		isKind(t, "no id", err, wire.Invalid)
		_, err = r.EntryAt(r.ctx, id, "HEAD~2")
		isKind(t, "before everything", err, wire.NotFound)
		empty := r.start(firn.Header{})
		_, err = r.FindEntry(r.ctx, empty, "HEAD")
		isKind(t, "the head of nothing", err, wire.NotFound)
		var p *wire.Problem
		if _, err := r.FindEntry(r.ctx, id, "user"); !errors.As(err, &p) || !strings.Contains(p.Hint, "user-3") {
			t.Errorf("the hint names no candidates: %v", err)
		}
	})
}

// TestNumbersOfManyEntries checks that numbers are the same whether counted from the start
// or from a milestone.
func TestNumbersOfManyEntries(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		const turns = 1700
		id := r.talk(turns)
		for _, n := range []int{1, 2, 1023, 1024, 1025, 2048, 2049, 3400} {
			want := numbered(n)
			for range 2 {
				got, err := r.FindEntry(r.ctx, id, fmt.Sprint("#", n))
				if err != nil || got != want {
					t.Fatalf("entry %d is %s (%v), want %s", n, got, err, want)
				}
			}
		}
		_, err := r.FindEntry(r.ctx, id, "#3401")
		isKind(t, "entry 3401", err, wire.NotFound)
		page, err := r.Entries(r.ctx, id, view.EntryQuery{Back: true, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range page.Items {
			if e.N != 3400-i {
				t.Errorf("entry %d from the end has number %d", i, e.N)
			}
		}
	})
}

// numbered returns the ID of entry number n of a talk.
func numbered(n int) firn.EntryID {
	if n%2 == 1 {
		return firn.EntryID(fmt.Sprint("user-", n/2+1))
	}
	return firn.EntryID(fmt.Sprint("answer-", n/2))
}
