package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// allEntries returns the entries of all pages of a view.
func allEntries(t *testing.T, r *room, id firn.ID, q view.EntryQuery) []wire.Entry {
	t.Helper()
	var all []wire.Entry
	for n := 0; ; n++ {
		page, err := r.Entries(r.ctx, id, q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if len(page.Items) > view.PageSize(q.Limit) || page.Items == nil {
			t.Fatalf("%+v: a page has %d entries", q, len(page.Items))
		}
		all = append(all, page.Items...)
		if page.Cursor == "" {
			return all
		}
		if q.Cursor = page.Cursor; n > 1000 {
			t.Fatal("the pages never end")
		}
	}
}

// sampleSession is a session with all that can keep an entry out of the window:
//
//	1 user-1 ─ 2 answer-1 ─ 3 user-2 ─ 4 answer-2   (left)
//	       └ 5 head ─ 6 user-3 ─ 7 answer-3 ─ 8 user-4 ─ 9 answer-4 ─ 10 comp-1 (keeps user-4)
//	                ─ 11 user-5 ─ 12 answer-5 ─ 13 stone (hides answer-4) ─ 14 failed ─ 15 label
func sampleSession(r *room) firn.ID {
	failed := answers("failed-1", "")
	failed.Body.(*firn.Message).StopReason, failed.Body.(*firn.Message).Error = firn.StopError, "no"
	return r.start(firn.Header{},
		says("user-1", "one"), answers("answer-1", "uno"), says("user-2", "two"), answers("answer-2", "dos"),
		under("answer-1", body("head-1", &firn.Head{})),
		says("user-3", "three"), answers("answer-3", "tres"), says("user-4", "four"), answers("answer-4", "cuatro"),
		body("comp-1", &firn.Compaction{Summary: "they counted to three", FirstKept: "user-4", TokensBefore: 9}),
		says("user-5", "five"), answers("answer-5", "cinco"),
		body("stone-1", &firn.Tombstone{Target: "answer-4"}), failed,
		body("label-1", &firn.Label{Target: "user-5", Name: "here"}),
	)
}

func TestEntriesOfAllViews(t *testing.T) {
	const (
		disk   = "header user-1 answer-1 user-2 answer-2 head-1 user-3 answer-3 user-4 answer-4 comp-1 user-5 answer-5 stone-1 failed-1 label-1"
		branch = "user-1/compacted answer-1/compacted head-1/compacted user-3/compacted answer-3/compacted user-4 answer-4/tombstoned comp-1 user-5 answer-5 stone-1 failed-1/hidden label-1"
		sent   = "comp-1 user-4 answer-4/tombstoned user-5 answer-5 failed-1/hidden"
	)
	numbers := map[string]string{
		wire.ViewDisk: "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", wire.ViewBranch: "1 2 5 6 7 8 9 10 11 12 13 14 15", wire.ViewWindow: "10 8 9 11 12 14",
	}
	inRooms(t, func(t *testing.T, r *room) {
		id := sampleSession(r)
		for look, want := range map[string]string{wire.ViewDisk: disk, wire.ViewBranch: branch, wire.ViewWindow: sent} {
			for _, limit := range []int{0, 1, 2, 3, 5, 13, 1000, 1 << 40} {
				forth := allEntries(t, r, id, view.EntryQuery{View: look, Limit: limit})
				what := fmt.Sprintf("%s by %d", look, limit)
				same(t, what, lineIDs(t, forth), want)
				var n []string
				for _, e := range forth {
					n = append(n, fmt.Sprint(e.N))
				}
				same(t, what+", numbers", strings.Join(n, " "), numbers[look])
				back := allEntries(t, r, id, view.EntryQuery{View: look, Limit: limit, Back: true})
				slices.Reverse(back)
				same(t, what+", backwards", lineIDs(t, back), want)
				for i, e := range back {
					if e.At != forth[i].At || e.Next != forth[i].Next || e.N != 0 && e.N != forth[i].N {
						t.Errorf("%s: entry %d is %+v backwards and %+v forwards", what, i, e, forth[i])
					}
				}
			}
		}
	})
}

func TestEntriesBetweenPositions(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := sampleSession(r)
		all := allEntries(t, r, id, view.EntryQuery{})
		places := make(map[string]wire.Entry)
		for _, e := range all {
			places[lineIDs(t, []wire.Entry{e})] = e
		}
		after, before := places["answer-1"].Next, places["answer-5"].At
		tests := []struct {
			look string
			back bool
			want string
		}{
			{wire.ViewDisk, false, "user-2 answer-2 head-1 user-3 answer-3 user-4 answer-4 comp-1 user-5"},
			{wire.ViewDisk, true, "user-5 comp-1 answer-4 user-4 answer-3 user-3 head-1 answer-2 user-2"},
			{wire.ViewBranch, false, "head-1/compacted user-3/compacted answer-3/compacted user-4 answer-4/tombstoned comp-1 user-5"},
			{wire.ViewBranch, true, "user-5 comp-1 answer-4/tombstoned user-4 answer-3/compacted user-3/compacted head-1/compacted"},
		}
		for _, test := range tests {
			for _, limit := range []int{1, 2, 100} {
				entries := allEntries(t, r, id, view.EntryQuery{View: test.look, Back: test.back, After: after, Before: before, Limit: limit})
				same(t, fmt.Sprintf("%+v by %d", test, limit), lineIDs(t, entries), test.want)
			}
		}
		if page := got(r.Entries(r.ctx, id, view.EntryQuery{After: 1 << 60}))(t); len(page.Items) != 0 {
			t.Errorf("after the end there are %d", len(page.Items))
		}
		// Reading after the last position returns the new entries.
		end := all[len(all)-1].Next
		r.write(id, says("user-6", "six"))
		same(t, "new entries", lineIDs(t, got(r.Entries(r.ctx, id, view.EntryQuery{After: end}))(t).Items), "user-6")
	})
}

