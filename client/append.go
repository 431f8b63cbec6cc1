package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"firn.dev"
	"firn.dev/wire"
)

// Any is the position to expect if the end of the session may be anywhere.
const Any = ^firn.Pos(0) - 1

// Append adds entries to a session if its end is still where it is expected
// ([Any]: wherever it is); else it returns a [wire.Conflict], which tells where
// the end is now.
//
// If the connection breaks before the answer, nobody knows whether they were
// added. If all of them have ids, Append looks for them in the log, and adds
// them if they are not there and nothing else was added meanwhile.
func (c *Client) Append(ctx context.Context, id firn.ID, expect firn.Pos, entries wire.NewEntries) (wire.Appended, error) {
	done, err := c.appendOnce(ctx, id, expect, entries)
	a := &appending{client: c, session: id, expect: expect, entries: entries, ids: entryIDs(entries.Entries)}
	if a.ids == nil || !brokeOff(err) || c.pauses.wait(ctx, 0) != nil {
		return done, err
	}
	if again, ok := a.settle(ctx); ok {
		return again.done, again.err
	}
	return done, err
}

func (c *Client) appendOnce(ctx context.Context, id firn.ID, expect firn.Pos, entries wire.NewEntries) (wire.Appended, error) {
	r := post(entries, sessionPath(id, "entries")...)
	if expect != Any {
		r = r.withHeader("If-Match", strconv.Quote(strconv.FormatUint(uint64(expect), 10)))
	}
	return ask[wire.Appended](ctx, c, r)
}

// brokeOff reports whether an error says that a connection broke.
func brokeOff(err error) bool {
	var u *Unreachable
	return errors.As(err, &u) && u.Hint != hintOther
}

// entryIDs are the ids of lines; nil if not all have one.
func entryIDs(lines []json.RawMessage) []firn.EntryID {
	ids := make([]firn.EntryID, len(lines))
	for i, line := range lines {
		if ids[i] = entryID(line); ids[i] == "" {
			return nil
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return ids
}

func entryID(line json.RawMessage) firn.EntryID {
	var named struct {
		ID firn.EntryID `json:"id"`
	}
	if json.Unmarshal(line, &named) != nil {
		return ""
	}
	return named.ID
}

// appending is an append of which nobody knows whether it was done.
type appending struct {
	client  *Client
	session firn.ID
	expect  firn.Pos
	entries wire.NewEntries
	ids     []firn.EntryID
}

// settled is what came of it.
type settled struct {
	done wire.Appended
	err  error
}

// settle finds out what came of an append, and does it again if nothing did. It
// is done only if the end is still where it was when we looked: the request that
// got lost may be on its way yet. It reports false if it cannot tell.
func (a *appending) settle(ctx context.Context) (settled, bool) {
	done, end, err := a.look(ctx)
	if err != nil || done != nil {
		return found(done)
	}
	expect := a.expect
	if expect == Any {
		expect = end
	}
	again, err := a.client.appendOnce(ctx, a.session, expect, a.entries)
	if !errors.Is(err, firn.ErrConflict) {
		return settled{again, err}, err == nil || isProblem(err)
	}
	if done, _, look := a.look(ctx); look != nil || done != nil {
		return found(done)
	}
	return settled{err: err}, a.expect != Any // who expects nothing has no conflict
}

func found(done *wire.Appended) (settled, bool) {
	if done == nil {
		return settled{}, false
	}
	return settled{done: *done}, true
}

// recent is how many of the latest entries are looked at for those that may
// have been added anywhere.
const recent = 200

// look looks for the entries where they would be: right behind the expected
// end, or among the latest. If they are not there it returns where the log ends.
func (a *appending) look(ctx context.Context) (done *wire.Appended, end firn.Pos, err error) {
	q := EntryQuery{View: wire.ViewDisk, After: a.expect, Limit: len(a.ids)}
	if a.expect == Any {
		q.After, q.Back, q.Limit = 0, true, len(a.ids)+recent
	}
	var lines []wire.Entry
	for e, err := range a.client.Entries(ctx, a.session, q) {
		if err != nil {
			return nil, 0, err
		}
		lines = append(lines, e)
	}
	if q.Back {
		slices.Reverse(lines)
	}
	for i, e := range lines {
		end = e.Next
		if rest := lines[i:]; len(rest) >= len(a.ids) && a.matches(rest[:len(a.ids)]) {
			return &wire.Appended{IDs: a.ids, End: rest[len(a.ids)-1].Next}, 0, nil
		}
	}
	return nil, end, nil
}

// matches reports whether the lines are ours.
func (a *appending) matches(lines []wire.Entry) bool {
	for i, e := range lines {
		if entryID(e.Line) != a.ids[i] {
			return false
		}
	}
	return true
}
