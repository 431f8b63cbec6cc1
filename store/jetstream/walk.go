package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"firn.dev"
	"firn.dev/store"
)

// walk reads the frames of a session, oldest first, and checks that each follows its
// predecessor.
type walk struct {
	st *reader
	id firn.ID
	// t is the tail to reach. Its sequence and seal change if the session is sealed in the
	// meantime; its position does not.
	t tail
	// next is the sequence to continue from, at is the position reached, and sum the
	// checksum there. They are valid once begun is set.
	next  uint64
	at    store.Pos
	sum   sum
	begun bool
	// slow is the number of messages still to be read one by one, from any replica that has
	// them.
	slow int
	// fault is the reason for slow reading, until the damaged server is known.
	fault error
	// skip is a position up to which lines need not be fetched.
	skip store.Pos
}

// errWrongSum means that lines do not match their checksum.
var errWrongSum = errors.New("the lines are not those that were written")

// errBehind means that a replica lacks the messages that were asked for, and returned no later
// ones: it lags or is damaged.
var errBehind = errors.New("messages are missing there")

// slowMessages is the number of messages that are read one by one before batches are used
// again.
const slowMessages = 64

// walkFrom starts a walk that includes the record after a position.
func (st *reader) walkFrom(ctx context.Context, id firn.ID, t tail, after store.Pos) (*walk, error) {
	w := &walk{st: st, id: id, t: t, next: max(t.seal, 1), begun: t.seal == 0, skip: after}
	if after < farRecords {
		return w, nil
	}
	f, err := st.find(ctx, id, t, after)
	if err != nil || f == nil {
		return w, nil // start from the beginning, where reading will find the fault
	}
	w.next, w.at, w.sum, w.begun = f.seq, f.at(), f.prev, f.kind != kindSeal
	return w, nil
}

// pieces yields the lines up to the tail.
func (w *walk) pieces(ctx context.Context) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		for w.at < w.t.end {
			more, err := w.round(ctx, yield)
			if err != nil {
				yield(piece{}, fmt.Errorf("read session %s: %w", w.id, err))
				return
			}
			if !more {
				return
			}
		}
	}
}

// round fetches messages and yields their lines. It reports whether to continue.
func (w *walk) round(ctx context.Context, yield func(piece, error) bool) (bool, error) {
	messages, err := w.fetch(ctx)
	if err != nil {
		return false, err
	}
	fault := errBehind
	for _, m := range messages {
		more := true
		f, err := parseFrame(m)
		if m.seq > w.t.seq {
			if err != nil || f.kind != kindSeal { // a seal may have replaced them
				fault = fmt.Errorf("messages before %d are missing", m.seq)
			}
			break
		}
		if err == nil {
			w.suspectReplica(f)
			more, err = w.take(ctx, f, yield)
		}
		if err != nil && !errors.Is(err, firn.ErrCorrupt) {
			return false, err
		}
		if fault = err; fault != nil {
			break
		}
		if w.next = m.seq + 1; !more || w.at >= w.t.end {
			return more, nil
		}
	}
	if fault == nil {
		return true, nil
	}
	return true, w.recoverFrom(ctx, fault)
}

// suspectReplica starts a search for the server that lacked a frame which another one has.
func (w *walk) suspectReplica(f *frame) {
	if w.slow > 0 && w.fault != nil {
		w.st.engine.suspect(w.stream(), f.seq)
		w.fault = nil
	}
}

func (w *walk) stream() string { return w.st.names.stream(w.st.names.shard(w.id)) }

// fetch returns the next messages: many from one replica, or one from any replica that has
// it.
func (w *walk) fetch(ctx context.Context) ([]*message, error) {
	subject := w.st.names.subject(w.id)
	waitCtx, cancel := w.st.engine.withWait(ctx)
	defer cancel()
	if w.slow == 0 {
		messages, err := w.st.engine.batch(waitCtx, w.stream(), subject, w.next)
		if err != nil && ctx.Err() == nil && !errors.Is(err, errConnClosed) {
			return nil, nil // the next response decides whether it is damage
		}
		return messages, err
	}
	m, err := askUntilAnswered(waitCtx, func(ctx context.Context) (*message, error) {
		return w.st.engine.pick(ctx, w.stream(), getRequest{Seq: max(w.next, 1), NextFor: subject}, w.fits)
	})
	if m == nil {
		return nil, err
	}
	return []*message{m}, err
}

// fits reports whether a message can follow the current position.
func (w *walk) fits(m *message) bool {
	if m.seq > w.t.seq || !soundFrame(m) {
		return false
	}
	f, err := parseFrame(m)
	if err != nil {
		return true // of a kind that this version does not know
	}
	switch {
	case f.kind == kindSeal:
		return w.st.sealer.verifyInline(f) == nil
	case !w.begun:
		return false
	case f.end <= w.at:
		return f.count > 0 || f.end == w.at && f.sum == w.sum
	}
	return f.at() == w.at && f.prev == w.sum
}

// take yields the lines of a frame. An ErrCorrupt means that it is not the next one.
func (w *walk) take(ctx context.Context, f *frame, yield func(piece, error) bool) (bool, error) {
	if f.kind == kindSeal {
		return w.takeSeal(ctx, f, yield)
	}
	if w.begun && f.end <= w.at {
		if f.count == 0 && (f.end != w.at || f.sum != w.sum) {
			return false, w.misfit(f)
		}
		return true, w.passed()
	}
	if !w.begun || f.at() != w.at || f.prev != w.sum {
		return false, w.misfit(f)
	}
	p, err := w.st.load(ctx, f)
	if err != nil {
		return false, err
	}
	w.at, w.sum = f.end, f.sum
	return yield(p, nil), w.passed()
}

// passed counts a message that was in order.
func (w *walk) passed() error {
	w.slow = max(0, w.slow-1)
	return nil
}

func (w *walk) misfit(f *frame) error {
	return fmt.Errorf("%w: message %d continues at %d, not at %d, or after other records", firn.ErrCorrupt, f.seq, f.at(), w.at)
}

// takeSeal yields the lines of a seal that were not yielded before.
func (w *walk) takeSeal(ctx context.Context, f *frame, yield func(piece, error) bool) (bool, error) {
	s, err := parseSealed(f)
	if err != nil {
		return false, err
	}
	from := max(w.at, min(w.skip, f.end))
	more := true
	for _, seg := range s.segments {
		if seg.end() <= from || !more {
			continue
		}
		p, err := w.st.sealer.open(ctx, s, seg)
		if err != nil {
			return false, err
		}
		if p.at < from {
			p.lines, p.at = p.lines[from-p.at:], from
		}
		more = yield(p, nil)
	}
	w.at, w.sum, w.begun = max(w.at, f.end), f.sum, true
	return more, w.passed()
}

// recoverFrom decides how to continue if the messages do not match: the session may have
// been sealed or removed in the meantime, or the replica may lag or be damaged.
func (w *walk) recoverFrom(ctx context.Context, fault error) error {
	t, err := w.st.opened.fetchTail(ctx, w.id, w.t.seq)
	if err != nil {
		var away *Unavailable
		if errors.As(err, &away) {
			return w.st.withoutLeader(w.id, w.at, fault, err)
		}
		return err
	}
	if t.seq == 0 || t.gone() {
		return firn.ErrNotFound
	}
	if t.seal != w.t.seal {
		w.t.seal, w.t.seq, w.next = t.seal, t.seq, t.seal
		return nil
	}
	if w.slow > 0 {
		return &Damage{w.id, w.at, w.st.opened.servers(ctx, w.id), fault.Error()}
	}
	w.slow, w.fault = slowMessages, fault
	return nil
}
