package filestore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

// writeTalk writes a session of n entries and returns its lines.
func writeTalk(t *testing.T, n int) transcript {
	disk := faultfs.New()
	st := openHome(t, hurtHome, filestore.Options{FS: disk, Sync: filestore.SyncNever, Now: sampleTime})
	var entries []firn.Entry
	for i := range n {
		role := []firn.Role{firn.RoleUser, firn.RoleAssistant}[i%2]
		entries = append(entries, firn.Entry{ID: firn.EntryID(fmt.Sprintf("e%d", i)), Body: &firn.Message{Role: role, Parts: []firn.Part{firn.Text{Text: "so"}}}})
	}
	_, err := st.Append(context.Background(), hurtSession, store.Start, entries...)
	must(t, err)
	data, err := disk.Get(hurtPath)
	must(t, err)
	return transcript{bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))}
}

// TestDropAnyRecord removes each record of a session in turn. All others must be reached,
// and one gap reported.
func TestDropAnyRecord(t *testing.T) {
	t.Parallel()
	const n = 999
	tr, step := writeTalk(t, n), 1
	if testing.Short() {
		step = 11
	}
	for gone := 0; gone <= n; gone += step {
		h := openDamaged(t, map[string][]byte{"": transcript{tr.without(gone)}.bytes()})
		if err := checkDropped(h, gone, n); err != nil {
			t.Errorf("record %d is missing: %v", gone, err)
		}
	}
}

// checkDropped resumes a session of n entries with one record missing; the first record is
// the header.
func checkDropped(h *damagedStore, gone, n int) error {
	st, err := h.open(gone%50 != 0) // sometimes append to it
	if err != nil {
		return err
	}
	entries, head := n-1, firn.EntryID(fmt.Sprintf("e%d", n-1))
	switch gone {
	case 0:
		entries = n
	case n:
		head = firn.EntryID(fmt.Sprintf("e%d", n-2))
	}
	if gone%50 == 0 {
		e := firn.NewEntry(firn.UserText("and now?").Body)
		if _, err := st.Append(context.Background(), hurtSession, store.Any, e); err != nil {
			return err
		}
		entries, head = entries+1, e.ID
	}
	path, err := collect(st, hurtSession)
	if err != nil {
		return err
	}
	if len(path.Entries) != entries || path.Head != head || (path.Header == nil) != (gone == 0) {
		return fmt.Errorf("resuming reaches %d of %d entries, to %s", len(path.Entries), entries, path.Head)
	}
	// A missing last record cannot be detected. A missing header is reported by lists.
	if gone == 0 || gone == n {
		if len(path.Gaps) > 0 {
			return &path.Gaps[0]
		}
		info, err := st.Inspect(context.Background(), hurtSession)
		if err != nil || (info.Fault == "") != (gone == n) {
			return fmt.Errorf("it is listed with the fault %q, %w", info.Fault, err)
		}
		return st.Close()
	}
	next := firn.EntryID(fmt.Sprintf("e%d", gone))
	if len(path.Gaps) != 1 || path.Gaps[0].Kind != firn.GapDangling || path.Gaps[0].Entry != next {
		return fmt.Errorf("gaps: %v", path.Gaps)
	}
	return st.Close()
}

// damageAtRandom damages a file in one or several ways.
func damageAtRandom(data []byte, chance *rand.Rand) []byte {
	data = bytes.Clone(data)
	for range 1 + chance.IntN(3) {
		if len(data) < 2 {
			return data
		}
		at := 1 + chance.IntN(len(data)-1)
		to := min(len(data), at+1+chance.IntN(600))
		switch chance.IntN(8) {
		case 0:
			data = data[:at]
		case 1:
			clear(data[at:to])
		case 2:
			data[at] ^= 1 << chance.IntN(8)
		case 3:
			data = append(data[:at], data[to:]...)
		case 4:
			data = join(data[:to], data[at:])
		case 5:
			data = join(data[:at], make([]byte, 600), data[at:])
		case 6:
			if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
				data = append(data[:at+i], data[at+i+1:]...)
			}
		case 7:
			data = join([]byte("\ufeff"), data[:at], []byte("\r\n"), data[at:])
		}
	}
	return data
}

// filePrint is everything about a file that must not change.
type filePrint struct {
	sum   [sha256.Size]byte
	mtime int64
	mode  os.FileMode
}

// printFiles returns the prints of all files and directories below dir.
func printFiles(t *testing.T, dir string) map[string]filePrint {
	t.Helper()
	prints := make(map[string]filePrint)
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		p := filePrint{mtime: info.ModTime().UnixNano(), mode: info.Mode()}
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			p.sum = sha256.Sum256(data)
		}
		prints[path] = p
		return nil
	}))
	return prints
}

// TestReadingNeverWrites lists, reads and resumes two hundred damaged sessions with a
// writable store, and checks that no file changes.
func TestReadingNeverWrites(t *testing.T) {
	t.Parallel()
	home, chance := t.TempDir(), rand.New(rand.NewPCG(3, 4))
	dir := filepath.Join(home, "agents", "main", "sessions")
	must(t, os.MkdirAll(dir, 0o700))
	data := writeTranscript(t, 120).bytes()
	var ids []firn.ID
	for n := range 200 {
		id := firn.ID(fmt.Sprintf("hurt%d", n))
		ids = append(ids, id)
		must(t, os.WriteFile(filepath.Join(dir, string(id)+".jsonl"), damageAtRandom(data, chance), 0o600))
		if n%5 == 0 {
			must(t, os.WriteFile(filepath.Join(dir, string(id)+"_part2.jsonl"), damageAtRandom(data, chance), 0o600))
		}
	}
	before := printFiles(t, home)
	st, err := filestore.Open(home, filestore.Options{})
	must(t, err)
	listed := 0
	for _, err := range st.List(context.Background(), store.Query{}) {
		must(t, err)
		listed++
	}
	_, err = st.Census(context.Background())
	must(t, err)
	for _, id := range ids {
		must(t, useAll(st, id))
	}
	must(t, st.Close())
	if after := printFiles(t, home); !maps.Equal(before, after) {
		for path, p := range after {
			if before[path] != p {
				t.Errorf("%s changed", path)
			}
		}
		t.Errorf("there were %d files, now %d", len(before), len(after))
	}
	if listed != len(ids) {
		t.Errorf("only %d damaged sessions were listed", listed)
	}
}

// useAll performs all operations that do not write.
func useAll(st *filestore.Store, id firn.ID) error {
	ctx := context.Background()
	if _, err := st.Inspect(ctx, id); err != nil {
		return err
	}
	for _, err := range st.Read(ctx, id, store.Start) {
		if err != nil {
			return err
		}
	}
	path, err := window.Collect(st.ReadBack(ctx, id, store.End))
	if err != nil {
		return fmt.Errorf("resume session %s: %w", id, err)
	}
	for _, profile := range window.Profiles() {
		if err := windowtest.Check(profile, window.Build(path, window.Options{Profile: profile})); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
	}
	following, cancel := context.WithTimeout(ctx, 20*time.Millisecond) // there may be no further line
	defer cancel()
	for _, err := range st.Follow(following, id, store.Start) {
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}
