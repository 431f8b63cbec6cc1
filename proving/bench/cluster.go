package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/store/jetstream"
	"firn.dev/window"
)

// cluster compares sessions on JetStream, with one and with three servers, to sessions in
// files: appends, resuming one of many, memory, and the interruption after a crash of the
// leader.
func (b *bench) cluster() error {
	files, err := filestore.Open(filepath.Join(b.dir, "cluster-files"), filestore.Options{Sync: filestore.SyncAlways})
	if err != nil {
		return err
	}
	defer files.Close()
	inFiles, err := b.appends("files", files)
	if err != nil {
		return err
	}
	if err := b.onServers("one server", 1, inFiles, nil); err != nil {
		return err
	}
	if err := b.many(); err != nil {
		return err
	}
	return b.onServers("three servers", 3, inFiles, b.failover)
}

// onServers measures appends on servers in separate processes, and then calls then for
// further measurements.
func (b *bench) onServers(name string, n int, inFiles appended, then func(*servers, *jetstream.Store) error) error {
	servers, err := startServers(filepath.Join(b.dir, fmt.Sprint("cluster-", n)), n, false)
	if err != nil {
		return err
	}
	defer servers.stop()
	st, err := servers.open()
	if err != nil {
		return err
	}
	defer st.Close()
	took, err := b.appends(name, st)
	if err != nil {
		return err
	}
	b.note(fmt.Sprintf("appends, %s against files", name), times(took.rate/inFiles.rate))
	if then == nil {
		return nil
	}
	return then(servers, st)
}

// appended is the result of a measurement of appends.
type appended struct{ rate float64 }

// appends measures durable appends from one writer, and from many with a session each.
func (b *bench) appends(where string, st store.Store) (appended, error) {
	ctx := context.Background()
	const writers, each, alone = 64, 60, 300
	ids := make([]firn.ID, writers)
	for i := range ids {
		ids[i] = firn.NewID()
		if _, err := st.Append(ctx, ids[i], store.Any, small()); err != nil {
			return appended{}, err
		}
	}
	one, err := latencies(1, alone, func(int) error { return b.appendOne(ctx, st, ids[0]) })
	if err != nil {
		return appended{}, err
	}
	start := time.Now()
	all, err := latencies(writers, writers*each, func(i int) error { return b.appendOne(ctx, st, ids[i%writers]) })
	if err != nil {
		return appended{}, err
	}
	rate := perSecond(writers*each, time.Since(start))
	b.note(fmt.Sprintf("append, %s, one writer: median, p99", where), ms(at(one, 50))+", "+ms(at(one, 99)))
	b.note(fmt.Sprintf("append, %s, 64 writers: median, p99", where), ms(at(all, 50))+", "+ms(at(all, 99)))
	b.note(fmt.Sprintf("append, %s, 64 writers, a second", where), fmt.Sprintf("%.0f", rate))
	return appended{rate: rate}, nil
}

func (b *bench) appendOne(ctx context.Context, st store.Store, id firn.ID) error {
	entry := small()
	entry.ID = ""
	_, err := st.Append(ctx, id, store.Any, entry)
	return err
}

// latencies calls fn n times from a number of workers, and returns the sorted durations of
// the calls.
func latencies(workers, n int, fn func(i int) error) ([]time.Duration, error) {
	var mu sync.Mutex
	took := make([]time.Duration, 0, n)
	err := runParallel(workers, n, func(i int) error {
		start := time.Now()
		err := fn(i)
		mu.Lock()
		took = append(took, time.Since(start))
		mu.Unlock()
		return err
	})
	slices.Sort(took)
	return took, err
}

// at returns a percentile.
func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// restingSessions is the number of inactive sessions around the resumed ones.
const restingSessions = 100_000

// many fills a server with sessions that were written and then sealed.
func (b *bench) many() error { return b.rest(restingSessions, b.writeAndSeal) }

// resting is like many with the requested number of sessions, which are loaded as by `firn
// migrate`, since writing them would take too long.
func (b *bench) resting() error {
	if b.sealed == 0 {
		return nil
	}
	return b.rest(b.sealed, b.load)
}

// rest fills a server with inactive sessions, and opens some of them with a new store. The
// server does not sync every write, because only reads are measured.
func (b *bench) rest(n int, make func(context.Context, *jetstream.Store, firn.ID, []firn.Entry) error) error {
	servers, err := startServers(filepath.Join(b.dir, fmt.Sprint("cluster-", n)), 1, true)
	if err != nil {
		return err
	}
	defer servers.stop()
	ctx := context.Background()
	before, err := servers.memory()
	if err != nil {
		return err
	}
	ids, err := b.fillServer(ctx, servers, n, make)
	if err != nil {
		return err
	}
	after, err := servers.memory()
	if err != nil {
		return err
	}
	st, err := servers.open()
	if err != nil {
		return err
	}
	defer st.Close()
	if err := b.openSome(ctx, st, ids); err != nil {
		return err
	}
	used, err := servers.memory()
	if err != nil {
		return err
	}
	b.note(fmt.Sprintf("memory of the server: empty, with %d sessions, after 500 reads", n), fmt.Sprintf("%.0f, %.0f, %.0f MB", before, after, used))
	disk, err := sizeOf(servers.all[0].Dir)
	if err != nil {
		return err
	}
	b.note("disk of the server, for a session of 20 entries", fmt.Sprintf("%.1f kB", float64(disk)/1000/float64(n)))
	if n > restingSessions {
		return nil // listing so many takes long and shows nothing new
	}
	return b.listAll(ctx, st, servers)
}