func TestEntriesRefuse(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(3)
		back := got(r.Entries(r.ctx, id, view.EntryQuery{View: wire.ViewBranch, Back: true, Limit: 1}))(t).Cursor
		bad := map[string]view.EntryQuery{
			"no view": {View: "all"}, "a cursor of another view": {Cursor: back}, "of another direction": {View: wire.ViewBranch, Cursor: back},
			"no cursor": {Cursor: "x"}, "half a cursor": {Cursor: "disk.f."}, "a negative one": {Cursor: "disk.f.-1"}, "a long one": {Cursor: "disk.f." + strings.Repeat("1", 5000)},
			"with trailing text": {Cursor: "disk.f.1.x"},
		}
		for what, q := range bad {
			_, err := r.Entries(r.ctx, id, q)
			isKind(t, what, err, wire.Invalid)
		}
		// Invalid cursors are rejected.
		for _, q := range []view.EntryQuery{
			{Cursor: "disk.f.18446744073709551615"}, {Cursor: "disk.b.0", Back: true}, {View: wire.ViewWindow, Cursor: "window.f.1000"},
			{View: wire.ViewBranch, Back: true, Cursor: "branch.b.1.=nobody"}, {View: wire.ViewBranch, Cursor: "branch.f.99999999"},
		} {
			if page, err := r.Entries(r.ctx, id, q); err != nil || len(page.Items) != 0 {
				t.Errorf("%+v: %d entries, %v", q, len(page.Items), err)
			}
		}
		for _, no := range []firn.ID{"nobody", "../x", "", "..", "a/b"} {
			_, err := r.Entries(r.ctx, no, view.EntryQuery{})
			if kind := wire.KindOf(err); kind != wire.NotFound && kind != wire.Invalid {
				t.Errorf("session %q: %v", no, err)
			}
		}
	})
}

// TestLargeEntriesMakeShortPages checks that a page of large entries ends early.
func TestLargeEntriesMakeShortPages(t *testing.T) {
	r := fileRoom(t)
	id := r.start(firn.Header{})
	for range 5 {
		r.write(id, says("", strings.Repeat("x", 4<<20)))
	}
	page := got(r.Entries(r.ctx, id, view.EntryQuery{}))(t)
	if len(page.Items) != 3 || page.Cursor == "" {
		t.Errorf("the page has %d entries", len(page.Items))
	}
	if all := allEntries(t, r, id, view.EntryQuery{}); len(all) != 6 {
		t.Errorf("in all there are %d", len(all))
	}
}

