package jetstream

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/store"
)

// pendingChanges holds changes of sessions that the rows of the index do not have yet. They
// are taken from message headers; no session is read.
type pendingChanges struct {
	sessions map[firn.ID]sessionStatus
	// scanned is the last message of each shard that was scanned.
	scanned map[int]uint64
	// foreign is the last message of each shard by which another store changed a session,
	// or may have.
	foreign map[int]uint64
}

// sessionStatus is the status of a session as of a message.
type sessionStatus struct {
	seq  uint64
	gone bool
	store.Status
}

func newPendingChanges() pendingChanges {
	return pendingChanges{sessions: make(map[firn.ID]sessionStatus), scanned: make(map[int]uint64), foreign: make(map[int]uint64)}
}

// statusOfMessage returns the status of a session according to its last message. For an
// invalid message, it only has the ID; reading the session reports the fault.
func statusOfMessage(id firn.ID, m *message) sessionStatus {
	s := sessionStatus{seq: m.seq, Status: store.Status{ID: id, Parts: 1}}
	f, err := parseFrame(m)
	if err != nil {
		return s
	}
	s.gone = f.removed || f.kind == kindMark && f.end == 0 // a purge leaves no records
	s.Agent, s.Bytes, s.Modified, s.Archived = f.agent, f.size, f.modified, f.archived
	return s
}

// status returns the status of the session according to the row.
func (r row) status(id firn.ID) sessionStatus {
	return sessionStatus{seq: r.Seq, gone: r.Gone, Status: store.Status{ID: id, Agent: r.Info.Agent, Bytes: r.Info.Bytes, Parts: 1,
		Modified: r.Modified, Archived: r.Info.Archived}}
}

// status returns the status of a session as far as the index knows it.
func (x *index) status(id firn.ID) sessionStatus {
	now := x.rows[id].row.status(id)
	if new, ok := x.pending.sessions[id]; ok && new.seq > now.seq {
		return new
	}
	return now
}

// scanShard reads the messages of a shard that are not in the rows yet.
func (x *index) scanShard(ctx context.Context, shard int) error {
	stream := x.st.names.stream(shard)
	last, err := x.st.engine.lastSeq(ctx, stream)
	if err != nil {
		return fmt.Errorf("check %s: %w", stream, err)
	}
	from := x.pending.scanned[shard]
	if reported := x.marks[shard].row.Seq; reported > from {
		from, x.pending.foreign[shard] = reported, reported // the writers of the messages before that are not known
	}
	next, err := x.st.engine.scan(ctx, stream, x.st.names.all(shard), from+1, last, func(m *message) error {
		id := x.st.names.sessionOf(m.subject)
		now, then := statusOfMessage(id, m), x.status(id)
		if now.seq <= then.seq {
			return nil // the row is more recent
		}
		if !x.st.isOurs(m.header.Get(headID)) && (now.gone != then.gone || now.Status != then.Status) {
			x.pending.foreign[shard] = m.seq
		}
		x.pending.sessions[id] = now
		return nil
	})
	x.pending.scanned[shard] = max(from, next-1)
	if err != nil {
		return fmt.Errorf("check %s: %w", stream, err)
	}
	return nil
}

// scanAllShards reads the rows that others have written, and then the messages after them.
func (x *index) scanAllShards(ctx context.Context) error {
	if err := x.read(ctx); err != nil {
		return err
	}
	for shard := range x.st.names.shards {
		if err := x.scanShard(ctx, shard); err != nil {
			return err
		}
	}
	x.prune()
	return nil
}

// prune drops the pending changes that are in the rows.
func (x *index) prune() {
	for id, s := range x.pending.sessions {
		if x.rows[id].row.Seq >= s.seq {
			delete(x.pending.sessions, id)
		}
	}
}

// each passes the status of every session that ever existed.
func (x *index) each(pass func(sessionStatus)) {
	for id := range x.rows {
		pass(x.status(id))
	}
	for id, s := range x.pending.sessions {
		if _, reported := x.rows[id]; !reported {
			pass(s)
		}
	}
}

