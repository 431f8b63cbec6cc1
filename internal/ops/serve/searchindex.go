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
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/index"
	"firn.dev/internal/find/search"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/internal/formats/unionstore"
	"firn.dev/internal/gateway"
	"firn.dev/internal/ops/encryption"
	"firn.dev/internal/ops/memory"
	"firn.dev/store"
	"firn.dev/wire"
)

// Find searches sessions and returns the hits, best first.
type Find func(ctx context.Context, q search.Query) ([]search.Hit, error)

// searchIndex combines the full-text index and the catalog of sessions. catalog is nil if
// there is none.
type searchIndex struct {
	words   *fulltext.Index
	catalog *index.Catalogue
	report  func(string)

	mu sync.Mutex
	// building is set while the catalog is being rebuilt; done waits for it.
	building bool
	done     sync.WaitGroup
}

// indexed wraps a store with a full-text index in a directory. The index is opened on first
// use. The index of an encrypted home is in memory, in the directory of the login session.
func (h *Instance) indexed(s store.Store, src fulltext.Source, dir string, catalog *index.Catalogue) store.Store {
	embedder, err := newEmbedder(h.o.Settings.Search.Embeddings, h.o.Env)
	if err != nil {
		h.o.Report("messages with similar meanings are not searched: " + err.Error())
	}
	if sealfs.Encrypted(h.home()) {
		if dir = encryption.SessionDir(h.o.Env, h.home()); dir == "" {
			return s // the index is not encrypted, so it is not stored on disk
		}
		dir = filepath.Join(dir, "index")
	}
	words := fulltext.New(h.fs, dir, src, fulltext.Options{SourceOf: originOf(src), Embedder: embedder, Report: h.o.Report, Listed: h.o.ReadOnly, Clock: h.o.Clock})
	h.searchIndex = &searchIndex{words: words, catalog: catalog, report: h.o.Report}
	return fulltext.Wrap(s, words)
}

// originOf returns a function that returns the tool a session comes from.
func originOf(src fulltext.Source) func(context.Context, firn.ID) fulltext.Origin {
	of := func(s *sourcestore.Store, id firn.ID) fulltext.Origin {
		return fulltext.Origin{Tool: string(s.Tool().Name()), Sub: s.IsSub(id)}
	}
	switch s := src.(type) {
	case *sourcestore.Store:
		return func(_ context.Context, id firn.ID) fulltext.Origin { return of(s, id) }
	case *unionstore.Store:
		return func(ctx context.Context, id firn.ID) fulltext.Origin {
			if from, ok := s.SourceOf(ctx, id); ok {
				if st, ok := from.(*sourcestore.Store); ok {
					return of(st, id)
				}
			}
			return fulltext.Origin{}
		}
	}
	return nil
}

// foreignIndex returns the directory of the index for another tool's folder. It is in our
// own home, since we write nothing to other tools' folders.
func (h *Instance) foreignIndex(dir string) string {
	sum := fnv.New64a()
	sum.Write([]byte(dir))
	return filepath.Join(h.home(), "index", fmt.Sprintf("foreign-%016x", sum.Sum64()))
}

// Search searches all sessions.
func (f *searchIndex) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	return f.words.Search(ctx, q)
}

// find returns the hits of a search. Nothing is indexed if the home does not exist.
func (h *Instance) find(ctx context.Context, q search.Query) ([]search.Hit, error) {
	if h.searchIndex == nil {
		return nil, nil
	}
	answer, err := h.searchIndex.Search(ctx, q)
	return answer.Hits, err
}

// indexThere reports whether a full-text index exists. Searching without one would create
// it.
func (h *Instance) indexThere() bool { return h.searchIndex != nil && h.searchIndex.words.Exists() }

// State returns the progress of the indexes.
func (f *searchIndex) State() search.State {
	s := f.words.State()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.building {
		s.Building, s.Rebuilding = true, true
	}
	return s
}

