package sessionsync

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/ops/sessionsync/s3target"
	"firn.dev/store"
)

// TestMachinesConverge runs random operations on three machines with wrong clocks and random
// syncs through three targets, from which files are lost. When all have synced until nothing
// changes, they show the same sessions, entries, titles, tags, marks, keys and notes, and every
// entry that was ever appended is there, and every line of a note that was never removed. The targets are a folder and
// one over a pipe, and one at a gateway whose connections break, or buckets if proving/s3 runs it.
func TestMachinesConverge(t *testing.T) {
	rng := basetest.Random(t)
	rounds := 6
	if inBuckets() {
		rounds = 2
	}
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := newWorld(t, rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())))
			for range 60 {
				w.step()
			}
			w.syncUntilStable()
			w.check()
			w.restoreAll()
			w.syncUntilStable()
			w.check()
		})
	}
}

// world is three machines and two targets.
type world struct {
	t        *testing.T
	rng      *rand.Rand
	machines []*machine
	targets  []worldTarget
	// messages are the entries that users appended, by session.
	messages map[firn.ID][]firn.EntryID
	// purged are the sessions that were purged, keyless those that have no key. Only they
	// are removed and purged: a key of a removed session points nowhere.
	purged, keyless map[firn.ID]bool
	// erased are single entries that were purged. Their placeholders travel only if needed.
	erased map[firn.EntryID]bool
	// lines are the lines of notes that were added, and removable those that were removed.
	lines, removable map[string]bool
	n                int
}

func newWorld(t *testing.T, rng *rand.Rand) *world {
	w := &world{t: t, rng: rng, messages: make(map[firn.ID][]firn.EntryID), purged: make(map[firn.ID]bool), keyless: make(map[firn.ID]bool), erased: make(map[firn.EntryID]bool), lines: make(map[string]bool), removable: make(map[string]bool)}
	identity := newTestIdentity(t)
	for i, skew := range []time.Duration{0, 72 * time.Hour, -48 * time.Hour} {
		m := newMachine(t, fmt.Sprintf("m%d", i), identity, rng)
		m.skew = skew
		w.machines = append(w.machines, m)
	}
	for n := range 3 {
		w.targets = append(w.targets, newWorldTarget(t, n, rng))
	}
	return w
}

// worldTarget is a target that loses files.
type worldTarget struct {
	// open returns the target for one sync, which may fail with faults.
	open func(faults bool) Target
	// dir is where the files are.
	dir string
}

// inBuckets reports whether the targets are buckets.
func inBuckets() bool { return os.Getenv("FIRN_SYNC_S3") != "" }

// newWorldTarget returns a folder, directly or through a pipe or a gateway, or a bucket of the server that proving/s3 runs.
func newWorldTarget(t *testing.T, n int, rng *rand.Rand) worldTarget {
	if !inBuckets() {
		folder := Folder{FS: quickFS{}, Dir: t.TempDir()}
		if n == 1 { // as over ssh
			return worldTarget{func(bool) Target { return &Listing{Remote: openTestPipe(t, folder)} }, folder.Dir}
		}
		if n == 2 {
			return newGatewayTarget(t, rng)
		}
		return worldTarget{func(bool) Target { return folder }, folder.Dir}
	}
	prefix := string(firn.NewID())
	return worldTarget{func(faults bool) Target {
		endpoint := os.Getenv("FIRN_SYNC_S3")
		if faults {
			endpoint = os.Getenv("FIRN_SYNC_S3_FAULTY")
		}
		bucket, err := s3target.New(s3target.Options{Bucket: os.Getenv("FIRN_SYNC_S3_BUCKET"), Prefix: prefix, Endpoint: endpoint, Pause: time.Millisecond, MaxFile: MaxFile})
		check(t, err)
		return &Listing{Remote: bucket}
	}, filepath.Join(os.Getenv("FIRN_SYNC_S3_DIR"), prefix)}
}

// step does something at random.
func (w *world) step() {
	m := w.machines[w.rng.IntN(len(w.machines))]
	if w.rng.IntN(4) == 0 {
		n := w.rng.IntN(len(w.targets))
		o := m.options(w.targets[n].open(true), fmt.Sprintf("t%d", n))
		o.Republish = w.rng.IntN(10) == 0
		if _, err := Run(context.Background(), o); err != nil && !((inBuckets() || n == 2) && errors.Is(err, firn.ErrUnavailable)) {
			w.t.Fatal(err)
		}
		if w.rng.IntN(10) == 0 {
			w.lose(w.targets[n].dir)
		}
		return
	}
	if w.rng.IntN(6) == 0 {
		w.changeNote(m)
		return
	}
	ids := w.sessions(m)
	if len(ids) == 0 || w.rng.IntN(8) == 0 {
		w.start(m)
		return
	}
	w.change(m, ids[w.rng.IntN(len(ids))])
}

