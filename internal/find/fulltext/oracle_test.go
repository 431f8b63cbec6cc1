package fulltext

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
	"firn.dev/store"
	"firn.dev/window"
)

// referenceIndex is the state of a session's entries, computed from its window and not from the
// index.
type referenceIndex struct {
	info   store.Info
	hidden map[firn.EntryID]bool
	// path are the entries that lead to the head; live are the ones a model sees.
	path, live map[firn.EntryID]bool
}

func (w *world) referenceIndex(info store.Info) *referenceIndex {
	w.t.Helper()
	ctx := context.Background()
	o := &referenceIndex{info: info, path: make(map[firn.EntryID]bool), live: make(map[firn.EntryID]bool)}
	var tree firn.Tree
	for rec, err := range w.files.Read(ctx, info.ID, store.Start) {
		if err != nil {
			w.t.Fatal(err)
		}
		if rec.Gap == nil {
			tree.Add(rec.At, rec.Glance)
		}
	}
	o.hidden = tree.Hidden()
	for _, n := range tree.Path(tree.Head()) {
		o.path[tree.Node(n).ID] = true
	}
	path, err := window.Collect(w.files.ReadBack(ctx, info.ID, store.End))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range path.Entries {
		o.live[e.ID] = true
	}
	return o
}

// marks returns the marks that a hit must have.
func (o *referenceIndex) marks(entry firn.EntryID, role search.Role) []string {
	var marks []string
	hidden := o.hidden[entry] || o.hidden[firn.EntryID(o.info.ID)]
	if hidden {
		marks = append(marks, search.MarkHidden)
	}
	switch {
	case role == search.RoleTitle:
	case !o.path[entry]:
		marks = append(marks, search.MarkOtherBranch)
	case !hidden && !o.live[entry]:
		marks = append(marks, search.MarkCompacted)
	}
	if o.info.Archived {
		marks = append(marks, search.MarkArchived)
	}
	return marks
}

// marks compares the marks of every hit with the files.
func (w *world) marks() {
	w.t.Helper()
	all := make(map[firn.ID]*referenceIndex)
	for _, archived := range []bool{false, true} {
		for info, err := range w.files.List(context.Background(), store.Query{Archived: archived}) {
			if err != nil {
				w.t.Fatal(err)
			}
			all[info.ID] = w.referenceIndex(info)
		}
	}
	q, err := search.Parse("quux* in:all", time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	q.Limit = search.MaxLimit
	answer, err := w.index.Search(context.Background(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range answer.Hits {
		o := all[h.Session]
		if o == nil {
			w.t.Errorf("session %s is found but does not exist", h.Session)
			continue
		}
		got := slices.Clone(h.Marks)
		if i := slices.Index(got, search.MarkCompacted); i >= 0 && slices.Contains(got, search.MarkHidden) {
			got = slices.Delete(got, i, i+1) // an entry that is both may be marked as both; hidden is sufficient
		}
		if want := o.marks(h.Entry, h.Role); !slices.Equal(got, want) {
			w.t.Errorf("entry %s of %s is marked %v, want %v", h.Entry, h.Session, got, want)
		}
		if i := &o.info; h.Agent != i.Agent || h.Key != i.Key || h.CWD != i.CWD || i.Title != "" && h.Title != i.Title {
			w.t.Errorf("session %s has %q %q %q %q, want %q %q %q %q", h.Session, h.Agent, h.Key, h.CWD, h.Title, i.Agent, i.Key, i.CWD, i.Title)
		}
	}
}

// TestRebuiltIndexIsTheSame compares every row of an updated index with a rebuilt one.
func TestRebuiltIndexIsTheSame(t *testing.T) {
	w := &world{testIndex: newTestIndex(t), rng: rand.New(rand.NewPCG(77, 6))}
	for range 60 {
		w.step()
	}
	w.search("lock")
	before := w.dump()
	if err := w.index.Rebuild(context.Background()); err != nil {
		t.Fatal(err)
	}
	after := w.dump()
	if len(before) < 50 || !slices.Equal(before, after) {
		for _, line := range before {
			if !slices.Contains(after, line) {
				t.Log("only before:", line)
			}
		}
		for _, line := range after {
			if !slices.Contains(before, line) {
				t.Log("only after:", line)
			}
		}
		t.Errorf("of %d rows before and %d after some differ", len(before), len(after))
	}
}

// dump returns the content of the index, row by row and word by word, independent of the
// file layout.
func (w *world) dump() []string {
	w.t.Helper()
	db, err := sql.Open("sqlite", address(w.index.path(), readCache, nil))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec("create virtual table temp.words0 using fts5vocab(main, fts0, instance); create virtual table temp.words1 using fts5vocab(main, fts1, instance)")
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, table := range []string{"sessions", "docs", "days", "temp.words0", "temp.words1"} {
		all = append(all, w.dumpTable(db, table)...)
	}
	slices.Sort(all)
	return all
}

func (w *world) dumpTable(db *sql.DB, table string) []string {
	w.t.Helper()
	rows, err := db.Query("select * from " + table)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		w.t.Fatal(err)
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var all []string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, fmt.Sprint(table, values))
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return all
}
