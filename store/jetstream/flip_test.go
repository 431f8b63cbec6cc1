//go:build unix

package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/ops/jetstreamtest"
	"firn.dev/store"
	"firn.dev/store/jetstream"

	js "github.com/nats-io/nats.go/jetstream"
)

// flips returns the number of bytes that TestFlippedBytes flips: FIRN_FLIPS, or a few.
func flips() int {
	if n, err := strconv.Atoi(os.Getenv("FIRN_FLIPS")); err == nil && n > 0 {
		return n
	}
	return 8
}

// flipSeed returns FIRN_SEED, or a constant, so that the same places are damaged every time.
func flipSeed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("FIRN_SEED"), 10, 64); err == nil {
		return n
	}
	return 20261116
}

// TestFlippedBytes flips single bytes in the block files of one of three servers,
// a leader or a follower, running or stopped. After each flip all sessions are
// read and listed through all three servers and by a store that has just been
// opened, all keys still point where they did, and appends continue. Each damaged
// server is healed before another one is damaged.
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	c := clusterOf(jetstreamtest.NewForgetful(t, t.TempDir()))
	t.Cleanup(c.stop)
	f := newFlipper(t, c)
	t.Logf("seed %d, %d flips", flipSeed(), flips())
	for done := 0; done < flips() && !t.Failed(); {
		done += f.round(min(4, flips()-done), done/4)
	}
	t.Logf("%d flips in %d rounds: %v; servers named %v", f.counts["flips"], f.counts["rounds"], f.counts, f.named)
	if f.counts["damaged replicas"] == 0 {
		t.Error("no flip had an effect: nothing was tested")
	}
}

// flipper is a cluster whose files are damaged, with the expected content.
type flipper struct {
	t     *testing.T
	c     *cluster
	r     *rand.Rand
	o     jetstream.Options
	api   js.JetStream
	doors []*jetstream.Store

	sessions map[firn.ID][]record
	keys     map[string]firn.ID
	page     string
	counts   map[string]int
	named    map[string]int
	sent     int
}

func newFlipper(t *testing.T, c *cluster) *flipper {
	f := &flipper{t: t, c: c, r: rand.New(rand.NewPCG(flipSeed(), 1)), o: c.options(t), sessions: make(map[firn.ID][]record), keys: make(map[string]firn.ID),
		counts: make(map[string]int), named: make(map[string]int)}
	f.o.SealAfter, f.o.Wait = -1, 20*time.Second
	for _, n := range c.nodes {
		f.doors = append(f.doors, c.open(t, c.through(f.o, n.Name)))
	}
	f.api = c.connect(t)
	f.fill()
	return f
}

