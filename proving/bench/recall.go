package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/search"
	"firn.dev/internal/ops/memory"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// recall measures whether search finds the answers to questions, compared to plain BM25
// over single messages.
func (b *bench) recall() error {
	home, err := os.MkdirTemp(b.dir, "recall-")
	if err != nil {
		return err
	}
	marks, err := measureRecall(context.Background(), home, ".")
	if err != nil {
		return err
	}
	for _, half := range halves {
		for _, way := range ways {
			m := marks[half][way]
			b.note(fmt.Sprintf("recall, %s: %s", half, way), m.all.String())
		}
		for _, kind := range slices.Sorted(maps.Keys(marks[half][wayOurs].kinds)) {
			ours, theirs := marks[half][wayOurs].kinds[kind], marks[half][wayPlain].kinds[kind]
			b.note(fmt.Sprintf("recall@5, %s, %s (%d): search, plain BM25", half, kind, ours.n), fmt.Sprintf("%.2f, %.2f", ours.at(5), theirs.at(5)))
		}
		silent := marks[half][wayMemory].silent
		b.note(fmt.Sprintf("recall, %s: nothing recalled where nothing was said", half), fmt.Sprintf("%d of %d", silent.quiet, silent.n))
	}
	ours, theirs := marks["heldout"][wayOurs].all, marks["heldout"][wayPlain].all
	b.want("recall@5 of search against plain BM25, held out", fmt.Sprintf("%.3f, %.3f", ours.at(5), theirs.at(5)), "more", ours.at(5) > theirs.at(5))
	b.want("recall@10 of search against plain BM25, held out", fmt.Sprintf("%.3f, %.3f", ours.at(10), theirs.at(10)), "more", ours.at(10) > theirs.at(10))
	return nil
}

// The compared search methods. A window is a hit with the four items before and after it,
// as shown to users.
const (
	wayPlain       = "plain BM25, messages"
	wayOurs        = "search, messages"
	wayPlainWindow = "plain BM25, windows"
	wayOursWindow  = "search, windows"
	wayMemory      = "memory, what a run is told"
)

var ways = []string{wayPlain, wayOurs, wayPlainWindow, wayOursWindow, wayMemory}

// depth is the number of evaluated hits.
const depth = 20

// finders holds the search methods, each with an index of the set.
type finders struct {
	index *fulltext.Index
	plain plain
}

