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
	"firn.dev/store"
)

// session is what we know of one that somebody appends to. Whoever holds turn
// may use it; users is guarded by Store.mu.
type session struct {
	id    firn.ID
	turn  chan struct{}
	users int

	tail  tail
	fresh bool // the tail is known, as of our latest append or look
	ids   store.IDs
	// named is the end of the session up to which ids know it.
	named store.Pos
	// doubt is the latest append of which it is not known whether it is stored.
	doubt *doubt

	// low is the greatest sequence that was seen: who tells a smaller one does
	// not know the latest. Anybody may read it.
	low atomic.Uint64
}

const (
	maxSessions = 4096
)

// acquire takes a session for one who wants to write to it, in turn.
func (st *Store) acquire(ctx context.Context, id firn.ID) (*session, error) {
	patient, cancel := st.engine.patient(ctx)
	defer cancel()
	return st.acquireBy(ctx, patient, id)
}

// acquireBy is acquire for who does not wait for longer than patient.
func (st *Store) acquireBy(ctx, patient context.Context, id firn.ID) (*session, error) {
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
	case <-patient.Done():
		st.leave(s)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("session %s: %w", id, &Unavailable{Write: true, Cause: errQueue})
	}
}

// errQueue says why a write did not come to its turn.
var errQueue = errors.New("other writes to the session wait for the cluster too")

func (st *Store) release(s *session) {
	<-s.turn
	st.leave(s)
}

func (st *Store) leave(s *session) {
	st.mu.Lock()
	defer st.mu.Unlock()
	s.users--
}

// evict forgets a session that nobody uses if there are too many; one with a
// doubt only if there are far too many.
func (st *Store) evict() {
	if len(st.sessions) <= maxSessions {
		return
	}
	for id, s := range st.sessions {
		if s.users == 0 && (s.doubt == nil || len(st.sessions) > 2*maxSessions) {
			delete(st.sessions, id)
			return
		}
	}
}

// look asks the leader for the end of the session.
func (st *Store) look(ctx context.Context, s *session) error {
	t, err := st.lookUp(ctx, s.id, s.low.Load())
	if err != nil {
		s.fresh = false
		return err
	}
	s.tail, s.fresh = t, true
	s.saw(t.seq)
	return nil
}

// saw takes notice of a sequence.
func (s *session) saw(seq uint64) {
	for {
		low := s.low.Load()
		if seq <= low || s.low.CompareAndSwap(low, seq) {
			return
		}
	}
}

// lookUp asks the leader and the other replicas for the end of a session of which a
// sequence was seen.
func (st *Store) lookUp(ctx context.Context, id firn.ID, low uint64) (tail, error) {
	patient, cancel := st.engine.patient(ctx)
	defer cancel()
	m, err := insist(patient, func(ctx context.Context) (*message, error) {
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
		return tail{}, st.neverWas(patient, id)
	}
	f, err := parseFrame(m)
	if err != nil {
		return tail{}, err
	}
	return st.after(f)
}

// neverWas is an error if the index has a row of a session of which no replica has
// a message: sessions that were removed and purged have one, so it is lost.
func (st *Store) neverWas(ctx context.Context, id firn.ID) error {
	value, _, err := bucket{st.engine, st.names.index()}.get(ctx, rowName(id))
	if err != nil || value == nil {
		return err
	}
	var r row
	if err := json.Unmarshal(value, &r); err != nil || r.Seq == 0 {
		return nil // not one of ours
	}
	return &Damage{id, store.Start, st.servers(ctx, id), fmt.Sprintf("the index says that its last message is %d, and no server has a message of it", r.Seq)}
}

// servers names those that keep a session.
func (st *Store) servers(ctx context.Context, id firn.ID) string {
	p, _, err := st.engine.info(ctx, st.names.stream(st.names.shard(id)))
	if err != nil {
		return st.engine.nc.ConnectedServerName()
	}
	return strings.Join(p.names, ", ")
}

// seen is the greatest sequence of a session that this store knows of.
func (st *Store) seen(id firn.ID) uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s := st.sessions[id]; s != nil {
		return s.low.Load()
	}
	return 0
}

