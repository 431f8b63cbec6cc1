package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

const (
	// writerSessions is the number of sessions that a writer appends to concurrently, so
	// that the commit log is used.
	writerSessions = 4
	writerPart     = 16 << 10
	writerKeys     = 4
	movedSession   = firn.ID("moved")
)

func writerSession(n int) firn.ID { return firn.ID("s" + strconv.Itoa(n)) }

// writerRole appends to several sessions, binds keys, and moves a session to the trash bin and
// back, until it is killed. It reports everything when it is done, and binding a key also
// before.
func writerRole(t *testing.T, p *player) {
	p.report("ready")
	seed, err := strconv.ParseUint(p.args[1], 10, 64)
	must(t, err)
	w := &writer{t: t, p: p, st: openChild(t, p.args[0], filestore.Options{PartSize: writerPart})}
	var wg sync.WaitGroup
	for n := range writerSessions {
		wg.Go(func() { w.write(writerSession(n), rand.New(rand.NewPCG(seed, uint64(n)))) })
	}
	wg.Go(func() { w.bind(rand.New(rand.NewPCG(seed, 100))) })
	wg.Go(func() { w.move(rand.New(rand.NewPCG(seed, 101))) })
	wg.Wait()
}

type writer struct {
	t  *testing.T
	p  *player
	st *filestore.Store
}

// write appends to a session until killed.
func (w *writer) write(id firn.ID, chance *rand.Rand) {
	for w.append(id, drawBatch(chance)) {
	}
}

// append appends a batch and reports it. It returns false on an error, which must not
// occur.
func (w *writer) append(id firn.ID, batch []firn.Entry) bool {
	end, err := w.st.Append(context.Background(), id, store.Any, batch...)
	if err != nil {
		w.t.Errorf("append to %s: %v", id, err)
		return false
	}
	words := []any{"ack", id, uint64(end)}
	for _, e := range batch {
		words = append(words, e.ID)
	}
	w.p.report(words...)
	return true
}

// drawBatch draws a batch: usually one small entry, sometimes several, a large one, or one
// too large for the commit log.
func drawBatch(chance *rand.Rand) []firn.Entry {
	n, size := 1, 20+chance.IntN(300)
	switch chance.IntN(20) {
	case 0, 1, 2, 3:
		n = 2 + chance.IntN(4)
	case 4:
		size = 5000 + chance.IntN(40000)
	case 5:
		if chance.IntN(8) == 0 {
			size = 300 << 10
		}
	}
	var batch []firn.Entry
	for range n {
		batch = append(batch, verifiableEntry(size))
	}
	return batch
}

// bind binds keys until killed.
func (w *writer) bind(chance *rand.Rand) {
	ctx := context.Background()
	for n := range writerSessions { // the sessions must exist
		if !w.append(writerSession(n), drawBatch(chance)) {
			return
		}
	}
	for {
		key, id := fmt.Sprintf("key%d", chance.IntN(writerKeys)), writerSession(chance.IntN(writerSessions))
		w.p.report("try", key, id)
		if err := w.st.Bind(ctx, key, id); err != nil {
			w.t.Error(err)
			return
		}
		w.p.report("bound", key, id)
	}
}

// move appends to a session, removes and restores it until killed.
func (w *writer) move(chance *rand.Rand) {
	ctx := context.Background()
	if err := w.st.Restore(ctx, movedSession); err != nil && !errors.Is(err, firn.ErrNotFound) {
		w.t.Error(err)
		return
	}
	// It has its own agent; see powerWorld.ownAgent.
	_, err := w.st.Append(ctx, movedSession, store.Start, firn.Entry{Body: &firn.Header{Agent: "mover"}})
	if err != nil && !errors.Is(err, firn.ErrConflict) {
		w.t.Error(err)
		return
	}
	for w.append(movedSession, drawBatch(chance)) {
		err := w.st.Remove(ctx, movedSession, "to try it")
		if err == nil {
			err = w.st.Restore(ctx, movedSession)
		}
		if err != nil {
			w.t.Error(err)
			return
		}
	}
}

// ack is an acknowledged append.
type ack struct {
	end store.Pos
	ids []firn.EntryID
}

// ledger records the reports of the writers on one home.
type ledger struct {
	acks map[firn.ID][]ack
	// bound is the session of each key, except for unfinished bindings: tried.
	bound map[string]firn.ID
	tried map[string][]firn.ID
	count int
}

func newLedger() *ledger {
	return &ledger{
		acks:  make(map[firn.ID][]ack),
		bound: make(map[string]firn.ID), tried: make(map[string][]firn.ID),
	}
}

// note records a report.
func (l *ledger) note(words []string) error {
	switch words[0] {
	case "ready":
	case "ack":
		end, err := strconv.ParseUint(words[2], 10, 64)
		if err != nil {
			return err
		}
		a := ack{end: store.Pos(end)}
		for _, entry := range words[3:] {
			a.ids = append(a.ids, firn.EntryID(entry))
		}
		id := firn.ID(words[1])
		l.acks[id] = append(l.acks[id], a)
		l.count++
	case "try":
		l.tried[words[1]] = append(l.tried[words[1]], firn.ID(words[2]))
	case "bound":
		l.bound[words[1]], l.tried[words[1]] = firn.ID(words[2]), nil
	default:
		return fmt.Errorf("a writer printed %q", words)
	}
	return nil
}

