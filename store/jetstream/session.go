package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync/atomic"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/store"
)

// session is the cached state of a session that is written to. The holder of turn may use
// it; users is guarded by Store.mu.
type session struct {
	id    firn.ID
	turn  chan struct{}
	users int

	tail  tail
	fresh bool // the tail is known, as of our latest append or read
	ids   store.IDs
	// named is the position up to which ids is complete.
	named store.Pos
	// chain is the state of the hash chain at the position chained. It is unknown if linked
	// is not set, and not searched for if chained is not the tail's end.
	chain   hashchain.State
	chained store.Pos
	linked  bool
	// uncertain is the latest append with an unknown outcome.
	uncertain *uncertainAppend

	// low is the greatest sequence seen so far: a server that reports a smaller one is out
	// of date. It may be read without turn.
	low atomic.Uint64
}

const (
	maxSessions = 4096
)

// acquire acquires a session for writing, in order of requests.
func (st *openSessions) acquire(ctx context.Context, id firn.ID) (*session, error) {
	waitCtx, cancel := st.engine.withWait(ctx)
	defer cancel()
	return st.acquireBy(ctx, waitCtx, id)
}

// acquireBy is acquire with a limited wait: until waitCtx is done.
func (st *openSessions) acquireBy(ctx, waitCtx context.Context, id firn.ID) (*session, error) {
	st.mu.Lock()
	s := st.sessions[id]
	if s == nil {
		s = &session{id: id, turn: make(chan struct{}, 1)}
		st.sessions[id] = s
		st.evict()
	}
	s.users++
	st.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		return s, nil
	case <-waitCtx.Done():
		st.leave(s)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("session %s: %w", id, &Unavailable{Write: true, Cause: errQueue})
	}
}

// errQueue is the reason why a write did not get its turn.
var errQueue = errors.New("other writes to the session wait for the cluster too")

func (st *openSessions) release(s *session) {
	<-s.turn
	st.leave(s)
}

func (st *openSessions) leave(s *session) {
	st.mu.Lock()
	defer st.mu.Unlock()
	s.users--
}

// evict drops an unused session if there are too many; one with an uncertain append only if
// there are far too many.
func (st *openSessions) evict() {
	if len(st.sessions) <= maxSessions {
		return
	}
	for id, s := range st.sessions {
		if s.users == 0 && (s.uncertain == nil || len(st.sessions) > 2*maxSessions) {
			delete(st.sessions, id)
			return
		}
	}
}

// refreshTail reads the end of the session from the leader.
func (st *openSessions) refreshTail(ctx context.Context, s *session) error {
	t, err := st.fetchTail(ctx, s.id, s.low.Load())
	if err != nil {
		s.fresh = false
		return err
	}
	if t.seq != s.tail.seq { // other writers may have replaced what was at this end
		s.chained = store.Start
	}
	s.tail, s.fresh = t, true
	s.noteSequence(t.seq)
	return nil
}

// noteSequence records a sequence.
func (s *session) noteSequence(seq uint64) {
	for {
		low := s.low.Load()
		if seq <= low || s.low.CompareAndSwap(low, seq) {
			return
		}
	}
}

// fetchTail reads the end of a session from the leader and the other replicas. low is a
// sequence that is known to exist.
func (st *openSessions) fetchTail(ctx context.Context, id firn.ID, low uint64) (tail, error) {
	waitCtx, cancel := st.engine.withWait(ctx)
	defer cancel()
	m, err := askUntilAnswered(waitCtx, func(ctx context.Context) (*message, error) {
		m, err := st.engine.latest(ctx, st.names.stream(st.names.shard(id)), st.names.subject(id), soundFrame)
		if err == nil && (m == nil && low > 0 || m != nil && m.seq < low) {
			return nil, errStale
		}
		return m, err
	})
	if err != nil {
		return tail{}, err
	}
	if m == nil {
		return tail{}, st.checkLost(waitCtx, id)
	}
	f, err := parseFrame(m)
	if err != nil {
		return tail{}, err
	}
	return st.tailAfter(f)
}

// checkLost returns an error if the index has a row for a session without messages on any
// replica. Removed and purged sessions have a message, so the session is lost.
func (st *openSessions) checkLost(ctx context.Context, id firn.ID) error {
	value, _, err := bucket{st.engine, st.names.index()}.get(ctx, rowName(id))
	if err != nil || value == nil {
		return err
	}
	var r row
	if err := json.Unmarshal(value, &r); err != nil || r.Seq == 0 {
		return nil // the index has no row for it
	}
	return &Damage{id, store.Start, st.servers(ctx, id), fmt.Sprintf("the index says that its last message is %d, and no server has a message of it", r.Seq)}
}

// servers returns the names of the servers that store a session.
func (st *openSessions) servers(ctx context.Context, id firn.ID) string {
	p, _, err := st.engine.info(ctx, st.names.stream(st.names.shard(id)))
	if err != nil {
		return st.engine.nc.ConnectedServerName()
	}
	return strings.Join(p.names, ", ")
}

// lastSeen returns the greatest sequence of a session known to this store.
func (st *openSessions) lastSeen(id firn.ID) uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s := st.sessions[id]; s != nil {
		return s.low.Load()
	}
	return 0
}

