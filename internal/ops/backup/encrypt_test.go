package backup_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"filippo.io/age"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/backup"
)

func newKey(t testing.TB) *age.X25519Identity {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// encrypt encrypts data to the keys.
func encrypt(t testing.TB, data []byte, keys ...*age.X25519Identity) []byte {
	t.Helper()
	var recipients []age.Recipient
	for _, key := range keys {
		some, err := backup.ParseRecipients(key.Recipient().String())
		if err != nil {
			t.Fatal(err)
		}
		recipients = append(recipients, some...)
	}
	var b bytes.Buffer
	w, err := backup.Encrypt(&b, recipients)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// restoreSealed decrypts an archive and restores it.
func restoreSealed(t testing.TB, archive []byte, to string, keys ...age.Identity) error {
	plain, err := backup.Decrypt(bytes.NewReader(archive), keys)
	if err == nil {
		_, err = backup.Restore(t.Context(), plain, vfs.OS{}, to)
	}
	return err
}

// TestEncrypted restores an encrypted archive with the key of each recipient, and with no
// other.
func TestEncrypted(t *testing.T) {
	dir, _ := home(t, 2)
	packed := pack(t, dir)
	one, two, other := newKey(t), newKey(t), newKey(t)
	sealed := encrypt(t, packed, one, two)
	if bytes.Contains(sealed, packed[:64]) {
		t.Error("the archive is in plain text")
	}
	for _, key := range []age.Identity{one, two} {
		to := filepath.Join(t.TempDir(), "to")
		if err := restoreSealed(t, sealed, to, other, key); err != nil {
			t.Fatal(err)
		}
		if files(t, to)["agents/main/workspace/MEMORY.md"] != "snow\n" {
			t.Error("a file is missing")
		}
	}
	to := filepath.Join(t.TempDir(), "to")
	for _, c := range []struct {
		archive []byte
		keys    []age.Identity
		want    error
	}{
		{sealed, nil, backup.ErrEncrypted},
		{sealed, []age.Identity{other}, backup.ErrWrongIdentity},
		{packed, []age.Identity{one}, backup.ErrNotEncrypted},
		{nil, []age.Identity{one}, backup.ErrNotEncrypted},
	} {
		if err := restoreSealed(t, c.archive, to, c.keys...); !errors.Is(err, c.want) || !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a refused archive was restored")
	}
}

// TestEncryptedDamaged truncates and changes an encrypted archive at many places, its last
// byte included: it must be rejected without leaving files.
func TestEncryptedDamaged(t *testing.T) {
	dir, _ := home(t, 1)
	key := newKey(t)
	sealed := encrypt(t, pack(t, dir), key)
	parent := t.TempDir()
	refused := func(what string, archive []byte) {
		t.Helper()
		err := restoreSealed(t, archive, filepath.Join(parent, "to"), key)
		if !errors.Is(err, firn.ErrCorrupt) && !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
		if names, err := os.ReadDir(parent); err != nil || len(names) > 0 {
			t.Errorf("%s leaves %v, %v", what, names, err)
		}
	}
	for n := 0; n < len(sealed); n += 13 {
		refused(fmt.Sprint("cut at ", n), sealed[:n])
		changed := bytes.Clone(sealed)
		changed[n] ^= 1
		refused(fmt.Sprint("changed at ", n), changed)
	}
	last := bytes.Clone(sealed)
	last[len(last)-1] ^= 1
	refused("changed at the end", last)
	refused("without the last byte", sealed[:len(sealed)-1])
	refused("continued", append(bytes.Clone(sealed), 0))
}

// TestEncryptedEnd checks that an archive is refused if the encrypted data ends at the
// border of a chunk after all files were read, without the authenticated end.
func TestEncryptedEnd(t *testing.T) {
	dir, _ := home(t, 1)
	key := newKey(t)
	padded := append(pack(t, dir), make([]byte, 1<<17)...)
	sealed := encrypt(t, padded, key)
	header := len(sealed) - len(padded) - 3*16 // three chunks, each with a tag of 16 bytes
	to := filepath.Join(t.TempDir(), "to")
	if err := restoreSealed(t, sealed[:header+2*(1<<16+16)], to, key); !errors.Is(err, firn.ErrCorrupt) {
		t.Errorf("without its last chunk: %v", err)
	}
	if err := restoreSealed(t, sealed, to, key); err != nil {
		t.Errorf("complete: %v", err)
	}
}

// TestKeyFiles reads identity and recipients files. No error contains a secret.
func TestKeyFiles(t *testing.T) {
	key := newKey(t)
	write := func(text string, mode os.FileMode) string {
		file := filepath.Join(t.TempDir(), "key.txt")
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if got, err := backup.ReadIdentities(write("# mine\r\n\r\n"+key.String()+"\r\n", 0o600)); err != nil || len(got) != 1 {
		t.Errorf("identities %v, %v", got, err)
	}
	if got, err := backup.ReadRecipients(write("# ada\n"+key.Recipient().String()+"\n"+newKey(t).Recipient().String()+"\n", 0o644)); err != nil || len(got) != 2 {
		t.Errorf("recipients %v, %v", got, err)
	}
	if runtime.GOOS != "windows" {
		if _, err := backup.ReadIdentities(write(key.String(), 0o640)); !errors.Is(err, backup.ErrOpenIdentity) {
			t.Errorf("readable by others: %v", err)
		}
	}
	broken := strings.ToLower(key.String()[:40])
	for _, text := range []string{"", "x", key.String() + "x", broken, key.Recipient().String(), "age-encryption.org/v1\n", strings.Repeat("# long\n", 1<<18)} {
		_, err := backup.ReadIdentities(write(text, 0o600))
		if !errors.Is(err, firn.ErrInvalid) && !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("identity %.20q: %v", text, err)
		}
		if err != nil && strings.Contains(strings.ToUpper(err.Error()), key.String()[20:40]) {
			t.Errorf("the error contains the key: %v", err)
		}
	}
	for _, text := range []string{"", "age1", "ssh-ed25519 AAAA", key.String(), broken, key.Recipient().String() + "q"} {
		_, err := backup.ParseRecipients(text)
		if !errors.Is(err, firn.ErrInvalid) || strings.Contains(strings.ToUpper(err.Error()), key.String()[20:40]) {
			t.Errorf("recipient %.20q: %v", text, err)
		}
	}
}

// A key, and a text encrypted to it. They are fixed, so that inputs that were found once stay
// valid.
const (
	fuzzKey    = "AGE-SECRET-KEY-18CXH2GG3L2KMFVA2VJHAPELSEW508M0XCHGNJZGYD2ZQRNHS02FS80MUZP"
	fuzzSealed = "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBrUHNSa094b2lKUkdta0tWZDdXeVJ6U1FPSjBYWjIwS2w2ci94WERqM1YwCnRvd0dFeVc1TUZ0UXU1eWZUL1JaR2xZZ0U2" +
		"MmtNcW5UZnppeTVUcnJ2d2MKLS0tIFBmZ3ltMzdnRnIwT0grcWZlQW93dWJkRkEwTm0zVnlJOUpyN1JYb25WM3cKds0A6+Brb9nIvZy2uq9H/hqdkf+e7r7pkVMXET1VqBWKoxeT"
)

// FuzzDecrypt decrypts arbitrary data, and data behind a valid header.
func FuzzDecrypt(f *testing.F) {
	key, err := age.ParseX25519Identity(fuzzKey)
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := base64.StdEncoding.DecodeString(fuzzSealed)
	if err != nil {
		f.Fatal(err)
	}
	header := bytes.Index(sealed, []byte("\n---")) + 48
	f.Add(sealed)
	f.Add(sealed[header:])
	f.Add([]byte("age-encryption.org/v1\n-> X25519 x\n"))
	f.Add([]byte("-----BEGIN AGE ENCRYPTED FILE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, archive := range [][]byte{data, append(bytes.Clone(sealed[:header]), data...)} {
			plain, err := backup.Decrypt(bytes.NewReader(archive), []age.Identity{key})
			if err == nil {
				_, err = io.Copy(io.Discard, plain)
			}
			if err != nil && !errors.Is(err, firn.ErrCorrupt) && !errors.Is(err, firn.ErrInvalid) {
				t.Error(err)
			}
		}
	})
}
