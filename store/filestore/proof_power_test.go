package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// powerHome is the home on a disk in memory.
const powerHome = "/home"

// whereabouts is the location of a session that is moved to the trash bin and back.
type whereabouts int

const (
	unsure whereabouts = iota // a move was started
	inPlace
	inBin
)

// powerWorld is a home on a disk that loses power, and the acknowledged changes. Two stores
// have it open, like two processes.
type powerWorld struct {
	t      testing.TB
	disk   *faultfs.FS
	sealed bool // the home is encrypted
	chance *rand.Rand

	mu sync.Mutex
	*ledger
	where map[firn.ID]whereabouts
	// purged are entries whose purge was requested, gone are purged sessions; true means
	// acknowledged. texts are their contents.
	purged map[firn.EntryID]bool
	texts  map[firn.EntryID]string
	gone   map[firn.ID]bool
	last   map[firn.ID]string // a text of a session to be purged
}

func newPowerWorld(t testing.TB, disk *faultfs.FS, seed uint64) *powerWorld {
	return &powerWorld{
		t: t, disk: disk, chance: rand.New(rand.NewPCG(seed, 9)), ledger: newLedger(),
		where: make(map[firn.ID]whereabouts), purged: make(map[firn.EntryID]bool), texts: make(map[firn.EntryID]string),
		gone: make(map[firn.ID]bool), last: make(map[firn.ID]string),
	}
}

// after returns the same world with the remains of a power failure.
func (w *powerWorld) after(left *faultfs.FS) *powerWorld {
	next := newPowerWorld(w.t, left, w.chance.Uint64())
	next.sealed = w.sealed
	for id, acks := range w.acks {
		next.acks[id] = slices.Clone(acks)
	}
	maps.Copy(next.bound, w.bound)
	for key, ids := range w.tried {
		next.tried[key] = slices.Clone(ids)
	}
	maps.Copy(next.where, w.where)
	maps.Copy(next.purged, w.purged)
	maps.Copy(next.texts, w.texts)
	maps.Copy(next.gone, w.gone)
	maps.Copy(next.last, w.last)
	return next
}

func (w *powerWorld) open() (*filestore.Store, error) {
	if w.sealed {
		return filestore.Open(powerHome, filestore.Options{FS: sealfs.New(w.disk, powerHome, sealfs.Key{7}, sealfs.Sealed), NoCommitLog: true, PartSize: 2500})
	}
	return filestore.Open(powerHome, filestore.Options{FS: w.disk, PartSize: 2500})
}

// live opens the home and runs many operations concurrently until the power fails, or for a
// while. It returns false if the power failed.
func (w *powerWorld) live() bool {
	// Yield before disk operations, so that others can queue up and the commit log is used.
	w.disk.Hook(func(kind faultfs.Kind, _ string) {
		if kind == faultfs.Sync {
			for range 4 {
				runtime.Gosched()
			}
		}
	})
	defer w.disk.Hook(nil)
	a, err := w.open()
	if !w.went(err) {
		return false
	}
	b, err := w.open()
	if !w.went(err) {
		return false
	}
	var wg sync.WaitGroup
	var alive [6]bool
	for n := range 3 {
		chance := rand.New(rand.NewPCG(w.chance.Uint64(), 0))
		wg.Go(func() { alive[n] = w.write(a, writerSession(n), chance) })
	}
	wg.Go(func() { alive[3] = w.bind(a) })
	wg.Go(func() { alive[4] = w.move(a, a, "m0") && w.move(a, b, "m1") })
	wg.Go(func() {
		alive[5] = w.purge(b) && w.purgeAll(b) && w.write(b, writerSession(3), rand.New(rand.NewPCG(1, 2)))
	})
	wg.Wait()
	ended := w.went(errors.Join(a.Close(), b.Close()))
	return ended && !slices.Contains(alive[:], false)
}

// went reports whether an operation succeeded; a failure must be due to the power failure.
func (w *powerWorld) went(err error) bool {
	if err != nil && !errors.Is(err, faultfs.ErrPowerOff) {
		w.t.Errorf("%v", err)
	}
	return err == nil
}

