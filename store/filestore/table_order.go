package filestore

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// tableOrder holds the keys of a table, the most recently used first. It is derived from a
// version of the document, and updated from the rows that differ in the next one.
type tableOrder struct {
	rows   *object // the version it was built from
	known  map[string]orderedRow
	sorted []store.KeyUse
	// bySession maps sessions to the keys that point to them.
	bySession map[firn.ID][]string
	// parsed counts the rows that were parsed.
	parsed int
}

// orderedRow is the encoded row of a key and the use read from it. The session is empty if
// the row is invalid.
type orderedRow struct {
	value []byte
	use   store.KeyUse
}

// useOf returns the use in the row of a key.
func useOf(key string, r *row) store.KeyUse {
	use := store.KeyUse{Key: key, Session: r.id()}
	if ms, ok := millis(r.get(fieldUpdated)); ok && ms > 0 {
		use.Used = time.UnixMilli(ms).UTC()
	}
	return use
}

// update brings the order up to date with a document.
func (o *tableOrder) update(doc *document) {
	if o.rows == doc.object {
		return
	}
	known := make(map[string]orderedRow, len(doc.members))
	var changed []store.KeyUse
	stays := 0
	for _, m := range doc.members {
		old, ok := o.known[m.name]
		if ok && bytes.Equal(old.value, m.value) {
			known[m.name] = orderedRow{m.value, old.use} // the old value would keep the whole old document in memory
			stays++
			continue
		}
		now := orderedRow{value: m.value}
		o.parsed++
		if r, ok := parseRow(m.value); ok && store.CheckKey(m.name) == nil {
			now.use = useOf(m.name, &r)
		}
		known[m.name] = now
		if ok && old.use == now.use { // another member of the row has changed
			continue
		}
		if now.use.Session != "" {
			changed = append(changed, now.use)
		}
	}
	same := len(changed) == 0 && stays == len(o.known) && stays == len(known)
	o.rows, o.known = doc.object, known
	if same {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(o.sorted), func(u store.KeyUse) bool { return known[u.Key].use != u })
	slices.SortFunc(changed, store.KeyUse.Compare)
	o.sorted = mergeUses(kept, changed)
	o.bySession = make(map[firn.ID][]string, len(o.sorted))
	for _, u := range o.sorted {
		o.bySession[u.Session] = append(o.bySession[u.Session], u.Key)
	}
}

// mergeUses merges two sorted lists without common keys.
func mergeUses(a, b []store.KeyUse) []store.KeyUse {
	all := make([]store.KeyUse, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].Compare(b[0]) < 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// page returns the keys after q.After, at most one more than the limit, and the number of
// matching keys. Without a filter it visits only the keys that it returns.
func (t *table) page(q *store.KeyQuery) (keys []store.KeyUse, total int, err error) {
	err = t.view(func(doc *document) error {
		t.order.update(doc)
		matches := func(u store.KeyUse) bool { return q.Matches == nil || q.Matches(u.Key) }
		total = len(t.order.sorted)
		if q.Matches != nil {
			total = 0
			for _, u := range t.order.sorted {
				if matches(u) {
					total++
				}
			}
		}
		pending := t.pendingUses(doc)
		first := 0
		if q.After != (store.KeyUse{}) {
			at, found := slices.BinarySearchFunc(t.order.sorted, q.After, store.KeyUse.Compare)
			if first = at; found {
				first++
			}
		}
		for _, u := range t.order.sorted[first:] {
			if len(keys) > q.Limit {
				break
			}
			if _, moved := t.waiting[u.Key]; !moved && matches(u) {
				keys = append(keys, u)
			}
		}
		keys = mergeUses(keys, slices.DeleteFunc(pending, func(u store.KeyUse) bool {
			return !matches(u) || q.After != (store.KeyUse{}) && u.Compare(q.After) <= 0
		}))
		keys = keys[:min(len(keys), q.Limit+1)]
		return nil
	})
	return keys, total, err
}

// pendingUses returns the keys with changes that are not written yet, in order. t.mu must
// be held.
func (t *table) pendingUses(doc *document) []store.KeyUse {
	var uses []store.KeyUse
	for key := range t.waiting {
		if r, ok := t.rowOf(doc, key); ok && store.CheckKey(key) == nil {
			uses = append(uses, useOf(key, &r))
		}
	}
	slices.SortFunc(uses, store.KeyUse.Compare)
	return uses
}

// ListKeys returns a page of the keys; see [store.KeyLister]. It reads no session.
func (st *Store) ListKeys(ctx context.Context, q store.KeyQuery) (store.KeyPage, error) {
	var page store.KeyPage
	if err := st.startCall(ctx); err != nil {
		return page, err
	}
	defer st.finishCall()
	agents := []string{q.Agent}
	if q.Agent == "" {
		var err error
		if agents, err = st.agents(); err != nil {
			return page, err
		}
	}
	for _, agent := range agents {
		t, err := st.table("agent:" + agent + ":x")
		if errors.Is(err, firn.ErrInvalid) {
			continue // not a valid agent name, so the directory is not ours
		}
		if err != nil {
			return page, err
		}
		keys, total, err := t.page(&q)
		if err != nil {
			return page, err
		}
		page.Keys, page.Total = mergeUses(page.Keys, keys), page.Total+total
	}
	if page.More = len(page.Keys) > q.Limit; page.More {
		page.Keys = page.Keys[:q.Limit]
	}
	page.Keys = slices.DeleteFunc(page.Keys, func(u store.KeyUse) bool { return strings.HasPrefix(string(u.Session), ".") })
	return page, nil
}

// keysOfSession returns the keys that point to a session. t.mu must be held.
func (t *table) keysOfSession(doc *document, id firn.ID) []string {
	t.order.update(doc)
	return t.order.bySession[id]
}

var _ store.KeyLister = (*Store)(nil)
