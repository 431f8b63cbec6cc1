package sessionsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/syncmark"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/wire"
)

// duo is two machines and a target.
type duo struct {
	t      *testing.T
	a, b   *machine
	target Folder
}

func newDuo(t *testing.T) *duo {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	identity := newTestIdentity(t)
	return &duo{t, newMachine(t, "desktop", identity, rng), newMachine(t, "laptop", identity, rng), Folder{FS: vfs.OS{}, Dir: t.TempDir()}}
}

func (d *duo) sync(machines ...*machine) (last *Report) {
	d.t.Helper()
	for _, m := range machines {
		last = m.sync(d.target, "share")
	}
	return last
}

// session starts a session on a machine.
func (d *duo) session(m *machine, text string) firn.ID {
	d.t.Helper()
	id := firn.NewID()
	m.addMessage(id, text)
	return id
}

// same fails unless both machines show the same.
func (d *duo) same() {
	d.t.Helper()
	if diff := difference(d.a.view(), d.b.view()); diff != "" {
		d.t.Errorf("the machines differ:\n%s", diff)
	}
}

// onTarget lists the files on the target below a directory.
func (d *duo) onTarget(dir string) []string {
	d.t.Helper()
	var all []string
	err := filepath.WalkDir(filepath.Join(d.target.Dir, dir), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

func hasProblem(r *Report, part string) bool {
	return slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, part) })
}

// TestContinueElsewhere continues a session on another machine: the head moves along.
func TestContinueElsewhere(t *testing.T) {
	d := newDuo(t)
	id := d.session(d.a, "one")
	d.sync(d.a, d.b)
	two := d.b.addMessage(id, "two")
	d.sync(d.b, d.a)
	d.same()
	if head := d.a.copyOf(id).realHead(); head != two {
		t.Errorf("the head is %s, want %s", head, two)
	}
}

// TestSyncWithoutChangesReadsNothing syncs again without changes: no session is read, nothing is
// written.
func TestSyncWithoutChangesReadsNothing(t *testing.T) {
	d := newDuo(t)
	for range 5 {
		d.session(d.a, "text")
	}
	d.sync(d.a, d.b, d.a, d.b)
	for _, m := range []*machine{d.a, d.b} {
		before := len(d.onTarget("."))
		r := d.sync(m)
		if r.Read != 0 || r.Bytes != 0 || r.Imported != 0 || len(d.onTarget(".")) != before {
			t.Errorf("a sync of %s with nothing new: %+v", m.name, r)
		}
	}
}

// TestBranches lets a session grow on two machines: both branches are kept, each head stays,
// and the other is named by its machine until one is chosen.
func TestBranches(t *testing.T) {
	d := newDuo(t)
	id := d.session(d.a, "one")
	d.sync(d.a, d.b)
	onA, onB := d.a.addMessage(id, "on a"), d.b.addMessage(id, "on b")
	r := d.sync(d.a, d.b)
	if want := []OtherHead{{id, "desktop", onA}}; !slices.Equal(r.Heads, want) {
		t.Errorf("the heads on b are %v, want %v", r.Heads, want)
	}
	r = d.sync(d.a)
	if want := []OtherHead{{id, "laptop", onB}}; !slices.Equal(r.Heads, want) {
		t.Errorf("the heads on a are %v, want %v", r.Heads, want)
	}
	d.same()
	if a, b := d.a.copyOf(id).realHead(), d.b.copyOf(id).realHead(); a != onA || b != onB {
		t.Errorf("the heads are %s and %s, want %s and %s", a, b, onA, onB)
	}
	d.b.add(id, firn.Entry{Parent: onA, Body: &firn.Head{Reason: "rewind"}}) // chosen
	if open := Open(context.Background(), d.b.files, []OtherHead{{id, "desktop", onA}}); len(open) != 0 {
		t.Errorf("after the rewind, the open heads on b are %v", open)
	}
	if r := d.sync(d.b); len(r.Heads) != 0 {
		t.Errorf("after the rewind, the heads on b are %v", r.Heads)
	}
	d.b.addMessage(id, "go on")
	d.sync(d.b)
	if r := d.sync(d.a); len(r.Heads) != 0 {
		t.Errorf("after b continued from a, the heads on a are %v", r.Heads)
	}
	d.same()
}