// withFullIndex calls do with the index after scanning all messages.
func (st *reader) withFullIndex(ctx context.Context, doing string, do func(*index)) error {
	if err := st.beginOperation(ctx); err != nil {
		return err
	}
	defer st.working.Done()
	err := st.index.with(ctx, func() error {
		if err := st.index.scanAllShards(ctx); err != nil {
			return err
		}
		do(st.index)
		return nil
	})
	if err != nil {
		return st.failed(ctx, fmt.Errorf("%s: %w", doing, err))
	}
	return nil
}

// Census returns the status of all sessions, in no particular order. It reads no session,
// only the messages since the last call of Census or List.
func (st *Store) Census(ctx context.Context) ([]store.Status, error) {
	var all []store.Status
	err := st.withFullIndex(ctx, "read the state of all sessions", func(x *index) {
		x.each(func(s sessionStatus) {
			if !s.gone && s.seq > 0 {
				all = append(all, s.Status)
			}
		})
	})
	return all, err
}

// ReservedIDs returns the IDs of all sessions that are in the trash bin or were purged.
func (st *Store) ReservedIDs(ctx context.Context) (map[firn.ID]bool, error) {
	away := make(map[firn.ID]bool)
	err := st.withFullIndex(ctx, "list removed sessions", func(x *index) {
		x.each(func(s sessionStatus) {
			if s.gone && s.seq > 0 {
				away[s.ID] = true
			}
		})
	})
	return away, err
}

// Stamp returns a value that changes whenever another store, in any process, may have
// changed a session. Changes through this store and sealing do not change it.
func (st *Store) Stamp(ctx context.Context) (string, error) {
	var parts []string
	err := st.withFullIndex(ctx, "find changes of other gateways", func(x *index) {
		for shard := range st.names.shards {
			parts = append(parts, strconv.FormatUint(x.pending.foreign[shard], 10))
		}
	})
	return strings.Join(parts, "."), err
}

// Status returns the status of one session.
func (st *Store) Status(ctx context.Context, id firn.ID) (store.Status, error) {
	t, err := st.readTail(ctx, id)
	if err != nil {
		return store.Status{}, err
	}
	return store.Status{ID: id, Agent: t.agent, Bytes: t.size, Modified: t.modified, Parts: 1, Archived: t.archived}, nil
}

// IsReserved reports whether the session is in the trash bin or was purged. Its ID is in use,
// and it cannot be read or appended to.
func (st *Store) IsReserved(ctx context.Context, id firn.ID) (bool, error) {
	if err := st.beginOperation(ctx); err != nil {
		return false, err
	}
	defer st.working.Done()
	if id.Check() != nil {
		return false, nil
	}
	t, err := st.fetchTail(ctx, id, st.lastSeen(id))
	if err != nil {
		return false, st.failed(ctx, fmt.Errorf("check whether session %s was removed: %w", id, err))
	}
	return t.seq > 0 && t.gone(), nil
}

// Inspect returns the info of one session without listing the others. The info includes
// faults of the session.
func (st *Store) Inspect(ctx context.Context, id firn.ID) (store.Info, error) {
	t, err := st.readTail(ctx, id)
	if err != nil {
		return store.Info{}, err
	}
	if err := st.beginOperation(ctx); err != nil {
		return store.Info{}, err
	}
	defer st.working.Done()
	if r, ok := st.index.currentRow(id, t); ok {
		return r.Info, nil
	}
	r, err := st.rowAt(ctx, id, t)
	if err == nil && r.Gone {
		err = fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
	}
	if err != nil {
		return store.Info{}, st.failed(ctx, fmt.Errorf("check session %s: %w", id, err))
	}
	return r.Info, nil
}

// currentRow returns the row of a session if it covers everything up to the tail t and is
// available without waiting.
func (x *index) currentRow(id firn.ID, t tail) (row, bool) {
	select {
	case x.turn <- struct{}{}:
	default:
		return row{}, false
	}
	defer func() { <-x.turn }()
	r := x.rows[id].row
	return r, r.Info.ID == id && r.Info.Fault == "" && r.Info.End == t.end && r.Info.Archived == t.archived &&
		!t.modified.IsZero() && r.Modified.Equal(t.modified)
}

// AppendDeferred is the same as Append, since there is no faster way to keep the order of
// entries. See [store.Deferred].
func (st *Store) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return st.Append(ctx, id, expect, entries...)
}

// Sync does nothing: appended entries are always durable.
func (st *Store) Sync(ctx context.Context, id firn.ID) error {
	_, err := st.readTail(ctx, id)
	return err
}