// measureRecall asks all questions with all methods. All sessions of the set are in one
// home, so that the halves are noise for each other.
func measureRecall(ctx context.Context, home, root string) (map[string]map[string]*marks, error) {
	var all judged
	sets := make(map[string]judged)
	for _, half := range halves {
		set, err := judgedHalf(half)
		if err != nil {
			return nil, err
		}
		sets[half] = set
		all.Talk = append(all.Talk, set.Talk...)
	}
	st, err := judgedHome(ctx, home, root, all)
	if err != nil {
		return nil, err
	}
	defer st.Close() // nothing is written any more
	f, err := newFinders(ctx, st, home)
	if err != nil {
		return nil, err
	}
	defer f.index.Close()
	found := make(map[string]map[string]*marks)
	for _, half := range halves {
		if found[half], err = f.ask(ctx, sets[half].Questions); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// newFinders indexes a home. The clock is set to some months after the set, so that recency
// does not depend on the time of the measurement.
func newFinders(ctx context.Context, st *filestore.Store, home string) (*finders, error) {
	f := &finders{}
	now := func() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }
	f.index = fulltext.New(vfs.OS{}, filepath.Join(home, "index"), st, fulltext.Options{Clock: now, Patience: time.Minute})
	all, err := st.Census(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		for record, err := range st.Read(ctx, s.ID, store.Start) {
			if err != nil {
				return nil, err
			}
			entry, err := record.Entry()
			if err != nil {
				return nil, err
			}
			if m, ok := entry.Body.(*firn.Message); ok && m.Role != firn.RoleToolResult && strings.TrimSpace(m.Text()) != "" {
				f.plain.add(string(s.ID), string(entry.ID), m.Text())
			}
		}
	}
	return f, nil
}

// ask asks questions with all methods.
func (f *finders) ask(ctx context.Context, questions []question) (map[string]*marks, error) {
	found := make(map[string]*marks)
	for _, way := range ways {
		found[way] = &marks{kinds: make(map[string]*mark)}
	}
	for _, q := range questions {
		if err := f.known(q); err != nil {
			return nil, err
		}
		hits, windows, err := f.search(ctx, q.Question)
		if err != nil {
			return nil, err
		}
		recalled, err := f.remember(ctx, q.Question)
		if err != nil {
			return nil, err
		}
		found[wayOurs].add(q, hits)
		found[wayOursWindow].add(q, windows)
		found[wayPlain].add(q, f.plain.search(q.Question, depth, 0))
		found[wayPlainWindow].add(q, f.plain.search(q.Question, depth, search.DefaultContext))
		found[wayMemory].add(q, recalled)
	}
	return found, nil
}

// known checks that the entries that answer a question exist.
func (f *finders) known(q question) error {
	for _, id := range slices.Concat(q.Answers...) {
		if !slices.ContainsFunc(f.plain.docs, func(d plainDoc) bool { return d.id == id }) {
			return fmt.Errorf("question %s of the judged set: there is no message %s", q.ID, id)
		}
	}
	return nil
}

// search runs firn's search. It returns the entries of the hits, with their copies, and
// those of the windows.
func (f *finders) search(ctx context.Context, text string) (hits, windows [][]string, err error) {
	q := search.Words(text)
	q.Limit = depth
	answer, err := f.index.Search(ctx, q)
	for _, h := range answer.Hits {
		hit := []string{string(h.Entry)}
		for _, c := range h.Copies {
			hit = append(hit, string(c.Entry))
		}
		window := slices.Clone(hit)
		for _, item := range h.Window {
			window = append(window, string(item.Entry))
		}
		hits, windows = append(hits, hit), append(windows, window)
	}
	return hits, windows, err
}

// remember queries memory as a run does, without notes.
func (f *finders) remember(ctx context.Context, text string) ([][]string, error) {
	return recallFrom(ctx, f.index, text, nil)
}

// recallFrom returns the entries that memory shows to a run, without notes: earlier messages
// with one item around each.
func recallFrom(ctx context.Context, index *fulltext.Index, text string, except []firn.ID) ([][]string, error) {
	shown := make(map[string][]string)
	past := func(ctx context.Context, query string, limit int) ([]memory.PastMessage, error) {
		one := 1
		q := search.Words(query)
		q.Limit, q.Before, q.After, q.Except = limit, &one, &one, except
		answer, err := index.Search(ctx, q)
		var all []memory.PastMessage
		for _, h := range answer.Hits {
			var lines []string
			for _, item := range h.Window {
				lines = append(lines, string(item.Role)+": "+item.Text)
				shown[string(h.Entry)] = append(shown[string(h.Entry)], string(item.Entry))
			}
			all = append(all, memory.PastMessage{Session: h.Session, Entry: h.Entry, Title: h.Title, Text: strings.Join(lines, "\n"), Time: h.Time, Relevance: h.Relevance})
		}
		return all, err
	}
	hits, err := memory.Shelf{Past: past}.Recall(ctx, text, memory.Limits{Least: search.LeastRelevance})
	var recalled [][]string
	for _, h := range hits {
		recalled = append(recalled, shown[string(h.Sources[0].Entry)])
	}
	return recalled, err
}

// marks holds the scores of a method: for all questions with an answer, for each kind, and
// for those without an answer.
type marks struct {
	all    mark
	kinds  map[string]*mark
	silent struct{ quiet, n int }
	// missed are the questions without an answer among the first five hits.
	missed []question
}

// add records the result of a question: the entries of each hit, in order.
func (m *marks) add(q question, hits [][]string) {
	if len(q.Answers) == 0 {
		m.silent.n++
		if len(hits) == 0 {
			m.silent.quiet++
		}
		return
	}
	var ranks []int
	for _, one := range q.Answers {
		ranks = append(ranks, 1+slices.IndexFunc(hits, func(hit []string) bool {
			return slices.ContainsFunc(one, func(id string) bool { return slices.Contains(hit, id) })
		}))
	}
	for _, kind := range []string{q.Kind, "words: " + q.Wording} {
		if m.kinds[kind] == nil {
			m.kinds[kind] = &mark{}
		}
		m.kinds[kind].add(ranks)
	}
	m.all.add(ranks)
	if slices.ContainsFunc(ranks, func(rank int) bool { return rank == 0 || rank > 5 }) {
		m.missed = append(m.missed, q)
	}
}

// mark is the recall and mean reciprocal rank of some questions.
type mark struct {
	n            int
	five, ten, r float64
}

// add records the ranks of the answers to a question, zero if not found.
func (m *mark) add(ranks []int) {
	m.n++
	best := 0
	share := 1 / float64(len(ranks))
	for _, rank := range ranks {
		if rank == 0 {
			continue
		}
		if rank <= 5 {
			m.five += share
		}
		if rank <= 10 {
			m.ten += share
		}
		if best == 0 || rank < best {
			best = rank
		}
	}
	if best > 0 {
		m.r += 1 / float64(best)
	}
}

// at returns the recall among the first k hits, 5 or 10.
func (m *mark) at(k int) float64 {
	if k == 5 {
		return m.five / float64(max(m.n, 1))
	}
	return m.ten / float64(max(m.n, 1))
}

func (m *mark) String() string {
	return fmt.Sprintf("@5 %.3f, @10 %.3f, MRR %.3f", m.at(5), m.at(10), m.r/float64(max(m.n, 1)))
}