// TestSameID gives two entries the same ID: both are kept, one of them aside.
func TestSameID(t *testing.T) {
	d := newDuo(t)
	id := d.session(d.a, "one")
	d.sync(d.a, d.b)
	for _, m := range []*machine{d.a, d.b} {
		m.add(id, firn.Entry{ID: "same", Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "from " + m.name}}, Time: start}})
	}
	r := d.sync(d.a, d.b)
	if !hasProblem(r, "entry same of machine desktop differs") {
		t.Errorf("the problems are %q", r.Problems)
	}
	kept, err := filepath.Glob(filepath.Join(Dir(d.b.home), "share", conflictDir, string(id), "*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept aside: %v, %v", kept, err)
	}
	if data, err := os.ReadFile(kept[0]); err != nil || !bytes.Contains(data, []byte("from desktop")) {
		t.Errorf("kept aside: %s, %v", data, err)
	}
	if s, err := ReadStatus(vfs.OS{}, Dir(d.b.home), "share", d.b.config); err != nil || s.Conflicts != 1 {
		t.Errorf("the status is %+v, %v", s, err)
	}
}

// TestPurgedConflict purges entries of which another one was kept aside, here and on the other
// machine: the one kept aside is erased too, and those of other entries stay.
func TestPurgedConflict(t *testing.T) {
	d := newDuo(t)
	ctx := context.Background()
	id := d.session(d.a, "one")
	d.sync(d.a, d.b)
	for _, entry := range []firn.EntryID{"here", "there", "stays"} {
		for _, m := range []*machine{d.a, d.b} {
			m.add(id, firn.Entry{ID: entry, Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "from " + m.name}}, Time: start}})
		}
	}
	d.sync(d.a, d.b)
	left := func(want int) {
		t.Helper()
		if s, err := ReadStatus(vfs.OS{}, Dir(d.b.home), "share", d.b.config); err != nil || s.Conflicts != want {
			t.Errorf("%d entries are kept aside, want %d (%v)", s.Conflicts, want, err)
		}
	}
	left(3)
	_, err := d.b.Purge(ctx, id, "secret", "here")
	check(t, err)
	check(t, EraseConflicts(vfs.OS{}, Dir(d.b.home), id, "here")) // as the gateway does
	left(2)
	_, err = d.a.Purge(ctx, id, "secret", "there")
	check(t, err)
	d.sync(d.a, d.b)
	left(1)
	_, err = d.a.Purge(ctx, id, "secret")
	check(t, err)
	d.sync(d.a, d.b)
	left(0)
	o := d.b.options(d.target, "share")
	o.Republish = true
	_, err = Run(ctx, o) // the entries of the purged session are read again
	check(t, err)
	left(0)
	if s, err := ReadStatus(vfs.OS{}, Dir(d.b.home), "share", d.b.config); err != nil || s.Sessions != 0 {
		t.Errorf("the status counts %d sessions, want none, since it was purged (%v)", s.Sessions, err)
	}
}

