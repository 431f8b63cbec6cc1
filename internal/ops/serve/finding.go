package serve

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"sync"

	"firn.dev"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/index"
	"firn.dev/internal/find/search"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/internal/formats/unionstore"
	"firn.dev/internal/gateway"
	"firn.dev/memory"
	"firn.dev/store"
	"firn.dev/wire"
)

// Find finds what was said, the best first.
type Find func(ctx context.Context, q search.Query) ([]search.Hit, error)

// finding is what everything is found with: the index of words, and the
// catalogue of sessions, which is nil where there is none.
type finding struct {
	words     *fulltext.Index
	catalogue *index.Catalogue
	report    func(string)

	mu sync.Mutex
	// building says that the catalogue is built anew; done is when it is.
	building bool
	done     sync.WaitGroup
}

// indexed wraps a store in an index of words, which is kept in a directory and
// opened when it is first needed.
func (h *House) indexed(s store.Store, src fulltext.Source, dir string, catalogue *index.Catalogue) store.Store {
	words := fulltext.New(h.fs, dir, src, fulltext.Options{SourceOf: sourceNames(src), Report: h.o.Report, Listed: h.o.Looks, Clock: h.o.Clock})
	h.finding = &finding{words: words, catalogue: catalogue, report: h.o.Report}
	return fulltext.Wrap(s, words)
}

// sourceNames tells which tool a session comes from.
func sourceNames(src fulltext.Source) func(context.Context, firn.ID) string {
	switch s := src.(type) {
	case *sourcestore.Store:
		return func(context.Context, firn.ID) string { return string(s.Tool().Name()) }
	case *unionstore.Store:
		return func(ctx context.Context, id firn.ID) string {
			if from, ok := s.SourceOf(ctx, id); ok {
				if st, ok := from.(*sourcestore.Store); ok {
					return string(st.Tool().Name())
				}
			}
			return ""
		}
	}
	return nil
}

// foreignIndex is where the index of another tool's folder is kept: in our own
// home, since nothing of ours is written there.
func (h *House) foreignIndex(dir string) string {
	sum := fnv.New64a()
	sum.Write([]byte(dir))
	return filepath.Join(h.home(), "index", fmt.Sprintf("foreign-%016x", sum.Sum64()))
}

// Search finds what fits a query in all sessions.
func (f *finding) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	return f.words.Search(ctx, q)
}

// find is Search for who wants the hits only. Nothing is indexed before the
// home is there.
func (h *House) find(ctx context.Context, q search.Query) ([]search.Hit, error) {
	if h.finding == nil {
		return nil, nil
	}
	answer, err := h.finding.Search(ctx, q)
	return answer.Hits, err
}

// indexThere reports whether there is an index of words: to look for something without one
// would make it.
func (h *House) indexThere() bool { return h.finding != nil && h.finding.words.Exists() }

// State tells how far the indexes are.
func (f *finding) State() search.State {
	s := f.words.State()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.building {
		s.Building, s.Rebuilding = true, true
	}
	return s
}

// StartRebuild begins to build the indexes anew.
func (f *finding) StartRebuild() {
	f.words.StartRebuild()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.catalogue == nil || f.building {
		return
	}
	f.building = true
	f.done.Go(func() {
		err := f.catalogue.Rebuild(context.Background(), nil)
		if err != nil && !errors.Is(err, firn.ErrClosed) {
			f.report("the catalogue was not built anew: " + err.Error())
		}
		f.mu.Lock()
		f.building = false
		f.mu.Unlock()
	})
}

// wait waits for what was begun.
func (f *finding) wait() {
	if f != nil {
		f.done.Wait()
	}
}

// Check tells in what the indexes do not say what the sessions do.
func (f *finding) Check(ctx context.Context) ([]wire.IndexDifference, error) {
	var all []wire.IndexDifference
	if f.catalogue != nil {
		found, err := f.catalogue.Check(ctx)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			all = append(all, wire.IndexDifference{Index: "catalogue", Session: string(d.ID), Detail: d.Detail})
		}
	}
	found, err := f.words.Check(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		all = append(all, wire.IndexDifference{Index: "words", Session: d.Session, Detail: d.Detail})
	}
	return all, nil
}

// Unread returns how many places of sessions could not be read when they were
// last indexed.
func (f *finding) Unread(ctx context.Context, ids []firn.ID) (map[firn.ID]int, error) {
	return f.words.Unread(ctx, ids)
}

// nothing is the index of a home that is not there.
type nothing struct{}

func (nothing) Search(context.Context, search.Query) (search.Answer, error) {
	return search.Answer{}, nil
}
func (nothing) State() search.State                                   { return search.State{} }
func (nothing) StartRebuild()                                         {}
func (nothing) Check(context.Context) ([]wire.IndexDifference, error) { return nil, nil }

// recalledCoverage is how much of what was asked for something must have to be
// recalled.
const recalledCoverage = 0.34

// past finds what was said before in the sessions that are seen at a place, but for
// the session that asks, with what was said right before and after it.
func (h *House) past(at place, asking firn.ID) memory.Search {
	return func(ctx context.Context, query string, limit int) ([]memory.Past, error) {
		q := search.Words(query)
		if q.Want == nil {
			return nil, nil
		}
		one := 1
		q.Agents, q.Limit, q.Before, q.After = []string{at.agent}, limit, &one, &one
		q.Owners, q.Shown = at.sees, true
		if asking != "" {
			q.Except = []firn.ID{asking}
		}
		hits, err := h.find(ctx, q)
		var all []memory.Past
		for _, hit := range hits {
			if hit.Coverage >= recalledCoverage {
				all = append(all, memory.Past{Session: hit.Session, Entry: hit.Entry, Title: hit.Title, Text: spellWindow(hit.Window), Time: hit.Time})
			}
		}
		return all, err
	}
}

// spellWindow is what was said around a hit, as a model reads it.
func spellWindow(items []search.Item) string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = string(item.Role) + ": " + item.Text
	}
	return strings.Join(lines, "\n")
}

// index is what the gateway finds with.
func (h *House) index() gateway.Index {
	if h.finding == nil {
		return nothing{}
	}
	return h.finding
}

// readWindow tells what stands around an entry of a session.
func (h *House) readWindow(ctx context.Context, id firn.ID, entry string, q search.Query) (search.Hit, error) {
	if h.finding == nil {
		return search.Hit{}, fmt.Errorf("read around an entry of session %.80q: %w", id, firn.ErrNotFound)
	}
	return h.finding.words.Window(ctx, id, entry, q)
}

// startIndex begins to keep the index of words up to date.
func (h *House) startIndex() {
	if h.finding != nil {
		h.finding.words.Start()
	}
}