// write appends to a session. Deferred entries are acknowledged with the next ordinary
// append.
func (w *powerWorld) write(st *filestore.Store, id firn.ID, chance *rand.Rand) bool {
	var open []ack
	for range 6 {
		batch, later := drawSmall(chance), chance.IntN(5) == 0
		put := st.Append
		if later {
			put = st.AppendDeferred
		}
		end, err := put(context.Background(), id, store.Any, batch...)
		if !w.went(err) {
			return false
		}
		open = append(open, ack{end, reading{entries: batch}.ids()})
		if !later {
			w.promise(id, open...)
			open = nil
		}
	}
	if !w.went(st.Sync(context.Background(), id)) {
		return false
	}
	w.promise(id, open...)
	return true
}

// promise records acknowledged entries of a session.
func (w *powerWorld) promise(id firn.ID, acks ...ack) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acks[id] = append(w.acks[id], acks...)
}

// drawSmall draws a batch of small entries.
func drawSmall(chance *rand.Rand) []firn.Entry {
	var batch []firn.Entry
	for range 1 + max(0, chance.IntN(6)-3) {
		batch = append(batch, verifiableEntry(10+chance.IntN(600)))
	}
	return batch
}

// bind binds keys to sessions.
func (w *powerWorld) bind(st *filestore.Store) bool {
	for n, key := range []string{"k0", "k1", "k0"} {
		id := writerSession(n)
		if _, err := st.Append(context.Background(), id, store.Any, verifiableEntry(5)); !w.went(err) {
			return false
		}
		w.mu.Lock()
		w.tried[key] = append(w.tried[key], id)
		w.mu.Unlock()
		if !w.went(st.Bind(context.Background(), key, id)) {
			return false
		}
		w.mu.Lock()
		w.bound[key], w.tried[key] = id, nil
		w.mu.Unlock()
	}
	return true
}

// ownAgent creates a session with its own agent, unless it exists. Moved sessions need
// that: on the disk in memory a file is lost if its old directory is synced before its new
// one. No real disk is that strict.
func (w *powerWorld) ownAgent(st *filestore.Store, id firn.ID, agent string) bool {
	header := firn.Entry{Body: &firn.Header{Agent: agent}}
	_, err := st.Append(context.Background(), id, store.Start, header)
	return errors.Is(err, firn.ErrConflict) || w.went(err)
}

// move appends to a session through one store, and moves it to the trash bin and back through
// another.
func (w *powerWorld) move(add, away *filestore.Store, id firn.ID) bool {
	ctx := context.Background()
	w.put(id, unsure)
	if err := away.Restore(ctx, id); !errors.Is(err, firn.ErrNotFound) && !w.went(err) { // it may not exist
		return false
	}
	if !w.ownAgent(add, id, "mover") {
		return false
	}
	for range 3 {
		batch := []firn.Entry{verifiableEntry(900), verifiableEntry(900)}
		end, err := add.Append(ctx, id, store.Any, batch...)
		if !w.went(err) {
			return false
		}
		w.promise(id, ack{end, reading{entries: batch}.ids()})
	}
	w.put(id, unsure)
	if !w.went(away.Remove(ctx, id, "to try it")) {
		return false
	}
	w.put(id, inBin)
	w.put(id, unsure)
	if !w.went(away.Restore(ctx, id)) {
		return false
	}
	w.put(id, inPlace)
	w.put(id, unsure)
	if !w.went(away.Remove(ctx, id, "to leave it there")) {
		return false
	}
	w.put(id, inBin)
	return true
}

func (w *powerWorld) put(id firn.ID, at whereabouts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.where[id] = at
}

const purgedSession = firn.ID("z")

// purge appends an entry and purges it.
func (w *powerWorld) purge(st *filestore.Store) bool {
	ctx := context.Background()
	batch := []firn.Entry{verifiableEntry(100), verifiableEntry(300), verifiableEntry(100)}
	if _, err := st.Append(ctx, purgedSession, store.Any, batch...); !w.went(err) {
		return false
	}
	secret := batch[1].ID
	w.mu.Lock()
	for _, e := range batch {
		w.texts[e.ID] = e.Body.(*firn.Message).Text()
	}
	w.purged[secret] = false
	w.mu.Unlock()
	if _, err := st.Purge(ctx, purgedSession, "asked for", secret); !w.went(err) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.purged[secret] = true
	return true
}

