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

// ReadBack yields the records before a position, newest first; see [store.Store]. It
// fetches a few messages at first and more as reading continues.
func (st *Store) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		t, err := st.readTail(ctx, id)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		for r, err := range st.readBackward(ctx, id, t, before) {
			if err = st.failed(ctx, err); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// readBackward yields the records before a position, newest first, starting from the tail
// t.
func (st *reader) readBackward(ctx context.Context, id firn.ID, t tail, before store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		c := backwardReader{st: st, id: id, t: t, seq: t.seq, at: t.end, sum: t.sum, before: min(before, t.end), width: firstWidth}
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

// backwardReader reads the frames of a session, newest first. Each frame has the sequence
// and the checksum of its predecessor.
type backwardReader struct {
	st *reader
	id firn.ID
	t  tail
	// seq is the next message to read, which must end at the position at with sum.
	seq uint64
	at  store.Pos
	sum sum
	// before is the position of the oldest record that was yielded or skipped.
	before store.Pos
	// width is the number of sequences to read next; the messages of other sessions lie in
	// between.
	width uint64
	// slow is the number of messages still to be read one by one, from any replica that has
	// them.
	slow int
	// fault is the reason for slow reading, until the damaged server is known.
	fault error
}

// The numbers of sequences to read, and of messages to aim for.
const (
	firstWidth = 16
	maxWidth   = 1 << 24
	goodRound  = 128
)

// jump moves to the requested records if they are far from the end.
func (c *backwardReader) jump(ctx context.Context) {
	if c.before == 0 || c.t.end-c.before < farRecords {
		return
	}
	f, err := c.st.find(ctx, c.id, c.t, c.before-1)
	if err != nil || f == nil {
		return // start from the end, where reading will find the fault
	}
	c.seq, c.at, c.sum = f.seq, f.end, f.sum
}

// round fetches messages and yields their records. It reports whether to continue.
func (c *backwardReader) round(ctx context.Context, yield func(store.Record, error) bool) (bool, error) {
	frames, fault := c.fetch(ctx)
	if errors.Is(fault, errSilent) {
		return true, c.recoverFrom(ctx, fault)
	}
	if fault != nil && !errors.Is(fault, firn.ErrCorrupt) {
		return false, fault
	}
	if fault == nil && (len(frames) == 0 || frames[len(frames)-1].seq < c.seq) {
		return true, c.recoverFrom(ctx, fmt.Errorf("%w: message %d", errBehind, c.seq))
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
		if c.slow > 0 && c.fault != nil { // this is the message that was missing
			c.st.engine.suspect(c.st.names.stream(c.st.names.shard(c.id)), f.seq)
			c.fault = nil
		}
		if !more || c.at == 0 {
			return more, nil
		}
	}
	if fault != nil {
		return true, c.recoverFrom(ctx, fault)
	}
	return true, nil
}

// take yields the records of a frame.
func (c *backwardReader) take(ctx context.Context, f *frame, yield func(store.Record, error) bool) (bool, error) {
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
		return false, fmt.Errorf("%w: message %d does not name its predecessor", firn.ErrCorrupt, f.seq)
	}
	return more, nil
}

// pass yields the records of a piece, newest first.
func (c *backwardReader) pass(ctx context.Context, p piece, yield func(store.Record, error) bool) (bool, error) {
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

// takeSeal yields the records of a seal. Nothing precedes it.
func (c *backwardReader) takeSeal(ctx context.Context, f *frame, yield func(store.Record, error) bool) (bool, error) {
	s, err := parseSealed(f)
	if err != nil {
		return false, err
	}
	for _, seg := range slices.Backward(s.segments) {
		if seg.at >= c.before {
			continue
		}
		p, err := c.st.sealer.open(ctx, s, seg)
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

// fetch returns messages up to the next one, oldest first: a range from one replica, or
// only the next one from any replica that has it.
func (c *backwardReader) fetch(ctx context.Context) ([]*frame, error) {
	waitCtx, cancel := c.st.engine.withWait(ctx)
	defer cancel()
	stream, subject := c.st.names.stream(c.st.names.shard(c.id)), c.st.names.subject(c.id)
	if c.slow > 0 {
		m, err := askUntilAnswered(waitCtx, func(ctx context.Context) (*message, error) {
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
		messages, err := c.st.engine.batch(waitCtx, stream, subject, next)
		if err != nil && (ctx.Err() != nil || errors.Is(err, errConnClosed)) {
			return frames, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSilent, err)
		}
		if len(messages) == 0 {
			return frames, nil // the next response decides whether it is damage
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

// fits reports whether a message is the next one.
func (c *backwardReader) fits(m *message) bool {
	f, err := parseFrame(m)
	if err != nil {
		return errors.Is(err, firn.ErrUnsupported)
	}
	return f.seq == c.seq && f.end == c.at && f.sum == c.sum && f.whole() == nil && (f.kind != kindSeal || c.st.sealer.verifyInline(f) == nil)
}

// errSilent means that a replica did not respond. A damaged replica may not respond at all.
var errSilent = errors.New("a replica did not answer")

// widen chooses the size of the next range from the number of messages found.
func (c *backwardReader) widen(met int) {
	wish := c.width * goodRound / uint64(max(met, 1))
	c.width = min(max(wish, c.width/8, firstWidth), c.width*8, maxWidth)
}

// recoverFrom decides how to continue if the messages do not match; see walk.recoverFrom.
func (c *backwardReader) recoverFrom(ctx context.Context, fault error) error {
	t, err := c.st.opened.fetchTail(ctx, c.id, c.t.seq)
	if err != nil {
		var away *Unavailable
		if errors.As(err, &away) && errors.Is(fault, errSilent) {
			return err
		}
		if errors.As(err, &away) {
			return c.st.withoutLeader(c.id, c.at, fault, err)
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
		return &Damage{c.id, c.at, c.st.opened.servers(ctx, c.id), fault.Error()}
	}
	c.slow, c.fault = slowMessages, fault
	return nil
}
