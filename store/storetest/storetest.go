// Package storetest holds the promises of package store as tests: [Run] goes
// through the contract sentence by sentence, [RunRandom] compares a store with
// the one in memory over random operations. Every member of the family runs
// both. It tests what any store must do, not how: what a disk may do to a file
// is for the store's own tests.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
)

// Opened is an empty store, ready for one test.
type Opened struct {
	Store store.Store
	// Reopen closes the store and opens one over the same data. Where data does
	// not outlive the store it may return the same one, open as it was.
	Reopen func() store.Store
}

// Run tests that the stores that open makes keep the contract of package
// store, and of those capabilities that they have.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	groups := []struct {
		name  string
		tests []test
	}{
		{"Append", appendTests()},
		{"IDs", idTests()},
		{"Read", readTests()},
		{"Follow", followTests()},
		{"List", listTests()},
		{"Together", togetherTests()},
		{"Close", closeTests()},
		{"Keyed", keyedTests()},
		{"Remover", removerTests()},
		{"Purge", purgeTests()},
		{"Deferred", deferredTests()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, test := range g.tests {
				t.Run(test.name, func(t *testing.T) { test.run(newSuite(t, open)) })
			}
		})
	}
}

// test is one sentence of the contract.
type test struct {
	name string
	run  func(s *suite)
}

// suite is a test at work: a store, and help to use it.
type suite struct {
	*testing.T
	ctx    context.Context
	store  store.Store
	reopen func() store.Store
	// helpers are the goroutines that a test started.
	helpers sync.WaitGroup
}

// patience is how long a test waits for what must come. It is passed only by
// tests that fail.
const patience = basetest.Limit

func newSuite(t *testing.T, open func(t *testing.T) Opened) *suite {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	o := open(t)
	s := &suite{T: t, ctx: ctx, store: o.Store, reopen: o.Reopen}
	t.Cleanup(func() {
		cancel()
		if err := s.store.Close(); err != nil && !errors.Is(err, firn.ErrClosed) {
			t.Errorf("closing the store: %v", err)
		}
		s.helpers.Wait()
	})
	return s
}

// restart closes the store and opens it again.
func (s *suite) restart() {
	s.Helper()
	s.store = s.reopen()
}

// append appends entries that must be accepted, and returns the new end.
func (s *suite) append(id firn.ID, entries ...firn.Entry) store.Pos {
	s.Helper()
	end, err := s.store.Append(s.ctx, id, store.Any, entries...)
	if err != nil {
		s.Fatalf("Append: %v", err)
	}
	return end
}

// say appends what the user says, one entry each, and returns the new end.
func (s *suite) say(id firn.ID, texts ...string) store.Pos {
	s.Helper()
	var entries []firn.Entry
	for _, text := range texts {
		entries = append(entries, said(text))
	}
	return s.append(id, entries...)
}

// said is an entry in which the user says text, without id, parent and time.
func said(text string) firn.Entry {
	return firn.Entry{Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}}}
}

// stored is a record that was read to the end.
type stored struct {
	firn.Entry
	At, Next store.Pos
	Line     []byte
}

// text is what a stored message says; the kind of what is not a message.
func (r stored) text() string {
	if m, ok := r.Body.(*firn.Message); ok {
		return m.Text()
	}
	return "(" + string(r.Body.Kind()) + ")"
}

// take reads a record to the end.
func take(r store.Record) (stored, error) {
	e, err := r.Entry()
	if err != nil {
		return stored{}, err
	}
	if e.Body == nil {
		return stored{}, fmt.Errorf("the record at %d has no body", r.At)
	}
	if g := firn.GlanceOf(e); g != r.Glance {
		return stored{}, fmt.Errorf("the record at %d has the glance %+v, its entry %+v", r.At, r.Glance, g)
	}
	return stored{Entry: e, At: r.At, Next: r.Next, Line: bytes.Clone(r.Line())}, nil
}

// drain reads a sequence of records to its end or its first error.
func drain(seq iter.Seq2[store.Record, error]) ([]stored, error) {
	var all []stored
	for r, err := range seq {
		if err != nil {
			return all, err
		}
		one, err := take(r)
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}

// collect drains a sequence that must not fail.
func (s *suite) collect(seq iter.Seq2[store.Record, error]) []stored {
	s.Helper()
	all, err := drain(seq)
	if err != nil {
		s.Fatalf("reading: %v", err)
	}
	return all
}

// read returns all of a session, which is at least its header.
func (s *suite) read(id firn.ID) []stored {
	s.Helper()
	all := s.collect(s.store.Read(s.ctx, id, store.Start))
	if len(all) == 0 {
		s.Fatalf("session %s is empty", id)
	}
	return all
}

// readN returns all of a session that must have n records, the header counted.
func (s *suite) readN(id firn.ID, n int) []stored {
	s.Helper()
	all := s.read(id)
	if len(all) != n {
		s.Fatalf("session %s has %d records, want %d: %.500q", id, len(all), n, texts(all))
	}
	return all
}

// texts returns what the records say, in order.
func texts(all []stored) []string {
	var out []string
	for _, r := range all {
		out = append(out, r.text())
	}
	return out
}

// list returns what a list of the store tells.
func (s *suite) list(q store.Query) []store.Info {
	s.Helper()
	infos, err := drainList(s.store.List(s.ctx, q))
	if err != nil {
		s.Fatalf("List: %v", err)
	}
	return infos
}

func drainList(seq iter.Seq2[store.Info, error]) ([]store.Info, error) {
	var infos []store.Info
	for info, err := range seq {
		if err != nil {
			return infos, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// ids returns the ids that a list of the store tells, in order.
func (s *suite) ids(q store.Query) []firn.ID {
	s.Helper()
	var ids []firn.ID
	for _, info := range s.list(q) {
		ids = append(ids, info.ID)
	}
	return ids
}

// wantErr checks that something failed as it should.
func (s *suite) wantErr(what string, err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: the error is %v, want %v", what, err, want)
	}
}

// must checks that something did not fail.
func (s *suite) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}
