package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/find/index"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// class is how a cost grows with a quantity.
type class int

const (
	constant class = iota
	logarithmic
	linear
	worse
)

func (c class) String() string {
	return [...]string{"constant", "logarithmic", "linear", "worse than linear"}[c]
}

// growthFactor is the ratio of the large quantity to the small one.
const growthFactor = 8

// classOf returns the class of a cost that is this many times as high for a quantity that is
// growthFactor times as large. The limits are between the ratios that the classes have: 1,
// about 2, 8, and 64.
func classOf(ratio float64) class {
	switch {
	case ratio <= 1.5:
		return constant
	case ratio <= 3:
		return logarithmic
	case ratio <= 1.5*growthFactor:
		return linear
	}
	return worse
}

// quantities are the sizes of a home.
type quantities struct {
	// history is the size of the session in bytes; it is compacted near its end.
	history                   int64
	sessions, keys, followers int
}

// quantityNames are the names of the quantities, in the order of [growth.grows].
var quantityNames = [4]string{"history", "sessions", "keys", "followers"}

// times returns the quantities with one of them multiplied.
func (q quantities) times(which int) quantities {
	switch which {
	case 0:
		q.history *= growthFactor
	case 1:
		q.sessions *= growthFactor
	case 2:
		q.keys *= growthFactor
	case 3:
		q.followers *= growthFactor
	}
	return q
}

// growth is an operation and the expected classes of its cost.
type growth struct {
	command, route string
	grows          [4]class
	run            func(w *grownHome) error
}

// growths returns the measured operations.
func growths() []growth { return append(commonGrowths(), otherGrowths()...) }

// flat are the classes of an operation whose cost is always the same.
var flat [4]class

// commonGrowths returns the operations of a chat and of lists.
func commonGrowths() []growth {
	return []growth{
		{"firn chat -p", "POST /v1/sessions/{id}/turns", [4]class{followers: linear}, func(w *grownHome) error {
			_, err := w.c.Turn(w.ctx, w.id, wire.Turn{Text: "How are you?"})
			return err
		}},
		{"firn append", "POST /v1/sessions/{id}/entries", [4]class{followers: linear}, func(w *grownHome) error {
			_, err := w.c.Append(w.ctx, w.id, store.Any, wire.NewEntries{User: "I note this."})
			return err
		}},
		{"firn ls -n 20", "GET /v1/sessions", flat, listing(client.Query{Limit: 20})},
		{"firn ls --tag", "GET /v1/sessions?tag=", flat, listing(client.Query{Limit: 20, Tag: "rare"})},
		{"firn ls --sort title", "GET /v1/sessions?sort=title", flat, listing(client.Query{Limit: 20, Sort: "title"})},
		{"firn show", "GET /v1/sessions/{id}", flat, func(w *grownHome) error {
			_, err := w.c.Session(w.ctx, string(w.id))
			return err
		}},
		{"firn cat -n 20", "GET /v1/sessions/{id}/entries", flat, func(w *grownHome) error {
			_, err := w.c.EntriesPage(w.ctx, w.id, client.EntryQuery{Limit: 20, Back: true})
			return err
		}},
		{"firn window", "GET /v1/sessions/{id}/window", flat, func(w *grownHome) error {
			_, err := w.c.Window(w.ctx, w.id, "")
			return err
		}},
		{"firn tail", "GET /v1/sessions/{id}/events", [4]class{followers: linear}, (*grownHome).tail},
	}
}

// otherGrowths returns further operations.
func otherGrowths() []growth {
	return []growth{
		{"firn keys", "GET /v1/keys", flat, func(w *grownHome) error {
			_, err := w.c.Keys.Page(w.ctx, "", 20, "")
			return err
		}},
		{"firn usage", "GET /v1/usage", [4]class{sessions: linear}, func(w *grownHome) error {
			_, err := w.c.UsageOf(w.ctx, client.UsageQuery{By: "day"})
			return err
		}},
		{"usage page", "GET /v1/usage/report", flat, func(w *grownHome) error {
			_, err := w.c.UsageReport(w.ctx, time.Time{})
			return err
		}},
		{"firn tree -n 20", "GET /v1/sessions/{id}/tree", flat, func(w *grownHome) error {
			_, err := w.c.Tree(w.ctx, w.id, 20, "")
			return err
		}},
		{"firn rename", "PATCH /v1/sessions/{id}", flat, func(w *grownHome) error {
			title := "Another title"
			_, err := w.c.Patch(w.ctx, w.id, wire.Patch{Title: &title})
			return err
		}},
		{"firn new", "POST /v1/sessions", flat, func(w *grownHome) error {
			_, err := w.c.NewSession(w.ctx, wire.NewSession{})
			return err
		}},
		{"message of a channel", "POST /v1/inbound", flat, func(w *grownHome) error {
			_, err := w.c.Inbound(w.ctx, wire.Inbound{Channel: "telegram", PeerKind: "direct", PeerID: "00001", Text: "Hello.", Wait: true})
			return err
		}},
		{"firn status", "GET /v1/status", flat, func(w *grownHome) error {
			_, err := w.c.Status(w.ctx)
			return err
		}},
		{"firn export", "GET /v1/sessions/{id}/export", [4]class{history: linear}, func(w *grownHome) error {
			return w.c.Transfer.Export(w.ctx, w.id, string(dialect.Native), io.Discard)
		}},
		{"firn fork", "POST /v1/sessions/{id}/fork", [4]class{history: linear}, func(w *grownHome) error {
			_, err := w.c.Fork(w.ctx, w.id, wire.Fork{})
			return err
		}},
	}
}