// purgeAll fills a session of several parts and purges it, from its directory or from the
// bin. Each part has a different text; an interrupted purge might miss the last part.
func (w *powerWorld) purgeAll(st *filestore.Store) bool {
	ctx, id := context.Background(), firn.NewID()
	if !w.ownAgent(st, id, "purger") {
		return false
	}
	e := verifiableEntry(400)
	for range 3 {
		e = verifiableEntry(1500)
		if _, err := st.Append(ctx, id, store.Any, verifiableEntry(900), e); !w.went(err) {
			return false
		}
	}
	w.mu.Lock()
	w.last[id], w.gone[id] = e.Body.(*firn.Message).Text(), false
	w.mu.Unlock()
	if id[len(id)-1]%2 == 0 && !w.went(st.Remove(ctx, id, "first to the trash bin")) {
		return false
	}
	if _, err := st.Purge(ctx, id, "asked for"); !w.went(err) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[id] = true
	return true
}

// checkGone checks that purged sessions are gone, and completes interrupted purges.
func (w *powerWorld) checkGone(st *filestore.Store) error {
	for id, sure := range w.gone {
		ctx := context.Background()
		if _, err := readSession(st, id); sure && !errors.Is(err, firn.ErrNotFound) {
			return fmt.Errorf("purged session %s can be read: %w", id, err)
		}
		if _, err := st.Purge(ctx, id, "asked for again"); err != nil {
			return fmt.Errorf("finish the purge of session %s: %w", id, err)
		}
		w.gone[id] = true
		if err := st.Restore(ctx, id); !errors.Is(err, firn.ErrNotFound) {
			return fmt.Errorf("purged session %s can be restored: %w", id, err)
		}
	}
	return w.checkErased()
}

// check compares the home with the acknowledged changes, then continues, and cuts the power
// once more.
func (w *powerWorld) check() error {
	if err := w.checkErased(); err != nil {
		return err
	}
	st, err := w.open()
	if err != nil {
		return err
	}
	if err := w.checkMoved(st); err != nil {
		return err
	}
	for id := range w.acks {
		if err := w.checkRest(st, id); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
		e := verifiableEntry(20)
		end, err := st.Append(context.Background(), id, store.Any, e)
		if err != nil {
			return fmt.Errorf("continuing with session %s: %w", id, err)
		}
		w.acks[id] = append(w.acks[id], ack{end, []firn.EntryID{e.ID}})
		if err := w.checkRest(st, id); err != nil {
			return fmt.Errorf("session %s after continuing: %w", id, err)
		}
	}
	if err := errors.Join(w.checkKeys(st), w.checkPurged(st), w.checkGone(st)); err != nil {
		return err
	}
	w.disk = w.disk.Crash() // the previous store's process was killed: not closed
	if st, err = w.open(); err != nil {
		return err
	}
	for id := range w.acks {
		if err := w.checkRest(st, id); err != nil {
			return fmt.Errorf("session %s, after another power cut: %w", id, err)
		}
	}
	return st.Close()
}

// checkRest checks that a session has all acknowledged entries and that resuming reaches
// them. Unacknowledged ones may have left gaps.
func (w *powerWorld) checkRest(st *filestore.Store, id firn.ID) error {
	r, err := readSession(st, id)
	if err != nil {
		return err
	}
	if err := errors.Join(w.checkAcks(id, r), r.checkVouched()); err != nil {
		return err
	}
	return checkReached(st, id, r)
}

// checkMoved finds moved sessions and restores them.
func (w *powerWorld) checkMoved(st *filestore.Store) error {
	for id, at := range w.where {
		_, err := readSession(st, id)
		there := !errors.Is(err, firn.ErrNotFound)
		if there && err != nil || at == inPlace && !there || at == inBin && there {
			return fmt.Errorf("session %s should be in place (1) or in the trash bin (2): %d: %w", id, at, err)
		}
		if err == nil { // it is complete
			if err := w.checkRest(st, id); err != nil {
				return fmt.Errorf("session %s, before it is restored: %w", id, err)
			}
		}
		if err := st.Restore(context.Background(), id); err != nil && w.acks[id] != nil {
			return fmt.Errorf("session %s was removed: %w", id, err)
		}
		w.where[id] = inPlace
	}
	return nil
}

// checkErased checks that acknowledged purges left nothing in any file.
func (w *powerWorld) checkErased() error {
	for _, name := range w.disk.Files() {
		data, err := w.disk.Get(name)
		if err != nil {
			return err
		}
		for id, sure := range w.purged {
			if sure && strings.Contains(string(data), w.texts[id]) {
				return fmt.Errorf("erased text is in %s", name)
			}
		}
		for id, sure := range w.gone {
			if sure && strings.Contains(string(data), w.last[id]) {
				return fmt.Errorf("the text of session %s is in %s", id, name)
			}
		}
	}
	return nil
}

