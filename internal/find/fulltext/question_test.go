package fulltext

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// questionIndex has two owners with the same conversation: a question without the answer's
// words, the answer after it, and messages about something else. A third session is a fork of
// the first: a copy of its messages.
func questionIndex(t *testing.T) (b *testIndex, begin time.Time) {
	b = newTestIndex(t)
	begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	texts := []string{
		"Which electrician did we choose for the kitchen of the old house?", "It was Hoffmann, who can begin in March.",
		"And the painter of the hallway?", "Nobody so far.", "The garden needs a fence before the summer.", "Wood is cheaper than steel.",
	}
	for k, s := range []struct {
		id         firn.ID
		agent, key string
	}{{"mine", "main", "agent:main:me"}, {"theirs", "main", "agent:main:you"}, {"fork", "main", "agent:main:me"}} {
		all := []firn.Entry{{ID: firn.EntryID(s.id) + "-head", Time: begin, Body: &firn.Header{Version: 3, Session: s.id, Agent: s.agent, Key: s.key}}}
		for i, text := range texts {
			if s.id == "theirs" {
				text = "Your part: " + text + " This was said by another person, in other words, to someone else."
			}
			m := &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}, Time: begin.Add(time.Duration(i) * time.Hour)}
			if i%2 == 1 {
				m.Role, m.StopReason = firn.RoleAssistant, firn.StopEnd
			}
			id := fmt.Sprintf("%s-%d", s.id, i)
			if s.id == "theirs" {
				m.Time = m.Time.AddDate(0, 0, k)
			}
			all = append(all, firn.Entry{ID: firn.EntryID(id), Time: m.Time, Body: m})
		}
		b.append(s.id, all...)
	}
	return b, begin
}

// TestQuestionFilters asks a question with each filter. Neighbors of matching messages are
// hits of a question too, and must obey the filters as the others do.
func TestQuestionFilters(t *testing.T) {
	b, begin := questionIndex(t)
	const text = "Which electrician did we choose for the kitchen?"
	for name, test := range map[string]struct {
		narrow func(q *search.Query)
		holds  func(h search.Hit) bool
		// finds is an entry that is found only as a neighbor, if the filter admits it.
		finds string
	}{
		"nothing":  {func(*search.Query) {}, func(search.Hit) bool { return true }, "mine-1"},
		"owner":    {func(q *search.Query) { q.Owners = func(_, key string) bool { return key == "agent:main:you" } }, func(h search.Hit) bool { return h.Session == "theirs" }, "theirs-1"},
		"no owner": {func(q *search.Query) { q.Owners = func(_, key string) bool { return false } }, func(search.Hit) bool { return false }, ""},
		"key":      {func(q *search.Query) { q.Keys = []string{"agent:main:you"} }, func(h search.Hit) bool { return h.Session == "theirs" }, "theirs-1"},
		"agent":    {func(q *search.Query) { q.Agents = []string{"other"} }, func(search.Hit) bool { return false }, ""},
		"session":  {func(q *search.Query) { q.Sessions = []string{"mine"} }, func(h search.Hit) bool { return h.Session == "mine" }, "mine-1"},
		"except":   {func(q *search.Query) { q.Except = []firn.ID{"mine", "fork"} }, func(h search.Hit) bool { return h.Session == "theirs" }, "theirs-1"},
		"user":     {func(q *search.Query) { q.Roles = []search.Role{search.RoleUser} }, func(h search.Hit) bool { return h.Role == search.RoleUser }, ""},
		"model":    {func(q *search.Query) { q.Roles = []search.Role{search.RoleAssistant} }, func(h search.Hit) bool { return h.Role == search.RoleAssistant }, ""},
		"since":    {func(q *search.Query) { q.Since = begin.Add(30 * time.Minute) }, func(h search.Hit) bool { return !h.Time.Before(begin.Add(30 * time.Minute)) }, ""},
		"until":    {func(q *search.Query) { q.Until = begin.Add(30 * time.Minute) }, func(h search.Hit) bool { return h.Time.Before(begin.Add(30 * time.Minute)) }, ""},
		"tool":     {func(q *search.Query) { q.Tools = []string{"bash"} }, func(search.Hit) bool { return false }, ""},
		"path":     {func(q *search.Query) { q.Paths = []string{"src"} }, func(search.Hit) bool { return false }, ""},
	} {
		q := search.Words(text)
		if !q.Want.IsQuestion() {
			t.Fatal("it is not a question")
		}
		test.narrow(&q)
		answer, err := b.index.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range answer.Hits {
			if !test.holds(h) {
				t.Errorf("%s: finds %s of %s, %s", name, h.Entry, h.Role, h.Time)
			}
		}
		if test.finds != "" && !slices.ContainsFunc(answer.Hits, func(h search.Hit) bool { return has(h, test.finds) }) {
			t.Errorf("%s: does not find %s among %s", name, test.finds, entries(answer.Hits))
		}
	}
}

// has reports whether a hit or one of its copies is an entry.
func has(h search.Hit, entry string) bool {
	return string(h.Entry) == entry || slices.ContainsFunc(h.Copies, func(p search.Place) bool { return string(p.Entry) == entry })
}

// TestQuestionWithExclusion checks that a word that must not occur is not found as a neighbor
// either.
func TestQuestionWithExclusion(t *testing.T) {
	b, _ := questionIndex(t)
	for _, query := range []string{"which electrician did we choose for the kitchen -hoffmann", "electrician choose kitchen house NOT hoffmann"} {
		for _, h := range b.search(query) {
			if strings.Contains(h.Snippet, "Hoffmann") {
				t.Errorf("%s finds %s: %q", query, h.Entry, h.Snippet)
			}
		}
	}
}

// TestQuestionFindsCopiesOnce checks that a fork's copies of messages are not hits of their
// own, also those found as neighbors.
func TestQuestionFindsCopiesOnce(t *testing.T) {
	b, _ := questionIndex(t)
	answer, err := b.index.Search(t.Context(), search.Words("Which electrician did we choose for the kitchen?"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"0", "1"} {
		hits, copies := 0, 0
		for _, h := range answer.Hits {
			if has(h, "mine-"+n) || has(h, "fork-"+n) {
				hits++
				copies += len(h.Copies)
			}
		}
		if hits != 1 || copies != 1 {
			t.Errorf("message %s is %d hits with %d copies: %s", n, hits, copies, entries(answer.Hits))
		}
	}
}