// The indexes of quantities in classes.
const (
	history = iota
	sessions
	keys
	followers
)

// listing returns an operation that lists sessions.
func listing(q client.Query) func(w *grownHome) error {
	return func(w *grownHome) error {
		_, err := w.c.SessionsPage(w.ctx, q)
		return err
	}
}

// growthCost is the cost of an operation.
type growthCost struct{ bytes, allocations int64 }

// against returns the ratio to the cost of a smaller home, of bytes or of allocations,
// whichever grows more. What a single block or a few allocations add is not growth.
func (c growthCost) against(small growthCost) float64 {
	const block, few = 16 << 10, 200
	return max(float64(c.bytes+block)/float64(small.bytes+block), float64(c.allocations+few)/float64(small.allocations+few))
}

// measureGrowth measures how the costs of commands and routes grow with four quantities, by bytes
// read and allocations, and fails if one grows faster than expected.
func measureGrowth(b *bench) error {
	rows := growths()
	base := quantities{history: 1e6, sessions: 450, keys: 50, followers: 4}
	small, err := growthCosts(rows, base)
	if err != nil {
		return err
	}
	found := make([][4]class, len(rows))
	var faults []error
	for which, name := range quantityNames {
		large, err := growthCosts(rows, base.times(which))
		if err != nil {
			return fmt.Errorf("%d times the %s: %w", growthFactor, name, err)
		}
		for i, r := range rows {
			ratio := large[i].against(small[i])
			if found[i][which] = classOf(ratio); found[i][which] > r.grows[which] {
				faults = append(faults, fmt.Errorf("%s (%s) is %s in the %s and was %s: with %d times of it, %d bytes are read instead of %d, and %d allocations made instead of %d",
					r.command, r.route, found[i][which], name, r.grows[which], growthFactor, large[i].bytes, small[i].bytes, large[i].allocations, small[i].allocations))
			}
		}
	}
	fmt.Printf("| Command | Route | %s |\n|---|---|%s\n", strings.Join(quantityNames[:], " | "), strings.Repeat("---|", len(quantityNames)))
	for i, r := range rows {
		fmt.Printf("| `%s` | `%s` | %s | %s | %s | %s |\n", r.command, r.route, found[i][0], found[i][1], found[i][2], found[i][3])
		b.want(fmt.Sprintf("growth: %s", r.command), fmt.Sprint(found[i]), fmt.Sprint(r.grows), !exceeds(found[i], r.grows))
	}
	return errors.Join(faults...)
}

func exceeds(found, allowed [4]class) bool {
	for i := range found {
		if found[i] > allowed[i] {
			return true
		}
	}
	return false
}

// growthCosts measures all operations on a home of a size.
func growthCosts(rows []growth, q quantities) ([]growthCost, error) {
	var costs []growthCost
	err := inGrownHome(q, func(w *grownHome) error {
		for _, r := range rows {
			cost, err := w.cost(r.run)
			if err != nil {
				return fmt.Errorf("%s: %w", r.command, err)
			}
			costs = append(costs, cost)
		}
		return nil
	})
	return costs, err
}

// grownHome is a home of a size with a gateway.
type grownHome struct {
	ctx context.Context
	c   *client.Client
	// id is the session whose size and followers vary.
	id firn.ID
	fs *readCounter
}

// growthRuns is how often an operation is measured, after as many runs to fill caches. The
// least counts, since other work can only add to it.
const growthRuns = 4

// cost measures an operation.
func (w *grownHome) cost(run func(*grownHome) error) (growthCost, error) {
	least := growthCost{1 << 62, 1 << 62}
	for i := range 2 * growthRuns {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read := w.fs.read.Load()
		if err := run(w); err != nil {
			return least, err
		}
		runtime.ReadMemStats(&after)
		if i >= growthRuns {
			least.bytes = min(least.bytes, w.fs.read.Load()-read)
			least.allocations = min(least.allocations, int64(after.Mallocs-before.Mallocs))
		}
	}
	return least, nil
}

