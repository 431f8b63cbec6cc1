package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"firn.dev"
	"firn.dev/store"
)

// Store supports transferring sessions line by line to and from other stores.
var _ store.Loader = (*Store)(nil)

// Holdings lists all sessions; see [store.Loader].
func (st *Store) Holdings(ctx context.Context) ([]store.Holding, error) {
	var all []store.Holding
	var away []firn.ID
	err := st.withFullIndex(ctx, "list sessions", func(x *index) {
		x.each(func(s sessionStatus) {
			switch {
			case s.seq == 0:
			case s.gone:
				away = append(away, s.ID)
			default:
				all = append(all, store.Holding{ID: s.ID, Bytes: s.Bytes, Modified: s.Modified, Archived: s.Archived})
			}
		})
	})
	if err != nil {
		return nil, err
	}
	for _, id := range away {
		h, err := st.holding(ctx, id)
		if err != nil {
			return nil, st.failed(ctx, fmt.Errorf("check session %s: %w", id, err))
		}
		all = append(all, h)
	}
	return all, nil
}

// holding describes an archived or removed session, for which it reads the last message.
func (st *directory) holding(ctx context.Context, id firn.ID) (store.Holding, error) {
	h, _, err := st.lastMark(ctx, id)
	return h, err
}

// lastMark reads the last message of a session, and its mark if it has one.
func (st *directory) lastMark(ctx context.Context, id firn.ID) (store.Holding, mark, error) {
	waitCtx, cancel := st.engine.withWait(ctx)
	defer cancel()
	m, err := askUntilAnswered(waitCtx, func(ctx context.Context) (*message, error) {
		return st.engine.latest(ctx, st.names.stream(st.names.shard(id)), st.names.subject(id), soundFrame)
	})
	if err != nil || m == nil {
		return store.Holding{ID: id}, mark{}, err
	}
	f, err := parseFrame(m)
	if err != nil {
		return store.Holding{ID: id}, mark{}, err
	}
	h := store.Holding{ID: id, Bytes: f.size, Modified: f.modified, Archived: f.archived, Removed: f.removed}
	state := parseMark(f)
	h.Reason, h.Receipt = state.Reason, state.Receipt
	return h, state, nil
}

// Lines yields the stored lines of a session; see [store.Loader].
func (st *Store) Lines(ctx context.Context, id firn.ID) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := st.beginOperation(ctx); err != nil {
			yield(nil, err)
			return
		}
		defer st.working.Done()
		t, err := st.fetchTail(ctx, id, st.lastSeen(id))
		if err == nil && (t.seq == 0 || t.receipt != nil) {
			err = fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
		}
		if err != nil {
			yield(nil, st.failed(ctx, err))
			return
		}
		st.lines(ctx, id, t, yield)
	}
}

