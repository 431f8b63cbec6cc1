package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"firn.dev"

	"github.com/nats-io/nats.go"
)

// bucket is a table of values in the cluster. It always asks the leader, so what
// one gateway has written the next one sees, and a majority of replicas, so that
// what a damaged leader has lost is found.
type bucket struct {
	engine *engine
	name   string
}

func (st *Store) keys() bucket { return bucket{st.engine, st.names.keys()} }

// headDeleted is the header of a message that says that a value was deleted.
const headDeleted = "KV-Operation"

// get returns a value and its revision; nil if there is none, which may have a
// revision too.
func (b bucket) get(ctx context.Context, name string) ([]byte, uint64, error) {
	patient, cancel := b.engine.patient(ctx)
	defer cancel()
	m, err := insist(patient, func(ctx context.Context) (*message, error) {
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

// put writes a value if its revision is still the one that is told, and returns
// the new one; errFenced otherwise.
func (b bucket) put(ctx context.Context, name string, value []byte, revision uint64) (uint64, error) {
	return b.send(ctx, &nats.Msg{Subject: bucketSubject(b.name) + name, Header: nats.Header{}, Data: value}, revision)
}

// remove deletes a value if its revision is still the one that is told.
func (b bucket) remove(ctx context.Context, name string, revision uint64) (uint64, error) {
	return b.send(ctx, &nats.Msg{Subject: bucketSubject(b.name) + name, Header: nats.Header{headDeleted: {"DEL"}}}, revision)
}

func (b bucket) send(ctx context.Context, m *nats.Msg, revision uint64) (uint64, error) {
	m.Header.Set(headID, nonce())
	m.Header.Set(headCheck, checkOf(m.Subject, m.Data))
	patient, done := b.engine.writing(ctx, bucketStream(b.name))
	seq, err := cast(patient, b.engine, bucketStream(b.name), m, revision)
	done(err)
	return seq, err
}

// change writes what decide makes of the value there is, unless that is nil, and
// returns the value there is afterwards. Decide is asked again if somebody else
// was faster.
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

// all passes on the values from a revision on, up to the latest there is when
// it begins; a deleted one is nil. It returns the revision that it got to.
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
