package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/store"
)

// ReadBack yields the records before a position, newest first; see
// [store.Store]. It fetches a few messages at first and more the longer it goes on.
func (st *Store) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		t, err := st.end(ctx, id)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		for r, err := range st.back(ctx, id, t, before) {
			if err = st.failed(ctx, err); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// back yields the records before a position, newest first, from the end t.
func (st *Store) back(ctx context.Context, id firn.ID, t tail, before store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		c := climb{st: st, id: id, t: t, seq: t.seq, at: t.end, sum: t.sum, before: min(before, t.end), width: firstWidth}
		c.jump(ctx)
		for c.at > 0 && c.before > 0 {
			if more, err := c.round(ctx, yield); err != nil {
				yield(store.Record{}, fmt.Errorf("read session %s: %w", id, err))
				return
			} else if !more {
				return
			}
		}
	}
}

// climb reads the frames of a session from the newest on. Each tells the
// sequence of the one before it and the sum that one must have.
type climb struct {
	st *Store
	id firn.ID
	t  tail
	// seq is the message to read next, which must end at the position at with sum.
	seq uint64
	at  store.Pos
	sum sum
	// before is the position from which on records were passed on or not wanted.
	before store.Pos
	// width is how many sequences are looked at next: the messages of other
	// sessions lie between.
	width uint64
	// slow counts down the messages that are read one by one, from whichever
	// replica has the one that is next.
	slow int
	// fault is why, until it is known which server is damaged.
	fault error
}

// The numbers of sequences that are looked at, and of messages that are hoped for.
const (
	firstWidth = 16
	maxWidth   = 1 << 24
	goodRound  = 128
)

// jump goes to where the records are wanted, if that is far from the end.
func (c *climb) jump(ctx context.Context) {
	if c.before == 0 || c.t.end-c.before < farRecords {
		return
	}
	f, err := c.st.find(ctx, c.id, c.t, c.before-1)
	if err != nil || f == nil {
		return // from the end then, where it will meet whatever is wrong
	}
	c.seq, c.at, c.sum = f.seq, f.end, f.sum
}

// round fetches some messages and passes their records on. It reports whether
// to go on.
func (c *climb) round(ctx context.Context, yield func(store.Record, error) bool) (bool, error) {
	frames, fault := c.fetch(ctx)
	if errors.Is(fault, errSilent) {
		return true, c.mend(ctx, fault)
	}
	if fault != nil && !errors.Is(fault, firn.ErrCorrupt) {
		return false, fault
	}
	for _, f := range slices.Backward(frames) {
		if f.seq != c.seq || f.end != c.at || f.sum != c.sum {
			fault = fmt.Errorf("%w: message %d ends at %d, not at %d, or after other records", firn.ErrCorrupt, f.seq, f.end, c.at)
			break
		}
		take := c.take
		if f.kind == kindSeal {
			take = c.takeSeal
		}
		more, err := take(ctx, f, yield)
		if err != nil && !errors.Is(err, firn.ErrCorrupt) {
			return false, err
		}
		if fault = err; fault != nil {
			break
		}
		if c.slow > 0 && c.fault != nil { // this is what was missing
			c.st.engine.suspect(c.st.names.stream(c.st.names.shard(c.id)), f.seq)
			c.fault = nil
		}
		if !more || c.at == 0 {
			return more, nil
		}
	}
	if fault == nil && len(frames) == 0 {
		fault = fmt.Errorf("%w: message %d is missing", firn.ErrCorrupt, c.seq)
	}
	if fault != nil {
		return true, c.mend(ctx, fault)
	}
	return true, nil
}

// take passes the records of a frame on.
func (c *climb) take(ctx context.Context, f *frame, yield func(store.Record, error) bool) (bool, error) {
	more := true
	if f.count > 0 && f.at() < c.before {
		p, err := c.st.load(ctx, f)
		if err != nil {
			return false, err
		}
		if more, err = c.pass(ctx, p, yield); err != nil {
			return false, err
		}
	}
	c.seq, c.at, c.sum = f.back, f.at(), f.prev
	c.slow = max(0, c.slow-1)
	if more && c.at > 0 && c.seq == 0 {
		return false, fmt.Errorf("%w: message %d does not tell which is before it", firn.ErrCorrupt, f.seq)
	}
	return more, nil
}

