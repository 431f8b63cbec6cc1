package view

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
	"firn.dev/wire"
)

// lineStore has the records of one session, and counts reads and decoded entries.
type lineStore struct {
	store.Store
	records []firn.Record
	reads   int
	decoded map[firn.EntryID]int
}

func newLineStore(t *testing.T, entries ...firn.Entry) *lineStore {
	s := &lineStore{decoded: make(map[firn.EntryID]int)}
	at := firn.Pos(0)
	for i, e := range entries {
		if i > 0 {
			e.Parent = entries[i-1].ID
		}
		line, err := native.New().Append(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		next := at + firn.Pos(len(line)) + 1
		glance := firn.Glance{Kind: firn.KindMessage, ID: e.ID, Parent: e.Parent}
		s.records = append(s.records, firn.LazyRecord(at, next, glance, line, func([]byte) (firn.Entry, error) {
			s.decoded[e.ID]++
			return e, nil
		}))
		at = next
	}
	return s
}

func (s *lineStore) Read(_ context.Context, _ firn.ID, from store.Pos) iter.Seq2[firn.Record, error] {
	s.reads++
	return func(yield func(firn.Record, error) bool) {
		for _, rec := range s.records {
			if rec.At >= from && !yield(rec, nil) {
				return
			}
		}
	}
}

func (s *lineStore) ReadBack(_ context.Context, _ firn.ID, from store.Pos) iter.Seq2[firn.Record, error] {
	s.reads++
	return func(yield func(firn.Record, error) bool) {
		for i := len(s.records) - 1; i >= 0; i-- {
			if rec := s.records[i]; rec.Next <= from && !yield(rec, nil) {
				return
			}
		}
	}
}

// TestResultsAreReadOnce checks the work for the results of tools: a page decodes each once
// and keeps no long one, and a single entry finds its call in one read.
func TestResultsAreReadOnce(t *testing.T) {
	message := func(id firn.EntryID, role firn.Role, part firn.Part) firn.Entry {
		return firn.Entry{ID: id, Body: &firn.Message{Role: role, Parts: []firn.Part{part}}}
	}
	result := func(id firn.EntryID, call, text string) firn.Entry {
		return message(id, firn.RoleToolResult, firn.ToolResult{CallID: call, Content: []firn.Part{firn.Text{Text: text}}})
	}
	entries := []firn.Entry{message("user", firn.RoleUser, firn.Text{Text: "Go."})}
	for _, call := range []string{"small", "large"} {
		entries = append(entries, message(firn.EntryID("call-"+call), firn.RoleAssistant, firn.ToolCall{ID: call, Name: "Bash", Arguments: json.RawMessage(`{"command":"ls"}`)}))
	}
	entries = append(entries, result("small", "small", "Exit code 4\nno"), result("large", "large", "Exit code 5\n"+strings.Repeat("a long line of output\n", 10_000)))
	s := newLineStore(t, entries...)
	v := &View{Options: Options{Store: s}}
	page := &wire.Page[wire.Entry]{}
	r := &entryReader{v: v, id: "s", q: EntryQuery{HTML: true, Back: true}, left: 100, page: page}
	for rec := range s.ReadBack(t.Context(), "s", store.End) {
		r.add(r.entry(t.Context(), &rec))
	}
	if r.results[s.records[3].At] == nil || r.results[s.records[4].At] != nil {
		t.Errorf("kept %v, want the short result only", r.results)
	}
	r.joinResults(t.Context())
	for i, want := range []int{5, 4} {
		if b := page.Items[i].Card.Blocks[0]; b.Name != "Bash" || b.Exit == nil || *b.Exit != want {
			t.Errorf("result %d is %+v, want exit %d of Bash", i, b, want)
		}
	}
	if s.decoded["small"] != 1 || s.decoded["large"] != 2 {
		t.Errorf("decoded %v, want small once and large twice", s.decoded)
	}

	s.reads = 0
	rec := s.records[3]
	c, err := wholeCard(t.Context(), v, "s", &rec)
	if err != nil || c.Blocks[0].Name != "Bash" {
		t.Errorf("alone: %+v, %v", c, err)
	}
	if s.reads != 1 {
		t.Errorf("finding a call took %d reads, want 1", s.reads)
	}
}
