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

// Disagreement is a point in which the catalogue does not tell what the
// sessions do. Refresh ends all but Wrong ones, Rebuild all.
type Disagreement struct {
	// ID is the session; empty if the file as a whole cannot be used.
	ID   firn.ID
	Kind DisagreementKind
	// Detail says it in words.
	Detail string
}

// DisagreementKind is a kind of disagreement in one word.
type DisagreementKind string

// The kinds of disagreements.
const (
	// Damaged is a file that cannot be read.
	Damaged DisagreementKind = "damaged"
	// Outdated is a file of another version of firn, which is built anew.
	Outdated DisagreementKind = "outdated"
	// Missing is a session that the catalogue does not know.
	Missing DisagreementKind = "missing"
	// Gone is a session that only the catalogue knows.
	Gone DisagreementKind = "gone"
	// Stale is a session that has changed since the catalogue was written.
	Stale DisagreementKind = "stale"
	// Wrong is a session that has not changed and yet is not as the catalogue
	// says. It should not be: somebody set back a clock, or we have a bug.
	Wrong DisagreementKind = "wrong"
	// Double is a session that is there more than once. Only one of them can
	// be read and is in the catalogue.
	Double DisagreementKind = "double"
)

// Check compares the catalogue with all sessions, opening each, and tells in
// what they disagree, by id. It writes nothing. Where there is no catalogue
// there is nothing to disagree with.
func (c *Catalogue) Check(ctx context.Context) ([]Disagreement, error) {
	if err := c.usable(ctx); err != nil {
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
		return nil, fmt.Errorf("check catalogue: %w", err)
	}
	found := doubles(all)
	standings, err := c.unique(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("check catalogue: %w", err)
	}
	now, err := c.inspectAll(rowcache.Bypass(ctx), standings, nil)
	if err != nil {
		return nil, fmt.Errorf("check catalogue: %w", err)
	}
	for i, s := range standings {
		if d, ok := disagree(rows[s.ID], s, now[i]); ok {
			found = append(found, d)
		}
		delete(rows, s.ID)
	}
	for id := range rows {
		found = append(found, Disagreement{ID: id, Kind: Gone, Detail: "there is no such session any more"})
	}
	slices.SortFunc(found, func(a, b Disagreement) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind))
	})
	return found, nil
}

// read reads what the catalogue says, and tells why it cannot.
func (c *Catalogue) read() (map[firn.ID]*row, error) {
	b, err := openBook(c.fs, c.path())
	if err != nil {
		return nil, err
	}
	defer b.close()
	return b.all()
}

func doubles(standings []store.Standing) []Disagreement {
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

// disagree is the deciding: in what a row differs from how the session stands
// and from what it tells now.
func disagree(r *row, s store.Standing, now *row) (Disagreement, bool) {
	d := Disagreement{ID: s.ID}
	switch {
	case now == nil: // it went meanwhile
		return d, false
	case r == nil:
		d.Kind, d.Detail = Missing, "the catalogue does not know it"
	case r.info == now.info:
		return d, false
	case !r.fresh(s):
		d.Kind, d.Detail = Stale, "it has changed since"
	default:
		d.Kind, d.Detail = Wrong, "it has not changed since, but it is not what the catalogue says"
	}
	return d, true
}
