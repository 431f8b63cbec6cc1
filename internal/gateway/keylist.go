package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/find/index"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// KeyQuery selects a page of keys.
type KeyQuery struct {
	// Agent selects by agent, Text by substring, ignoring case; empty selects all.
	Agent, Text string
	// Limit is the page size: 100 if zero, at most 1,000.
	Limit int
	// Cursor is the cursor of the previous page.
	Cursor string
	// Visible, if not nil, reports whether a key may be shown.
	Visible func(agent, key string) bool
}

// keySessions are the sessions of one key, newest first.
type keySessions struct {
	key   string
	infos []store.Info
}

// Keys returns a page of the keys that point at a session, the most recently used first. If
// the store lists its keys in pages, it reads the sessions of that page alone; otherwise it
// reads the list of sessions once. Removed keys, including rows deleted from the table by
// hand, are not listed.
func (g *keyTable) Keys(ctx context.Context, q KeyQuery) (wire.Page[wire.Key], error) {
	if lister, ok := store.As[store.KeyLister](g.Store); ok {
		return g.pageOfKeys(ctx, lister, q)
	}
	page := wire.Page[wire.Key]{Items: []wire.Key{}}
	after, err := index.ParseCursor(q.Cursor)
	if err != nil {
		return page, errKeyCursor(q.Cursor)
	}
	list := keyList{q: q, after: after, limit: view.PageSize(q.Limit), text: strings.ToLower(q.Text), seen: make(map[string]*keySessions)}
	keys, err := g.keysOfSessions(ctx)
	if err != nil {
		return page, fmt.Errorf("list keys: %w", err)
	}
	for info, err := range g.everyByUpdate(ctx, store.Query{Agent: q.Agent}) {
		if err != nil {
			return page, fmt.Errorf("list keys: %w", err)
		}
		for _, key := range keys(&info) {
			list.add(key, &info)
		}
	}
	page.Total, page.Cursor = list.total, list.cursor
	for _, one := range list.picked {
		if err := g.addKey(ctx, &page, one.key, one.infos); err != nil {
			return page, err
		}
	}
	return page, nil
}

// addKey adds a key to a page, unless its row was removed.
func (g *keyTable) addKey(ctx context.Context, page *wire.Page[wire.Key], name string, infos []store.Info) error {
	key, err := g.describeKey(ctx, name, infos)
	if err != nil {
		return err
	}
	if key.Session == "" {
		page.Total--
		return nil
	}
	key.History = nil
	page.Items = append(page.Items, key)
	return nil
}

// pageOfKeys returns a page of keys from a store that lists them in pages. Its cost depends
// on the size of the page; a filter also compares the names of all keys.
func (g *keyTable) pageOfKeys(ctx context.Context, lister store.KeyLister, q KeyQuery) (wire.Page[wire.Key], error) {
	page := wire.Page[wire.Key]{Items: []wire.Key{}}
	after, ok := parseKeyCursor(q.Cursor)
	if !ok {
		return page, errKeyCursor(q.Cursor)
	}
	ask := store.KeyQuery{Agent: q.Agent, After: after, Limit: view.PageSize(q.Limit)}
	if text := strings.ToLower(q.Text); text != "" || q.Visible != nil {
		ask.Matches = func(key string) bool {
			return strings.Contains(strings.ToLower(key), text) && (q.Visible == nil || q.Visible(store.AgentOf(key), key))
		}
	}
	found, err := lister.ListKeys(ctx, ask)
	if err != nil {
		return page, fmt.Errorf("list keys: %w", err)
	}
	if page.Total = found.Total; found.More {
		page.Cursor = keyCursor(found.Keys[len(found.Keys)-1])
	}
	for _, use := range found.Keys {
		info, err := g.Info(ctx, use.Session)
		if errors.Is(err, firn.ErrNotFound) || err == nil && q.Visible != nil && !q.Visible(cmp.Or(info.Agent, store.AgentOf(use.Key)), use.Key) {
			page.Total--
			continue
		}
		if err != nil {
			return page, fmt.Errorf("list keys: %w", err)
		}
		if err := g.addKey(ctx, &page, use.Key, []store.Info{info}); err != nil {
			return page, err
		}
	}
	return page, nil
}

