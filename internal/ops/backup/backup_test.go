package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/backup"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

func unwatched(int64, int64) {}

// home creates a home with sessions, notes and files that are excluded from backups.
func home(t testing.TB, sessions int) (string, []firn.ID) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	st, err := filestore.Open(dir, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []firn.ID
	for i := range sessions {
		id, err := store.LoadOrCreate(t.Context(), st, fmt.Sprint("agent:main:", i))
		if err == nil {
			_, err = st.Append(t.Context(), id, store.Any, firn.UserText(fmt.Sprint("this is ", i)))
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"firn.toml": "# none\n", "agents/main/workspace/MEMORY.md": "snow\n", "index/words.db": "made again"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, ids
}

func pack(t testing.TB, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := backup.Create(t.Context(), vfs.OS{}, dir, &b, time.Now(), unwatched); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// files returns the contents of a directory.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBackupAndRestore backs up a home and restores it: the files are the same, except for
// those that are recreated.
func TestBackupAndRestore(t *testing.T) {
	dir, _ := home(t, 3)
	packed := pack(t, dir)
	again, err := backup.Verify(t.Context(), bytes.NewReader(packed))
	if err != nil || again.Sessions != 3 {
		t.Fatalf("verify returned %+v, %v", again, err)
	}
	to := filepath.Join(t.TempDir(), "a", "b")
	s, err := backup.Restore(t.Context(), bytes.NewReader(packed), vfs.OS{}, to)
	if err != nil {
		t.Fatal(err)
	}
	want, got := files(t, dir), files(t, to)
	if _, ok := got["index/words.db"]; ok {
		t.Error("the index was copied")
	}
	for name := range want {
		if got[name] != want[name] && name != "index/words.db" && filepath.Ext(name) != ".lock" {
			t.Errorf("%s is %q, was %q", name, got[name], want[name])
		}
	}
	if s.Files != len(got) || s.Sum != again.Sum {
		t.Errorf("reported %+v and %+v, and there are %d files", s, again, len(got))
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the home has mode %v, %v", info.Mode(), err)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(packed), vfs.OS{}, to); !errors.Is(err, firn.ErrConflict) {
		t.Errorf("a second time: %v", err)
	}
}

// TestBackupWhileWriting backs up a home repeatedly while sessions grow and are created. Each
// backup must be complete and contain everything acknowledged before it.
func TestBackupWhileWriting(t *testing.T) {
	dir, ids := home(t, 4)
	st, err := filestore.Open(dir, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	stop, wrote := make(chan struct{}), make(chan struct{}, 1)
	var writers sync.WaitGroup
	for i := range ids {
		writers.Go(func() {
			for n := 0; ; n++ {
				id := ids[i]
				if n%5 == 4 {
					var err error
					if id, err = store.LoadOrCreate(t.Context(), st, fmt.Sprintf("agent:main:%d-%d", i, n)); err != nil {
						t.Error(err)
					}
				}
				if _, err := st.Append(t.Context(), id, store.Any, firn.UserText(fmt.Sprint("and ", n))); err != nil {
					t.Error(err)
				}
				select {
				case wrote <- struct{}{}:
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 5 {
		<-wrote
		before := make(map[firn.ID]store.Pos)
		for info, err := range st.List(t.Context(), store.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			before[info.ID] = info.End
		}
		check(t, pack(t, dir), before)
	}
	close(stop)
	writers.Wait()
}

// check restores an archive and checks that it contains everything that existed before.
func check(t *testing.T, packed []byte, before map[firn.ID]store.Pos) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if _, err := backup.Restore(t.Context(), bytes.NewReader(packed), vfs.OS{}, to); err != nil {
		t.Fatal(err)
	}
	st, err := filestore.Open(to, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for info, err := range st.List(t.Context(), store.Query{}) {
		if err != nil || info.Fault != "" {
			t.Fatal(info.Fault, err)
		}
		if info.End < before[info.ID] {
			t.Errorf("session %s ends at %d, and was at %d before", info.ID, info.End, before[info.ID])
		}
		delete(before, info.ID)
	}
	if len(before) > 0 {
		t.Errorf("these are missing: %v", before)
	}
	bindings, err := st.Bindings(t.Context())
	if err != nil || len(bindings) == 0 {
		t.Fatal(bindings, err)
	}
	for key, id := range bindings {
		if _, err := st.Inspect(t.Context(), id); err != nil {
			t.Errorf("the key %s points at %s: %v", key, id, err)
		}
	}
}

// TestDamaged truncates and changes an archive at many places: it must be rejected without
// leaving files.
func TestDamaged(t *testing.T) {
	dir, _ := home(t, 2)
	packed := pack(t, dir)
	refused := func(what string, archive []byte) {
		t.Helper()
		parent := t.TempDir()
		if _, err := backup.Restore(t.Context(), bytes.NewReader(archive), vfs.OS{}, filepath.Join(parent, "to")); !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
		if names, err := os.ReadDir(parent); err != nil || len(names) > 0 {
			t.Errorf("%s leaves %v, %v", what, names, err)
		}
	}
	for n := 0; n < len(packed)-8; n += 37 { // padding follows the end
		refused(fmt.Sprint("cut at ", n), packed[:n])
	}
	plain := open(t, packed)
	for n := 512; n < len(plain)-2048; n += 101 {
		changed := bytes.Clone(plain)
		changed[n] ^= 0x20
		if _, err := backup.Verify(t.Context(), bytes.NewReader(compress(t, changed))); err == nil && !headerOnly(plain, changed) {
			t.Errorf("byte %d differs, but this was not detected", n)
		}
	}
}

// headerOnly reports whether only times or modes differ, which have no checksums.
func headerOnly(a, b []byte) bool { return bytes.Equal(contents(a), contents(b)) }

func contents(plain []byte) []byte {
	var all bytes.Buffer
	r := tar.NewReader(bytes.NewReader(plain))
	for h, err := r.Next(); err == nil; h, err = r.Next() {
		fmt.Fprintln(&all, h.Name)
		if h.Name != "firn-backup.json" { // its time may differ
			io.Copy(&all, r)
		}
	}
	return all.Bytes()
}

func open(t testing.TB, packed []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func compress(t testing.TB, plain []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(plain, nil)
}

// TestArchiveOutsideHomeIsRejected checks that archives that would write outside the home are
// rejected.
func TestArchiveOutsideHomeIsRejected(t *testing.T) {
	for _, h := range []tar.Header{
		{Name: "../outside", Typeflag: tar.TypeReg}, {Name: "/etc/outside", Typeflag: tar.TypeReg}, {Name: "a/../../outside", Typeflag: tar.TypeReg},
		{Name: "link", Linkname: "/etc", Typeflag: tar.TypeSymlink}, {Name: "hard", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}, {Name: `a\b`, Typeflag: tar.TypeReg},
	} {
		var plain bytes.Buffer
		w := tar.NewWriter(&plain)
		text := []byte(`{"firnBackup":1}`)
		w.WriteHeader(&tar.Header{Name: "firn-backup.json", Typeflag: tar.TypeReg, Size: int64(len(text))})
		w.Write(text)
		w.WriteHeader(&h)
		w.WriteHeader(&tar.Header{Name: "SHA256SUMS", Typeflag: tar.TypeReg})
		w.Close()
		parent := t.TempDir()
		if _, err := backup.Restore(t.Context(), bytes.NewReader(compress(t, plain.Bytes())), vfs.OS{}, filepath.Join(parent, "to")); !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("%s: %v", h.Name, err)
		}
		if names, err := os.ReadDir(parent); err != nil || len(names) > 0 {
			t.Errorf("%s leaves %v, %v", h.Name, names, err)
		}
	}
}

// TestCancelled checks that a canceled backup or restore fails and leaves no files.
func TestCancelled(t *testing.T) {
	dir, _ := home(t, 3)
	packed := pack(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := backup.Create(ctx, vfs.OS{}, dir, io.Discard, time.Now(), func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("create: %v", err)
	}
	parent := t.TempDir()
	if _, err := backup.Restore(ctx, bytes.NewReader(packed), vfs.OS{}, filepath.Join(parent, "to")); !errors.Is(err, context.Canceled) {
		t.Errorf("restore: %v", err)
	}
	if names, err := os.ReadDir(parent); err != nil || len(names) > 0 {
		t.Errorf("it leaves %v, %v", names, err)
	}
	if _, err := backup.Create(t.Context(), vfs.OS{}, filepath.Join(dir, "nowhere"), io.Discard, time.Now(), unwatched); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
}

// FuzzVerify reads arbitrary archives.
func FuzzVerify(f *testing.F) {
	dir, _ := home(f, 1)
	packed := pack(f, dir)
	f.Add(open(f, packed))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, plain []byte) {
		for _, archive := range [][]byte{plain, compress(t, plain)} {
			if _, err := backup.Verify(t.Context(), bytes.NewReader(archive)); err != nil && !errors.Is(err, firn.ErrCorrupt) && !errors.Is(err, firn.ErrUnsupported) {
				t.Error(err)
			}
		}
	})
}
