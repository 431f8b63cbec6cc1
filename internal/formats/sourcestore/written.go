package sourcestore

import (
	"bytes"
	"context"
	"iter"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// recordLines records the lines of the entries that a line completed, including earlier
// lines whose entries the scanner held back. All of them belong to the last of the entries.
func (r *reading) recordLines(at firn.Pos, entries int, line []byte) {
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

// readingWithLines returns a reading that records lines.
func (st *Store) readingWithLines(t dialect.Transcript) *reading {
	r := st.read(t)
	r.lines = make(map[firn.Pos][][]byte)
	return r
}

// written yields the entries of the transcript from since on, along the path to the last
// one. Only hiding and compacting use it.
func (s *session) written(since firn.EntryID) iter.Seq[dialect.EntryLines] {
	return func(yield func(dialect.EntryLines) bool) {
		var tree firn.Tree
		known := make(map[int]dialect.EntryLines)
		found := false
		for t, at := range s.st.entriesWithLines(s.reading.t) {
			n := tree.Add(at, firn.GlanceOf(t.Entry))
			// Descendants of an entry come after it.
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

// entriesWithLines yields the entries of a transcript with their lines and positions. It
// ends early if the transcript cannot be read.
func (st *Store) entriesWithLines(t dialect.Transcript) iter.Seq2[dialect.EntryLines, firn.Pos] {
	return func(yield func(dialect.EntryLines, firn.Pos) bool) {
		r := st.readingWithLines(t)
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
			item := dialect.EntryLines{Entry: e}
			for _, line := range r.lines[record.At] {
				item.Lines = append(item.Lines, bytes.Clone(line))
			}
			return yield(item, record.At)
		})
		if !whole {
			return
		}
		rest := r.scanner.Finish()
		for i, e := range rest {
			written := dialect.EntryLines{Entry: e}
			if i == len(rest)-1 {
				written.Lines = r.waiting
			}
			if !yield(written, r.at) {
				return
			}
		}
	}
}
