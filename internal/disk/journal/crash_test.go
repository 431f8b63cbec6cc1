package journal

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"firn.dev/internal/disk/vfs/faultfs"
)

var randomLives = flag.Int("lives", 24, "how many random scenarios TestPowerCutAtRandom tries")

// four are journals that share a commit log.
var four = []string{base, other, "home/deep/u.jsonl", "home/deep/v.jsonl"}

// shortLives are scenarios small enough to cut the power at every operation.
var shortLives = map[string]scenario{
	"one journal": {run: func(w *world) {
		w.open(base, Options{PartSize: 1500})
		for range 3 {
			w.append(base, 1)
			w.appendDeferred(base, 2)
			w.append(base, 2)
		}
		w.appendDeferred(base, 1)
		w.sync(base)
		w.appendDeferred(base, 2)
		w.closeOne(base)
		w.append(base, 1)
	}},
	"always synced": {run: func(w *world) {
		w.open(base, Options{PartSize: 1500, Sync: SyncAlways})
		for range 4 {
			w.appendDeferred(base, 2)
		}
	}},
	"never synced": {run: func(w *world) {
		w.open(base, Options{PartSize: 1500, Sync: SyncNever})
		for range 6 {
			w.append(base, 2)
		}
		w.sync(base)
	}},
	"torn before": {
		files: map[string]string{base: `{"torn":"li`, other: "\x00\x00\x00"},
		run: func(w *world) {
			w.open(base, Options{})
			w.append(base, 1)
			w.commitLog(512, 2000)
			w.open(other, Options{})
			w.closeOne(base)
			w.appendTogether(base, other)
			w.appendTogether(base, other)
		},
	},
	"four journals, one log": {run: func(w *world) {
		w.commitLog(512, 3000)
		for i, path := range four {
			w.open(path, Options{PartSize: int64(1000 * (i + 1))})
		}
		for i := range 4 {
			w.appendTogether(four...)
			w.appendDeferred(four[i%4], 1)
			w.appendTogether(four[:2]...)
		}
		w.checkpoint()
		w.append(base, 1)
		w.appendTogether(four...)
		w.close()
		w.commitLog(512, 3000)
		w.appendTogether(four...)
		w.appendTogether(four...)
	}},
	"a full disk, then the log": {states: 40, run: func(w *world) {
		w.commitLog(512, 1<<20)
		w.open(base, Options{})
		w.open(other, Options{})
		w.appendTogether(base, other)
		w.fs.Limit(used(w.t, w.fs) + 100)
		w.append(base, 8)
		w.fs.Limit(-1)
		w.appendTogether(base, other)
		w.appendTogether(base, other)
	}},
}

// TestPowerCut stops each scenario at each operation that changes the disk, and checks the
// states the disk may be in.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for name, life := range shortLives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for nth := 1; life.powerCut(t, nth, max(10, life.states), 4); nth += stride() {
			}
		})
	}
}

func TestPowerCutAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(rounds(*randomLives)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			chance := rand.New(rand.NewPCG(seed, 1))
			life := randomLife(seed)
			for nth := 1 + chance.IntN(20); life.powerCut(t, nth, 4, 4); nth += 1 + chance.IntN(30) {
			}
		})
	}
}

// TestFaultAndPowerCut makes an operation of a random scenario fail, and cuts the power
// some time later.
func TestFaultAndPowerCut(t *testing.T) {
	t.Parallel()
	for seed := range uint64(rounds(*randomLives)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			chance := rand.New(rand.NewPCG(seed, 5))
			life := randomLife(seed)
			calm := life.run
			life.run = func(w *world) {
				w.reopen = true
				w.fs.Seed(seed)
				fault := faultfs.Fault{Err: syscall.EIO, Short: chance.IntN(300), After: chance.IntN(3) == 0, Evict: chance.IntN(2) == 0}
				fault.Of = [...]faultfs.Kind{faultfs.Any, faultfs.Changing &^ faultfs.Sync, faultfs.Write | faultfs.Truncate}[chance.IntN(3)]
				w.fs.FailNth(1+chance.IntN(150), fault)
				calm(w)
			}
			for range 6 {
				life.powerCut(t, 1+chance.IntN(250), 4, 4)
			}
		})
	}
}

