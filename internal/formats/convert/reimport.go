package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// A transcript may be imported while its tool is still writing it. The entries of the last
// lines are then not settled: the rest of a response, the result of a call or the end of a
// line may follow. Such entries are imported and marked as open (see [dialect.Marks]). An
// import of the longer transcript keeps those that are unchanged. The others are imported
// again under another ID, and the first versions are hidden, because a log is never
// changed.

// reimportReason is the reason of a tombstone that hides an entry which was imported before
// the transcript was complete.
const reimportReason = "imported again with what followed"

// reimportTombstone returns the tombstone for an entry.
func reimportTombstone(id firn.EntryID, at time.Time) firn.Entry {
	return firn.Entry{ID: id + "~settled", Time: at, Body: &firn.Tombstone{Target: id, Reason: reimportReason}}
}

// IsReimportTombstone reports whether an entry is a tombstone that an import wrote for an entry
// which it imported again.
func IsReimportTombstone(e firn.Entry) bool {
	_, ok := settles(firn.GlanceOf(e))
	return ok
}

// settles returns the entry that a tombstone hides because it was imported again.
func settles(g firn.Glance) (firn.EntryID, bool) {
	return g.Target, g.Kind == firn.KindTombstone && g.Target != "" && g.ID == g.Target+"~settled"
}

// withoutReimported returns a source without the entries that were replaced by a later import; the
// replacements have their IDs.
func withoutReimported(src Source) (Source, error) {
	if src.Hiding == nil {
		return src, nil
	}
	replaced := make(map[firn.EntryID]bool)
	for g, err := range src.Hiding() {
		if err != nil && ignoreCorrupt(err) != nil {
			return src, err
		}
		if id, ok := settles(g); ok && err == nil {
			replaced[id], replaced[g.ID] = true, true
		}
	}
	if len(replaced) == 0 {
		return src, nil
	}
	reported := src.Entries
	src.Glances = nil
	src.Entries = func(r *Report) iter.Seq2[dialect.EntryLines, error] {
		return func(yield func(dialect.EntryLines, error) bool) {
			names := make(map[firn.EntryID]firn.EntryID)
			for t, err := range reported(r) {
				if err == nil && replaced[t.Entry.ID] {
					if isEnd(t.Entry) || IsReimportTombstone(t.Entry) {
						names[t.Entry.ID] = cmp.Or(names[t.Entry.Parent], t.Entry.Parent)
					}
					continue
				}
				if err == nil {
					rename(&t.Entry, names)
					if first := FirstID(t.Entry.ID); first != t.Entry.ID && replaced[first] {
						names[t.Entry.ID] = first
						t.Entry.ID = first
					}
				}
				if !yield(t, err) {
					return
				}
			}
		}
	}
	return src, nil
}

// rename replaces the references of an entry.
func rename(e *firn.Entry, names map[firn.EntryID]firn.EntryID) {
	to := func(id firn.EntryID) firn.EntryID { return cmp.Or(names[id], id) }
	e.Parent = to(e.Parent)
	switch b := e.Body.(type) {
	case *firn.Compaction:
		ours := *b
		ours.FirstKept = to(b.FirstKept)
		e.Body = &ours
	case *firn.Tombstone:
		ours := *b
		ours.Target = to(b.Target)
		e.Body = &ours
	case *firn.Label:
		ours := *b
		ours.Target = to(b.Target)
		e.Body = &ours
	case *firn.BranchSummary:
		ours := *b
		ours.From = to(b.From)
		e.Body = &ours
	}
}

// againDigits is the number of digits that [againID] appends to an ID. Scanners append
// fewer to the ID of a repeated line.
const againDigits = 12

// againID returns the ID of an entry that is imported again with this content. The same
// content always gets the same ID, so that an interrupted import finds it.
func againID(first firn.EntryID, content uint64) firn.EntryID {
	return first + firn.EntryID(fmt.Sprintf("~%0*d", againDigits, content%1e12))
}

// FirstID returns the ID of an entry at its first import.
func FirstID(id firn.EntryID) firn.EntryID {
	first, digits, ok := strings.Cut(string(id), "~")
	if i := strings.LastIndexByte(string(id), '~'); ok {
		first, digits = string(id[:i]), string(id[i+1:])
	}
	if !ok || len(digits) != againDigits || strings.Trim(digits, "0123456789") != "" {
		return id
	}
	return firn.EntryID(first)
}

// Importable reports whether a transcript with these entries can be imported: its header is
// settled, or it has a message. In a transcript with only metadata lines the directory and
// time of the session may still follow, and a header is never replaced.
func Importable(entries []dialect.EntryLines) bool {
	return slices.ContainsFunc(entries, func(t dialect.EntryLines) bool {
		return t.Entry.ID == "" && t.Open == 0 || t.Entry.Body.Kind() == firn.KindMessage
	})
}

// contentOf returns a digest of an entry's content, parent and carried lines. It excludes
// the time, which stores round.
func contentOf(e firn.Entry) uint64 {
	tool, lines := dialect.Carried(e)
	_, marks := dialect.CarriedBy(e)
	e.Time = time.Time{}
	parent := e.Parent
	if parent == firn.Root {
		parent = ""
	}
	if m, ok := e.Body.(*firn.Message); ok {
		timeless := *m
		timeless.Time = time.Time{}
		e.Body = &timeless
	}
	h := fnv.New64a()
	body, _ := json.Marshal(e.Body) // a body that cannot be marshaled counts as empty
	fmt.Fprintf(h, "%s\n%s\n%s\n%v\n%s\n", parent, e.Body.Kind(), tool, marks.NoNewline, body)
	for _, line := range lines {
		fmt.Fprintf(h, "%d %s\n", len(line), line)
	}
	return h.Sum64()
}
