package encryption

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
)

// encryptedHome returns an encrypted home.
func encryptedHome(t *testing.T) (string, *Marker, sealfs.Key) {
	t.Helper()
	home := newHome(t)
	m, key, _ := newMarker(t)
	_, err := Encrypt(t.Context(), home, m, key, nil)
	ok(t, err)
	return home, m, key
}

// flip changes a byte of a file.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	data, err := os.ReadFile(path)
	ok(t, err)
	data[at] ^= 0x40
	info, err := os.Stat(path)
	ok(t, err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // the same file, for its other names
	ok(t, err)
	_, err = f.Write(data)
	ok(t, err)
	ok(t, f.Close())
	ok(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
}

// TestDecryptDamaged checks that a damaged file stays encrypted and is named, until its damage
// is accepted. Then the encrypted file is kept with the key.
func TestDecryptDamaged(t *testing.T) {
	home, m, key := encryptedHome(t)
	path := filepath.Join(home, "agents/main/sessions/a.jsonl")
	info, err := os.Stat(path)
	ok(t, err)
	flip(t, path, int(info.Size()/2))
	damaged, err := os.ReadFile(path)
	ok(t, err)
	if _, err := Decrypt(t.Context(), home, m, key, false, nil); err == nil || !strings.Contains(err.Error(), "1 of 6") || !strings.Contains(err.Error(), path) {
		t.Fatalf("decrypted: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
		t.Errorf("the damaged file was changed, %v", err)
	}
	if found := readable(t, home, secret); len(found) == 0 {
		t.Error("the other files are not decrypted")
	}
	plan, err := Decrypt(t.Context(), home, m, key, true, nil)
	if err != nil || !slices.Equal(plan.Damaged, []string{path}) {
		t.Fatalf("%+v, %v", plan, err)
	}
	now, err := os.ReadFile(path)
	ok(t, err)
	if !bytes.Contains(now, []byte("\x00")) || bytes.Count(now, []byte(secret)) < 1000 || len(now) != 5000*(len(secret)+6) {
		t.Errorf("%d bytes, %d lines", len(now), bytes.Count(now, []byte(secret)))
	}
	if gone, err := Read(home); gone != nil || err != nil {
		t.Errorf("marker %v, %v", gone, err)
	}
	if kept := keptFiles(t, home); len(kept) != 1 || kept["agents/main/sessions/a.jsonl"] != string(damaged) {
		t.Errorf("the encrypted file was not kept: %d files", len(kept))
	}
	if again, err := Read(conversion{key: key}.damagedDir(home)); err != nil || !again.fits(key) {
		t.Errorf("its key was not kept: %v", err)
	}
}

// keptFiles returns the contents of the files that were set aside, with any key.
func keptFiles(t *testing.T, home string) map[string]string {
	t.Helper()
	kept := make(map[string]string)
	if _, err := os.Stat(filepath.Join(home, DamagedDir)); errors.Is(err, fs.ErrNotExist) {
		return kept
	}
	for name := range describe(t, filepath.Join(home, DamagedDir)) {
		data, err := os.ReadFile(filepath.Join(home, DamagedDir, name))
		ok(t, err)
		if _, rest, _ := strings.Cut(filepath.ToSlash(name), "/"); !strings.Contains(rest, sealfs.MarkerName) { // or unfinished copies of it
			kept[rest] = string(data)
		}
	}
	return kept
}

// TestAcceptDamageAgain damages the same file with two keys, one after the other: both are kept
// with their keys, and stay as they are in a home that is encrypted again.
func TestAcceptDamageAgain(t *testing.T) {
	home, m, key := encryptedHome(t)
	name := "agents/main/sessions/torn.jsonl"
	var keys []sealfs.Key
	for range 2 {
		flip(t, filepath.Join(home, name), 60)
		_, err := Decrypt(t.Context(), home, m, key, true, nil)
		ok(t, err)
		keys = append(keys, key)
		m, key, _ = newMarker(t)
		_, err = Encrypt(t.Context(), home, m, key, nil)
		ok(t, err)
	}
	for i, key := range keys {
		dir := conversion{key: key}.damagedDir(home)
		again, err := Read(dir)
		if err != nil || again == nil || !again.fits(key) {
			t.Errorf("key %d is lost: %v, %v", i, again, err)
			continue
		}
		f, err := sealfs.New(vfs.OS{}, dir, key, again.Mode()).Open(filepath.Join(dir, name), vfs.Read)
		ok(t, err)
		text, err := io.ReadAll(f)
		ok(t, errors.Join(err, f.Close()))
		if len(text) == 0 {
			t.Errorf("file %d is not readable with its key", i)
		}
		raw, err := os.ReadFile(filepath.Join(dir, name))
		ok(t, err)
		f, err = sealfs.New(vfs.OS{}, home, key, sealfs.Sealed).Open(filepath.Join(dir, name), vfs.Read)
		ok(t, err)
		through, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil || !bytes.Equal(through, raw) {
			t.Errorf("file %d is changed by the encryption of the home: %v", i, err)
		}
	}
}

// TestAcceptInterrupted continues an accepted decryption that ended after a damaged file got its second name.
// Meanwhile the file was replaced by another one, which is damaged too: both are kept.
func TestAcceptInterrupted(t *testing.T) {
	home, m, key := encryptedHome(t)
	path := filepath.Join(home, "files/objects/ab/abcd")
	flip(t, path, 60)
	first, err := os.ReadFile(path)
	ok(t, err)
	c := conversion{marker: m, key: key}
	ok(t, c.keepDamaged(home, path))
	ok(t, c.keepDamaged(home, path))
	if kept := keptFiles(t, home); len(kept) != 1 {
		t.Fatalf("one file was kept %d times", len(kept))
	}
	flip(t, path, 61) // both names
	ok(t, os.WriteFile(path+".new", first, 0o600))
	ok(t, os.Rename(path+".new", path))
	second, err := os.ReadFile(filepath.Join(home, "files/sessions/a/abcd"))
	ok(t, err)
	plan, err := Decrypt(t.Context(), home, m, key, true, nil)
	if err != nil || len(plan.Damaged) != 2 {
		t.Fatalf("%+v, %v", plan, err)
	}
	var kept []string
	for _, text := range keptFiles(t, home) {
		kept = append(kept, text)
	}
	if len(kept) != 3 || !slices.Contains(kept, string(first)) || !slices.Contains(kept, string(second)) {
		t.Errorf("%d files were kept", len(kept))
	}
}

// TestDecryptNoticesEveryByte flips each byte of small encrypted files, and of the last slot of a
// large one: no decryption succeeds with other content, and none loses the marker.
func TestDecryptNoticesEveryByte(t *testing.T) {
	for _, name := range []string{"agents/main/sessions/torn.jsonl", "agents/main/workspace/memory/note.md", "files/objects/ab/abcd", "agents/main/sessions/a.jsonl"} {
		home, m, key := encryptedHome(t)
		path := filepath.Join(home, filepath.FromSlash(name))
		info, err := os.Stat(path)
		ok(t, err)
		size := int(info.Size())
		for at := size - 1; at >= max(0, size-300); at-- {
			flip(t, path, at)
			if _, err := Decrypt(t.Context(), home, m, key, false, nil); err == nil {
				t.Fatalf("%s: byte %d of %d changed unnoticed", name, at, size)
			}
			flip(t, path, at)
			if now, err := Read(home); err != nil || now == nil {
				t.Fatalf("%s: byte %d: the marker is gone, %v", name, at, err)
			}
		}
		if size > 1<<14 { // the header and the first record of the last slot
			for at := size &^ (1<<14 - 1); at < size&^(1<<14-1)+60; at++ {
				flip(t, path, at)
				if _, err := Decrypt(t.Context(), home, m, key, false, nil); err == nil {
					t.Fatalf("%s: byte %d of %d changed unnoticed", name, at, size)
				}
				flip(t, path, at)
			}
		}
		_, err = Decrypt(t.Context(), home, m, key, false, nil)
		ok(t, err)
	}
}

// TestAcceptDamage accepts damage of every kind: at the end nothing in the home is encrypted, except
// what was set aside.
func TestAcceptDamage(t *testing.T) {
	for _, at := range []int{0, 10, 28, 33, 60} {
		home, m, key := encryptedHome(t)
		names := []string{"agents/main/sessions/torn.jsonl", "agents/main/workspace/memory/note.md", "files/objects/ab/abcd"}
		for _, name := range names {
			flip(t, filepath.Join(home, filepath.FromSlash(name)), at)
		}
		plan, err := Decrypt(t.Context(), home, m, key, true, nil)
		ok(t, err)
		if len(plan.Damaged) < len(names) {
			t.Errorf("byte %d: damaged are %v", at, plan.Damaged)
		}
		left, err := stillEncrypted(t.Context(), home, key)
		if err != nil || len(left) > 0 {
			t.Errorf("byte %d: still encrypted: %v, %v", at, left, err)
		}
		for _, name := range names {
			if _, found := keptFiles(t, home)[name]; !found {
				t.Errorf("byte %d: %s was not kept", at, name)
			}
		}
	}
}

// TestFilesOfUsersStay checks that a conversion removes no files that look like unfinished ones.
func TestFilesOfUsersStay(t *testing.T) {
	home := newHome(t)
	names := []string{"agents/main/workspace/.notes.tmp-convert", "sources/tool/.x.tmp-convert", "mine.tmp-convert", ".mine.tmp-convert", "agents/main/sessions/a.tmp-convert"}
	for _, name := range names {
		ok(t, os.WriteFile(filepath.Join(home, filepath.FromSlash(name)), []byte("mine"), 0o600))
	}
	m, key, _ := newMarker(t)
	_, err := Encrypt(t.Context(), home, m, key, nil)
	ok(t, err)
	_, err = Decrypt(t.Context(), home, m, key, false, nil)
	ok(t, err)
	for _, name := range names {
		if data, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(name))); err != nil || string(data) != "mine" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}