// changeNote adds a line to a note, or removes one or all of its lines.
func (w *world) changeNote(m *machine) {
	w.n++
	name := fmt.Sprint("note", w.rng.IntN(2))
	lines := strings.SplitAfter(m.noteTexts()[name], "\n")
	remove := func(gone []string) {
		for _, line := range gone {
			w.removable[strings.TrimSpace(line)] = true
		}
	}
	switch w.rng.IntN(6) {
	case 0:
		remove(lines)
		lines = nil
	case 1:
		remove(lines[:1])
		lines = lines[1:]
	default:
		line := fmt.Sprint("- line ", w.n)
		lines = append(lines, line+"\n")
		w.lines[line] = true
	}
	m.note(name, strings.Join(lines, ""))
}

// lose deletes a file on a target at random.
func (w *world) lose(target string) {
	dir := []string{manifestDir, pieceDir}[w.rng.IntN(2)]
	files, err := filepath.Glob(filepath.Join(target, dir, "*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	if len(files) > 0 {
		if err := os.Remove(files[w.rng.IntN(len(files))]); err != nil {
			w.t.Fatal(err)
		}
	}
}

// sessions lists the sessions that can be appended to.
func (w *world) sessions(m *machine) []firn.ID {
	holdings, err := m.Holdings(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	var ids []firn.ID
	for _, h := range holdings {
		if h.Receipt == nil && !h.Removed {
			ids = append(ids, h.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

func (w *world) start(m *machine) {
	id := firn.NewID()
	header := &firn.Header{Session: id, Agent: "main"}
	if w.keyless[id] = w.rng.IntN(2) == 0; !w.keyless[id] {
		header.Key = fmt.Sprintf("agent:main:k%d", w.rng.IntN(3))
	}
	if _, err := m.Append(context.Background(), id, store.Start, firn.Entry{Time: m.now(), Body: header}); err != nil {
		w.t.Fatal(err)
	}
	if header.Key != "" {
		if err := store.Bind(context.Background(), m.Store, header.Key, id); err != nil {
			w.t.Fatal(err)
		}
	}
	w.add(m, id, &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "hello"}}, Time: m.now()}, "")
}

// add appends an entry with an ID of the machine's clock, if the store accepts it.
func (w *world) add(m *machine, id firn.ID, body firn.Body, parent firn.EntryID) {
	e := firn.Entry{Body: body, Parent: parent}
	if w.rng.IntN(2) == 0 {
		e.ID = m.entryID()
	}
	got := m.add(id, e)
	w.messages[id] = append(w.messages[id], got)
}

// change changes a session.
func (w *world) change(m *machine, id firn.ID) {
	w.n++
	ctx := context.Background()
	c := m.copyOf(id)
	some := c.items[w.rng.IntN(len(c.items))].id
	switch w.rng.IntN(14) {
	case 0:
		w.add(m, id, &firn.Title{Name: fmt.Sprint("title ", w.n), Source: firn.SourceUser}, "")
	case 1:
		w.add(m, id, &firn.Title{Name: fmt.Sprint("auto ", w.n), Source: firn.SourceAuto}, "")
	case 2:
		tags, err := store.NewTags([]string{fmt.Sprint("tag", w.n%5), "x"})
		if err != nil {
			w.t.Fatal(err)
		}
		w.add(m, id, tags.Body, "")
	case 3:
		w.add(m, id, &firn.Tombstone{Target: some}, "")
	case 4:
		w.add(m, id, &firn.Tombstone{Target: firn.EntryID(id)}, "")
	case 5:
		w.add(m, id, &firn.Label{Target: some, Name: "here"}, "")
	case 6:
		w.add(m, id, &firn.Head{Reason: "rewind"}, some)
	case 7:
		if w.keyless[id] {
			return
		}
		if err := store.Bind(ctx, m.Store, fmt.Sprintf("agent:main:k%d", w.rng.IntN(3)), id); err != nil {
			w.t.Fatal(err)
		}
	case 8:
		w.place(m, id)
	case 9:
		if i := slices.IndexFunc(c.items, func(it item) bool { return it.message && !it.erased }); i >= 0 {
			w.erase(m, id, c.items[i].id)
		}
	default:
		w.add(m, id, &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: fmt.Sprint("message ", w.n)}}, Time: m.now()}, "")
	}
}

