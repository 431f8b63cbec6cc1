package sessionsync

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/gateway/merge"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// files is a home with its sessions in files, without a gateway.
type files struct{ *filestore.Store }

func (f files) End(ctx context.Context, id firn.ID) (firn.Pos, error) {
	for rec, err := range f.ReadBack(ctx, id, store.End) {
		return rec.Next, err
	}
	return 0, firn.ErrNotFound
}

func (f files) Merge(ctx context.Context, id firn.ID, m wire.Merge, lines io.Reader) (wire.Merged, error) {
	r, err := merge.Run(ctx, f.Store, id, m.Expect, m.Head, convert.Lines(lines, 64<<20))
	return wire.Merged{Added: r.Added, End: r.End}, err
}

func (f files) Mark(ctx context.Context, now store.Holding, want Marks, erase []firn.EntryID) (*store.Receipt, error) {
	if want.Purged {
		r, err := f.Purge(ctx, now.ID, "elsewhere")
		return &r, err
	}
	var receipt *store.Receipt
	if len(erase) > 0 {
		r, err := f.Purge(ctx, now.ID, "elsewhere", erase...)
		if err != nil {
			return nil, err
		}
		receipt = &r
	}
	var err error
	if now.Removed && (!want.Removed || now.Archived != want.Archived) {
		err, now.Removed = f.Restore(ctx, now.ID), false
	}
	if now.Archived && !want.Archived {
		err = errors.Join(err, f.Unarchive(ctx, now.ID))
	}
	if !now.Archived && want.Archived {
		err = errors.Join(err, f.Archive(ctx, now.ID))
	}
	if want.Removed && !now.Removed {
		err = errors.Join(err, f.Remove(ctx, now.ID, want.Reason))
	}
	return receipt, err
}

// machine is a home that takes part in syncs.
type machine struct {
	t    testing.TB
	name string
	home string
	files
	config   *Config
	identity *Identity
	// skew is how wrong its clock is.
	skew time.Duration
	fs   vfs.FS
	rng  *rand.Rand
	tick time.Duration
}

// quickFS is the file system without syncs: these tests simulate no power failures, and other
// packages may keep the disk busy.
type quickFS struct{ vfs.OS }

func (q quickFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	file, err := q.OS.Open(path, mode)
	if err != nil {
		return nil, err
	}
	return quickFile{file}, nil
}

func (quickFS) SyncDir(string) error { return nil }

// quickFile is a file that is not synced.
type quickFile struct{ vfs.File }

func (quickFile) Sync() error { return nil }

// start is the time at which the tests begin.
var start = time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)

func newMachine(t testing.TB, name string, identity *Identity, rng *rand.Rand) *machine {
	t.Helper()
	m := &machine{t: t, name: name, home: t.TempDir(), identity: identity, fs: quickFS{}, rng: rng}
	config, err := ReadConfig(m.fs, Dir(m.home), name)
	if err != nil {
		t.Fatal(err)
	}
	m.config = config
	st, err := filestore.Open(m.home, filestore.Options{Sync: filestore.SyncNever, Now: m.now, Report: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	m.files = files{st}
	return m
}

// now returns the time of the machine's clock, which advances with each call.
func (m *machine) now() time.Time {
	m.tick += time.Millisecond
	return start.Add(m.skew + m.tick)
}

// entryID returns an entry ID of the machine's clock.
func (m *machine) entryID() firn.EntryID {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	n := uint64(m.now().UnixMilli())<<20 | m.rng.Uint64N(1<<20)
	var b [13]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i], n = digits[n&31], n>>5
	}
	return firn.EntryID(b[:])
}

func (m *machine) options(target Target, name string) Options {
	return Options{FS: m.fs, Dir: Dir(m.home), Name: name, Config: m.config, Identity: m.identity, Local: m.files, Notes: m.notes(), Target: target, Now: m.now}
}

// notes returns the notes of the machine.
func (m *machine) notes() HomeNotes { return HomeNotes{FS: m.fs, Home: m.home} }

