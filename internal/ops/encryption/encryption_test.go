package encryption

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
)

const secret = "quagglefrax"

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newHome returns a home with files of all kinds and sizes.
func newHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for name, text := range map[string]string{
		"agents/main/sessions/a.jsonl":         strings.Repeat(secret+" line\n", 5000),
		"agents/main/sessions/empty.jsonl":     "",
		"agents/main/sessions/torn.jsonl":      secret + " line\n" + `{"type":"mess`,
		"agents/main/workspace/memory/note.md": secret,
		"agents/main/workspace/mine.txt":       "plain",
		"files/objects/ab/abcd":                secret + " content",
		"firn.toml":                            "[session]\n",
		"sources/tool/x.jsonl":                 "plain",
		"chat_history":                         "\"" + secret + "\"\n",
		"index/words.db":                       secret,
		"provider.key":                         "plain",
		"models/model.safetensors":             "plain",
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		ok(t, os.MkdirAll(filepath.Dir(path), 0o700))
		ok(t, os.WriteFile(path, []byte(text), 0o600))
		old := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		ok(t, os.Chtimes(path, old, old))
	}
	ok(t, os.MkdirAll(filepath.Join(home, "files/sessions/a"), 0o700))
	ok(t, os.Link(filepath.Join(home, "files/objects/ab/abcd"), filepath.Join(home, "files/sessions/a/abcd")))
	return home
}

// describe returns the hash, mode, time and number of links of every file.
func describe(t *testing.T, home string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	ok(t, filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := vfs.OS{}.Stat(path)
		rel, _ := filepath.Rel(home, path)
		all[rel] = fmt.Sprintf("%x %v %v %d", sha256.Sum256(data), info.Mode, info.ModTime, info.Links)
		return err
	}))
	return all
}

// readable returns the files that contain a text.
func readable(t *testing.T, home, text string) (found []string) {
	t.Helper()
	ok(t, filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

func newMarker(t *testing.T) (*Marker, sealfs.Key, *age.X25519Identity) {
	t.Helper()
	key, err := sealfs.NewKey()
	ok(t, err)
	id, err := age.GenerateX25519Identity()
	ok(t, err)
	m, err := NewMarker(key, Access{Recipients: []age.Recipient{id.Recipient()}})
	ok(t, err)
	return m, key, id
}

// TestThereAndBack encrypts and decrypts a home. The result is the same, with the same times.
func TestThereAndBack(t *testing.T) {
	home := newHome(t)
	before := describe(t, home)
	delete(before, filepath.Join("index", "words.db"))
	m, key, id := newMarker(t)
	plan, err := Encrypt(t.Context(), home, m, key, nil)
	ok(t, err)
	if plan.Files != 6 || plan.Mirrors != 1 || plan.Workspace != 1 || plan.Plain != 4 || !slices.Equal(plan.Other, []string{"models", "provider.key"}) {
		t.Errorf("plan %+v", plan)
	}
	if found := readable(t, home, secret); len(found) > 0 {
		t.Errorf("readable: %v", found)
	}
	again, err := Read(home)
	ok(t, err)
	opened, err := again.WithIdentities([]age.Identity{id})
	ok(t, err)
	if opened != key || again.State != Encrypted {
		t.Errorf("another key, or state %s", again.State)
	}
	if plan, err = Decrypt(t.Context(), home, again, opened, false, nil); err != nil || plan.Files != 6 {
		t.Fatalf("%+v, %v", plan, err)
	}
	if after := describe(t, home); !maps.Equal(before, after) {
		t.Errorf("before\n%v\nafter\n%v", before, after)
	}
	if gone, err := Read(home); gone != nil || err != nil {
		t.Errorf("marker %v, %v", gone, err)
	}
}

// TestInterrupted interrupts both conversions after each file, leaves the remains of a killed
// process, and continues.
func TestInterrupted(t *testing.T) {
	home := newHome(t)
	before := describe(t, home)
	delete(before, filepath.Join("index", "words.db"))
	m, key, _ := newMarker(t)
	for _, convert := range []func(context.Context, Progress) (*Plan, error){
		func(ctx context.Context, p Progress) (*Plan, error) { return Encrypt(ctx, home, m, key, p) },
		func(ctx context.Context, p Progress) (*Plan, error) { return Decrypt(ctx, home, m, key, false, p) },
	} {
		for runs := 1; ; runs++ {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := convert(ctx, func(int64, int64) { cancel() })
			cancel()
			if err == nil {
				if runs < 5 {
					t.Errorf("%d runs", runs)
				}
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			now, err := Read(home)
			ok(t, err)
			mixed := sealfs.New(vfs.OS{}, home, key, now.Mode())
			f, err := mixed.Open(filepath.Join(home, "agents/main/sessions/a.jsonl"), vfs.Read)
			ok(t, err)
			info, err := f.Stat()
			ok(t, errors.Join(err, f.Close()))
			if info.Size != int64(5000*(len(secret)+6)) {
				t.Fatalf("size %d while %s", info.Size, now.State)
			}
			ok(t, os.WriteFile(filepath.Join(home, ".chat_history"+asideSuffix), []byte("half"), 0o600))
		}
	}
	after := describe(t, home)
	for _, m := range []map[string]string{before, after} { // names of one file that were converted by different runs
		for name := range m {
			m[name] = m[name][:strings.LastIndexByte(m[name], ' ')]
		}
	}
	if !maps.Equal(before, after) {
		t.Errorf("before\n%v\nafter\n%v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
}

// TestKept keeps a key in the runtime directory.
func TestKept(t *testing.T) {
	home, run := t.TempDir(), t.TempDir()
	env := func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": run}[name] }
	m, key, _ := newMarker(t)
	other, _, _ := newMarker(t)
	if err := Keep(env, home, key); err == nil {
		t.Error("a key was kept where other users can read it")
	}
	ok(t, os.Chmod(run, 0o700))
	ok(t, Keep(env, home, key))
	if got, found := m.Kept(env, home); !found || got != key {
		t.Error("the key was not found")
	}
	if _, found := other.Kept(env, home); found {
		t.Error("the key of another home was accepted")
	}
	if had, err := Drop(env, home); !had || err != nil {
		t.Errorf("dropped %v, %v", had, err)
	}
	if _, found := m.Kept(env, home); found {
		t.Error("the key is still there")
	}
}

// TestWrongAccess opens a marker with what does not fit.
func TestWrongAccess(t *testing.T) {
	m, _, _ := newMarker(t)
	_, _, stranger := newMarker(t)
	if _, err := m.WithIdentities([]age.Identity{stranger}); !errors.Is(err, ErrWrong) {
		t.Errorf("another identity: %v", err)
	}
	if _, err := m.WithPassphrase("guess"); !errors.Is(err, ErrWrong) {
		t.Errorf("a passphrase: %v", err)
	}
	key, err := sealfs.NewKey()
	ok(t, err)
	if _, err := NewMarker(key, Access{}); err == nil {
		t.Error("a home that nothing opens")
	}
	m.Check = []byte("other")
	if _, err := m.WithIdentities(nil); !errors.Is(err, ErrWrong) {
		t.Errorf("no identity: %v", err)
	}
}

// FuzzMarker decodes arbitrary markers.
func FuzzMarker(f *testing.F) {
	f.Add([]byte(`{"version":1,"state":"encrypted","check":"AA=="}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeMarker(data)
		if (m == nil) == (err == nil) {
			t.Fatalf("%v, %v", m, err)
		}
	})
}
