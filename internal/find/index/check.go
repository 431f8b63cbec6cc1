package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"firn.dev"
	"firn.dev/internal/find/rowcache"
	"firn.dev/store"
)

// Disagreement is a difference between the catalog and the sessions. Refresh fixes all
// kinds except Wrong, Rebuild fixes all.
type Disagreement struct {
	// ID is the session; empty if the whole file is unusable.
	ID   firn.ID
	Kind DisagreementKind
	// Detail is a description for users.
	Detail string
}

// DisagreementKind is a kind of disagreement.
type DisagreementKind string

// Kinds of disagreements.
const (
	// Damaged means that the file cannot be read.
	Damaged DisagreementKind = "damaged"
	// Outdated means that the file has the format of another version of firn. It is
	// rebuilt.
	Outdated DisagreementKind = "outdated"
	// Missing means that a session is not in the catalog.
	Missing DisagreementKind = "missing"
	// Gone means that a session in the catalog does not exist.
	Gone DisagreementKind = "gone"
	// Stale means that a session has changed since the catalog was written.
	Stale DisagreementKind = "stale"
	// Wrong means that an unchanged session differs from its row. This should not happen:
	// the clock was set back, or there is a bug.
	Wrong DisagreementKind = "wrong"
	// Double means that a session exists more than once. Only one copy can be read and is
	// in the catalog.
	Double DisagreementKind = "double"
)

// Check compares the catalog with all sessions, opening each, and returns the differences
// ordered by ID. It writes nothing. Without a catalog there are no differences.
func (c *Catalogue) Check(ctx context.Context) ([]Disagreement, error) {
	if err := c.checkOpen(ctx); err != nil {
		return nil, err
	}
	rows, err := c.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, firn.ErrUnsupported) {
		return []Disagreement{{Kind: Outdated, Detail: "it is of another version of firn"}}, nil
	}
	if err != nil {
		return []Disagreement{{Kind: Damaged, Detail: err.Error()}}, nil
	}
	all, err := c.src.Census(ctx)
	if err != nil {
		return nil, fmt.Errorf("check catalog: %w", err)
	}
	found := findDuplicates(all)
	standings, err := c.unique(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("check catalog: %w", err)
	}
	now, err := c.inspectAll(rowcache.Bypass(ctx), standings, nil)
	if err != nil {
		return nil, fmt.Errorf("check catalog: %w", err)
	}
	for i, s := range standings {
		if d, ok := compareRow(rows[s.ID], s, now[i]); ok {
			found = append(found, d)
		}
		delete(rows, s.ID)
	}
	for id := range rows {
		found = append(found, Disagreement{ID: id, Kind: Gone, Detail: "the session no longer exists"})
	}
	slices.SortFunc(found, func(a, b Disagreement) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind))
	})
	return found, nil
}

// read returns all rows of the catalog, or the reason why it is unusable.
func (c *Catalogue) read() (map[firn.ID]*row, error) {
	b, err := openCatalogueFile(c.fs, c.path())
	if err != nil {
		return nil, err
	}
	defer b.close()
	return b.readAll()
}

func findDuplicates(standings []store.Status) []Disagreement {
	var found []Disagreement
	agents := make(map[firn.ID]string, len(standings))
	for _, s := range standings {
		if other, twice := agents[s.ID]; twice {
			found = append(found, Disagreement{ID: s.ID, Kind: Double, Detail: fmt.Sprintf("agents %s and %s both have it", other, s.Agent)})
		}
		agents[s.ID] = s.Agent
	}
	return found
}

// compareRow compares a row with the standing of the session and its current row.
func compareRow(r *row, s store.Status, now *row) (Disagreement, bool) {
	d := Disagreement{ID: s.ID}
	switch {
	case now == nil: // removed meanwhile
		return d, false
	case r == nil:
		d.Kind, d.Detail = Missing, "the catalog does not know it"
	case r.info == now.info:
		return d, false
	case !r.matches(s):
		d.Kind, d.Detail = Stale, "it has changed since"
	default:
		d.Kind, d.Detail = Wrong, "it has not changed since, but differs from the catalog"
	}
	return d, true
}