// StartRebuild starts rebuilding the indexes.
func (f *searchIndex) StartRebuild() {
	f.words.StartRebuild()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.catalog == nil || f.building {
		return
	}
	f.building = true
	f.done.Go(func() {
		err := f.catalog.Rebuild(context.Background(), nil)
		if err != nil && !errors.Is(err, firn.ErrClosed) {
			f.report("rebuilding the catalog failed: " + err.Error())
		}
		f.mu.Lock()
		f.building = false
		f.mu.Unlock()
	})
}

// wait waits for a running rebuild.
func (f *searchIndex) wait() {
	if f != nil {
		f.done.Wait()
	}
}

// Check returns the differences between the indexes and the sessions.
func (f *searchIndex) Check(ctx context.Context) ([]wire.IndexDifference, error) {
	var all []wire.IndexDifference
	if f.catalog != nil {
		found, err := f.catalog.Check(ctx)
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

// Unread returns the number of unreadable places in each session when it was last indexed.
func (f *searchIndex) Unread(ctx context.Context, ids []firn.ID) (map[firn.ID]int, error) {
	return f.words.Unread(ctx, ids)
}

// noIndex is the index of a home that does not exist.
type noIndex struct{}

func (noIndex) Search(context.Context, search.Query) (search.Answer, error) {
	return search.Answer{}, nil
}
func (noIndex) State() search.State                                   { return search.State{} }
func (noIndex) StartRebuild()                                         {}
func (noIndex) Check(context.Context) ([]wire.IndexDifference, error) { return nil, nil }

// encryptedIndex is the index of an encrypted home if there is no place for one in memory.
type encryptedIndex struct{ noIndex }

// Search returns the reason why there is no index.
func (encryptedIndex) Search(context.Context, search.Query) (search.Answer, error) {
	return search.Answer{}, &wire.Problem{
		Kind: wire.Unsupported, Message: "the home is encrypted, and there is no directory in memory for the search index (XDG_RUNTIME_DIR)",
		Hint: "firn grep PATTERN searches without an index",
	}
}

// past returns a search over the sessions visible at a place, except the asking session.
// Hits include the messages directly before and after.
func (h *Instance) past(at place, asking firn.ID) memory.Search {
	return func(ctx context.Context, query string, limit int) ([]memory.PastMessage, error) {
		q := search.Words(query)
		if q.Want == nil {
			return nil, nil
		}
		one := 1
		q.Agents, q.Limit, q.Before, q.After = []string{at.agent}, limit, &one, &one
		q.Owners, q.Shown = at.canSee, true
		if asking != "" {
			q.Except = []firn.ID{asking}
		}
		hits, err := h.find(ctx, q)
		var all []memory.PastMessage
		for _, hit := range hits {
			all = append(all, memory.PastMessage{Session: hit.Session, Entry: hit.Entry, Title: hit.Title, Text: formatWindow(hit.Window), Time: hit.Time, Relevance: hit.Relevance})
		}
		return all, err
	}
}

// formatWindow formats the messages around a hit for a model.
func formatWindow(items []search.Item) string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = string(item.Role) + ": " + item.Text
	}
	return strings.Join(lines, "\n")
}

// index returns the index for the gateway.
func (h *Instance) index() gateway.Index {
	switch {
	case h.searchIndex != nil:
		return h.searchIndex
	case !h.o.Ephemeral && sealfs.Encrypted(h.home()):
		return encryptedIndex{}
	}
	return noIndex{}
}

// readWindow returns the entries around an entry of a session.
func (h *Instance) readWindow(ctx context.Context, id firn.ID, entry string, q search.Query) (search.Hit, error) {
	if h.searchIndex == nil {
		return search.Hit{}, fmt.Errorf("read context of an entry of session %.80q: %w", id, firn.ErrNotFound)
	}
	return h.searchIndex.words.Window(ctx, id, entry, q)
}

// startIndex starts updating the full-text index.
func (h *Instance) startIndex() {
	if h.searchIndex != nil {
		h.searchIndex.words.Start()
	}
}