// tail follows a session from its end until an event of a new entry.
func (w *grownHome) tail() error {
	end, err := w.c.Append(w.ctx, w.id, store.Any, wire.NewEntries{User: "I follow from here."})
	if err != nil {
		return err
	}
	if _, err := w.c.Append(w.ctx, w.id, store.Any, wire.NewEntries{User: "I read this."}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	for _, err := range w.c.Events(ctx, w.id, end.End) {
		return err
	}
	return errors.New("no event came")
}

// inGrownHome calls fn with a home of a size.
func inGrownHome(q quantities, fn func(*grownHome) error) error {
	dir, err := os.MkdirTemp("", "firn-") // the path of a socket must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := &grownHome{id: "grown", fs: &readCounter{countingFS{FS: vfs.OS{}}}}
	files, err := filestore.Open(filepath.Join(dir, "h"), filestore.Options{FS: w.fs, Sync: filestore.SyncNever})
	if err != nil {
		return err
	}
	catalog, err := index.Open(w.fs, filepath.Join(dir, "h", "index"), files, index.Options{})
	if err != nil {
		return err
	}
	st := index.Wrap(files, catalog)
	defer st.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	w.ctx = ctx
	if err := fillGrown(ctx, files, st, w.id, q); err != nil {
		return err
	}
	g, err := gateway.New(gateway.Options{Store: st, Setup: echoing(st), Home: files.Home(), Tools: []dialect.Tool{native.NewTool()}})
	if err != nil {
		return err
	}
	served, ready := make(chan error, 1), make(chan string, 1)
	go func() {
		served <- api.Serve(ctx, api.ServeOptions{
			Home: files.Home(), Socket: filepath.Join(dir, "s"), Handler: api.Handler(g, api.Config{}), Close: g.Close,
			Ready: func(a api.Address) { ready <- a.Address },
		})
	}()
	select {
	case err = <-served:
		return err
	case address := <-ready:
		err = w.connect(address, q.followers, fn)
	}
	stop()
	return errors.Join(err, <-served)
}

// connect calls fn with a client, while followers read the events of the session.
func (w *grownHome) connect(address string, followers int, fn func(*grownHome) error) error {
	c, err := client.New(client.Options{Address: address})
	if err != nil {
		return err
	}
	defer c.Close()
	w.c = c
	ctx, stop := context.WithCancel(w.ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer stop()
	start, err := c.Append(ctx, w.id, store.Any, wire.NewEntries{User: "They follow from here."})
	if err != nil {
		return err
	}
	arrived := make(chan error, followers)
	for range followers {
		following.Go(func() {
			for e, err := range c.Events(ctx, w.id, start.End) {
				if e.Name == wire.EntryAppended || err != nil {
					select {
					case arrived <- err: // the first one: it follows
					default:
					}
				}
			}
		})
	}
	if _, err := c.Append(ctx, w.id, store.Any, wire.NewEntries{User: "They read this."}); err != nil {
		return err
	}
	for range followers {
		if err := <-arrived; err != nil {
			return err
		}
	}
	return fn(w)
}

// fillGrown creates the sessions and keys of a home. One session has a tag.
func fillGrown(ctx context.Context, files *filestore.Store, st store.Store, id firn.ID, q quantities) error {
	n := 0
	// IDs without a time count as old. Otherwise all of the history would be from the last
	// minutes, in which a turn searches for a repetition of its message.
	old := func(entries []firn.Entry) {
		for i := range entries {
			n++
			entries[i].ID = firn.EntryID(fmt.Sprintf("h%07d", n))
		}
	}
	if err := growNamed(ctx, files, id, q.history, true, old); err != nil {
		return err
	}
	tag, err := store.NewTags([]string{"rare"})
	if err != nil {
		return err
	}
	for i := range max(q.sessions, q.keys) {
		other := firn.NewID()
		header := &firn.Header{Session: other, Agent: "main"}
		if i < q.keys {
			header.Key = fmt.Sprintf("agent:main:telegram:direct:%05d", i)
		}
		entries := []firn.Entry{{Body: header}, firn.UserText(fmt.Sprint("Hello ", i))}
		if i == 0 {
			entries = append(entries, tag)
		}
		if _, err := st.Append(ctx, other, store.Start, entries...); err != nil {
			return err
		}
		if i < q.keys {
			if err := store.Bind(ctx, st, header.Key, other); err != nil {
				return err
			}
		}
	}
	return nil
}

// readCounter counts all bytes read from files.
type readCounter struct{ countingFS }

// Open opens a file whose reads are counted.
func (c *readCounter) Open(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := c.countingFS.Open(path, mode)
	if err != nil {
		return nil, err
	}
	return &sequentialCounter{f, c}, nil
}

// sequentialCounter counts sequential reads, in addition to those that the file counts.
type sequentialCounter struct {
	vfs.File
	fs *readCounter
}

func (f *sequentialCounter) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.fs.read.Add(int64(n))
	return n, err
}
