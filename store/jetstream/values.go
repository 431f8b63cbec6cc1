package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"firn.dev"

	"github.com/nats-io/nats.go/jetstream"
)

// Values are small values shared by all processes that have the store open, each with a
// name and a revision. They are in a separate bucket, which is replicated like sessions.
type Values struct {
	st     *Store
	bucket bucket
}

// Values opens the values of a kind, whose name is in capital letters, and creates the
// bucket if it does not exist.
func (st *Store) Values(ctx context.Context, kind, what string) (*Values, error) {
	if !isWord(kind) || strings.ToUpper(kind) != kind {
		return nil, fmt.Errorf("open values %q: %w: expected capital letters", kind, firn.ErrInvalid)
	}
	if err := st.beginOperation(ctx); err != nil {
		return nil, err
	}
	defer st.working.Done()
	v := &Values{st, bucket{st.engine, st.names.space + "_" + kind}}
	replicas, err := st.replicas(ctx)
	if err == nil {
		err = st.engine.ensureBucket(ctx, jetstream.KeyValueConfig{Bucket: v.bucket.name, Description: what, Storage: jetstream.FileStorage, Replicas: replicas})
	}
	if err != nil {
		return nil, st.failed(ctx, fmt.Errorf("open the values %s: %w", kind, err))
	}
	return v, nil
}

// replicas returns the number of replicas for buckets: the same as that of the keys.
func (st *connection) replicas(ctx context.Context) (n int, err error) {
	err = st.engine.retry(ctx, func(ctx context.Context) error {
		s, err := st.engine.js.Stream(ctx, bucketStream(st.names.keys()))
		if err == nil {
			n = s.CachedInfo().Config.Replicas
		}
		return err
	})
	return n, err
}

// Newer returns the latest value on any replica and its revision if it was written after
// the revision than; otherwise nil and that revision. A missing value is nil too, and has
// revision zero if it never existed.
func (v *Values) Newer(ctx context.Context, name string, than uint64) ([]byte, uint64, error) {
	if err := v.st.beginOperation(ctx); err != nil {
		return nil, 0, err
	}
	defer v.st.working.Done()
	waitCtx, cancel := v.st.engine.withWait(ctx)
	defer cancel()
	m, err := askUntilAnswered(waitCtx, func(ctx context.Context) (*message, error) {
		return v.st.engine.latest(ctx, bucketStream(v.bucket.name), bucketSubject(v.bucket.name)+name, intact)
	})
	switch {
	case err != nil:
		return nil, 0, v.failed(ctx, name, err)
	case m == nil || m.seq <= than:
		return nil, than, nil
	case !intact(m):
		return nil, 0, v.failed(ctx, name, fmt.Errorf("it is %w in all replicas", firn.ErrCorrupt))
	case m.header.Get(headDeleted) != "":
		return nil, m.seq, nil
	}
	return m.data, m.seq, nil
}

// Put writes a value if revision is still its latest revision, and returns the new one;
// otherwise it fails with ErrConflict.
func (v *Values) Put(ctx context.Context, name string, value []byte, revision uint64) (uint64, error) {
	if err := v.st.beginOperation(ctx); err != nil {
		return 0, err
	}
	defer v.st.working.Done()
	if len(value) > maxValue {
		return 0, v.failed(ctx, name, fmt.Errorf("it has %d bytes: %w", len(value), firn.ErrTooLarge))
	}
	next, err := v.bucket.put(ctx, name, value, revision)
	if errors.Is(err, errFenced) {
		err = fmt.Errorf("%w: another writer was faster", firn.ErrConflict)
	}
	if err != nil {
		return 0, v.failed(ctx, name, err)
	}
	return next, nil
}

// maxValue is the maximum size of a value: less than the smallest limit of servers.
const maxValue = maxMessage - 8<<10

func (v *Values) failed(ctx context.Context, name string, err error) error {
	return v.st.failed(ctx, fmt.Errorf("the value %s: %w", name, err))
}

// Watch calls changed when a value may have changed, until ctx ends. It also calls it at
// the start if the value exists.
func (v *Values) Watch(ctx context.Context, name string, changed func()) {
	v.st.watch(ctx, v.bucket, name, false, func(string, *message) { changed() })
}

// watch calls report for all values of a bucket and then for each change, until ctx ends or
// the store is closed. The messages have their content if whole is set. It may report a
// value twice.
func (st *connection) watch(ctx context.Context, b bucket, names string, whole bool, report func(name string, m *message)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(st.life, cancel)
	defer stop()
	for ctx.Err() == nil {
		_ = b.watch(ctx, names, whole, report) // it is restarted after every error
		_ = sleepContext(ctx, maxPause)
	}
}

// watch is one attempt of Store.watch.
func (b bucket) watch(ctx context.Context, names string, whole bool, report func(name string, m *message)) error {
	prefix := bucketSubject(b.name)
	from := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{prefix + names}, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, HeadersOnly: !whole,
	}
	return b.engine.listen(ctx, bucketStream(b.name), from, func(m jetstream.Msg) error {
		report(strings.TrimPrefix(m.Subject(), prefix), &message{header: m.Headers(), data: m.Data()})
		return nil
	})
}
