package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"firn.dev"
	"firn.dev/store"

	"github.com/nats-io/nats.go/jetstream"
)

// Follow yields the records after a position and then new ones as they are appended; see
// [store.Store]. It waits while the cluster does not respond.
func (st *Store) Follow(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		following, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(st.life, cancel)
		defer stop()
		fol := follower{st: st, id: id, at: after, yield: yield}
		for following.Err() == nil && fol.round(following) {
		}
		if !fol.left && ctx.Err() == nil && st.life.Err() != nil {
			yield(store.Record{}, fmt.Errorf("follow session %s: %w", id, st.closedErr()))
		}
	}
}

// follower follows one session for one caller.
type follower struct {
	st *Store
	id firn.ID
	// at is the position after the last record that was yielded.
	at    store.Pos
	begun bool
	yield func(store.Record, error) bool
	// left is set if the caller stopped or received an error, unreachable if the cluster
	// does not respond.
	left, unreachable bool
}

// round reads up to the end and then waits for more, until a message is out of order. It
// reports whether to start another round.
func (f *follower) round(ctx context.Context) bool {
	t, err := f.st.readTail(ctx, f.id)
	if f.unreachable = isUnreachable(err) && f.begun; f.unreachable {
		return sleepContext(ctx, maxPause) == nil
	}
	if err != nil {
		f.yieldError(ctx, err)
		return false
	}
	if !f.begun {
		f.at, f.begun = min(f.at, t.end), true
	}
	if !f.st.readForward(ctx, f.id, t, f.at, func(r store.Record, err error) bool { return f.pass(ctx, r, err) }) {
		return f.unreachable && sleepContext(ctx, maxPause) == nil
	}
	err = f.listen(ctx, t)
	switch {
	case f.left || ctx.Err() != nil:
		return false
	case errors.Is(err, errResync):
		return true
	}
	return sleepContext(ctx, minPause) == nil // the connection or the consumer was lost
}

// isUnreachable reports whether an error means that the cluster does not respond.
func isUnreachable(err error) bool {
	var away *Unavailable
	return errors.As(err, &away)
}

// yieldError yields an error, unless following has ended already.
func (f *follower) yieldError(ctx context.Context, err error) {
	if ctx.Err() == nil {
		f.left = true
		f.yield(store.Record{}, err)
	}
}

// pass yields a record.
func (f *follower) pass(ctx context.Context, r store.Record, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	if f.unreachable = isUnreachable(err); f.unreachable {
		return false
	}
	if err != nil {
		f.yieldError(ctx, err)
		return false
	}
	if !f.yield(r, nil) {
		f.left = true
		return false
	}
	f.at = r.Next
	return true
}

// errResync means that a message does not follow the records yielded so far.
var errResync = errors.New("the messages must be read again")

// listen yields the records that are appended after the tail t.
func (f *follower) listen(ctx context.Context, t tail) error {
	from := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{f.st.names.subject(f.id)}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: t.seq + 1,
	}
	return f.st.engine.listen(ctx, f.st.names.stream(f.st.names.shard(f.id)), from, func(m jetstream.Msg) error {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		return f.take(ctx, &t, &message{seq: meta.Sequence.Stream, subject: m.Subject(), header: m.Headers(), data: m.Data()})
	})
}

// listen passes the messages of a stream in order as they arrive. It returns an error when
// that fails or ctx ends.
func (e *engine) listen(ctx context.Context, stream string, from jetstream.OrderedConsumerConfig, take func(jetstream.Msg) error) error {
	consumer, err := e.js.OrderedConsumer(ctx, stream, from)
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err == nil {
			err = take(m)
		}
		if err != nil {
			return err
		}
	}
}

// take yields the new records of a message.
func (f *follower) take(ctx context.Context, t *tail, m *message) error {
	fr, err := parseFrame(m)
	if err != nil {
		return errResync
	}
	if fr.kind == kindSeal && fr.end == f.at || fr.kind == kindMark && fr.end == f.at {
		now, err := f.st.tailAfter(fr)
		if err != nil || now.gone() {
			return errResync // reading again reports the fault
		}
		*t = now
		return nil
	}
	if fr.kind == kindSeal || fr.at() != f.at || fr.prev != t.sum {
		return errResync
	}
	p, err := f.st.load(ctx, fr)
	if err != nil {
		return errResync
	}
	t.sum = fr.sum
	for r := range f.st.records(p.at, p.lines) {
		if !f.pass(ctx, r, nil) {
			return errLeft
		}
	}
	return nil
}

// errLeft means that the caller stopped.
var errLeft = errors.New("enough")