// randomLife returns a scenario of several journals with random operations.
func randomLife(seed uint64) scenario {
	return scenario{run: func(w *world) {
		chance := rand.New(rand.NewPCG(seed, 2))
		grow, limit := int64(256<<chance.IntN(3)), int64(1000+chance.IntN(6000))
		paths := four[:1+chance.IntN(4)]
		w.commitLog(grow, limit)
		for _, path := range paths {
			policy := [...]Policy{SyncTurn, SyncTurn, SyncTurn, SyncTurn, SyncAlways, SyncNever}[chance.IntN(6)]
			w.open(path, Options{PartSize: int64(800 + chance.IntN(4000)), Sync: policy})
		}
		for range 40 {
			path := paths[chance.IntN(len(paths))]
			switch chance.IntN(12) {
			case 0, 1:
				w.append(path, 1+chance.IntN(3))
			case 2, 3:
				w.appendDeferred(path, 1+chance.IntN(3))
			case 4:
				w.sync(path)
			case 5:
				w.closeOne(path)
			case 6:
				w.checkpoint()
			case 7:
				w.close()
				w.commitLog(grow, limit)
			default:
				some := slices.Clone(paths)
				chance.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
				w.appendTogether(some[:1+chance.IntN(len(some))]...)
			}
		}
	}}
}

// powerCut runs the scenario until its nth change and then checks extreme and random states
// that the disk may be in. It reports whether there was such a change.
func (s scenario) powerCut(t *testing.T, nth, extreme, random int) (met bool) {
	t.Helper()
	w := newWorld(t, memory(t, s.files))
	must(t, w.fs.MkdirAll("home/deep"))
	w.pad = 600
	w.failed = func(error) {}
	w.fs.PowerOff(nth, faultfs.Changing)
	s.run(w)
	if met = w.fs.Waiting() == 0; !met {
		w.fs.PowerOff(1, faultfs.Any)
	}
	w.close()
	try := 0
	for left := range w.fs.CrashStates(extreme) {
		try++
		w.recover(left, fmt.Sprintf("power cut at change %d, extreme state %d", nth, try))
	}
	for seed := range uint64(random) {
		left := w.fs.CrashRandom(rand.New(rand.NewPCG(seed, uint64(nth))))
		w.recover(left, fmt.Sprintf("power cut at change %d, random state %d", nth, seed))
	}
	return met
}

// recover reopens the journals after a crash as the next process would, and checks them
// against the books.
func (w *world) recover(left *faultfs.FS, when string) {
	w.t.Helper()
	found := left.String()
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s; the disk was:\n%.6000s", when, squeeze(found))
		}
	}()
	v := newWorld(w.t, left)
	v.serial, v.options = w.serial, w.options
	for path, b := range w.books {
		v.books[path] = b.afterCrash()
	}
	v.commitLog(512, 3000)
	for _, path := range four {
		if v.books[path] != nil {
			v.append(path, 1)
		}
	}
	v.close()
	v.check(true)
	for _, r := range v.repairs {
		if r.Cut > 0 && int64(len(content(v.t, v.fs, r.SavedTo))) != r.Cut {
			v.t.Fatalf("the truncated bytes are not in %s", r.SavedTo)
		}
	}
}

// afterCrash returns the book of the next process: lines written without a promise may or
// may not exist.
func (b *book) afterCrash() *book {
	next := &book{slices.Clone(b.lines), slices.Clone(b.fates)}
	next.markUncertain()
	return next
}

// squeeze shortens runs of one letter, for readable output.
func squeeze(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		n := 1
		for n < len(s) && s[n] == s[0] {
			n++
		}
		if n > 8 && s[0] >= 'a' && s[0] <= 'z' {
			fmt.Fprintf(&b, "%c…%d…", s[0], n)
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
