package jetstream

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/store"
)

// news is what messages have told of sessions that the rows of the index do not
// tell yet. Their headers are enough for it: no session is read.
type news struct {
	stood map[firn.ID]stood
	// looked is up to which message of each shard that goes.
	looked map[int]uint64
	// foreign is the last message of each shard with which another store has
	// changed a session, or may have.
	foreign map[int]uint64
}

// stood is how a session stands as of a message.
type stood struct {
	seq  uint64
	gone bool
	store.Standing
}

func newNews() news {
	return news{stood: make(map[firn.ID]stood), looked: make(map[int]uint64), foreign: make(map[int]uint64)}
}

// standing is what the last message of a session tells. One that makes no sense
// tells only that there is the session: who reads it will tell what is wrong.
func standing(id firn.ID, m *message) stood {
	s := stood{seq: m.seq, Standing: store.Standing{ID: id, Parts: 1}}
	f, err := parseFrame(m)
	if err != nil {
		return s
	}
	s.gone = f.removed || f.kind == kindMark && f.end == 0 // a purge leaves no records
	s.Agent, s.Bytes, s.Modified, s.Archived = f.agent, f.size, f.modified, f.archived
	return s
}

// standing is what the row tells.
func (r row) standing(id firn.ID) stood {
	return stood{seq: r.Seq, gone: r.Gone, Standing: store.Standing{ID: id, Agent: r.Info.Agent, Bytes: r.Info.Bytes, Parts: 1,
		Modified: r.Modified, Archived: r.Info.Archived}}
}

// standing is how a session stands as far as the index knows.
func (x *index) standing(id firn.ID) stood {
	now := x.rows[id].row.standing(id)
	if new, ok := x.news.stood[id]; ok && new.seq > now.seq {
		return new
	}
	return now
}

// look takes notice of the messages of a shard that the rows do not tell of.
func (x *index) look(ctx context.Context, shard int) error {
	stream := x.st.names.stream(shard)
	last, err := x.st.engine.lastSeq(ctx, stream)
	if err != nil {
		return fmt.Errorf("look at %s: %w", stream, err)
	}
	from := x.news.looked[shard]
	if told := x.marks[shard].row.Seq; told > from {
		from, x.news.foreign[shard] = told, told // nobody knows who wrote what is told already
	}
	next, err := x.st.engine.scan(ctx, stream, x.st.names.all(shard), from+1, last, func(m *message) error {
		id := x.st.names.sessionOf(m.subject)
		now, then := standing(id, m), x.standing(id)
		if now.seq <= then.seq {
			return nil // the row tells more
		}
		if !x.st.isOurs(m.header.Get(headID)) && (now.gone != then.gone || now.Standing != then.Standing) {
			x.news.foreign[shard] = m.seq
		}
		x.news.stood[id] = now
		return nil
	})
	x.news.looked[shard] = max(from, next-1)
	if err != nil {
		return fmt.Errorf("look at %s: %w", stream, err)
	}
	return nil
}

// lookAll takes over what others have written down, and then notice of the
// messages behind it.
func (x *index) lookAll(ctx context.Context) error {
	if err := x.read(ctx); err != nil {
		return err
	}
	for shard := range x.st.names.shards {
		if err := x.look(ctx, shard); err != nil {
			return err
		}
	}
	x.prune()
	return nil
}

// prune forgets the news that rows tell.
func (x *index) prune() {
	for id, s := range x.news.stood {
		if x.rows[id].row.Seq >= s.seq {
			delete(x.news.stood, id)
		}
	}
}

// each passes on how all sessions stand that there ever were.
func (x *index) each(pass func(stood)) {
	for id := range x.rows {
		pass(x.standing(id))
	}
	for id, s := range x.news.stood {
		if _, told := x.rows[id]; !told {
			pass(s)
		}
	}
}

// surveyed does something with the index once it knows all messages.
func (st *Store) surveyed(ctx context.Context, doing string, do func(*index)) error {
	if err := st.begin(ctx); err != nil {
		return err
	}
	defer st.working.Done()
	err := st.index.with(ctx, func() error {
		if err := st.index.lookAll(ctx); err != nil {
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

// Census tells of all sessions there are, in no order. It reads none: only the
// messages that came since it was last asked, or since somebody has listed.
func (st *Store) Census(ctx context.Context) ([]store.Standing, error) {
	var all []store.Standing
	err := st.surveyed(ctx, "look how all sessions stand", func(x *index) {
		x.each(func(s stood) {
			if !s.gone && s.seq > 0 {
				all = append(all, s.Standing)
			}
		})
	})
	return all, err
}

// AllAway tells of all ids of sessions that are in the bin or were purged.
func (st *Store) AllAway(ctx context.Context) (map[firn.ID]bool, error) {
	away := make(map[firn.ID]bool)
	err := st.surveyed(ctx, "look which sessions were put away", func(x *index) {
		x.each(func(s stood) {
			if s.gone && s.seq > 0 {
				away[s.ID] = true
			}
		})
	})
	return away, err
}

// Stamp is another one whenever another store, in whatever process, may have
// changed a session. What goes through this one does not change it, nor does
// sealing.
func (st *Store) Stamp(ctx context.Context) (string, error) {
	var parts []string
	err := st.surveyed(ctx, "look what others have changed", func(x *index) {
		for shard := range st.names.shards {
			parts = append(parts, strconv.FormatUint(x.news.foreign[shard], 10))
		}
	})
	return strings.Join(parts, "."), err
}

// Stand tells of one session.
func (st *Store) Stand(ctx context.Context, id firn.ID) (store.Standing, error) {
	t, err := st.end(ctx, id)
	if err != nil {
		return store.Standing{}, err
	}
	return store.Standing{ID: id, Agent: t.agent, Bytes: t.size, Modified: t.modified, Parts: 1, Archived: t.archived}, nil
}

// Away reports whether the id is that of a session that is in the bin or was
// purged: it is taken, and nothing can be read or added under it.
func (st *Store) Away(ctx context.Context, id firn.ID) (bool, error) {
	if err := st.begin(ctx); err != nil {
		return false, err
	}
	defer st.working.Done()
	if id.Check() != nil {
		return false, nil
	}
	t, err := st.lookUp(ctx, id, st.seen(id))
	if err != nil {
		return false, st.failed(ctx, fmt.Errorf("look whether session %s was put away: %w", id, err))
	}
	return t.seq > 0 && t.gone(), nil
}

// Inspect tells of one session without listing the others. What is wrong with
// it is told in the info.
func (st *Store) Inspect(ctx context.Context, id firn.ID) (store.Info, error) {
	t, err := st.end(ctx, id)
	if err != nil {
		return store.Info{}, err
	}
	if err := st.begin(ctx); err != nil {
		return store.Info{}, err
	}
	defer st.working.Done()
	if r, ok := st.index.told(id, t); ok {
		return r.Info, nil
	}
	r, err := st.rowAt(ctx, id, t)
	if err == nil && r.Gone {
		err = fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
	}
	if err != nil {
		return store.Info{}, st.failed(ctx, fmt.Errorf("look at session %s: %w", id, err))
	}
	return r.Info, nil
}

// told returns the row of a session if it tells all up to the end t, and can be
// had at once.
func (x *index) told(id firn.ID, t tail) (row, bool) {
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

// AppendDeferred is Append: there is no faster way to keep entries in order. See
// [store.Deferred].
func (st *Store) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return st.Append(ctx, id, expect, entries...)
}

// Sync has nothing to do: all that was appended is durable.
func (st *Store) Sync(ctx context.Context, id firn.ID) error {
	_, err := st.end(ctx, id)
	return err
}