// fill creates sessions of all kinds: with messages in several blocks, sealed, with objects,
// archived, with keys.
func (f *flipper) fill() {
	t, st := f.t, f.doors[0]
	const sessions = 12
	for round := range 4 {
		for i := range sessions {
			mustAppend(t, st, firn.ID(fmt.Sprint("s", i)), message(fmt.Sprint("session ", i, " round ", round, strings.Repeat(" x", f.r.IntN(300)))))
		}
		for range 12 { // the server verifies only the last block when it starts, so there must be several
			mustAppend(t, st, "filler", message(strings.Repeat("y", 200_000)))
		}
	}
	for i := range 3 {
		mustAppend(t, st, firn.ID(fmt.Sprint("s", i)), message(strings.Repeat(fmt.Sprint("large ", i, " "), 60_000)))
	}
	for i := range 4 {
		if err := st.Seal(t.Context(), firn.ID(fmt.Sprint("s", 2*i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Archive(t.Context(), "s11"); err != nil {
		t.Fatal(err)
	}
	for i := range sessions {
		id, key := firn.ID(fmt.Sprint("s", i)), fmt.Sprint("main:key", i)
		if err := st.Bind(t.Context(), key, id); err != nil {
			t.Fatal(err)
		}
		f.keys[key] = id
	}
	for i := range sessions {
		id := firn.ID(fmt.Sprint("s", i))
		f.sessions[id] = records(t, st.Read(t.Context(), id, store.Start))
	}
	f.sessions["filler"] = records(t, st.Read(t.Context(), "filler", store.Start))
	values, err := st.Values(t.Context(), "TOKENS", "for a test")
	if err != nil {
		t.Fatal(err)
	}
	f.page = `{"tokens":["` + strings.Repeat("z", 500) + `"]}`
	if _, err := values.Put(t.Context(), "page", []byte(f.page), 0); err != nil {
		t.Fatal(err)
	}
	for _, door := range f.doors {
		f.lists(door, "at the beginning")
	}
	f.c.Current(t, f.api)
	time.Sleep(6 * time.Second) // the leader of a new stream is trusted alone
}

func (f *flipper) streams() []string {
	s := f.o.Space
	return []string{s + "_S00", s + "_S00", "KV_" + s + "_KEYS", "KV_" + s + "_IDX", "OBJ_" + s + "_BLOB", "KV_" + s + "_TOKENS"}
}

// round damages one server in several places, one after the other, and heals it.
func (f *flipper) round(n, number int) int {
	victim := f.c.nodes[f.r.IntN(len(f.c.nodes))]
	stopped, leads := number%2 == 1, number/2%2 == 0
	f.counts["rounds"]++
	var streams []string
	for range n {
		stream := f.streams()[f.counts["flips"]%len(f.streams())]
		streams = append(streams, stream)
		what := f.flip(victim, stream, stopped, leads)
		f.counts["flips"]++
		f.t.Logf("flipped %s", what)
		f.check(what)
		if f.hurt(victim, stream) {
			f.counts["flips with effect"]++
		}
		if f.t.Failed() {
			f.t.Logf("after: %s", what)
			return n
		}
	}
	if !stopped { // the last block of each stream is cached for 10 s
		time.Sleep(11 * time.Second)
		f.check("later, when nothing is cached")
	}
	f.verify(victim, streams)
	f.t.Logf("heal %s", victim.Name)
	f.c.Heal(f.t, f.api, victim.Node)
	f.check("after healing " + victim.Name)
	return n
}

// flip flips one byte and returns its place.
func (f *flipper) flip(victim *node, stream string, stopped, leads bool) string {
	t := f.t
	f.lead(victim, stream, leads)
	if stopped {
		slow := time.AfterFunc(10*time.Second, victim.Crash) // one that is damaged may not stop
		victim.stop()
		slow.Stop()
		what := victim.Flip(t, f.r, stream)
		victim.start(t)
		f.counts["while stopped"]++
		f.c.AwaitCurrent(t.Context(), f.api, 20*time.Second) // a damaged one may never
		f.lead(victim, stream, leads)
		return fmt.Sprintf("%s, stopped, leader %v", what, leads)
	}
	victim.Holds(f.api, stream)
	what := victim.Flip(t, f.r, stream)
	time.Sleep(time.Second) // until the blocks that were read are freed
	f.counts["while running"]++
	return fmt.Sprintf("%s, running, leader %v", what, leads)
}

// lead makes the victim lead a stream, or not.
func (f *flipper) lead(victim *node, stream string, leads bool) {
	if leads {
		if f.c.Lead(f.t, f.api, stream, victim.Node) {
			f.counts["of a leader"]++
		}
		return
	}
	other := f.c.nodes[(slices.Index(f.c.nodes, victim)+1)%len(f.c.nodes)]
	f.c.Lead(f.t, f.api, stream, other.Node)
	f.counts["of a follower"]++
}

// hurt reports whether the victim lacks a message of a stream that another server has, or has
// a different one.
func (f *flipper) hurt(victim *node, stream string) bool {
	other := f.c.nodes[(slices.Index(f.c.nodes, victim)+1)%len(f.c.nodes)]
	return !maps.Equal(other.Holds(f.api, stream), victim.Holds(f.api, stream))
}

// check reads everything through all servers and by a new store.
func (f *flipper) check(when string) {
	t := f.t
	t.Helper()
	through := f.c.through(f.o, f.c.nodes[f.r.IntN(3)].Name)
	var fresh *jetstream.Store
	err := f.patiently("opened again", func() (err error) {
		fresh, err = jetstream.Open(t.Context(), through)
		return err
	})
	if err != nil {
		t.Fatalf("%s: open a store: %v", when, err)
	}
	defer fresh.Close()
	for i, door := range append(slices.Clone(f.doors), fresh) {
		at := fmt.Sprintf("%s: gateway %d", when, i)
		for id, want := range f.sessions {
			if id != "filler" || i == 3 {
				f.reads(door, id, want, at)
			}
		}
		f.lists(door, at)
		f.pointed(door, at)
	}
	f.append(f.doors[f.r.IntN(3)], when)
	f.append(fresh, when)
}

func (f *flipper) reads(st *jetstream.Store, id firn.ID, want []record, at string) {
	t := f.t
	for name, read := range map[string]func() ([]record, error){
		"forth": func() ([]record, error) { return tryRecords(st.Read(t.Context(), id, store.Start)) },
		"back": func() ([]record, error) {
			all, err := tryRecords(st.ReadBack(t.Context(), id, store.End))
			slices.Reverse(all)
			return all, err
		},
	} {
		var got []record
		err := f.patiently("reads tried again", func() (err error) {
			got, err = read()
			return err
		})
		f.counts["reads"]++
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: session %s read %s: %d records, want %d: %v", at, id, name, len(got), len(want), err)
		}
	}
}

func tryRecords(seq func(func(store.Record, error) bool)) (all []record, err error) {
	for r, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, record{r.At, r.Next, string(r.Line())})
	}
	return all, nil
}

// patiently retries an operation up to the configured time: during an election the cluster
// does not respond and returns an error.
func (f *flipper) patiently(what string, do func() error) error {
	deadline := time.Now().Add(90 * time.Second)
	for {
		err := do()
		if err == nil || !errors.Is(err, firn.ErrUnavailable) || time.Now().After(deadline) {
			return err
		}
		f.counts[what]++
	}
}

// lists checks that the list and the census have all sessions.
func (f *flipper) lists(st *jetstream.Store, at string) {
	listed := make(map[firn.ID]bool)
	var all []store.Status
	err := f.patiently("lists tried again", func() (err error) {
		for _, archived := range []bool{false, true} {
			for info, err := range st.List(f.t.Context(), store.Query{Archived: archived}) {
				if err != nil {
					return err
				}
				if info.Fault != "" {
					f.t.Errorf("%s: session %s is listed with the fault %s", at, info.ID, info.Fault)
				}
				listed[info.ID] = true
			}
		}
		all, err = st.Census(f.t.Context())
		return err
	})
	if err != nil || len(all) != len(f.sessions) || len(listed) != len(f.sessions) {
		f.t.Errorf("%s: %d sessions are listed and %d counted, want %d: %v", at, len(listed), len(all), len(f.sessions), err)
	}
}

// pointed checks that keys point to the same sessions, also when claimed, and that the token
// page exists.
func (f *flipper) pointed(st *jetstream.Store, at string) {
	t := f.t
	for key, want := range f.keys {
		var got firn.ID
		err := f.patiently("lookups tried again", func() (err error) {
			got, err = st.Lookup(t.Context(), key)
			return err
		})
		if err != nil || got != want {
			t.Errorf("%s: key %s points at %q, want %q: %v", at, key, got, want, err)
		}
	}
	key := fmt.Sprint("main:key", f.r.IntN(len(f.keys)))
	var got firn.ID
	err := f.patiently("lookups tried again", func() (err error) {
		got, err = st.Claim(t.Context(), key, "filler")
		return err
	})
	if err != nil || got != f.keys[key] {
		t.Errorf("%s: key %s was claimed: it points at %q, %v", at, key, got, err)
	}
	var all map[string]firn.ID
	err = f.patiently("lookups tried again", func() (err error) {
		all, err = st.Bindings(t.Context())
		return err
	})
	if err != nil || len(all) != len(f.keys) {
		t.Errorf("%s: %d keys, want %d: %v", at, len(all), len(f.keys), err)
	}
	var page []byte
	err = f.patiently("lookups tried again", func() error {
		values, err := st.Values(t.Context(), "TOKENS", "for a test")
		if err == nil {
			page, _, err = values.Newer(t.Context(), "page", 0)
		}
		return err
	})
	if err != nil || string(page) != f.page {
		t.Errorf("%s: the page of tokens has %d bytes, want %d: %v", at, len(page), len(f.page), err)
	}
}

// append appends an entry to a session, with retries up to the configured time.
func (f *flipper) append(st *jetstream.Store, when string) {
	t := f.t
	id := firn.ID(fmt.Sprint("s", f.r.IntN(len(f.keys))))
	e := message(fmt.Sprint("said ", f.sent))
	e.ID = firn.EntryID(fmt.Sprintf("said%04d", f.sent))
	f.sent++
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for {
		_, err := st.Append(ctx, id, store.Any, e)
		if err == nil {
			break
		}
		if !errors.Is(err, firn.ErrUnavailable) || ctx.Err() != nil {
			t.Errorf("%s: append to %s: %v", when, id, err)
			return
		}
		f.counts["appends tried again"]++
	}
	f.counts["appends"]++
	want := f.sessions[id]
	now, err := tryRecords(st.Read(t.Context(), id, store.Start))
	if err != nil || len(now) != len(want)+1 || !slices.Equal(now[:len(want)], want) || !strings.Contains(now[len(want)].line, fmt.Sprintf("said %d", f.sent-1)) {
		t.Errorf("%s: after an append session %s has %d records, want %d: %v", when, id, len(now), len(want)+1, err)
		return
	}
	f.sessions[id] = now
}

// verify checks all replicas: exactly the servers that lack something are reported.
func (f *flipper) verify(victim *node, streams []string) {
	t := f.t
	slices.Sort(streams)
	streams = slices.Compact(streams)
	hurt := make(map[string]bool)
	for _, stream := range streams {
		hurt[stream] = f.hurt(victim, stream)
	}
	faults, err := f.doors[f.r.IntN(3)].CheckReplicas(t.Context())
	if err != nil {
		t.Errorf("check the replicas: %v", err)
		return
	}
	named := make(map[string]bool)
	for _, fault := range faults {
		f.named[fault.Server]++
		named[fault.Stream] = true
		if fault.Server != victim.Name && fault.Unasked {
			f.counts["good replicas not checked"]++
		} else if fault.Server != victim.Name {
			t.Errorf("%s is damaged, but the report is %v", victim.Name, fault)
		}
	}
	for stream, is := range hurt {
		if is && !named[stream] && f.hurt(victim, stream) { // a server may heal by itself
			t.Errorf("%s of %s is damaged, but the report is only %v", stream, victim.Name, faults)
		}
		if is {
			f.counts["damaged replicas"]++
		}
	}
}