// TestDamagedTarget damages files on the target: they are named and skipped, and the rest is
// imported.
func TestDamagedTarget(t *testing.T) {
	cases := map[string]struct {
		damage func(t *testing.T, d *duo, piece string)
		want   string
	}{
		"a cut piece":     {func(t *testing.T, _ *duo, piece string) { check(t, os.Truncate(piece, 100)) }, "do not match its name"},
		"a missing piece": {func(t *testing.T, _ *duo, piece string) { check(t, os.Remove(piece)) }, "not on the target (yet)"},
		"an empty piece":  {func(t *testing.T, _ *duo, piece string) { check(t, os.Truncate(piece, 0)) }, "do not match its name"},
		"a foreign piece": {func(t *testing.T, d *duo, piece string) {
			sealed, _, err := newTestIdentity(t).seal([]byte("S{}\n"))
			check(t, err)
			check(t, os.WriteFile(piece, sealed, 0o600))
		}, "do not match its name"},
		"a foreign directory": {func(t *testing.T, d *duo, _ string) {
			check(t, os.MkdirAll(filepath.Join(d.target.Dir, manifestDir, "Other Tool"), 0o700))
		}, "is not firn's; skipped"},
		"a foreign manifest": {func(t *testing.T, d *duo, _ string) {
			other := newTestIdentity(t)
			sealed, name, err := other.encodeManifest(manifest{Machine: "strangerstranger", Counter: 1})
			check(t, err)
			check(t, d.target.Put(context.Background(), place{"strangerstranger", 1, name}.path(), sealed))
		}, "not encrypted for the sync identity"},
		"a manifest without proof": {func(t *testing.T, d *duo, _ string) {
			sealed, name, err := d.a.identity.seal([]byte(`{"version":1,"machine":"strangerstranger","counter":1,"pieces":[]}`))
			check(t, err)
			check(t, d.target.Put(context.Background(), place{"strangerstranger", 1, name}.path(), sealed))
		}, "not written with the sync identity"},
		"a manifest in another place": {func(t *testing.T, d *duo, _ string) {
			for _, path := range d.onTarget(manifestDir) {
				to := filepath.Join(d.target.Dir, manifestDir, "strangerstranger", filepath.Base(path))
				check(t, os.MkdirAll(filepath.Dir(to), 0o700))
				data, err := os.ReadFile(path)
				check(t, err)
				check(t, os.WriteFile(to, data, 0o600))
			}
		}, "moved from another place"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDuo(t)
			first := d.session(d.a, "first")
			d.sync(d.a)
			piece := d.onTarget(pieceDir)[0]
			second := d.session(d.a, "second")
			d.sync(d.a)
			c.damage(t, d, piece)
			r := d.sync(d.b)
			if !hasProblem(r, c.want) {
				t.Errorf("the problems are %q, want %q", r.Problems, c.want)
			}
			if view := d.b.view(); view["session "+string(second)] == "" {
				t.Error("the second session was not imported")
			}
			again, err := Run(context.Background(), Options{FS: d.a.fs, Dir: Dir(d.a.home), Name: "share", Config: d.a.config, Identity: d.a.identity,
				Local: d.a.files, Target: d.target, Republish: true, Now: d.a.now})
			check(t, err)
			if again.Published != 2 {
				t.Errorf("published again: %+v", again)
			}
			d.sync(d.b)
			if view := d.b.view(); view["session "+string(first)] == "" {
				t.Error("the first session was not imported after it was published again")
			}
		})
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRolledBack replaces the target by an older copy: that is reported, and everything is
// published again. A target that is not mounted is not filled.
func TestRolledBack(t *testing.T) {
	d := newDuo(t)
	d.session(d.a, "first")
	d.sync(d.a, d.b)
	older := t.TempDir()
	check(t, os.CopyFS(older, os.DirFS(d.target.Dir)))
	id := d.session(d.a, "second")
	d.sync(d.a, d.b)
	d.target.Dir = older
	r := d.sync(d.b) // b has the second session, which is not on the target anymore
	if !hasProblem(r, "the target was rolled back: machine desktop had published 2 manifests, of which 1 are there") || r.Published < 2 {
		t.Errorf("the report is %+v", r)
	}
	r = d.sync(d.a)
	if !hasProblem(r, "rolled back") {
		t.Errorf("the report of a is %+v", r)
	}
	c := newMachine(t, "new", d.a.identity, d.a.rng)
	if d.sync(c); c.view()["session "+string(id)] == "" {
		t.Error("the second session is not on the target again")
	}
	if r := d.sync(d.a, d.b, d.a); len(r.Problems) > 0 {
		t.Errorf("the problems remain: %q", r.Problems)
	}
	d.target.Dir = t.TempDir()
	if _, err := Run(context.Background(), d.a.options(d.target, "share")); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a sync with an empty folder: %v", err)
	}
	if files := d.onTarget("."); len(files) > 0 {
		t.Errorf("it wrote %v", files)
	}
}

// TestStateLost deletes the record of a target: the next sync rebuilds it and publishes
// nothing twice.
func TestStateLost(t *testing.T) {
	d := newDuo(t)
	d.session(d.a, "first")
	id := d.session(d.b, "second")
	d.sync(d.a, d.b, d.a)
	check(t, os.Remove(filepath.Join(Dir(d.a.home), "share", "state.json")))
	d.a.addMessage(id, "third")
	// The new entry follows the entries that the import appended here, so they travel too.
	if r := d.sync(d.a); r.Published != 3 {
		t.Errorf("published %d entries, want 3", r.Published)
	}
	d.sync(d.b)
	d.same()
}

