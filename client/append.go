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

// Any is the expected position for an append at any end.
const Any = ^firn.Pos(0) - 1

// Append appends entries to a session if its end is still at expect, or at any end if
// expect is [Any]. Otherwise it fails with a [wire.Conflict] that has the current end.
//
// If the connection breaks before the response, the outcome is unknown. If all entries have
// IDs, Append then looks for them in the log, and appends them again if they are not there
// and nothing else was added meanwhile.
func (c *Client) Append(ctx context.Context, id firn.ID, expect firn.Pos, entries wire.NewEntries) (wire.Appended, error) {
	done, err := c.appendOnce(ctx, id, expect, entries)
	a := &pendingAppend{client: c, session: id, expect: expect, entries: entries, ids: entryIDs(entries.Entries)}
	if a.ids == nil || !isBroken(err) || c.pauses.wait(ctx, 0) != nil {
		return done, err
	}
	if again, ok := a.resolve(ctx); ok {
		return again.done, again.err
	}
	return done, err
}

func (c *conn) appendOnce(ctx context.Context, id firn.ID, expect firn.Pos, entries wire.NewEntries) (wire.Appended, error) {
	r := post(entries, sessionPath(id, "entries")...)
	if expect != Any {
		r = r.withHeader("If-Match", strconv.Quote(strconv.FormatUint(uint64(expect), 10)))
	}
	return ask[wire.Appended](ctx, c, r)
}

// isBroken reports whether an error means that a connection broke.
func isBroken(err error) bool {
	var u *Unreachable
	return errors.As(err, &u) && u.Hint != hintOther
}

// entryIDs returns the IDs of lines; nil if one of them has none.
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

// pendingAppend is an append with an unknown outcome.
type pendingAppend struct {
	client  *Client
	session firn.ID
	expect  firn.Pos
	entries wire.NewEntries
	ids     []firn.EntryID
}

// appendResult is the result of a resolved append.
type appendResult struct {
	done wire.Appended
	err  error
}

// resolve determines the outcome of an append and repeats it if it did not happen. The
// repetition requires that the end has not moved since the check, because the lost request
// may still arrive. It returns false if the outcome remains unknown.
func (a *pendingAppend) resolve(ctx context.Context) (appendResult, bool) {
	done, end, err := a.findEntries(ctx)
	if err != nil || done != nil {
		return foundResult(done)
	}
	expect := a.expect
	if expect == Any {
		expect = end
	}
	again, err := a.client.appendOnce(ctx, a.session, expect, a.entries)
	if !errors.Is(err, firn.ErrConflict) {
		return appendResult{again, err}, err == nil || isProblem(err)
	}
	if done, _, look := a.findEntries(ctx); look != nil || done != nil {
		return foundResult(done)
	}
	return appendResult{err: err}, a.expect != Any // without an expected position there is no conflict
}

func foundResult(done *wire.Appended) (appendResult, bool) {
	if done == nil {
		return appendResult{}, false
	}
	return appendResult{done: *done}, true
}

// recentEntries is the number of latest entries that are searched for an append at any end.
const recentEntries = 200

// findEntries looks for the entries directly after the expected end or among the latest. If
// they are not there, it returns the end of the log.
func (a *pendingAppend) findEntries(ctx context.Context) (done *wire.Appended, end firn.Pos, err error) {
	q := EntryQuery{View: wire.ViewDisk, After: a.expect, Limit: len(a.ids)}
	if a.expect == Any {
		q.After, q.Back, q.Limit = 0, true, len(a.ids)+recentEntries
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

// matches reports whether the lines have the IDs of the append.
func (a *pendingAppend) matches(lines []wire.Entry) bool {
	for i, e := range lines {
		if entryID(e.Line) != a.ids[i] {
			return false
		}
	}
	return true
}
