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
	// writerSessions is how many sessions a writer appends to at once, so that
	// their appends go through the commit log.
	writerSessions = 4
	writerPart     = 16 << 10
	writerKeys     = 4
	movedSession   = firn.ID("moved")
)

func writerSession(n int) firn.ID { return firn.ID("s" + strconv.Itoa(n)) }

// writerRole appends to several sessions at once, binds keys, and moves a
// session to the bin and back, until it is killed. It tells of everything once
// it is done; of binding a key also before.
func writerRole(t *testing.T, p *player) {
	p.say("ready")
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

// write appends to a session for ever.
func (w *writer) write(id firn.ID, chance *rand.Rand) {
	for w.append(id, drawBatch(chance)) {
	}
}

// append appends and says so. It is false if that fails, which it must not.
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
	w.p.say(words...)
	return true
}

// drawBatch draws what to append at once: mostly one small entry, sometimes
// several, a large one, or one too large for the commit log.
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
		batch = append(batch, vouched(size))
	}
	return batch
}

// bind points keys at sessions for ever.
func (w *writer) bind(chance *rand.Rand) {
	ctx := context.Background()
	for n := range writerSessions { // what is bound must exist
		if !w.append(writerSession(n), drawBatch(chance)) {
			return
		}
	}
	for {
		key, id := fmt.Sprintf("key%d", chance.IntN(writerKeys)), writerSession(chance.IntN(writerSessions))
		w.p.say("try", key, id)
		if err := w.st.Bind(ctx, key, id); err != nil {
			w.t.Error(err)
			return
		}
		w.p.say("bound", key, id)
	}
}

// move adds to a session, removes it and restores it for ever.
func (w *writer) move(chance *rand.Rand) {
	ctx := context.Background()
	if err := w.st.Restore(ctx, movedSession); err != nil && !errors.Is(err, firn.ErrNotFound) {
		w.t.Error(err)
		return
	}
	// It is of an agent of its own; see powerWorld.ownAgent.
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

// ack is an append that was acknowledged.
type ack struct {
	end store.Pos
	ids []firn.EntryID
}

// ledger is what writers on one home have told.
type ledger struct {
	acks map[firn.ID][]ack
	// bound is where a key points for sure, unless it was rebound in vain: tried.
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

// note takes down what a writer said.
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
		return fmt.Errorf("a writer said %q", words)
	}
	return nil
}

// check holds a home against the ledger: first as it was left, without
// changing it, then after going on with it.
func (l *ledger) check(home string) error {
	look, err := filestore.Open(home, filestore.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	for id := range l.acks {
		r, err := readSession(look, id)
		if id == movedSession && errors.Is(err, firn.ErrNotFound) {
			continue // it is in the bin
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

// checkAcks says whether all that was acknowledged of a session is in it: each
// batch once, in one piece, where it was said to end.
func (l *ledger) checkAcks(id firn.ID, r reading) error {
	ids, at := r.ids(), make(map[firn.EntryID]int)
	for i, e := range ids {
		if _, twice := at[e]; twice {
			return fmt.Errorf("entry %s is there twice", e)
		}
		at[e] = i
	}
	for _, a := range l.acks[id] {
		last, ok := at[a.ids[len(a.ids)-1]]
		if !ok {
			return fmt.Errorf("acknowledged entry %s is lost", a.ids[len(a.ids)-1])
		}
		if r.ends[last] != a.end {
			return fmt.Errorf("entry %s ends at %d, but %d was said", ids[last], r.ends[last], a.end)
		}
		if first := last + 1 - len(a.ids); first < 0 || !slices.Equal(ids[first:last+1], a.ids) {
			return fmt.Errorf("the batch that ends with entry %s is not whole", ids[last])
		}
	}
	return nil
}

// checkSession says whether a session has all that was acknowledged, in one
// chain, and nothing wrong with it but an unfinished end.
func (l *ledger) checkSession(id firn.ID, r reading) error {
	return errors.Join(l.checkAcks(id, r), r.checkChain(), r.checkVouched(), r.checkTornTail())
}

// goOn opens a home as the next process would, and adds to every session.
func (l *ledger) goOn(home string) (err error) {
	// What the next process does need not outlive the power, which saves time.
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
			return fmt.Errorf("session %s, going on with it: %w", id, err)
		}
	}
	return l.checkKeys(st)
}

func (l *ledger) goOnWith(st *filestore.Store, id firn.ID) error {
	e := vouched(50)
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

// kills is how many processes a test kills: as many as FIRN_KILLS says, or
// many, or if tests are to be short, few.
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

// strike lets a writer work on a home, kills it at a random moment, and
// returns when it is dead.
func strike(t *testing.T, home string, l *ledger, chance *rand.Rand) {
	c := start(t, "writer", home, strconv.FormatUint(chance.Uint64(), 10))
	acks, after := 0, -1
	if chance.IntN(2) == 0 {
		after = 1 + chance.IntN(40)
	} else {
		timer := time.AfterFunc(time.Duration(1+chance.IntN(30))*time.Millisecond, c.kill)
		defer timer.Stop()
	}
	for words, ok := c.hear(); ok; words, ok = c.hear() {
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

// killsPerHome is how many writers are killed on one home before a new one is
// begun, so that checking it does not become the work.
const killsPerHome = 50

// Writers are killed at random moments. All that they were told is saved is
// there, once, in order and whole, and the next process goes on with it.
func TestKillWriters(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, basetest.Seed(t)))
	left, logs, acks := kills(t, 200, 40), 0, 0
	for left > 0 {
		home, l := t.TempDir(), newLedger()
		for range min(left, killsPerHome) {
			left--
			strike(t, home, l, chance)
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