// TestTwoAtOnce runs a second sync of the same home: it is refused.
func TestTwoAtOnce(t *testing.T) {
	d := newDuo(t)
	release, err := lockDir(vfs.OS{}, Dir(d.a.home))
	check(t, err)
	if _, err := Run(context.Background(), d.a.options(d.target, "share")); !errors.Is(err, firn.ErrLocked) {
		t.Errorf("a second sync: %v", err)
	}
	check(t, release())
	d.sync(d.a)
}

// TestMachinesAtOnce syncs two machines with one target at the same time.
func TestMachinesAtOnce(t *testing.T) {
	d := newDuo(t)
	for i := range 5 {
		d.session(d.a, fmt.Sprint("a", i))
		d.session(d.b, fmt.Sprint("b", i))
		done := make(chan error)
		for _, m := range []*machine{d.a, d.b} {
			go func() {
				_, err := Run(context.Background(), m.options(d.target, "share"))
				done <- err
			}()
		}
		check(t, errors.Join(<-done, <-done))
	}
	d.sync(d.a, d.b, d.a)
	d.same()
}

// TestExcluded keeps sessions on a machine by ID, key and project: nothing of them is on the
// target, even after decryption.
func TestExcluded(t *testing.T) {
	d := newDuo(t)
	shared := d.session(d.a, "shared text")
	byID := d.session(d.a, "secret by id")
	ctx := context.Background()
	byKey, byProject := firn.NewID(), firn.NewID()
	for id, h := range map[firn.ID]*firn.Header{byKey: {Session: byKey, Key: "agent:main:diary"}, byProject: {Session: byProject, CWD: "/home/ann/private/taxes"}} {
		_, err := d.a.Append(ctx, id, store.Start, firn.Entry{Body: h})
		check(t, err)
		d.a.addMessage(id, "secret by header")
	}
	d.a.config.Exclude = Exclude{Sessions: []firn.ID{byID}, Keys: []string{"agent:main:diary"}, Projects: []string{"/home/ann/private"}}
	check(t, d.a.Archive(ctx, byID))
	r := d.sync(d.a)
	if r.Kept != 3 || r.Published != 1 {
		t.Errorf("the report is %+v", r)
	}
	d.a.addMessage(byKey, "secret later")
	d.sync(d.a)
	text := decryptAll(t, d)
	if !strings.Contains(text, "shared text") || strings.Contains(text, "secret") {
		t.Errorf("on the target:\n%s", text)
	}
	for _, id := range []firn.ID{byID, byKey, byProject} {
		if strings.Contains(text, string(id)) {
			t.Errorf("session %s is named on the target", id)
		}
	}
	d.a.config.Exclude = Exclude{}
	d.sync(d.a, d.b)
	if view := d.b.view(); view["session "+string(byKey)] == "" || view["session "+string(byID)] == "" || view["session "+string(shared)] == "" {
		t.Error("included sessions are not synced")
	}
	d.same()
}

// decryptAll returns the text of everything on the target.
func decryptAll(t *testing.T, d *duo) string {
	t.Helper()
	var b strings.Builder
	for _, path := range slices.Concat(d.onTarget(pieceDir), d.onTarget(manifestDir)) {
		sealed, err := os.ReadFile(path)
		check(t, err)
		if bytes.Contains(sealed, []byte("shared text")) {
			t.Errorf("%s has plain text", path)
		}
		plain, err := d.a.identity.open(nameOf(sealed), sealed)
		check(t, err)
		b.Write(plain)
	}
	return b.String()
}