// check compares a home with the ledger: first read-only, then after continuing.
func (l *ledger) check(home string) error {
	look, err := filestore.Open(home, filestore.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	for id := range l.acks {
		r, err := readSession(look, id)
		if id == movedSession && errors.Is(err, firn.ErrNotFound) {
			continue // it is in the trash bin
		}
		if err == nil {
			err = l.checkSession(id, r)
		}
		if err != nil {
			return fmt.Errorf("session %s, as it was left: %w", id, err)
		}
	}
	if err := look.Close(); err != nil {
		return err
	}
	return l.goOn(home)
}

// checkAcks checks that a session contains every acknowledged batch once, contiguous, with
// the reported end.
func (l *ledger) checkAcks(id firn.ID, r reading) error {
	ids, at := r.ids(), make(map[firn.EntryID]int)
	for i, e := range ids {
		if _, twice := at[e]; twice {
			return fmt.Errorf("entry %s is stored twice", e)
		}
		at[e] = i
	}
	for _, a := range l.acks[id] {
		last, ok := at[a.ids[len(a.ids)-1]]
		if !ok {
			return fmt.Errorf("acknowledged entry %s is lost", a.ids[len(a.ids)-1])
		}
		if r.ends[last] != a.end {
			return fmt.Errorf("entry %s ends at %d, but %d was reported", ids[last], r.ends[last], a.end)
		}
		if first := last + 1 - len(a.ids); first < 0 || !slices.Equal(ids[first:last+1], a.ids) {
			return fmt.Errorf("the batch that ends with entry %s is not whole", ids[last])
		}
	}
	return nil
}

// checkSession checks that a session has all acknowledged entries in one chain, and no
// damage except an incomplete end.
func (l *ledger) checkSession(id firn.ID, r reading) error {
	return errors.Join(l.checkAcks(id, r), r.checkChain(), r.checkVouched(), r.checkTornTail())
}

// goOn opens a home as the next process would, and appends to every session.
func (l *ledger) goOn(home string) (err error) {
	// These writes need not survive a power failure, which saves time.
	st, err := filestore.Open(home, filestore.Options{PartSize: writerPart, Sync: filestore.SyncNever})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if l.acks[movedSession] != nil {
		if err := st.Restore(context.Background(), movedSession); err != nil {
			return err
		}
	}
	for id := range l.acks {
		if err := l.goOnWith(st, id); err != nil {
			return fmt.Errorf("session %s, continuing it: %w", id, err)
		}
	}
	return l.checkKeys(st)
}

func (l *ledger) goOnWith(st *filestore.Store, id firn.ID) error {
	e := verifiableEntry(50)
	end, err := st.Append(context.Background(), id, store.Any, e)
	if err != nil {
		return err
	}
	l.acks[id] = append(l.acks[id], ack{end, []firn.EntryID{e.ID}})
	r, err := readSession(st, id)
	if err != nil {
		return err
	}
	if len(r.gaps) > 0 {
		return &r.gaps[0]
	}
	return errors.Join(l.checkSession(id, r), checkResumed(st, id, r))
}

func (l *ledger) checkKeys(st *filestore.Store) error {
	for key, want := range l.bound {
		got, err := st.Lookup(context.Background(), key)
		if err != nil {
			return err
		}
		if got != want && !slices.Contains(l.tried[key], got) {
			return fmt.Errorf("key %s points at %s, not at %s", key, got, want)
		}
		l.bound[key], l.tried[key] = got, nil
	}
	return nil
}

// kills returns the number of processes to kill: FIRN_KILLS, or many, or few in short mode.
func kills(t *testing.T, many, few int) int {
	t.Helper()
	if s := os.Getenv("FIRN_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		must(t, err)
		return n
	}
	if testing.Short() {
		return few
	}
	return many
}

// killWriter runs a writer on a home, kills it at a random time, and waits for its exit.
func killWriter(t *testing.T, home string, l *ledger, chance *rand.Rand) {
	c := start(t, "writer", home, strconv.FormatUint(chance.Uint64(), 10))
	acks, after := 0, -1
	if chance.IntN(2) == 0 {
		after = 1 + chance.IntN(40)
	} else {
		timer := time.AfterFunc(time.Duration(1+chance.IntN(30))*time.Millisecond, c.kill)
		defer timer.Stop()
	}
	for words, ok := c.readWords(); ok; words, ok = c.readWords() {
		must(t, l.note(words))
		if words[0] != "ack" {
			continue
		}
		if acks++; acks == after {
			c.kill()
		}
	}
	c.end()
}

// killsPerHome is the number of writers killed per home, to limit the cost of checking.
const killsPerHome = 50

// TestKillWriters kills writers at random times. Everything acknowledged must exist once,
// in order and complete, and the next process must be able to continue.
func TestKillWriters(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, basetest.Seed(t)))
	left, logs, acks := kills(t, 200, 40), 0, 0
	for left > 0 {
		home, l := t.TempDir(), newLedger()
		for range min(left, killsPerHome) {
			left--
			killWriter(t, home, l, chance)
			if found, _ := filepath.Glob(filepath.Join(home, "commit", "*.log")); len(found) > 0 {
				logs++
			}
			if err := l.check(home); err != nil {
				t.Fatalf("%s: %v", home, err)
			}
		}
		acks += l.count
	}
	t.Logf("%d appends acknowledged; %d times there was a commit log to replay", acks, logs)
	if logs == 0 || acks == 0 {
		t.Error("the commit log was not put to the test")
	}
}