// noteSequence records a sequence of a session that is written to, so that later reads
// never return less than earlier ones.
func (st *openSessions) noteSequence(id firn.ID, seq uint64) {
	st.mu.Lock()
	s := st.sessions[id]
	st.mu.Unlock()
	if s != nil {
		s.noteSequence(seq)
	}
}

// readTail returns the end of an existing session for reading: from the leader if possible,
// otherwise from any replica.
func (st *openSessions) readTail(ctx context.Context, id firn.ID) (tail, error) {
	if err := st.checkOpen(ctx); err != nil {
		return tail{}, err
	}
	if err := id.Check(); err != nil {
		return tail{}, fmt.Errorf("session %.40q: %w", id, firn.ErrNotFound)
	}
	low := st.lastSeen(id)
	brief, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	t, err := st.fetchTail(brief, id, low)
	var away *Unavailable
	if errors.As(err, &away) && ctx.Err() == nil {
		t, err = st.readAnyTail(ctx, id, low, err)
	}
	if err != nil {
		return tail{}, st.failed(ctx, fmt.Errorf("read session %s: %w", id, err))
	}
	st.noteSequence(id, t.seq)
	if t.seq == 0 || t.gone() {
		return tail{}, fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
	}
	return t, nil
}

// readAnyTail reads the end of a session from any replica if no leader responds. It may be
// out of date.
func (st *openSessions) readAnyTail(ctx context.Context, id firn.ID, low uint64, cause error) (tail, error) {
	m, err := st.engine.lastAny(ctx, st.names.stream(st.names.shard(id)), st.names.subject(id), soundFrame)
	if err != nil {
		return tail{}, fmt.Errorf("%w; nor does a replica: %w", cause, err)
	}
	if m == nil || m.seq < low { // out of date
		return tail{}, cause
	}
	f, err := parseFrame(m)
	if err != nil {
		return tail{}, err
	}
	return st.tailAfter(f)
}

// put publishes a frame after the session's tail, and moves the tail there. With errFenced,
// another message was stored first and the tail is unknown.
func (st *openSessions) put(ctx context.Context, s *session, f *frame, rollup bool) error {
	m := f.msg(st.names.subject(s.id))
	if rollup {
		m.Header.Set(headRollup, "sub")
	}
	waitCtx, cancel := st.engine.withWait(ctx)
	defer cancel()
	seq, err := publishFenced(waitCtx, st.engine, st.names.stream(st.names.shard(s.id)), m, s.tail.seq)
	if err != nil {
		s.fresh = false
		return err
	}
	f.seq = seq
	t, err := st.tailAfter(f)
	if err != nil {
		s.fresh = false
		return err
	}
	s.tail = t
	s.noteSequence(seq)
	st.keeper.touch(s.id, t)
	return nil
}

// remember records IDs that are in use.
func (s *session) remember(entries []firn.Entry) {
	for i := range entries {
		s.ids.Add(&entries[i])
	}
	s.named = s.tail.end
}

// storeTail returns the tail for package store.
func (st *openSessions) storeTail(ctx context.Context, s *session) (store.Tail, error) {
	t := store.Tail{Session: s.id, New: s.tail.seq == 0, Head: s.tail.head}
	back := func(before store.Pos) iter.Seq2[store.Record, error] {
		return st.reader.readBackward(ctx, s.id, s.tail, before)
	}
	if s.named != s.tail.end || s.tail.end == store.Start {
		if _, _, err := s.ids.Open(s.tail.end, back); err != nil {
			s.named = store.Start
			return t, fmt.Errorf("append to session %s: read its end: %w", s.id, unsaved(err))
		}
		s.named = s.tail.end
	}
	t.Newest, t.Use = s.ids.Newest(), func(id firn.EntryID) (store.Use, error) { return s.ids.Use(id, back) }
	return t, nil
}

// findChain determines the state of the hash chain at the session's tail, if it is not known.
func (st *openSessions) findChain(ctx context.Context, s *session) error {
	if s.chained == s.tail.end && s.tail.end != store.Start {
		return nil
	}
	var f hashchain.Finder
	for r, err := range st.reader.readBackward(ctx, s.id, s.tail, store.End) {
		if err != nil {
			return fmt.Errorf("append to session %s: find its last link: %w", s.id, unsaved(err))
		}
		if line := r.Line(); line == nil {
			f.Unreadable()
			break
		} else if !f.Add(line) {
			break
		}
	}
	s.chain, s.linked = f.State(string(s.id))
	s.chained = s.tail.end
	return nil
}

// messageID returns a unique message ID. Entry IDs are not suitable: callers choose them,
// and other sessions may use the same.
func (st *openSessions) messageID(id firn.ID, end store.Pos) string {
	return token(id) + "." + strconv.FormatUint(uint64(end), 10) + "." + st.self + "." + nonce()
}

// isOurs reports whether this store created a message ID.
func (st *openSessions) isOurs(id string) bool { return strings.Contains(id, "."+st.self+".") }

// nonce returns a random unique string.
func nonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return hex.EncodeToString(b[:])
}