// saw takes notice of a sequence, if the session is one that is written to:
// whoever has read it does not find less later.
func (st *Store) saw(id firn.ID, seq uint64) {
	st.mu.Lock()
	s := st.sessions[id]
	st.mu.Unlock()
	if s != nil {
		s.saw(seq)
	}
}

// end returns the end of a session that is there, for who reads it: the leader's
// word if it can be had, else that of some replica.
func (st *Store) end(ctx context.Context, id firn.ID) (tail, error) {
	if err := st.ready(ctx); err != nil {
		return tail{}, err
	}
	if err := id.Check(); err != nil {
		return tail{}, fmt.Errorf("session %.40q: %w", id, firn.ErrNotFound)
	}
	low := st.seen(id)
	brief, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	t, err := st.lookUp(brief, id, low)
	var away *Unavailable
	if errors.As(err, &away) && ctx.Err() == nil {
		t, err = st.endAny(ctx, id, low, err)
	}
	if err != nil {
		return tail{}, st.failed(ctx, fmt.Errorf("read session %s: %w", id, err))
	}
	st.saw(id, t.seq)
	if t.seq == 0 || t.gone() {
		return tail{}, fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
	}
	return t, nil
}

// endAny asks some replica for the end of a session when no leader
// answers. What it tells may not be the latest.
func (st *Store) endAny(ctx context.Context, id firn.ID, low uint64, cause error) (tail, error) {
	m, err := st.engine.lastAny(ctx, st.names.stream(st.names.shard(id)), st.names.subject(id), soundFrame)
	if err != nil {
		return tail{}, fmt.Errorf("%w; nor does a replica: %w", cause, err)
	}
	if m == nil || m.seq < low { // then we know better
		return tail{}, cause
	}
	f, err := parseFrame(m)
	if err != nil {
		return tail{}, err
	}
	return st.after(f)
}

// put publishes a frame behind the tail that the session has, and moves the
// tail there. errFenced: somebody else came first, and the tail is not known.
func (st *Store) put(ctx context.Context, s *session, f *frame, rollup bool) error {
	m := f.msg(st.names.subject(s.id))
	if rollup {
		m.Header.Set(headRollup, "sub")
	}
	patient, cancel := st.engine.patient(ctx)
	defer cancel()
	seq, err := cast(patient, st.engine, st.names.stream(st.names.shard(s.id)), m, s.tail.seq)
	if err != nil {
		s.fresh = false
		return err
	}
	f.seq = seq
	t, err := st.after(f)
	if err != nil {
		s.fresh = false
		return err
	}
	s.tail = t
	s.saw(seq)
	st.keeper.touch(s.id, t)
	return nil
}

// remember notes ids that are taken.
func (s *session) remember(entries []firn.Entry) {
	for i := range entries {
		s.ids.Add(&entries[i])
	}
	s.named = s.tail.end
}

// storeTail is the tail as package store wants to know it.
func (st *Store) storeTail(ctx context.Context, s *session) (store.Tail, error) {
	t := store.Tail{Session: s.id, New: s.tail.seq == 0, Head: s.tail.head}
	back := func(before store.Pos) iter.Seq2[store.Record, error] { return st.back(ctx, s.id, s.tail, before) }
	if s.named != s.tail.end || s.tail.end == store.Start {
		if _, _, err := s.ids.Open(s.tail.end, back); err != nil {
			s.named = store.Start
			return t, fmt.Errorf("append to session %s: look at its end: %w", s.id, unsaved(err))
		}
		s.named = s.tail.end
	}
	t.Newest, t.Use = s.ids.Newest(), func(id firn.EntryID) (store.Use, error) { return s.ids.Use(id, back) }
	return t, nil
}

// messageID makes an id for a message that nobody else makes. Ids of entries
// would not do: callers choose them, and other sessions have the same.
func (st *Store) messageID(id firn.ID, end store.Pos) string {
	return token(id) + "." + strconv.FormatUint(uint64(end), 10) + "." + st.self + "." + nonce()
}

// isOurs reports whether this store has made the id of a message.
func (st *Store) isOurs(id string) bool { return strings.Contains(id, "."+st.self+".") }

// nonce makes a number that nobody else makes.
func nonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return hex.EncodeToString(b[:])
}
