package encryption

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"firn.dev/internal/base/basetest"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
)

// Variables of the environment of TestConvertingChild.
const (
	childHome = "FIRN_TEST_CONVERT_HOME"
	childKey  = "FIRN_TEST_CONVERT_KEY"
	childTo   = "FIRN_TEST_CONVERT_TO"
)

// TestConvertingChild converts a home in a process that [TestKilledConversion] kills.
func TestConvertingChild(t *testing.T) {
	home := os.Getenv(childHome)
	if home == "" {
		return
	}
	var key sealfs.Key
	_, err := hex.Decode(key[:], []byte(os.Getenv(childKey)))
	ok(t, err)
	m, err := Read(home)
	ok(t, err)
	switch to := os.Getenv(childTo); {
	case m == nil && to == "plain":
		return
	case m == nil:
		id, err := age.GenerateX25519Identity()
		ok(t, err)
		m, err = NewMarker(key, Access{Recipients: []age.Recipient{id.Recipient()}})
		ok(t, err)
		fallthrough
	case to == "encrypted":
		_, err = Encrypt(t.Context(), home, m, key, nil)
	default:
		_, err = Decrypt(t.Context(), home, m, key, to == "accepted", nil)
	}
	ok(t, err)
}

// runChild converts a home in another process, which is killed after a time; 0 for never. It reports
// whether the process completed.
func runChild(t *testing.T, home string, key sealfs.Key, to string, limit time.Duration) bool {
	cmd := exec.Command(os.Args[0], "-test.run=^TestConvertingChild$")
	cmd.Env = append(os.Environ(), childHome+"="+home, childKey+"="+hex.EncodeToString(key[:]), childTo+"="+to)
	ok(t, cmd.Start())
	if limit > 0 {
		time.AfterFunc(limit, func() { cmd.Process.Kill() })
	}
	return cmd.Wait() == nil
}

// TestKilledAccept kills decryptions that accept damage with SIGKILL at random times. Until the end every damaged
// file is in its place or set aside, and the key in one of both places.
func TestKilledAccept(t *testing.T) {
	home, _, key := encryptedHome(t)
	want := make(map[string]string)
	for i := range 60 {
		name := fmt.Sprintf("agents/main/sessions/s%d.jsonl", i)
		if i%2 == 0 {
			name = fmt.Sprintf("files/objects/ab/s%d", i)
		}
		path := filepath.Join(home, filepath.FromSlash(name))
		ok(t, vfs.WriteFile(sealfs.New(vfs.OS{}, home, key, sealfs.Sealed), path, []byte(secret+strings.Repeat(secret, i*50))))
		flip(t, path, 60)
		data, err := os.ReadFile(path)
		ok(t, err)
		want[name] = string(data)
	}
	check := func() {
		t.Helper()
		kept := keptFiles(t, home)
		for name, text := range want {
			now, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(name)))
			if kept[name] != text && (err != nil || string(now) != text) {
				t.Fatalf("%s is lost: %v", name, err)
			}
		}
		for _, dir := range []string{home, conversion{key: key}.damagedDir(home)} {
			if m, err := Read(dir); err == nil && m != nil && m.fits(key) {
				return
			}
		}
		t.Fatal("the key is lost")
	}
	random := basetest.Random(t)
	for n, done := 1, false; !done; n++ { // the time grows, so that a slow machine completes too
		done = runChild(t, home, key, "accepted", time.Duration(n*(20+random.IntN(200)))*time.Millisecond)
		check()
	}
	if kept := keptFiles(t, home); len(kept) != len(want) {
		t.Errorf("%d files were kept, want %d", len(kept), len(want))
	}
}

// TestKilledConversion kills conversions in both directions with SIGKILL at random times. Every
// file can be read at any time, and at the end nothing is left of the killed processes.
func TestKilledConversion(t *testing.T) {
	home := newHome(t)
	for i := range 40 {
		name := filepath.Join(home, "agents", "main", "sessions", fmt.Sprintf("s%d.jsonl", i))
		ok(t, os.WriteFile(name, []byte(strings.Repeat(secret+" more\n", 1+i*100)), 0o600))
	}
	want := contents(t, home, vfs.OS{})
	key, err := sealfs.NewKey()
	ok(t, err)
	random := basetest.Random(t)
	check := func() {
		t.Helper()
		m, err := Read(home)
		ok(t, err)
		var files vfs.FS = vfs.OS{}
		if m != nil {
			files = sealfs.New(vfs.OS{}, home, key, m.Mode())
		}
		if got := contents(t, home, files); !maps.Equal(got, want) {
			t.Fatalf("%d files, want %d", len(got), len(want))
		}
	}
	for range 30 {
		runChild(t, home, key, []string{"encrypted", "plain"}[random.IntN(2)], time.Duration(1+random.IntN(60))*time.Millisecond)
		check()
	}
	if !runChild(t, home, key, "encrypted", 0) {
		t.Fatal("not encrypted")
	}
	check()
	if found := readable(t, home, secret); len(found) > 0 {
		t.Errorf("readable: %v", found)
	}
	if !runChild(t, home, key, "plain", 0) {
		t.Fatal("not decrypted")
	}
	check()
	for name := range describe(t, home) {
		if strings.HasSuffix(name, asideSuffix) || name == sealfs.MarkerName {
			t.Errorf("%s is left", name)
		}
	}
}

// contents returns the content of each file that is encrypted in an encrypted home.
func contents(t *testing.T, home string, files vfs.FS) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for name := range describe(t, home) {
		top, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if !sealfs.Covered(name) || isOther(top) || strings.HasPrefix(name, indexDir) || strings.HasSuffix(name, asideSuffix) {
			continue
		}
		f, err := files.Open(filepath.Join(home, name), vfs.Read)
		ok(t, err)
		data, err := io.ReadAll(f)
		ok(t, errors.Join(err, f.Close()))
		all[name] = string(data)
	}
	return all
}
