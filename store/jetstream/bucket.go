package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"firn.dev"

	"github.com/nats-io/nats.go"
)

// bucket is a table of values in the cluster. Reads go to the leader, so that a gateway
// sees the writes of all others, and to a majority of replicas, so that values lost by a
// damaged leader are found.
type bucket struct {
	engine *engine
	name   string
}

func (st *connection) keys() bucket { return bucket{st.engine, st.names.keys()} }

// headDeleted is the header of a message that marks a value as deleted.
const headDeleted = "KV-Operation"

// get returns a value and its revision. The value is nil if it does not exist; it may still
// have a revision.
func (b bucket) get(ctx context.Context, name string) ([]byte, uint64, error) {
	waitCtx, cancel := b.engine.withWait(ctx)
	defer cancel()
	m, err := askUntilAnswered(waitCtx, func(ctx context.Context) (*message, error) {
		return b.engine.latest(ctx, bucketStream(b.name), bucketSubject(b.name)+name, intact)
	})
	if err != nil || m == nil {
		return nil, 0, err
	}
	if m.header.Get(headDeleted) != "" {
		return nil, m.seq, nil
	}
	if !intact(m) {
		return nil, 0, fmt.Errorf("the value %s of %s is %w in all replicas", name, b.name, firn.ErrCorrupt)
	}
	return m.data, m.seq, nil
}

// put writes a value if revision is still its latest revision, and returns the new one;
// otherwise errFenced.
func (b bucket) put(ctx context.Context, name string, value []byte, revision uint64) (uint64, error) {
	return b.send(ctx, &nats.Msg{Subject: bucketSubject(b.name) + name, Header: nats.Header{}, Data: value}, revision)
}

// remove deletes a value if revision is still its latest revision.
func (b bucket) remove(ctx context.Context, name string, revision uint64) (uint64, error) {
	return b.send(ctx, &nats.Msg{Subject: bucketSubject(b.name) + name, Header: nats.Header{headDeleted: {"DEL"}}}, revision)
}

func (b bucket) send(ctx context.Context, m *nats.Msg, revision uint64) (uint64, error) {
	m.Header.Set(headID, nonce())
	m.Header.Set(headCheck, checkOf(m.Subject, m.Data))
	waitCtx, done := b.engine.startWrite(ctx, bucketStream(b.name))
	seq, err := publishFenced(waitCtx, b.engine, bucketStream(b.name), m, revision)
	done(err)
	return seq, err
}

// change replaces a value with the result of decide, unless that is nil, and returns the
// current value. decide is called again if another writer was faster.
func (b bucket) change(ctx context.Context, name string, decide func(value []byte) ([]byte, error)) ([]byte, uint64, error) {
	for {
		value, revision, err := b.get(ctx, name)
		if err != nil {
			return nil, 0, err
		}
		fresh, err := decide(value)
		if err != nil || fresh == nil {
			return value, revision, err
		}
		revision, err = b.put(ctx, name, fresh, revision)
		if !errors.Is(err, errFenced) {
			return fresh, revision, err
		}
	}
}

// all passes the values from a revision on, up to the latest one at the start of the call;
// deleted values are nil. It returns the last revision.
func (b bucket) all(ctx context.Context, from uint64, pass func(name string, value []byte, revision uint64) error) (uint64, error) {
	stream, subject := bucketStream(b.name), bucketSubject(b.name)
	last, err := b.engine.lastSeq(ctx, stream)
	if err != nil || last < from {
		return from, err
	}
	return b.engine.scan(ctx, stream, subject+">", from, last, func(m *message) error {
		value := m.data
		if m.header.Get(headDeleted) != "" {
			value = nil
		} else if value == nil {
			value = []byte{}
		}
		return pass(strings.TrimPrefix(m.subject, subject), value, m.seq)
	})
}
