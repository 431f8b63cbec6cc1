package fulltext

import (
	"fmt"
	"testing"
	"time"

	"firn.dev"
)

// TestOriginalIsShown checks that a match in a session and its forks shows the session,
// with the forks as its copies.
func TestOriginalIsShown(t *testing.T) {
	b := newTestIndex(t)
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 20 {
		text := firn.NewEntry(firn.UserText(fmt.Sprintf("number%d is about the flaky lock in the test of the journal and nothing else", i)).Body)
		text.Time = begin.Add(time.Minute)
		text.Body.(*firn.Message).Time = text.Time
		original, fork := firn.ID(fmt.Sprintf("session-%d", i*7)), firn.ID(fmt.Sprintf("session-%d", i*7+1))
		for id, created := range map[firn.ID]time.Time{original: begin, fork: begin.Add(time.Hour)} {
			head := firn.Entry{ID: firn.EntryID(id), Time: created, Body: &firn.Header{Version: 3, Session: id}}
			b.append(id, head, text)
		}
		hits := b.search(fmt.Sprintf("number%d", i))
		if len(hits) != 1 || hits[0].Session != original || len(hits[0].Copies) != 1 || hits[0].Copies[0].Session != fork {
			t.Errorf("of %s and its fork %s %+v is shown", original, fork, hits)
		}
	}
}