// TestBranchOfADamagedFile checks that the branch of a damaged file is that of the tree.
func TestBranchOfADamagedFile(t *testing.T) {
	r := fileRoom(t)
	id := r.start(firn.Header{}, says("user-1", "one"), answers("answer-1", "uno"))
	path := got(r.Session(r.ctx, string(id)))(t).Files[0]
	line := func(id, parent string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,%s"timestamp":"2026-03-01T12:00:00.000Z","message":{"role":"user","content":"x","timestamp":1}}`+"\n", id, parent)
	}
	appendFile(t, path, line("lost-1", `"parentId":"nowhere",`)+line("loose-1", "")+line("user-2", `"parentId":"loose-1",`))
	const want = "user-1 answer-1 lost-1 loose-1 user-2"
	for _, limit := range []int{1, 2, 3, 100} {
		same(t, "forwards", lineIDs(t, allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch, Limit: limit})), want)
		back := allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch, Limit: limit, Back: true})
		slices.Reverse(back)
		same(t, fmt.Sprintf("backwards by %d", limit), lineIDs(t, back), want)
	}
	if to := got(r.FindEntry(r.ctx, id, "HEAD~4"))(t); to != firn.Root {
		t.Errorf("before the first turn is %s", to)
	}
}

func TestAppend(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(1)
		end := got(r.Session(r.ctx, string(id)))(t).End
		raw := func(lines ...string) wire.NewEntries {
			var n wire.NewEntries
			for _, l := range lines {
				n.Entries = append(n.Entries, json.RawMessage(l))
			}
			return n
		}
		out := got(r.Append(r.ctx, id, end, wire.NewEntries{User: "hello"}))(t)
		if len(out.IDs) != 1 || out.End <= end {
			t.Errorf("it was stored as %+v", out)
		}
		_, err := r.Append(r.ctx, id, end, wire.NewEntries{User: "too late"})
		isKind(t, "an end that was", err, wire.Conflict)
		if p := ProblemOf(err); p.End != out.End {
			t.Errorf("the conflict gives the end as %d, it is %d", p.End, out.End)
		}
		two := got(r.Append(r.ctx, id, store.Any, raw(
			`{"type":"message","id":"mine-1","parentId":"answer-1","timestamp":"2026-03-01T12:00:00.000Z","message":{"role":"user","content":"x","timestamp":1}}`,
			`{"type":"from-tomorrow","what":{"deep":[1,2.50]}}`,
		)))(t)
		if two.IDs[0] != "mine-1" || two.IDs[1] == "" {
			t.Errorf("they are called %v", two.IDs)
		}
		entries := allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch})
		same(t, "the branch", lineIDs(t, entries), "user-1 answer-1 mine-1 "+string(two.IDs[1]))
		if last := string(entries[3].Line); !strings.Contains(last, `"what":{"deep":[1,2.50]}`) {
			t.Errorf("unknown fields are stored as %s", last)
		}
		bad := map[string]wire.NewEntries{
			"nothing": {}, "both": {User: "x", Entries: raw(`{}`).Entries}, "a header": raw(`{"type":"session","version":3,"id":"x","timestamp":"2026-03-01T12:00:00.000Z","cwd":"/"}`),
			"no object": raw(`[1]`), "no JSON": raw(`{"type":`), "a taken id": raw(`{"type":"custom","customType":"x","id":"user-1"}`), "too many": {Entries: slices.Repeat(raw(`{"type":"x"}`).Entries, 1001)},
			"the second is bad": raw(`{"type":"custom","customType":"x"}`, `7`),
		}
		before := got(r.Session(r.ctx, string(id)))(t).End
		for what, n := range bad {
			_, err := r.Append(r.ctx, id, store.Any, n)
			isKind(t, what, err, wire.Invalid)
		}
		_, err = r.Append(r.ctx, id, store.Any, raw(`{"type":"custom","customType":"x","id":"y","parentId":"nowhere"}`))
		isKind(t, "a parent that is not there", err, wire.NotFound)
		_, err = r.Append(r.ctx, "nobody", store.Any, wire.NewEntries{User: "x"})
		isKind(t, "no session", err, wire.NotFound)
		_, err = r.Append(r.ctx, "nobody", store.Start, wire.NewEntries{User: "x"})
		isKind(t, "a session that is not begun", err, wire.NotFound)
		_, err = r.Append(r.ctx, "../x", store.Any, wire.NewEntries{User: "x"})
		isKind(t, "no id", err, wire.Invalid)
		if after := got(r.Session(r.ctx, string(id)))(t).End; after != before {
			t.Error("a rejected request wrote something")
		}
	})
}