// openSome resumes random sessions up to the window for the model.
func (b *bench) openSome(ctx context.Context, st *jetstream.Store, ids []firn.ID) error {
	rng := rand.New(rand.NewPCG(7, 7))
	opened, err := latencies(1, 500, func(int) error {
		path, err := window.Collect(st.ReadBack(ctx, ids[rng.IntN(len(ids))], store.End))
		if err == nil && len(window.Build(path, window.Options{Profile: window.Anthropic()}).Items) == 0 {
			err = errors.New("a session has no window")
		}
		return err
	})
	if err != nil {
		return err
	}
	p50, p99 := at(opened, 50), at(opened, 99)
	b.want(fmt.Sprintf("resume one of %d sealed sessions on a server: median", len(ids)), ms(p50), "≤ 10 ms", p50 <= 10*time.Millisecond)
	b.want(fmt.Sprintf("resume one of %d sealed sessions on a server: p99", len(ids)), ms(p99), "≤ 50 ms", p99 <= 50*time.Millisecond)
	return nil
}

// listAll measures the memory of a process that lists all sessions, the duration of the
// first listing, which builds the rows, and of the next one.
func (b *bench) listAll(ctx context.Context, st *jetstream.Store, servers *servers) error {
	before := heap()
	took, n, err := listAllOf(ctx, st)
	if err != nil {
		return err
	}
	b.note(fmt.Sprintf("list %d sessions on a server of which there are no rows yet", n), fmt.Sprintf("%.1f s", took.Seconds()))
	b.note("memory of a process that lists, for a session", fmt.Sprintf("%.0f bytes", float64(heap()-before)/float64(n)))
	next, err := servers.open()
	if err != nil {
		return err
	}
	defer next.Close()
	if took, n, err = listAllOf(ctx, next); err != nil {
		return err
	}
	b.note(fmt.Sprintf("list %d sessions on a server, first time in the next process", n), fmt.Sprintf("%.1f s", took.Seconds()))
	return nil
}

// listAllOf lists all sessions once.
func listAllOf(ctx context.Context, st *jetstream.Store) (took time.Duration, n int, err error) {
	start := time.Now()
	for _, err := range st.List(ctx, store.Query{}) {
		if err != nil {
			return 0, 0, err
		}
		n++
	}
	return time.Since(start), n, nil
}

// sizeOf returns the total size of the files below a directory.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		size += info.Size()
		return err
	})
	return size, err
}

// fillServer creates sessions of 20 entries.
func (b *bench) fillServer(ctx context.Context, servers *servers, n int, make func(context.Context, *jetstream.Store, firn.ID, []firn.Entry) error) ([]firn.ID, error) {
	st, err := servers.open()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	there, err := st.Census(ctx)
	if err != nil {
		return nil, err
	}
	var ids []firn.ID
	for _, s := range there { // from a previous run, with -keep
		ids = append(ids, s.ID)
	}
	if len(ids) >= n {
		return ids, nil
	}
	n -= len(ids)
	ids = nil
	for range n {
		ids = append(ids, firn.NewID())
	}
	start := time.Now()
	err = runParallel(64, n, func(i int) error {
		t := newTalk(uint64(i))
		var entries []firn.Entry
		for range 10 {
			entries = append(entries, userEntry(t.text(200)), firn.AssistantText(t.text(900)))
		}
		return make(ctx, st, ids[i], entries)
	})
	b.note(fmt.Sprintf("fill a server: %d sessions of 20 entries, a second", n), fmt.Sprintf("%.0f", perSecond(n, time.Since(start))))
	for _, s := range there {
		ids = append(ids, s.ID)
	}
	return ids, err
}

// writeAndSeal creates a session with appends, and seals it as inactive sessions are.
func (b *bench) writeAndSeal(ctx context.Context, st *jetstream.Store, id firn.ID, entries []firn.Entry) error {
	if _, err := st.Append(ctx, id, store.Start, entries...); err != nil {
		return err
	}
	return st.Seal(ctx, id)
}

// load creates a session as a migration does.
func (b *bench) load(ctx context.Context, st *jetstream.Store, id firn.ID, entries []firn.Entry) error {
	ready, err := store.Prepare(store.Tail{Session: id, New: true}, time.Now(), entries, func(firn.EntryID) (bool, error) { return false, nil })
	if err != nil {
		return err
	}
	_, err = st.Load(ctx, store.Holding{ID: id}, func(yield func([]byte, error) bool) {
		for _, e := range ready {
			if line, err := native.New().Append(nil, e); !yield(line, err) {
				return
			}
		}
	})
	return err
}

// failover kills the leading server during appends.
func (b *bench) failover(servers *servers, st *jetstream.Store) error {
	ctx := context.Background()
	id := firn.NewID()
	var gaps []time.Duration
	for range 3 {
		last := time.Now()
		for range 50 {
			if err := b.appendOne(ctx, st, id); err != nil {
				return err
			}
			last = time.Now()
		}
		restart, err := servers.killLeader()
		if err != nil {
			return err
		}
		for b.appendOne(ctx, st, id) != nil {
			if time.Since(last) > 2*time.Minute {
				return errors.New("no append gets through after the leader was killed")
			}
		}
		gaps = append(gaps, time.Since(last))
		if err := restart(); err != nil {
			return err
		}
	}
	slices.Sort(gaps)
	b.note("leader killed: last append before to first after, least, median, most of 3", fmt.Sprintf("%s, %s, %s", ms(gaps[0]), ms(gaps[1]), ms(gaps[2])))
	return nil
}