// place archives or removes a session, or restores one.
func (w *world) place(m *machine, id firn.ID) {
	ctx := context.Background()
	var err error
	switch w.rng.IntN(4) {
	case 0:
		err = m.Archive(ctx, id)
	case 1:
		err = m.Unarchive(ctx, id)
	case 2:
		if w.keyless[id] {
			err = m.Remove(ctx, id, "no longer needed")
		}
	default:
		err = w.restoreOne(m)
	}
	if err != nil && !errors.Is(err, firn.ErrNotFound) {
		w.t.Fatal(err)
	}
}

func (w *world) restoreOne(m *machine) error {
	bin, err := m.Bin(context.Background())
	if err != nil || len(bin) == 0 {
		return err
	}
	return m.Restore(context.Background(), bin[0].ID)
}

// erase purges an entry, or rarely a session.
func (w *world) erase(m *machine, id firn.ID, entry firn.EntryID) {
	if w.rng.IntN(4) == 0 && w.keyless[id] {
		w.purged[id] = true
		if _, err := m.Purge(context.Background(), id, "secret"); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	w.erased[entry] = true
	if _, err := m.Purge(context.Background(), id, "secret", entry); err != nil {
		w.t.Fatal(err)
	}
}

// restoreAll empties the bins of all machines into their lists.
func (w *world) restoreAll() {
	for _, m := range w.machines {
		bin, err := m.Bin(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, b := range bin {
			if err := m.Restore(context.Background(), b.ID); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// syncUntilStable syncs until nothing changes.
func (w *world) syncUntilStable() {
	for round := range 20 {
		quiet := true
		for n, target := range w.targets {
			for _, m := range w.machines {
				r := m.sync(target.open(false), fmt.Sprintf("t%d", n))
				quiet = quiet && r.Imported == 0 && r.Published == 0 && r.Bytes == 0 && r.Marked == 0 && r.Notes == 0
			}
		}
		if quiet && round > 0 {
			return
		}
	}
	w.t.Fatal("the machines do not come to rest")
}

// binned reports whether a session is in the trash bin of a machine. It is not published until
// it is restored.
func (w *world) binned(id firn.ID) bool {
	return slices.ContainsFunc(w.machines, func(m *machine) bool {
		return strings.Contains(m.view()["session "+string(id)], "removed true")
	})
}

// check compares the machines.
func (w *world) check() {
	for _, m := range w.machines[1:] {
		if d := w.unexpected(w.machines[0].view(), m.view()); d != "" {
			w.t.Errorf("m0 and %s differ:\n%s", m.name, d)
		}
	}
	for _, m := range w.machines {
		view := m.view()
		notes := view["note note0"] + view["note note1"]
		for line := range w.lines {
			if !w.removable[line] && !strings.Contains(notes, line+"\n") {
				w.t.Errorf("%s lost the line %q", m.name, line)
			}
		}
		for id, entries := range w.messages {
			at := "session " + string(id)
			if w.purged[id] || view[at] == "" && w.binned(id) || strings.Contains(view[at], "removed true") {
				continue
			}
			for _, e := range entries {
				if view[at+" entry "+string(e)] == "" && !w.erased[e] {
					w.t.Errorf("%s lost entry %s of session %s", m.name, e, id)
				}
			}
		}
	}
}

// dropKeysOf removes the keys from two views that point at a session in one of them.
func dropKeysOf(id firn.ID, a, b map[string]string) {
	for _, view := range []map[string]string{a, b} {
		for at, value := range view {
			if strings.HasPrefix(at, "key ") && value == string(id) {
				delete(a, at)
				delete(b, at)
			}
		}
	}
}

// unexpected describes how two machines differ. A session that was removed or purged, or whose
// entries were all purged, before it was published is on one machine only.
func (w *world) unexpected(a, b map[string]string) string {
	for id, entries := range w.messages {
		at := "session " + string(id)
		empty := !slices.ContainsFunc(entries, func(e firn.EntryID) bool { return !w.erased[e] })
		alone := strings.Contains(a[at]+b[at], "removed true") || w.purged[id] || empty
		if alone && (a[at] == "" || b[at] == "") {
			for _, view := range []map[string]string{a, b} {
				delete(view, at)
				delete(view, "list "+string(id))
			}
			if empty { // its key points elsewhere on the other machine
				dropKeysOf(id, a, b)
			}
		}
	}
	return difference(a, b)
}
