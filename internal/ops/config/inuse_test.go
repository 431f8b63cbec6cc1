package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// TestSameStore checks that different stores are distinguished, and one store with several
// names is recognized.
func TestSameStore(t *testing.T) {
	home := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b StoreRecord
		same bool
	}{
		{StoreRecord{URL: "file:"}, StoreRecord{URL: ""}, true},
		{StoreRecord{URL: "file:"}, StoreRecord{URL: "file:" + home}, true},
		{StoreRecord{URL: "file:" + link}, StoreRecord{URL: "file:" + home}, true},
		{StoreRecord{URL: "file:"}, StoreRecord{URL: "file:/other"}, false},
		{StoreRecord{URL: "file:/a"}, StoreRecord{URL: "nats-embedded:/a"}, false},
		{StoreRecord{URL: "nats-embedded:/a"}, StoreRecord{URL: "nats-embedded:/a/"}, true},
		{StoreRecord{URL: "nats-embedded:/a"}, StoreRecord{URL: "nats-embedded:/a", Space: "x"}, false},
		{StoreRecord{URL: "nats-embedded:" + link}, StoreRecord{URL: "nats-embedded:" + home}, true},
		{StoreRecord{URL: "nats://a:4222,b"}, StoreRecord{URL: "tls://B,c"}, true},
		{StoreRecord{URL: "nats://a,nats://[::1]"}, StoreRecord{URL: "nats://[::1]:4222"}, true},
		{StoreRecord{URL: "nats://a"}, StoreRecord{URL: "nats://a:4223"}, false},
		{StoreRecord{URL: "nats://a", Space: "x"}, StoreRecord{URL: "nats://a", Space: "y"}, false},
		{StoreRecord{URL: "nats://a"}, StoreRecord{URL: "file:"}, false},
	} {
		if got := SameStore(home, c.a, c.b); got != c.same {
			t.Errorf("%+v and %+v: %v", c.a, c.b, got)
		}
		if got := SameStore(home, c.b, c.a); got != c.same {
			t.Errorf("%+v and %+v: %v", c.b, c.a, got)
		}
	}
}

// TestStoreRecord writes a record and reads it after the home was moved.
func TestStoreRecord(t *testing.T) {
	dir := t.TempDir()
	home, moved := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadRecord(vfs.OS{}, home); r != nil || err != nil {
		t.Errorf("without one: %+v, %v", r, err)
	}
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := StoreRecord{URL: "nats-embedded:" + filepath.Join(home, "nats"), Since: since, Before: "file:" + filepath.Join(dir, "old")}
	if err := want.Write(vfs.OS{}, home); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(home, moved); err != nil {
		t.Fatal(err)
	}
	r, err := ReadRecord(vfs.OS{}, moved)
	if err != nil || r.URL != "nats-embedded:"+filepath.Join(moved, "nats") || r.Before != want.Before || !r.Since.Equal(since) {
		t.Errorf("got %+v, %v", r, err)
	}
	if err := (StoreRecord{URL: "file:" + moved}).Write(vfs.OS{}, moved); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadRecord(vfs.OS{}, moved); err != nil || r.URL != "file:" {
		t.Errorf("for its own files got %+v, %v", r, err)
	}
	for _, bad := range []string{"", "{", "[]", `{"store":""}`, `{"store":"ftp://x"}`, `{"store":"nats://u:p@x"}`, `{"store":7}`, "\x00"} {
		if err := os.WriteFile(filepath.Join(moved, RecordName), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := ReadRecord(vfs.OS{}, moved); !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("%q is read as %+v, %v", bad, r, err)
		}
	}
}

// TestCheckStore checks which store applies, depending on where it is named and the use.
func TestCheckStore(t *testing.T) {
	const here, there = "nats://here:4222", "nats://there:4222"
	for _, c := range []struct {
		name, record, file, env, flag string
		url                           string // the resulting setting
		layer                         Layer
		// note and refused are for reading; writing is refused in both cases.
		note, refused bool
	}{
		{name: "nothing", url: "file:", layer: FromDefault},
		{name: "a record", record: here, url: here, layer: FromRecord},
		{name: "a setting", file: here, url: here, layer: FromFile},
		{name: "both agree", record: here, file: "nats://more:4222,here", url: "nats://more:4222,here", layer: FromFile},
		{name: "both differ", record: here, file: there, url: there, layer: FromFile, refused: true},
		{name: "a flag", record: here, flag: there, url: there, layer: FromFlag, note: true},
		{name: "a variable", record: here, env: there, url: there, layer: FromEnvironment, note: true},
		{name: "a flag that agrees", record: here, file: there, flag: here, url: here, layer: FromFlag},
		{name: "back in files", record: "file:", file: there, url: there, layer: FromFile, refused: true},
		{name: "in files", record: "file:", url: "file:", layer: FromRecord},
	} {
		home := t.TempDir()
		if c.record != "" {
			if err := (Store{URL: c.record, Space: "firn"}).Record(home).Write(vfs.OS{}, home); err != nil {
				t.Fatal(err)
			}
		}
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(home, FileName), []byte("[store]\nurl = \""+c.file+"\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		environ, flags := []string{"HOME=" + home}, map[string]string{"home": home}
		if c.env != "" {
			environ = append(environ, "FIRN_STORE="+c.env)
		}
		if c.flag != "" {
			flags["store.url"] = c.flag
		}
		s, err := Open("", environ, flags)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if layer := s.storeOrigin().Layer; s.Store.URL != c.url || layer != c.layer {
			t.Errorf("%s: the store is %s, from %s", c.name, s.Store.URL, layer)
		}
		note, err := s.CheckStore(vfs.OS{}, Reading)
		var wrong *WrongStore
		if (note != "") != c.note || errors.As(err, &wrong) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: to read: %q, %v", c.name, note, err)
		}
		for _, use := range []Use{Writing, Serving} {
			_, err := s.CheckStore(vfs.OS{}, use)
			if (err != nil) != (c.note || c.refused) {
				t.Errorf("%s: to write: %v", c.name, err)
			}
			if errors.As(err, &wrong) && (!errors.Is(err, firn.ErrConflict) || !strings.Contains(wrong.Hint, "firn migrate --from "+c.record+" --to "+c.url)) {
				t.Errorf("%s: got %q, %q", c.name, wrong.Message, wrong.Hint)
			}
		}
	}
}

// TestStoreMovedMeanwhile checks that a command that read its settings before the sessions were
// moved is refused the old store.
func TestStoreMovedMeanwhile(t *testing.T) {
	home := t.TempDir()
	s, err := Open("", []string{"HOME=" + home}, map[string]string{"home": home})
	if err != nil {
		t.Fatal(err)
	}
	if err := (StoreRecord{URL: "nats://here:4222", Space: "firn"}).Write(vfs.OS{}, home); err != nil {
		t.Fatal(err)
	}
	var wrong *WrongStore
	if _, err := s.CheckStore(vfs.OS{}, Writing); !errors.As(err, &wrong) || wrong.Hint != "run it again" {
		t.Errorf("got %v", err)
	}
}
