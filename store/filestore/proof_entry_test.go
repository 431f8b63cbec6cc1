package filestore_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"
)

// The files proof_*_test.go test the guarantees of the store with real processes, disks and
// damage.

// must fails the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openHome opens a store for the duration of a test.
func openHome(t testing.TB, home string, opts filestore.Options) *filestore.Store {
	t.Helper()
	st, err := filestore.Open(home, opts)
	must(t, err)
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return st
}

// verifiableEntry returns an entry whose text is determined by its ID and length, so that a reader
// can verify it.
func verifiableEntry(size int) firn.Entry {
	e := firn.NewEntry(nil)
	e.Body = &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: verifiableText(e.ID, size)}}, Time: e.Time}
	return e
}

// verifiableText returns the text of a verifiable entry: its size and a pattern specific to the ID.
func verifiableText(id firn.EntryID, size int) string {
	h := fnv.New64a()
	h.Write([]byte(id))
	word := fmt.Sprintf("%016x ", h.Sum64())
	return fmt.Sprintf("%d %s", size, strings.Repeat(word, size/len(word)+1)[:size])
}

// verifyEntry verifies an entry made by verifiableEntry.
func verifyEntry(e firn.Entry) error {
	m, ok := e.Body.(*firn.Message)
	if !ok {
		return fmt.Errorf("entry %q is of kind %q: %.200v", e.ID, e.Body.Kind(), e.Body)
	}
	var size int
	if _, err := fmt.Sscanf(m.Text(), "%d ", &size); err != nil || m.Text() != verifiableText(e.ID, size) {
		return fmt.Errorf("entry %s has an unexpected text: %.80q", e.ID, m.Text())
	}
	return nil
}

// reading is the content of a session.
type reading struct {
	header  bool
	entries []firn.Entry // without the header
	ends    []store.Pos  // after each of entries
	gaps    []firn.Gap
	// after counts, for each gap, the entries before it.
	after []int
	// links checks the hash chain, from the header on.
	links *hashchain.Checker
}

// ids returns the IDs of the entries, in order.
func (r reading) ids() []firn.EntryID {
	ids := make([]firn.EntryID, len(r.entries))
	for i, e := range r.entries {
		ids[i] = e.ID
	}
	return ids
}

// add adds the next record. An undecodable one is a gap.
func (r *reading) add(rec store.Record) {
	entry, err := rec.Entry()
	if header, ok := entry.Body.(*firn.Header); ok && r.links == nil {
		r.links = hashchain.NewChecker(string(header.Session))
	}
	switch {
	case r.links == nil:
	case rec.Gap != nil:
		r.links.Skip() // a gap may be a part of a line only
	default:
		r.links.Add(rec.Line())
	}
	switch {
	case rec.Gap != nil:
		r.gaps, r.after = append(r.gaps, *rec.Gap), append(r.after, len(r.entries))
	case err != nil:
		gap := firn.Gap{Kind: firn.GapDamaged, At: rec.At, Next: rec.Next, Entry: rec.Glance.ID, Detail: err.Error()}
		r.gaps, r.after = append(r.gaps, gap), append(r.after, len(r.entries))
	case rec.Glance.Kind == firn.KindHeader:
		r.header = true
	default:
		r.entries = append(r.entries, entry)
		r.ends = append(r.ends, rec.Next)
	}
}

// readAll reads a sequence to its end.
func readAll(records iter.Seq2[store.Record, error]) (reading, error) {
	var r reading
	for rec, err := range records {
		if err != nil {
			return r, err
		}
		r.add(rec)
	}
	return r, nil
}

// readSession reads a whole session.
func readSession(st store.Store, id firn.ID) (reading, error) {
	return readAll(st.Read(context.Background(), id, store.Start))
}

// checkChain checks that the entries form one chain with unique IDs.
func (r reading) checkChain() error {
	seen := make(map[firn.EntryID]bool)
	before := firn.EntryID("")
	for _, e := range r.entries {
		if seen[e.ID] {
			return fmt.Errorf("entry %s is stored twice", e.ID)
		}
		seen[e.ID] = true
		if e.Parent != before {
			return fmt.Errorf("entry %s has the parent %q, but is after %q", e.ID, e.Parent, before)
		}
		before = e.ID
	}
	if c := r.links; c != nil && (c.First > 0 || c.Unlinked > 0 && len(r.gaps) == 0) {
		return fmt.Errorf("the hash chain breaks at line %d; %d lines have no link", c.First, c.Unlinked)
	}
	return nil
}

// checkVouched verifies all entries.
func (r reading) checkVouched() error {
	for _, e := range r.entries {
		if err := verifyEntry(e); err != nil {
			return err
		}
	}
	return nil
}

// checkHas checks that the entries contain all ids, in that order.
func (r reading) checkHas(ids []firn.EntryID) error {
	at := 0
	for _, e := range r.entries {
		if at < len(ids) && e.ID == ids[at] {
			at++
		}
	}
	if at < len(ids) {
		if slices.Contains(r.ids(), ids[at]) {
			return fmt.Errorf("acknowledged entry %s, number %d of %d, is out of order", ids[at], at+1, len(ids))
		}
		return fmt.Errorf("acknowledged entry %s, number %d of %d, is lost", ids[at], at+1, len(ids))
	}
	return nil
}

// checkTornTail checks that the only damage is an incomplete last line.
func (r reading) checkTornTail() error {
	for i, gap := range r.gaps {
		if gap.Kind != firn.GapTorn || r.after[i] != len(r.entries) || len(r.gaps) > 1 {
			return fmt.Errorf("gap number %d of %d, after %d of %d entries: %w", i+1, len(r.gaps), r.after[i], len(r.entries), &gap)
		}
	}
	return nil
}

// collect resumes a session as an agent would.
func collect(st store.Store, id firn.ID) (window.Path, error) {
	return window.Collect(st.ReadBack(context.Background(), id, store.End))
}

// checkResumed checks that resuming a session reaches all entries without guessing.
func checkResumed(st store.Store, id firn.ID, r reading) error {
	path, err := collect(st, id)
	if err != nil {
		return err
	}
	if len(path.Gaps) > 0 {
		return fmt.Errorf("resuming met %d gaps: %w", len(path.Gaps), &path.Gaps[0])
	}
	got := reading{entries: path.Entries}
	if path.Header == nil || !slices.Equal(got.ids(), r.ids()) {
		return fmt.Errorf("resuming reached %d of %d entries (header %v)", len(got.entries), len(r.entries), path.Header != nil)
	}
	return nil
}

// checkReached checks that resuming a session reaches all entries, with guessing allowed.
func checkReached(st store.Store, id firn.ID, r reading) error {
	path, err := collect(st, id)
	if err != nil {
		return err
	}
	reached := make(map[firn.EntryID]bool)
	for _, e := range path.Entries {
		reached[e.ID] = true
	}
	for _, e := range r.entries {
		if !reached[e.ID] {
			return fmt.Errorf("resuming does not reach entry %s: %v", e.ID, path.Gaps)
		}
	}
	return nil
}
