// Package storetest tests implementations of package store: [Run] checks the documented
// contract, [RunRandom] compares a store with memstore over random operations. Every
// implementation runs both. Tests of a particular medium, such as disk faults, belong to
// the implementation.
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

// Opened is an empty store for one test.
type Opened struct {
	Store store.Store
	// Reopen closes the store and opens one with the same data. A store whose data does not
	// survive closing may return itself.
	Reopen func() store.Store
}

// Run tests that stores returned by open fulfill the contract of package store and of the
// capabilities they have.
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

// test is a test of one part of the contract.
type test struct {
	name string
	run  func(s *suite)
}

// suite is a running test with its store and helper methods.
type suite struct {
	*testing.T
	ctx    context.Context
	store  store.Store
	reopen func() store.Store
	// helpers are the goroutines started by a test.
	helpers sync.WaitGroup
}

// patience is how long a test waits for an event. Only failing tests wait that long.
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

// restart closes and reopens the store.
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

// appendTexts appends one user message per text, and returns the new end.
func (s *suite) appendTexts(id firn.ID, texts ...string) store.Pos {
	s.Helper()
	var entries []firn.Entry
	for _, text := range texts {
		entries = append(entries, userEntry(text))
	}
	return s.append(id, entries...)
}

// userEntry returns an entry with a user message, without ID, parent and time.
func userEntry(text string) firn.Entry {
	return firn.Entry{Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}}}
}

// stored is a record with its decoded entry.
type stored struct {
	firn.Entry
	At, Next store.Pos
	Line     []byte
}

// text returns the text of a message, or the kind of another entry.
func (r stored) text() string {
	if m, ok := r.Body.(*firn.Message); ok {
		return m.Text()
	}
	return "(" + string(r.Body.Kind()) + ")"
}

// take decodes a record.
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

// drain reads a sequence of records to its end or first error.
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

// read returns all records of a session; there is at least a header.
func (s *suite) read(id firn.ID) []stored {
	s.Helper()
	all := s.collect(s.store.Read(s.ctx, id, store.Start))
	if len(all) == 0 {
		s.Fatalf("session %s is empty", id)
	}
	return all
}

// readN returns all records of a session, which must be n including the header.
func (s *suite) readN(id firn.ID, n int) []stored {
	s.Helper()
	all := s.read(id)
	if len(all) != n {
		s.Fatalf("session %s has %d records, want %d: %.500q", id, len(all), n, texts(all))
	}
	return all
}

// texts returns the texts of records, in order.
func texts(all []stored) []string {
	var out []string
	for _, r := range all {
		out = append(out, r.text())
	}
	return out
}

// list returns the infos of a query.
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

// ids returns the IDs of a query, in order.
func (s *suite) ids(q store.Query) []firn.ID {
	s.Helper()
	var ids []firn.ID
	for _, info := range s.list(q) {
		ids = append(ids, info.ID)
	}
	return ids
}

// wantErr checks that an operation failed with the wanted error.
func (s *suite) wantErr(what string, err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: the error is %v, want %v", what, err, want)
	}
}

// must checks that an operation succeeded.
func (s *suite) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}