// TestDeletionIsSynced removes, restores and purges: the other machine does the same, and
// purges leave a receipt of each machine.
func TestDeletionIsSynced(t *testing.T) {
	d := newDuo(t)
	ctx := context.Background()
	id, secret := d.session(d.a, "one"), d.session(d.a, "a secret")
	entry := d.a.addMessage(id, "a password")
	d.sync(d.a, d.b)
	check(t, d.a.Remove(ctx, id, "no longer needed"))
	d.sync(d.a, d.b)
	if got := d.b.view()["session "+string(id)]; got != "archived false, removed true" {
		t.Errorf("after the removal it is %q", got)
	}
	check(t, d.b.Restore(ctx, id))
	d.sync(d.b, d.a)
	_, err := d.a.Purge(ctx, secret, "leaked")
	check(t, err)
	_, err = d.a.Purge(ctx, id, "leaked", entry)
	check(t, err)
	d.sync(d.a, d.b, d.a)
	d.same()
	c := d.b.copyOf(id)
	if i, ok := c.at[entry]; !ok || !c.items[i].erased {
		t.Error("the entry was not purged on b")
	}
	receipts, err := ReadReceipts(vfs.OS{}, Dir(d.a.home), d.a.config)
	check(t, err)
	machines := make(map[string]int)
	for _, r := range receipts {
		machines[r.Name]++
	}
	if machines["desktop"] != 2 || machines["laptop"] != 2 {
		t.Errorf("the receipts are %+v", receipts)
	}
}

// TestBusySession imports into a session in which a turn runs: a later sync adds the entries.
func TestBusySession(t *testing.T) {
	d := newDuo(t)
	id := d.session(d.a, "one")
	d.sync(d.a, d.b)
	d.a.addMessage(id, "two")
	d.sync(d.a)
	o := d.b.options(d.target, "share")
	o.Local = busy{d.b.files}
	r, err := Run(context.Background(), o)
	check(t, err)
	if !hasProblem(r, "a turn is running") || r.Imported != 0 {
		t.Errorf("the report is %+v", r)
	}
	d.sync(d.b)
	d.same()
}

// busy is a home in which turns run.
type busy struct{ files }

func (b busy) Merge(context.Context, firn.ID, wire.Merge, io.Reader) (wire.Merged, error) {
	return wire.Merged{}, &wire.Problem{Kind: wire.Busy, Message: "a turn is running"}
}

// TestPurgeIsNotPublished purges an entry as another machine did, as the gateway does it,
// with new counters: they are not published, and neither are placeholders of entries of this
// copy.
func TestPurgeIsNotPublished(t *testing.T) {
	d := newDuo(t)
	id := d.session(d.a, "one")
	d.sync(d.a, d.b)
	own := d.b.copyOf(id)
	last := own.items[len(own.items)-1]
	if !last.local {
		t.Fatal("the import appended no counters")
	}
	_, err := d.b.Purge(context.Background(), id, "repeats", last.id)
	check(t, err)
	counters := firn.Entry{Body: &firn.Custom{Type: firn.CountersType, Data: []byte(`{}`)}}
	syncmark.Add(&counters)
	d.b.add(id, counters)
	if r := d.sync(d.b); r.Published != 0 {
		t.Errorf("published %d entries", r.Published)
	}
	if r := d.sync(d.a); len(r.Heads) != 0 || r.Imported != 0 {
		t.Errorf("the report of a is %+v", r)
	}
}

// TestSameName gives machines one name: they are shown with a part of their IDs.
func TestSameName(t *testing.T) {
	d := newDuo(t)
	d.b.config.Name = d.a.config.Name
	d.session(d.a, "one")
	purged := d.session(d.b, "two")
	d.sync(d.b)
	_, err := d.b.Purge(context.Background(), purged, "secret")
	check(t, err)
	d.sync(d.a, d.b, d.a)
	receipts, err := ReadReceipts(vfs.OS{}, Dir(d.a.home), d.a.config)
	check(t, err)
	if len(receipts) == 0 || slices.ContainsFunc(receipts, func(r SessionReceipt) bool { return r.Machine == d.b.config.Machine && r.Name == d.a.config.Name }) {
		t.Errorf("the receipts are %+v", receipts)
	}
	s, err := ReadStatus(vfs.OS{}, Dir(d.a.home), "share", d.a.config)
	check(t, err)
	if len(s.Machines) != 2 || s.Machines[0].Name == s.Machines[1].Name {
		t.Errorf("the machines are %+v", s.Machines)
	}
}
