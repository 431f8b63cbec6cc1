package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs/faultfs"
)

// other is a second journal next to base.
const other = "home/t.jsonl"

// world has journals on a file system that may fail, and the books with the promises made
// for them. Its steps are used by one goroutine.
type world struct {
	t  testing.TB
	fs *faultfs.FS
	// failed is called with every error of a step; if it is nil, errors fail the test.
	failed func(err error)
	// reopen makes the next append reopen a journal that rejects appends.
	reopen bool
	// pad is the maximum extra length of a line.
	pad    int
	chance *rand.Rand

	committer *Committer
	journals  map[string]*Journal
	options   map[string]Options
	books     map[string]*book
	repairs   []Repair
	serial    int
}

func newWorld(t testing.TB, fsys *faultfs.FS) *world {
	return &world{
		t: t, fs: fsys, chance: rand.New(rand.NewPCG(1, 1)),
		journals: make(map[string]*Journal), options: make(map[string]Options), books: make(map[string]*book),
	}
}

// book records the lines passed to a journal, in order.
type book struct {
	lines []string
	fates []fate
}

// fate is the outcome that the writer of a line received.
type fate int

const (
	refused fate = iota // an error: the line may exist, complete, or not
	written             // no error and no promise: a power cut may remove it
	kept                // durable
)

func (b *book) add(fate fate, lines ...string) {
	b.lines = append(b.lines, lines...)
	for range lines {
		b.fates = append(b.fates, fate)
	}
}

// markUncertain marks lines that were written without a promise as uncertain.
func (b *book) markUncertain() {
	for i, f := range b.fates {
		if f == written {
			b.fates[i] = refused
		}
	}
}

// keep marks all written lines as durable.
func (b *book) keep() {
	for i, f := range b.fates {
		if f == written {
			b.fates[i] = kept
		}
	}
}

// ok reports whether a step succeeded.
func (w *world) ok(err error) bool {
	w.t.Helper()
	if err != nil && w.failed == nil {
		w.t.Fatal(err)
	}
	if err != nil {
		w.failed(err)
	}
	return err == nil
}

// commitLog gives the journals opened from now on a commit log in home that grows and
// rotates at small sizes.
func (w *world) commitLog(grow, limit int64) {
	w.t.Helper()
	c, _, err := NewCommitter(w.fs, "home")
	if w.ok(err) {
		c.log.grow, c.log.limit = grow, limit
		w.committer = c
	}
}

func (w *world) open(path string, opts Options) {
	w.t.Helper()
	w.options[path] = opts
	if w.books[path] == nil {
		w.books[path] = new(book)
	}
	opts.Committer = w.committer
	opts.Report = func(r Repair) { w.repairs = append(w.repairs, r) }
	j, err := Open(w.fs, path, opts)
	if w.ok(err) {
		w.journals[path] = j
	}
}

// journal returns the open journal at a path. If opening it failed before, it tries again.
func (w *world) journal(path string) *Journal {
	w.t.Helper()
	if j := w.journals[path]; j != nil && j.failed != nil && w.reopen {
		w.closeOne(path)
	}
	if w.journals[path] == nil {
		w.open(path, w.options[path])
	}
	return w.journals[path]
}

func (w *world) lines(n int) []string {
	var lines []string
	for range n {
		w.serial++
		pad := ""
		if w.pad > 0 {
			pad = strings.Repeat(string(rune('a'+w.serial%26)), w.chance.IntN(w.pad))
		}
		lines = append(lines, fmt.Sprintf(`{"n":%d,"x":"%s"}`, w.serial, pad))
	}
	return lines
}

// append appends n lines as one batch.
func (w *world) append(path string, n int) {
	w.t.Helper()
	w.appendAs(path, false, n)
}

func (w *world) appendDeferred(path string, n int) {
	w.t.Helper()
	w.appendAs(path, true, n)
}

func (w *world) appendAs(path string, deferred bool, n int) {
	w.t.Helper()
	j, lines := w.journal(path), w.lines(n)
	if j == nil {
		return
	}
	_, err := j.Append(deferred, batch(lines...))
	w.note(path, deferred, err, lines)
}