// checkPurged checks that all entries exist or were erased, and completes interrupted
// purges.
func (w *powerWorld) checkPurged(st *filestore.Store) error {
	for id := range w.purged {
		if _, err := st.Purge(context.Background(), purgedSession, "asked for again", id); err != nil {
			return fmt.Errorf("finish a purge: %w", err)
		}
		w.purged[id] = true
	}
	if len(w.texts) == 0 {
		return nil
	}
	r, err := readSession(st, purgedSession)
	if err != nil {
		return err
	}
	found := make(map[firn.EntryID]bool)
	for _, e := range r.entries {
		erased := e.Body.Kind() == firn.KindErased
		if found[e.ID] = true; erased != w.purged[e.ID] {
			return fmt.Errorf("entry %s is erased: %v", e.ID, erased)
		}
		if err := verifyEntry(e); !erased && err != nil {
			return err
		}
	}
	for id := range w.texts {
		if !found[id] {
			return fmt.Errorf("entry %s of the purged session is lost (erased: %v)", id, w.purged[id])
		}
	}
	return w.checkErased()
}

// TestPowerCutAtEveryChange cuts the power before each change of the disk in turn; more or
// less of the unsynced data is lost. Everything acknowledged must exist.
func TestPowerCutAtEveryChange(t *testing.T) {
	t.Parallel()
	step, states := 1, 4
	if testing.Short() {
		step, states = 17, 4
	}
	cutPowerAtEveryChange(t, step, states, false)
}

// TestPowerCutEncrypted does the same to an encrypted home.
func TestPowerCutEncrypted(t *testing.T) {
	t.Parallel()
	cutPowerAtEveryChange(t, 13, 4, true)
}

func cutPowerAtEveryChange(t *testing.T, step, states int, sealed bool) {
	cuts := 0
	for n, alive := 1, false; !alive && !t.Failed(); n += step {
		w := newPowerWorld(t, faultfs.New(), uint64(n))
		w.sealed = sealed
		w.disk.PowerOff(n, faultfs.Changing)
		alive = w.live()
		try := func(left *faultfs.FS, how string) {
			cuts++
			if err := w.after(left).check(); err != nil {
				t.Errorf("power off before change %d, %s: %v", n, how, err)
			}
		}
		kept := 0
		for left := range w.disk.CrashStates(states) {
			try(left, fmt.Sprintf("state %d", kept))
			kept++
		}
		for range 1 + states/4 {
			try(w.disk.CrashRandom(w.chance), "by chance")
		}
	}
	t.Logf("%d power cuts", cuts)
}

// TestPowerCutAgainAndAgain cuts the power repeatedly, also during recovery.
func TestPowerCutAgainAndAgain(t *testing.T) {
	t.Parallel()
	lives := 100
	if testing.Short() {
		lives = 30
	}
	w := newPowerWorld(t, faultfs.New(), 1)
	for n := range lives {
		if n%10 == 0 { // start again, to limit the cost of checking
			w = newPowerWorld(t, faultfs.New(), uint64(n))
		}
		w.disk.PowerOff(1+w.chance.IntN(300), faultfs.Changing)
		w.live()
		left := w.disk.CrashRandom(w.chance)
		next := w.after(left)
		if err := w.after(w.disk.CrashRandom(w.chance)).check(); err != nil {
			t.Fatalf("life %d: %v", n, err)
		}
		w = next
	}
}

// TestPowerCutAfterHalfRestored interrupts a Restore after all files were moved but before
// the trash bin was cleared. Entries appended then must survive a power failure.
func TestPowerCutAfterHalfRestored(t *testing.T) {
	t.Parallel()
	for n := range uint64(40) {
		w := newPowerWorld(t, faultfs.New(), n)
		w.disk.Hook(func(faultfs.Kind, string) { runtime.Gosched() })
		st, err := w.open()
		must(t, err)
		for i := range 4 {
			w.write(st, writerSession(i), w.chance)
			must(t, w.disk.MkdirAll(powerHome+"/bin/"+string(writerSession(i))))
		}
		w.disk.PowerOff(5+w.chance.IntN(40), faultfs.Changing)
		var wg sync.WaitGroup
		for i := range 4 {
			chance := rand.New(rand.NewPCG(n, uint64(i)))
			wg.Go(func() { w.write(st, writerSession(i), chance) })
		}
		wg.Wait()
		w.disk.Hook(nil)
		if err := w.after(w.disk.Crash()).check(); err != nil {
			t.Fatal(err)
		}
		w.went(st.Close())
	}
}