// lines yields the lines up to the tail t.
func (st *reader) lines(ctx context.Context, id firn.ID, t tail, yield func([]byte, error) bool) {
	w, err := st.walkFrom(ctx, id, t, store.Start)
	if err != nil {
		yield(nil, st.failed(ctx, err))
		return
	}
	for piece, err := range w.pieces(ctx) {
		if err != nil {
			yield(nil, st.failed(ctx, err))
			return
		}
		for i, line := range piece.lines {
			if piece.at+store.Pos(i) >= t.end {
				return
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}

// Load makes a session equal to that of another store; see [store.Loader]. Its lines are
// stored as one seal, so it is loaded completely or not at all.
func (st *Store) Load(ctx context.Context, h store.Holding, lines iter.Seq2[[]byte, error]) (store.Loaded, error) {
	if err := st.beginOperation(ctx); err != nil {
		return store.Loaded{}, err
	}
	defer st.working.Done()
	if err := h.ID.Check(); err != nil {
		return store.Loaded{}, err
	}
	s, err := st.acquire(ctx, h.ID)
	if err != nil {
		return store.Loaded{}, err
	}
	defer st.release(s)
	done, err := st.take(ctx, s, h, lines)
	if errors.Is(err, errFenced) {
		err = fmt.Errorf("%w: another process is writing to it here", firn.ErrConflict)
	}
	if err != nil {
		return done, st.failed(ctx, fmt.Errorf("load session %s: %w", h.ID, err))
	}
	return done, nil
}

// take is Load for a caller that has acquired the session.
func (st *sealer) take(ctx context.Context, s *session, h store.Holding, lines iter.Seq2[[]byte, error]) (done store.Loaded, err error) {
	if err := st.opened.refreshTail(ctx, s); err != nil {
		return done, err
	}
	switch {
	case h.Receipt != nil && s.tail.receipt != nil:
		return done, nil
	case h.Receipt != nil && s.tail.seq > 0:
		return done, fmt.Errorf("%w: it was purged there but exists here", firn.ErrConflict)
	case h.Receipt != nil:
		return done, st.directory.putMark(ctx, s, tail{receipt: h.Receipt}, "", false)
	case s.tail.receipt != nil:
		return done, fmt.Errorf("%w: it was purged here", firn.ErrConflict)
	}
	have := func(yield func([]byte, error) bool) {
		if s.tail.seq > 0 {
			st.reader.lines(ctx, s.id, s.tail, yield)
		}
	}
	plain := !s.tail.archived && !s.tail.removed
	if err := st.appendSeal(ctx, s, store.NewLines(have, lines, &done.Had), &done.Added); err != nil {
		return store.Loaded{Had: done.Had}, err
	}
	if !plain || s.tail.seq == 0 || !h.Archived && !h.Removed {
		return done, nil
	}
	t := s.tail
	t.archived, t.removed = h.Archived, h.Removed
	return done, st.directory.putMark(ctx, s, t, h.Reason, false)
}

// appendSeal appends lines to a session by replacing all of its messages with a seal. It
// counts the lines.
func (st *sealer) appendSeal(ctx context.Context, s *session, lines iter.Seq2[[]byte, error], added *int) error {
	var c sealBuilder
	for line, err := range lines {
		if err == nil && s.tail.removed {
			err = fmt.Errorf("%w: it is in the trash bin here and has more lines there", firn.ErrConflict)
		}
		if err == nil && *added == 0 && s.tail.seq > 0 {
			err = c.start(ctx, st, s)
		}
		if err == nil {
			*added++
			err = c.add(ctx, st, s.id, line)
		}
		if err != nil {
			return err
		}
	}
	if *added == 0 {
		return nil
	}
	f, err := st.sealFrame(ctx, s, c.segments, c.lines)
	if err != nil {
		return err
	}
	f.modified = s.tail.nextModified(st.opts.Now())
	if c.head != "" {
		f.head = c.head
	}
	if c.agent != "" {
		f.agent = c.agent
	}
	return st.putSeal(ctx, s, f)
}

// putSeal replaces all messages of a session with a seal, after reading the seal back.
func (st *sealer) putSeal(ctx context.Context, s *session, f *frame) error {
	if err := st.verifySeal(ctx, f); err != nil {
		return err
	}
	old := make(map[string]bool)
	if s.tail.seq > 0 {
		var err error
		if old, err = st.eraser.objectsInUse(ctx, s); err != nil {
			return err
		}
	}
	if err := st.opened.put(ctx, s, f, true); err != nil {
		return err
	}
	return st.dropAll(ctx, old, f.objects())
}

// sealBuilder builds a seal from a stream of lines. Full segments are sent immediately.
type sealBuilder struct {
	segments []segment
	lines    [][]byte
	size     int
	head     firn.EntryID
	agent    string
}

// start loads the current content of the session.
func (c *sealBuilder) start(ctx context.Context, st *sealer, s *session) (err error) {
	c.segments, c.lines, err = st.unsealed(ctx, s)
	for _, line := range c.lines {
		c.size += len(line) + 1
	}
	return err
}

// add adds a line.
func (c *sealBuilder) add(ctx context.Context, st *sealer, id firn.ID, line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("%w line: there is a newline in it", firn.ErrInvalid)
	}
	c.noteLine(st, line)
	c.lines = append(c.lines, bytes.Clone(line))
	if c.size += len(line) + 1; c.size < segmentBytes {
		return nil
	}
	before := segment{Sum: sum{}.String()}
	if len(c.segments) > 0 {
		before = c.segments[len(c.segments)-1]
	}
	segments, rest, err := st.pack(ctx, id, before, c.lines)
	if err == nil && rest != nil {
		last := &segments[len(segments)-1]
		last.Blob, err = st.blobs.put(ctx, id, rest)
	}
	c.segments, c.lines, c.size = append(c.segments, segments...), nil, 0
	return err
}

// noteLine records the head and the agent, which message headers repeat.
func (c *sealBuilder) noteLine(st *sealer, line []byte) {
	g, err := st.dialect.Glance(line)
	switch {
	case err != nil: // damaged lines are stored, but have no head or agent
	case g.Kind != firn.KindHeader:
		if g.ID != "" {
			c.head = g.ID
		}
	case c.agent == "":
		if e, err := st.dialect.Decode(line); err == nil {
			if header, ok := e.Body.(*firn.Header); ok {
				c.agent = header.Agent
			}
		}
	}
}

// Bindings returns the session of every key; see [store.Loader].
func (st *Store) Bindings(ctx context.Context) (map[string]firn.ID, error) {
	if err := st.beginOperation(ctx); err != nil {
		return nil, err
	}
	defer st.working.Done()
	all := make(map[string]firn.ID)
	_, err := st.keys().all(ctx, 1, func(name string, value []byte, _ uint64) error {
		var b binding
		if value != nil && json.Unmarshal(value, &b) == nil && b.Key != "" && name == keyName(b.Key) {
			all[b.Key] = b.Session
		}
		return nil
	})
	if err != nil {
		return nil, st.failed(ctx, fmt.Errorf("list the keys: %w", err))
	}
	return all, nil
}