// keyCursor encodes the position after a key.
func keyCursor(u store.KeyUse) string {
	var ms int64
	if !u.Used.IsZero() {
		ms = u.Used.UnixMilli()
	}
	return strconv.FormatInt(ms, 10) + "." + u.Key
}

// parseKeyCursor decodes the result of keyCursor. It returns false for other texts.
func parseKeyCursor(cursor string) (store.KeyUse, bool) {
	if cursor == "" {
		return store.KeyUse{}, true
	}
	millis, key, _ := strings.Cut(cursor, ".")
	ms, err := strconv.ParseInt(millis, 10, 64)
	if err != nil || ms < 0 || store.CheckKey(key) != nil {
		return store.KeyUse{}, false
	}
	use := store.KeyUse{Key: key}
	if ms > 0 {
		use.Used = time.UnixMilli(ms).UTC()
	}
	return use, true
}

func errKeyCursor(cursor string) error {
	return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("%q is not a cursor of a list of keys", view.Clip(cursor))}
}

// keysOfSessions returns a function that returns the keys of a session: from the key table
// if the store exposes it, else from the session's own claims.
func (g *keyTable) keysOfSessions(ctx context.Context) (func(info *store.Info) []string, error) {
	table, ok := store.As[bindings](g.Store)
	if !ok {
		return claimed, nil
	}
	all, err := table.Bindings(ctx)
	if err != nil {
		return nil, err
	}
	of := make(map[firn.ID][]string, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		of[all[key]] = append(of[all[key]], key)
	}
	return func(info *store.Info) []string { return of[info.ID] }, nil
}

// bindings is a store that exposes the whole key table.
type bindings interface {
	Bindings(ctx context.Context) (map[string]firn.ID, error)
}

// claimed returns the keys that a session claims.
func claimed(info *store.Info) []string {
	var keys []string
	for _, c := range info.Claims() {
		keys = append(keys, c.Key)
	}
	return keys
}

// everyByUpdate yields all matching sessions, including archived and hidden ones, the most
// recently updated first. A key can point at a session that lists do not show.
func (g *keyTable) everyByUpdate(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return store.Infos(func() ([]store.Info, error) {
		var all []store.Info
		for info, err := range g.Every(ctx, q) {
			if err != nil {
				return nil, err
			}
			all = append(all, info)
		}
		store.SortByUpdate(all)
		return all, nil
	})
}

// keyList builds a page of keys from sessions, which are added newest first.
type keyList struct {
	q      KeyQuery
	after  index.Cursor
	limit  int
	text   string
	seen   map[string]*keySessions
	picked []*keySessions
	total  int
	cursor string
}

// add adds a session of a key.
func (l *keyList) add(key string, info *store.Info) {
	if one, ok := l.seen[key]; ok {
		if one != nil {
			one.infos = append(one.infos, *info)
		}
		return
	}
	l.seen[key] = nil
	if l.text != "" && !strings.Contains(strings.ToLower(key), l.text) || l.q.Visible != nil && !l.q.Visible(cmp.Or(info.Agent, store.AgentOf(key)), key) {
		return
	}
	l.total++
	if !afterCursor(l.after, info) {
		return
	}
	if n := len(l.picked); n >= l.limit && l.picked[n-1].infos[0].ID != info.ID { // the keys of a session stay on one page
		latest := l.picked[n-1].infos[0]
		l.cursor = index.Cursor{Updated: latest.Updated, ID: latest.ID}.String()
		return
	}
	one := &keySessions{key: key, infos: []store.Info{*info}}
	l.seen[key] = one
	l.picked = append(l.picked, one)
}
