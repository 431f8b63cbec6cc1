package fulltext

import (
	"fmt"
	"testing"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// TestLiteralSearch finds every entry of a session with a text, over many pages, the latest
// first, and nothing of other sessions.
func TestLiteralSearch(t *testing.T) {
	b := newTestIndex(t)
	var all []firn.Entry
	var want []string
	for i := range 1300 {
		text := fmt.Sprintf("Number %d: what did the quick fox say there?", i)
		if i%2 == 1 {
			text = fmt.Sprintf("Number %d: the fox did quickly say what.", i)
		}
		e := firn.NewEntry(firn.UserText(text).Body)
		e.ID = firn.EntryID(fmt.Sprintf("e%d", i))
		if i%2 == 0 {
			want = append(want, string(e.ID))
		}
		all = append(all, e)
	}
	tool := firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{
		firn.ToolResult{CallID: "a", Name: "read", Content: []firn.Part{firn.Text{Text: "What did the quick fox say?"}}},
	}})
	tool.ID = "tool"
	b.append("here", append(all, tool)...)
	b.append("elsewhere", firn.NewEntry(firn.UserText("what did the quick fox say").Body))
	find := func(text string, in search.In) (got []string, pages int) {
		t.Helper()
		literal, ok := search.NewLiteral(text)
		if !ok {
			t.Fatalf("%q is no literal", text)
		}
		none := 0
		q := search.Query{Literal: literal, Sessions: []string{"here"}, In: in, Limit: 100, Before: &none, After: &none}
		for {
			a, err := b.index.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range a.Hits {
				got = append(got, string(h.Entry))
				if h.Snippet == "" || len(h.Matches) == 0 {
					t.Fatalf("%+v has no match", h)
				}
			}
			if pages++; a.Cursor == "" {
				return got, pages
			}
			if len(a.Hits) != 100 || pages > 20 {
				t.Fatalf("page %d has %d hits and a cursor", pages, len(a.Hits))
			}
			q.Cursor = a.Cursor
		}
	}
	got, pages := find("What did the quick fox sa", search.InTalk)
	if len(got) != len(want) || pages != 7 {
		t.Fatalf("%d hits on %d pages, want %d on 7", len(got), pages, len(want))
	}
	for i := range got {
		if got[i] != want[len(want)-1-i] {
			t.Fatalf("hit %d is %s, want %s", i, got[i], want[len(want)-1-i])
		}
	}
	if got, _ := find("quick fox say", search.InAll); len(got) != len(want)+1 || got[0] != "tool" {
		t.Errorf("with tools: %d hits, the first %s", len(got), got[0])
	}
	if got, pages := find("quick fox", search.InTalk); len(got) != 650 || pages != 7 {
		t.Errorf("exactly full pages: %d hits on %d pages", len(got), pages)
	}
	if got, _ := find("Number 99: the", search.InAll); len(got) != 1 || got[0] != "e99" {
		t.Errorf("with punctuation: %v", got)
	}
	literal, _ := search.NewLiteral("fox")
	if _, err := b.index.Search(t.Context(), search.Query{Literal: literal, Sessions: []string{"here"}, Cursor: "bad"}); err == nil {
		t.Error("a bad cursor is accepted")
	}
}