// note records the outcome of an append.
func (w *world) note(path string, deferred bool, err error, lines []string) {
	w.t.Helper()
	if !w.ok(err) {
		if w.journals[path].failed != nil {
			w.books[path].markUncertain()
		}
		w.books[path].add(refused, lines...)
		return
	}
	w.books[path].add(written, lines...)
	if policy := w.options[path].Sync; policy == SyncAlways || policy == SyncTurn && !deferred {
		w.books[path].keep()
	}
}

// appendTogether appends a line to several journals such that one batch makes them durable:
// the first to write leads, and waits first.
func (w *world) appendTogether(paths ...string) {
	w.t.Helper()
	type half struct {
		path  string
		lines []string
		wait  Wait
	}
	var halves []half
	for _, path := range paths {
		j, lines := w.journal(path), w.lines(1)
		if j == nil {
			continue
		}
		_, wait, err := j.Write(false, batch(lines...))
		if err != nil {
			w.note(path, false, err, lines)
			continue
		}
		halves = append(halves, half{path, lines, wait})
	}
	for _, h := range halves {
		w.note(h.path, false, h.wait.Wait(), h.lines)
	}
}

func (w *world) sync(path string) {
	w.t.Helper()
	j := w.journal(path)
	switch {
	case j == nil:
	case !w.ok(j.Sync()):
		w.books[path].markUncertain()
	case w.options[path].Sync != SyncNever:
		w.books[path].keep()
	}
}

func (w *world) checkpoint() {
	w.t.Helper()
	if w.committer != nil {
		w.ok(w.committer.Checkpoint())
	}
}

// closeOne closes a journal. The next step that needs it opens it again.
func (w *world) closeOne(path string) {
	w.t.Helper()
	if j := w.journals[path]; j != nil {
		w.ok(j.Close())
		delete(w.journals, path)
	}
}

// close closes all journals and the commit log.
func (w *world) close() {
	w.t.Helper()
	for _, path := range slices.Sorted(maps.Keys(w.journals)) {
		w.closeOne(path)
	}
	if w.committer != nil {
		w.ok(w.committer.Close())
		w.committer = nil
	}
}

// powerCut continues with the least that a power cut can leave.
func (w *world) powerCut() {
	w.t.Helper()
	for left := range w.fs.CrashStates(1) {
		w.fs = left
	}
	w.journals, w.committer = make(map[string]*Journal), nil
}

// check reads all journals and compares them with the books. If damage is allowed, there
// may be lines that were never written, but none that is valid.
func (w *world) check(damage bool) {
	w.t.Helper()
	for _, path := range slices.Sorted(maps.Keys(w.books)) {
		b := w.books[path]
		if len(b.lines) == 0 {
			continue
		}
		if err := b.compare(w.fs, path, damage); err != nil {
			w.t.Fatalf("%s: %v\n%s", path, err, b)
		}
	}
}

func (b *book) compare(fsys *faultfs.FS, path string, damage bool) error {
	place := make(map[string]int, len(b.lines))
	for i, line := range b.lines {
		place[line] = i
	}
	next := 0 // index of the first line not found yet
	met := func(upTo int) error {
		for ; next < upTo; next++ {
			if b.fates[next] == kept || !damage && b.fates[next] == written {
				return fmt.Errorf("line %d is missing: %.80s", next, b.lines[next])
			}
		}
		return nil
	}
	for line, err := range (Source{FS: fsys, Path: path}).Lines(0) {
		if err != nil {
			return err
		}
		// Readers of records skip leading zeros.
		i, known := place[string(bytes.TrimLeft(line.Data, "\x00"))]
		switch {
		case !known && damage && !json.Valid(line.Data):
			continue
		case !known:
			return fmt.Errorf("the line at %d was not written by this test: %.80q", line.At, line.Data)
		case line.Unfinished && !damage:
			return fmt.Errorf("line %d has no newline", i)
		case !damage && line.Data[0] == 0:
			return fmt.Errorf("line %d has zeros before it", i)
		case i < next:
			return fmt.Errorf("line %d is repeated or out of order: %.80q", i, line.Data)
		}
		if err := met(i); err != nil {
			return err
		}
		next = i + 1
	}
	return met(len(b.lines))
}

// String lists the lines and their fates.
func (b *book) String() string {
	var s strings.Builder
	for i, line := range b.lines {
		fmt.Fprintf(&s, "%3d %-7s %.30s (%d)\n", i, [...]string{"refused", "written", "kept"}[b.fates[i]], line, len(line))
	}
	return s.String()
}
