package anchor

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/disk/vfs"
)

func sample(t testing.TB) []byte {
	t.Helper()
	key, created, err := OwnKey(vfs.OS{}, filepath.Join(t.TempDir(), "anchor.key"))
	if err != nil || !created {
		t.Fatal(created, err)
	}
	a := New(time.Date(2026, 11, 18, 1, 2, 3, 4, time.UTC), []Session{
		{ID: "s2", State: hashchain.Start("s2").String()},
		{ID: "s1", State: hashchain.Start("s1").String(), Entry: "e1"},
	}, key)
	data, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParse(t *testing.T) {
	data := sample(t)
	a, err := Parse(data)
	if err != nil || len(a.Sessions) != 2 || a.Sessions[0].ID != "s1" {
		t.Fatal(a, err)
	}
	for name, test := range map[string]struct {
		old, new string
		want     error
	}{
		"another state":     {a.Sessions[0].State, hashchain.Start("s3").String(), firn.ErrCorrupt},
		"another session":   {`"s1"`, `"s0"`, firn.ErrCorrupt},
		"another time":      {"2026", "2025", firn.ErrCorrupt},
		"another root":      {a.Root[:4], "0000", firn.ErrCorrupt},
		"another key":       {a.Key[:4], "AAAA", firn.ErrCorrupt},
		"another signature": {a.Signature[:4], "AAAA", firn.ErrCorrupt},
		"a later version":   {`"version":1`, `"version":2`, firn.ErrUnsupported},
		"no JSON":           {"{", "", firn.ErrInvalid},
	} {
		changed := bytes.Replace(data, []byte(test.old), []byte(test.new), 1)
		if _, err := Parse(changed); !errors.Is(err, test.want) || bytes.Equal(changed, data) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "{}", "[]", "null", `{"version":1}`, "\x00"} {
		if _, err := Parse([]byte(text)); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "anchor.key")
	key, _, err := OwnKey(vfs.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	again, created, err := OwnKey(vfs.OS{}, path)
	if err != nil || created || !key.Equal(again) || PublicKey(key) != PublicKey(again) {
		t.Errorf("created %v: %v", created, err)
	}
	if err := WriteNew(vfs.OS{}, path, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file was written: %v", err)
	}
	for _, text := range []string{"", "x", strings.ReplaceAll(string(mustRead(t, path)), "PRIVATE", "PUBLIC")} {
		bad := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(vfs.OS{}, bad); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if len(key) != ed25519.PrivateKeySize {
		t.Error("the key is not an ed25519 key")
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func FuzzParse(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte(`{"version":1,"root":"00"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Parse(data)
		if err != nil {
			return
		}
		again, err := a.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := Parse(again); err != nil || b.Root != a.Root {
			t.Fatalf("written again it is not the same: %v", err)
		}
	})
}
