package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// cardIDs lists the IDs of cards with the reasons why they are left out.
func cardIDs(t *testing.T, items []wire.Entry) string {
	t.Helper()
	var out []string
	for _, e := range items {
		if e.Card == nil || e.Line != nil {
			t.Fatalf("%+v has no card, or a line too", e)
		}
		name := string(e.Card.ID)
		if e.Card.Kind == firn.KindHeader {
			name = "header"
		}
		if e.Out != "" {
			name += "/" + e.Out
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// TestCardsOfAllViews checks that cards have the same reasons and numbers as lines, in all
// views, page sizes and directions.
func TestCardsOfAllViews(t *testing.T) {
	const (
		disk   = "header user-1/compacted answer-1/compacted user-2/other-branch answer-2/other-branch head-1/compacted user-3/compacted answer-3/compacted user-4 answer-4/tombstoned comp-1 user-5 answer-5 stone-1 failed-1/hidden label-1"
		branch = "user-1/compacted answer-1/compacted head-1/compacted user-3/compacted answer-3/compacted user-4 answer-4/tombstoned comp-1 user-5 answer-5 stone-1 failed-1/hidden label-1"
		sent   = "comp-1 user-4 answer-4/tombstoned user-5 answer-5 failed-1/hidden"
	)
	inRooms(t, func(t *testing.T, r *room) {
		id := sampleSession(r)
		for look, want := range map[string]string{wire.ViewDisk: disk, wire.ViewBranch: branch, wire.ViewWindow: sent} {
			lines := allEntries(t, r, id, view.EntryQuery{View: look})
			for _, limit := range []int{0, 1, 3, 13} {
				for _, back := range []bool{false, true} {
					cards := allEntries(t, r, id, view.EntryQuery{View: look, Limit: limit, Back: back, HTML: true})
					if back {
						slices.Reverse(cards)
					}
					same(t, fmt.Sprintf("%s by %d, back %v", look, limit, back), cardIDs(t, cards), want)
					for i, c := range cards {
						if c.N != lines[i].N || c.At != lines[i].At || c.Next != lines[i].Next {
							t.Errorf("%s: %s is #%d at %d, want #%d at %d", look, c.Card.ID, c.N, c.At, lines[i].N, lines[i].At)
						}
					}
				}
			}
		}
		for _, e := range allEntries(t, r, id, view.EntryQuery{HTML: true}) {
			if e.Card.Hidden != (e.Card.ID == "answer-4") || (e.Card.Label == "here") != (e.Card.ID == "user-5") {
				t.Errorf("%s is hidden %v, labeled %q", e.Card.ID, e.Card.Hidden, e.Card.Label)
			}
		}
	})
}

// TestAbandonedBranch checks that a branch can be read by its last entry.
func TestAbandonedBranch(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := sampleSession(r)
		const want = "user-1/compacted answer-1/compacted user-2/other-branch answer-2/other-branch"
		for _, limit := range []int{0, 1, 3} {
			forth := allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch, Head: "answer-2", Limit: limit, HTML: true})
			same(t, "forth", cardIDs(t, forth), want)
			back := allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch, Head: "#4", Limit: limit, HTML: true, Back: true})
			slices.Reverse(back)
			same(t, "back", cardIDs(t, back), want)
		}
		lines := allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch, Head: "answer-2"})
		if len(lines) != 4 || lines[3].Line == nil {
			t.Errorf("as lines: %+v", lines)
		}
		if _, err := r.Entries(r.ctx, id, view.EntryQuery{View: wire.ViewBranch, Head: "nobody", Back: true}); wire.KindOf(err) != wire.NotFound {
			t.Errorf("a missing head: %v", err)
		}
	})
}