// pass passes the records of a piece on, the newest first.
func (c *climb) pass(ctx context.Context, p piece, yield func(store.Record, error) bool) (bool, error) {
	for i := len(p.lines) - 1; i >= 0; i-- {
		at := p.at + store.Pos(i)
		if at >= c.before {
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c.before = at
		if !yield(c.st.record(at, p.lines[i]), nil) {
			return false, nil
		}
	}
	return true, nil
}

// takeSeal passes on what a seal holds. Nothing stands before it.
func (c *climb) takeSeal(ctx context.Context, f *frame, yield func(store.Record, error) bool) (bool, error) {
	s, err := parseSealed(f)
	if err != nil {
		return false, err
	}
	for _, seg := range slices.Backward(s.segments) {
		if seg.at >= c.before {
			continue
		}
		p, err := c.st.open(ctx, s, seg)
		if err != nil {
			return false, err
		}
		if more, err := c.pass(ctx, p, yield); err != nil || !more {
			return false, err
		}
	}
	c.at = 0
	return true, nil
}

// fetch gets messages up to the one that is next, oldest first: those of a
// stretch from one replica, or only that one from whichever has it.
func (c *climb) fetch(ctx context.Context) ([]*frame, error) {
	patient, cancel := c.st.engine.patient(ctx)
	defer cancel()
	stream, subject := c.st.names.stream(c.st.names.shard(c.id)), c.st.names.subject(c.id)
	if c.slow > 0 {
		m, err := insist(patient, func(ctx context.Context) (*message, error) {
			return c.st.engine.pick(ctx, stream, getRequest{Seq: c.seq}, c.fits)
		})
		if err != nil || m == nil {
			return nil, err
		}
		f, err := parseFrame(m)
		return []*frame{f}, err
	}
	from := max(c.t.seal, 1)
	if c.seq > c.width {
		from = max(from, c.seq-c.width+1)
	}
	var frames []*frame
	for next := from; next <= c.seq; {
		messages, err := c.st.engine.batch(patient, stream, subject, next)
		if err != nil && (ctx.Err() != nil || errors.Is(err, errConnClosed)) {
			return frames, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSilent, err)
		}
		if len(messages) == 0 {
			return frames, nil // the next answer decides whether it is damage
		}
		for _, m := range messages {
			if m.seq > c.seq {
				break
			}
			f, err := parseFrame(m)
			if err != nil {
				return nil, err
			}
			frames = append(frames, f)
		}
		next = messages[len(messages)-1].seq + 1
	}
	c.widen(len(frames))
	return frames, nil
}

// fits accepts the message that is next.
func (c *climb) fits(m *message) bool {
	f, err := parseFrame(m)
	if err != nil {
		return errors.Is(err, firn.ErrUnsupported)
	}
	return f.seq == c.seq && f.end == c.at && f.sum == c.sum && f.whole() == nil && (f.kind != kindSeal || c.st.proofInline(f) == nil)
}

// errSilent says that a replica did not answer, which a damaged one may not.
var errSilent = errors.New("a replica did not answer")

// widen chooses how far to look next time, from how many messages were met.
func (c *climb) widen(met int) {
	wish := c.width * goodRound / uint64(max(met, 1))
	c.width = min(max(wish, c.width/8, firstWidth), c.width*8, maxWidth)
}

// mend decides how to go on when the messages do not fit; see walk.mend.
func (c *climb) mend(ctx context.Context, fault error) error {
	t, err := c.st.lookUp(ctx, c.id, c.t.seq)
	if err != nil {
		var away *Unavailable
		if errors.As(err, &away) && errors.Is(fault, errSilent) {
			return err
		}
		if errors.As(err, &away) {
			return c.st.alone(c.id, c.at, c.seq == c.t.seq, fault, err)
		}
		return err
	}
	if t.seq == 0 || t.gone() {
		return firn.ErrNotFound
	}
	if t.seal != c.t.seal {
		c.t, c.seq, c.at, c.sum = t, t.seq, t.end, t.sum
		return nil
	}
	if c.slow > 0 {
		return &Damage{c.id, c.at, c.st.servers(ctx, c.id), fault.Error()}
	}
	c.slow, c.fault = slowMessages, fault
	return nil
}
