package encryption

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/disk/sealfs"
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
	kept, err := os.ReadFile(filepath.Join(home, DamagedDir, "agents/main/sessions/a.jsonl"))
	if err != nil || !bytes.Equal(kept, damaged) {
		t.Errorf("the encrypted file was not kept: %v", err)
	}
	if again, err := Read(filepath.Join(home, DamagedDir)); err != nil || !again.fits(key) {
		t.Errorf("its key was not kept: %v", err)
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
			if _, err := os.Stat(filepath.Join(home, DamagedDir, filepath.FromSlash(name))); err != nil {
				t.Errorf("byte %d: %v", at, err)
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