// TestOneEntry checks that a single entry is complete and its images are available.
func TestOneEntry(t *testing.T) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	long := strings.Repeat("a long story. ", 4000)
	inRooms(t, func(t *testing.T, r *room) {
		id := r.start(firn.Header{}, says("user-1", long), body("shot-1", &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{
			firn.Image{MimeType: "image/png", Data: png}, firn.Image{MimeType: "image/png", Data: "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"}, firn.Image{MimeType: "image/png", Data: "%%%"},
		}}), body("label-1", &firn.Label{Target: "user-1", Name: "tale"}))
		page := got(r.Entries(r.ctx, id, view.EntryQuery{HTML: true}))(t)
		if c := page.Items[1].Card; !c.Cut || !c.Blocks[0].Cut || len(c.Blocks[0].HTML) > 9000 || c.Label != "tale" {
			t.Errorf("on a page: cut %v, %d bytes", c.Cut, len(c.Blocks[0].HTML))
		}
		whole := got(r.Entry(r.ctx, id, "tale", true))(t)
		if c := whole.Card; c.Cut || c.ID != "user-1" || c.Label != "tale" || len(c.Blocks[0].HTML) < len(long) || whole.N != 1 {
			t.Errorf("alone: %+v", c)
		}
		line := got(r.Entry(r.ctx, id, "#1", false))(t)
		if line.Card != nil || !strings.Contains(string(line.Line), long) {
			t.Errorf("as a line: %.80s", line.Line)
		}
		shot := got(r.Entry(r.ctx, id, "shot-1", true))(t).Card.Blocks
		if len(shot) != 3 || shot[0].Src != "/v1/sessions/"+string(id)+"/entries/shot-1/images/1" {
			t.Errorf("%+v", shot)
		}
		data, kind, err := r.Image(r.ctx, id, "shot-1", 1)
		if err != nil || kind != "image/png" || !strings.HasPrefix(string(data), "\x89PNG") {
			t.Errorf("%q %s %v", data, kind, err)
		}
		for n, want := range map[int]wire.Kind{0: wire.NotFound, 4: wire.NotFound, 2: wire.Unsupported, 3: wire.Unsupported} {
			if _, _, err := r.Image(r.ctx, id, "shot-1", n); wire.KindOf(err) != want {
				t.Errorf("image %d: %v", n, err)
			}
		}
		if _, err := r.Entry(r.ctx, id, "nobody", true); wire.KindOf(err) != wire.NotFound {
			t.Errorf("an unknown session: %v", err)
		}
	})
}

// TestFirstPageCostIsConstant checks that the cost of the first page does not depend on the
// length of the session, and that its size is bounded.
func TestFirstPageCostIsConstant(t *testing.T) {
	r := fileRoom(t)
	id := r.start(firn.Header{})
	text := strings.Repeat("some **words** and `code`\n\n```go\nfunc f() { return \"x\" }\n```\n\n", 40)
	for range 3 {
		var batch []firn.Entry
		for range 250 {
			batch = append(batch, firn.UserText(text), firn.AssistantText(text))
		}
		r.write(id, batch...)
	}
	counted := &gauged{Store: r.st}
	g := view.New(view.Options{Store: counted}, view.Setup{})
	q := view.EntryQuery{View: wire.ViewBranch, Back: true, Limit: 60, HTML: true}
	for _, look := range []string{wire.ViewBranch, wire.ViewDisk} {
		q.View = look
		counted.records.Store(0)
		page, err := g.Entries(t.Context(), id, q)
		if err != nil {
			t.Fatal(err)
		}
		var encoded strings.Builder
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false) // like responses
		if err := encoder.Encode(page); err != nil || encoded.Len() > 256<<10 || len(page.Items) < 10 || page.Cursor == "" {
			t.Errorf("%s: %d entries in %d bytes, cursor %q, %v", look, len(page.Items), encoded.Len(), page.Cursor, err)
		}
		if read := int(counted.records.Load()); read > 3*len(page.Items)+20 {
			t.Errorf("%s: %d records were read for a page of %d entries", look, read, len(page.Items))
		}
		for q.Cursor = page.Cursor; q.Cursor != "" && page.Items[0].At > 3<<20; q.Cursor = page.Cursor { // and for the following pages
			counted.records.Store(0)
			if page, err = g.Entries(t.Context(), id, q); err != nil {
				t.Fatal(err)
			}
			if read := int(counted.records.Load()); read > 3*len(page.Items)+20 {
				t.Fatalf("%s: %d records were read for a page of %d entries far back", look, read, len(page.Items))
			}
		}
		q.Cursor = ""
	}
}
