package sourcestore

import (
	"bytes"
	"context"
	"iter"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// hear notes which lines say the entries that a line made known, for those who
// ask: also lines before it, if the scanner held back what they say. They are
// all told with the last of the entries.
func (r *reading) hear(at firn.Pos, entries int, line []byte) {
	if r.lines == nil {
		return
	}
	if entries == 0 {
		r.waiting = append(r.waiting, bytes.Clone(line))
		return
	}
	r.lines[at+firn.Pos(entries-1)] = append(r.waiting, line)
	r.waiting = nil
}

// heard goes through a transcript as reading does, and knows the lines.
func (st *Store) heard(t dialect.Transcript) *reading {
	r := st.read(t)
	r.lines = make(map[firn.Pos][][]byte)
	return r
}

// told yields what the transcript says since an entry, along the path to the
// last one. Only hiding and compacting ask for it.
func (s *session) told(since firn.EntryID) iter.Seq[dialect.Told] {
	return func(yield func(dialect.Told) bool) {
		var tree firn.Tree
		known := make(map[int]dialect.Told)
		found := false
		for t, at := range s.st.tell(s.reading.t) {
			n := tree.Add(at, firn.GlanceOf(t.Entry))
			// What hangs below an entry comes after it.
			if found = found || t.Entry.ID == since; found && n >= 0 {
				known[n] = t
			}
		}
		found = false
		for _, n := range tree.Path(tree.Head()) {
			t, ok := known[n]
			if found = found || ok && t.Entry.ID == since; !found {
				continue
			}
			if !yield(t) {
				return
			}
		}
	}
}

// tell yields the entries of a transcript with their lines and positions. It
// ends early where the transcript cannot be read.
func (st *Store) tell(t dialect.Transcript) iter.Seq2[dialect.Told, firn.Pos] {
	return func(yield func(dialect.Told, firn.Pos) bool) {
		r := st.heard(t)
		whole := r.more(context.Background(), func(record store.Record, err error) bool {
			if err != nil {
				return false
			}
			if record.Gap != nil {
				return true
			}
			e, err := record.Entry()
			if err != nil {
				return true
			}
			told := dialect.Told{Entry: e}
			for _, line := range r.lines[record.At] {
				told.Lines = append(told.Lines, bytes.Clone(line))
			}
			return yield(told, record.At)
		})
		if !whole {
			return
		}
		rest := r.scanner.Finish()
		for i, e := range rest {
			told := dialect.Told{Entry: e}
			if i == len(rest)-1 {
				told.Lines = r.waiting
			}
			if !yield(told, r.at) {
				return
			}
		}
	}
}
