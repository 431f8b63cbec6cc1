package fulltext

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/find/search"
	"firn.dev/store"
)

// unreadPlaces counts the unreadable places of a session. Adjacent places count as one.
type unreadPlaces struct {
	count int
	// end is the end of the last unreadable place.
	end firn.Pos
}

// gap counts a gap, unless it is still being written or nothing is missing.
func (u *unreadPlaces) gap(g *firn.Gap) {
	if !g.Lost() {
		return
	}
	if u.count == 0 || g.At != u.end {
		u.count++
	}
	u.end = g.Next
}

// entry counts a record that could not be decoded or contains invalid text.
func (u *unreadPlaces) entry(rec *firn.Record, err error) {
	if err != nil || !utf8.Valid(rec.Line()) {
		u.count++
	}
}

// Unread returns the number of unreadable places per session, as of the last indexing.
// Sessions without such places are omitted. It reads the index as it is, without building
// or writing anything; without an index the result is empty.
func (x *Index) Unread(ctx context.Context, ids []firn.ID) (map[firn.ID]int, error) {
	if len(ids) == 0 || !x.Exists() {
		return nil, nil
	}
	db, done := x.peek(ctx)
	if db == nil {
		return nil, nil
	}
	defer done()
	keys := make([]int64, len(ids))
	for i, id := range ids {
		keys[i] = sessionKey(id)
	}
	rows, err := db.read.QueryContext(ctx, "select sid, unread from sessions where unread > 0 and id in (select value from json_each(?))", list(keys))
	if err != nil {
		return nil, explain("look up unreadable entries", err)
	}
	defer rows.Close()
	found := make(map[firn.ID]int)
	for rows.Next() {
		var sid string
		var n int
		if err := rows.Scan(&sid, &n); err != nil {
			return nil, explain("look up unreadable entries", err)
		}
		found[firn.ID(sid)] = n
	}
	return found, explain("look up unreadable entries", rows.Err())
}

// unreadOf returns the number of unreadable places in the sessions that a query covers.
func unreadOf(ctx context.Context, db *database, q search.Query) (int, error) {
	rows, err := db.query(ctx, "select sid, agent, key, unread from sessions where unread > 0")
	if err != nil {
		return 0, explain("count unreadable entries", err)
	}
	defer rows.Close()
	total := 0
	for rows.Next() {
		var sid, agent, key string
		var n int
		if err := rows.Scan(&sid, &agent, &key, &n); err != nil {
			return 0, explain("count unreadable entries", err)
		}
		if mayFind(q, firn.ID(sid), agent, key) {
			total += n
		}
	}
	return total, explain("count unreadable entries", rows.Err())
}

// unreadSession is a session that could not be read at all.
type unreadSession struct{ agent, key, reason string }

// noteUnread records a session that could not be read. It reports the session unless it was
// reported before, or answers list it.
func (x *Index) noteUnread(j job, failed *unread) {
	u := unreadSession{agent: j.status.Agent, reason: failed.err.Error()}
	if j.old != nil {
		u.agent, u.key = j.old.agent, j.old.key
	}
	w := &x.work
	w.mu.Lock()
	before := w.unread[failed.id]
	if w.unread == nil {
		w.unread = make(map[firn.ID]unreadSession)
	}
	w.unread[failed.id] = u
	w.mu.Unlock()
	if before.reason != u.reason && !x.opts.Listed {
		x.report("%v; it is not searched", failed)
	}
}

// census returns the state of all sessions, and drops the records of unreadable sessions
// that no longer exist.
func (x *Index) census(ctx context.Context) ([]store.Status, error) {
	standings, err := x.src.Census(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[firn.ID]bool, len(standings))
	for _, s := range standings {
		there[s.ID] = true
	}
	x.work.mu.Lock()
	defer x.work.mu.Unlock()
	maps.DeleteFunc(x.work.unread, func(id firn.ID, _ unreadSession) bool { return !there[id] })
	return standings, nil
}

// noteRead drops the record that a session could not be read.
func (x *Index) noteRead(id firn.ID) {
	x.work.mu.Lock()
	defer x.work.mu.Unlock()
	delete(x.work.unread, id)
}

// unsearched returns the unreadable sessions that a query covers, ordered by ID.
func (x *Index) unsearched(q search.Query) []search.Unsearched {
	x.work.mu.Lock()
	defer x.work.mu.Unlock()
	var all []search.Unsearched
	for id, u := range x.work.unread {
		if mayFind(q, id, u.agent, u.key) {
			all = append(all, search.Unsearched{Session: id, Reason: u.reason})
		}
	}
	slices.SortFunc(all, func(a, b search.Unsearched) int { return strings.Compare(string(a.Session), string(b.Session)) })
	return all
}

// mayFind reports whether a query covers a session, by its ID and owner.
func mayFind(q search.Query, id firn.ID, agent, key string) bool {
	named := func(name string) bool { return strings.HasPrefix(string(id), name) }
	return (len(q.Agents) == 0 || slices.Contains(q.Agents, agent)) &&
		(q.Owners == nil || q.Owners(agent, key)) &&
		(len(q.Sessions) == 0 || slices.ContainsFunc(q.Sessions, named)) &&
		!slices.Contains(q.Except, id)
}

// peek opens the existing index for reading, without creating or changing it. It returns
// nil if there is none of this version.
func (x *Index) peek(ctx context.Context) (*database, func()) {
	x.mu.Lock()
	if db := x.db; db != nil && !x.replaced() && !x.work.isClosed() {
		db.users.Add(1)
		x.mu.Unlock()
		return db, db.users.Done
	}
	x.mu.Unlock()
	db := x.openToRead(ctx, nil)
	if db == nil {
		return nil, nil
	}
	return db, func() {
		if err := db.close(); err != nil {
			x.report("close the word index: %v", err)
		}
	}
}
