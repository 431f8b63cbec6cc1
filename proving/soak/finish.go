//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// finish runs the final checks after all clients have stopped.
func (s *soak) finish(followers []*follower) {
	if s.isLongEnough() {
		for _, t := range s.samples.trends() {
			if !t.OK {
				s.ledger.complain("%s, in the second half: %s", t.What, t)
			}
		}
	}
	s.atRest()
	s.indexes()
	if err := s.gateway.stop(); err != nil {
		s.ledger.complain("%v", err)
	}
	wrong, err := s.auditor.audit(context.Background(), s.ledger.snapshot(), true)
	if err != nil {
		s.ledger.complain("look at the sessions at the end: %v", err)
	}
	for _, w := range wrong {
		s.ledger.complain("at the end: %s", w)
	}
	for _, f := range followers {
		want := s.auditor.books[f.session].entries
		if !f.reached() || len(f.seen) > len(want) || !slices.Equal(want[:len(f.seen)], f.seen) { // one more entry may have been appended since
			s.ledger.complain("who followed session %s saw %d entries, %d are there, and they are not the same: %s", f.session, len(f.seen), len(want), difference(want, f.seen))
		}
	}
	if output, err := os.ReadFile(s.gateway.log.Name()); err != nil || bytes.Contains(output, []byte("panic")) {
		s.ledger.complain("the log of the gateway tells of a panic, or cannot be read: %v", err)
	}
	for _, args := range [][]string{{"verify"}, {"doctor"}} {
		out, err := s.gateway.commandAlone(append(args, "--json")...)
		if err != nil {
			s.ledger.complain("firn %s: %v: %.3000s", strings.Join(args, " "), err, out)
			continue
		}
		s.ledger.count("clean: firn " + args[0])
	}
}

// isLongEnough reports whether the run was long enough to detect leaks, and not ended
// early. In the first ten minutes new sessions are still created, each of which needs an
// open file and some memory.
func (s *soak) isLongEnough() bool {
	return s.secondHalf && s.For >= 20*time.Minute && time.Since(s.began) > s.For*9/10
}

// difference describes where two lists begin to differ.
func difference(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return "want " + want[i] + ", got " + got[i]
		}
	}
	return "the end is missing"
}

// Limits of an idle gateway.
const (
	idleGoroutines = 60
	idleFiles      = 40
)

// atRest checks that resources of clients were released. Transcripts stay open for appends:
// one descriptor each.
func (s *soak) atRest() {
	s.http.CloseIdleConnections()
	var one sample
	for range 100 { // cleanup takes a moment
		var ok bool
		if one, ok = s.measure(); ok && one.Goroutines <= idleGoroutines {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.logf("at rest: %.0f MB, %.0f descriptors, %.0f goroutines, %d sessions", one.RSS, one.Files, one.Goroutines, one.Sessions)
	if one.Goroutines > idleGoroutines {
		s.ledger.complain("at rest the gateway has %.0f goroutines", one.Goroutines)
	}
	if one.Files > float64(idleFiles+2*one.Sessions) {
		s.ledger.complain("at rest the gateway has %.0f descriptors open for %d sessions", one.Files, one.Sessions)
	}
}

// indexes checks that all sessions are listed and all messages are found, despite the
// corruption of indexes.
func (s *soak) indexes() {
	listed := make(map[firn.ID]bool)
	for one, err := range s.client.Sessions(context.Background(), client.Query{Empty: true}) {
		if err != nil {
			s.ledger.complain("list sessions: %v", err)
			return
		}
		listed[one.ID] = true
	}
	t := s.ledger.snapshot()
	for _, id := range t.made {
		if !listed[id] {
			s.ledger.complain("session %s is not listed", id)
		}
	}
	for i := 0; i < 30 && len(t.sent) > 0; i++ {
		what := t.sent[s.chance.IntN(len(t.sent))]
		if !s.finds(what) {
			s.ledger.complain("%q of session %s is not found", what.text, what.session)
		}
	}
	ctx, done := context.WithTimeout(context.Background(), 5*time.Minute)
	defer done()
	report, err := s.client.Index.Check(ctx)
	for try := 0; try < 30 && err == nil && !report.OK; try++ { // a title may have been appended just now
		time.Sleep(time.Second)
		_, _ = s.client.SessionsPage(ctx, client.Query{Limit: 1}) // listing triggers an update of the catalog
		report, err = s.client.Index.Check(ctx)
	}
	if err != nil || !report.OK {
		s.ledger.complain("the indexes are not as the sessions are: %v %v", err, report.Differences[:min(3, len(report.Differences))])
	}
}

// finds searches for a message, until the index is up to date.
func (s *soak) finds(what spoken) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		ctx, done := requestContext()
		found, err := s.client.Search(ctx, wire.SearchQuery{Query: `"` + what.text + `"`, Session: string(what.session)})
		done()
		if err != nil {
			s.ledger.complain("search for %q: %v", what.text, err)
			return true
		}
		if len(found.Items) > 0 {
			return true
		}
	}
	return false
}