// note changes a note in the folder of the main agent; an empty text removes it.
func (m *machine) note(name, text string) {
	m.t.Helper()
	texts := m.noteTexts()
	if err := m.notes().Replace(context.Background(), noteFolder, map[string]string{name: texts[name]}, map[string]string{name: text}); err != nil {
		m.t.Fatal(err)
	}
}

// noteTexts returns the notes of the main agent.
func (m *machine) noteTexts() map[string]string {
	m.t.Helper()
	texts, _, err := m.notes().Texts(context.Background(), noteFolder)
	if err != nil {
		m.t.Fatal(err)
	}
	return texts
}

// noteFolder is the folder of the main agent's notes.
const noteFolder = "agents/main/workspace"

// sync syncs with a target and fails the test on an error.
func (m *machine) sync(target Target, name string) *Report {
	m.t.Helper()
	r, err := Run(context.Background(), m.options(target, name))
	if err != nil {
		m.t.Fatalf("sync of %s with %s: %v", m.name, name, err)
	}
	return r
}

// addMessage appends a user message after the head and returns its ID.
func (m *machine) addMessage(id firn.ID, text string) firn.EntryID {
	m.t.Helper()
	return m.add(id, firn.Entry{Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}, Time: m.now()}})
}

// add appends an entry.
func (m *machine) add(id firn.ID, e firn.Entry) firn.EntryID {
	m.t.Helper()
	if _, err := m.Append(context.Background(), id, store.Any, e); err != nil {
		m.t.Fatalf("append on %s: %v", m.name, err)
	}
	for rec, err := range m.ReadBack(context.Background(), id, store.End) {
		if err != nil {
			m.t.Fatal(err)
		}
		return rec.Glance.ID
	}
	return ""
}

// copyOf reads a session.
func (m *machine) copyOf(id firn.ID) *copyOf {
	m.t.Helper()
	c, err := readCopy(id, m.Lines(context.Background(), id))
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

// view returns everything that must be the same on all machines, as text.
func (m *machine) view() map[string]string {
	m.t.Helper()
	ctx := context.Background()
	all := make(map[string]string)
	holdings, err := m.Holdings(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, h := range holdings {
		at := "session " + string(h.ID)
		if h.Receipt != nil {
			all[at] = "purged"
			continue
		}
		all[at] = fmt.Sprintf("archived %v, removed %v", h.Archived, h.Removed)
		if h.Removed {
			continue // entries that come while it is in the trash bin are imported when it is restored
		}
		c := m.copyOf(h.ID)
		travels := c.travels(len(c.items))
		for i, it := range c.items {
			if travels[i] {
				sum := it.sum
				if it.erased {
					sum = [sha256.Size]byte{}
				}
				all[at+" entry "+string(it.id)] = fmt.Sprintf("%x", sum[:6])
			}
		}
	}
	for _, q := range []store.Query{{}, {Archived: true}, {Hidden: true}, {Archived: true, Hidden: true}} {
		for info, err := range m.List(ctx, q) {
			if err != nil {
				m.t.Fatal(err)
			}
			all["list "+string(info.ID)] = fmt.Sprintf("title %q, tags %s, hidden %v", info.Title, info.Tags, info.Hidden)
		}
	}
	for name, text := range m.noteTexts() {
		all["note "+name] = text
	}
	keys, err := m.Bindings(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	for key, id := range keys {
		if found, err := m.Lookup(ctx, key); err == nil {
			all["key "+key] = string(found)
		} else {
			_ = id
		}
	}
	return all
}

// difference describes how two views differ.
func difference(a, b map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("%s: %q and %q", k, a[k], b[k]))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[k]; !ok {
			out = append(out, fmt.Sprintf("%s: nothing and %q", k, b[k]))
		}
	}
	return strings.Join(out, "\n")
}

// noLines is an empty session.
func noLines() iter.Seq2[[]byte, error] { return func(func([]byte, error) bool) {} }

func newTestIdentity(t testing.TB) *Identity {
	t.Helper()
	id, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}
