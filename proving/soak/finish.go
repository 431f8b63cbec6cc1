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

// finish holds everything against everything, when nobody talks any more.
func (s *soak) finish(followers []*follower) {
	if s.judged() {
		for _, t := range s.samples.flat() {
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
	wrong, err := s.auditor.audit(context.Background(), s.ledger.told(), true)
	if err != nil {
		s.ledger.complain("look at the sessions at the end: %v", err)
	}
	for _, w := range wrong {
		s.ledger.complain("at the end: %s", w)
	}
	for _, f := range followers {
		want := s.auditor.books[f.session].told
		if !f.reached() || len(f.seen) > len(want) || !slices.Equal(want[:len(f.seen)], f.seen) { // one may have come since
			s.ledger.complain("who followed session %s saw %d entries, %d are there, and they are not the same: %s", f.session, len(f.seen), len(want), difference(want, f.seen))
		}
	}
	if said, err := os.ReadFile(s.gateway.log.Name()); err != nil || bytes.Contains(said, []byte("panic")) {
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

// judged reports whether it ran long enough to say that something grows, and was not
// ended early. In the first ten minutes sessions are still begun, each of which has a
// file open and some memory.
func (s *soak) judged() bool {
	return s.late && s.For >= 20*time.Minute && time.Since(s.began) > s.For*9/10
}

// difference tells where two lists begin to differ.
func difference(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return "there is " + want[i] + ", told was " + got[i]
		}
	}
	return "the end is missing"
}

// Idle is what a gateway may have when nobody talks to it.
const (
	idleGoroutines = 60
	idleFiles      = 40
)

// atRest sees that what clients took was given back. Transcripts stay open to be
// added to: one descriptor each.
func (s *soak) atRest() {
	s.http.CloseIdleConnections()
	var one sample
	for range 100 { // what ends needs a moment
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

// indexes sees that all sessions are listed and what was said is found, whatever
// was done to the indexes.
func (s *soak) indexes() {
	listed := make(map[firn.ID]bool)
	for one, err := range s.client.Sessions(context.Background(), client.Query{}) {
		if err != nil {
			s.ledger.complain("list sessions: %v", err)
			return
		}
		listed[one.ID] = true
	}
	t := s.ledger.told()
	for _, id := range t.made {
		if !listed[id] {
			s.ledger.complain("session %s is not listed", id)
		}
	}
	for i := 0; i < 30 && len(t.said) > 0; i++ {
		what := t.said[s.chance.IntN(len(t.said))]
		if !s.finds(what) {
			s.ledger.complain("%q, said in session %s, is not found", what.text, what.session)
		}
	}
	ctx, done := context.WithTimeout(context.Background(), 5*time.Minute)
	defer done()
	report, err := s.client.CheckIndex(ctx)
	for try := 0; try < 30 && err == nil && !report.OK; try++ { // the name of a session may have come just now
		time.Sleep(time.Second)
		_, _ = s.client.SessionsPage(ctx, client.Query{Limit: 1}) // who lists lets the catalogue look around
		report, err = s.client.CheckIndex(ctx)
	}
	if err != nil || !report.OK {
		s.ledger.complain("the indexes are not as the sessions are: %v %v", err, report.Differences[:min(3, len(report.Differences))])
	}
}

// finds searches for something that was said, until the index is up to date.
func (s *soak) finds(what spoken) bool {
	for late := time.Now().Add(patience); time.Now().Before(late); time.Sleep(200 * time.Millisecond) {
		ctx, done := within()
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
