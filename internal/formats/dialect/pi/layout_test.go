package pi_test

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

func file() *fstest.MapFile { return &fstest.MapFile{Data: []byte(head3)} }

// home returns a home of pi.
func home() fstest.MapFS {
	return fstest.MapFS{
		"auth.json":     file(),
		"settings.json": file(),
		"sessions/--home-u-proj--/2026-03-15T10-00-00-000Z_01a1dd18-b7a7-728c-8ebd-1c8c5930816d.jsonl": file(),
		"sessions/--home-u-proj--/2026-03-16T10-00-00-120Z_my_own.jsonl":                               file(),
		"sessions/--other--/2026-03-17T10-00-00-000Z_my_own.jsonl":                                     file(),
		"sessions/--other--/by hand.jsonl":                                                             file(),
		"sessions/--other--/notes.txt":                                                                 file(),
		"2025-12-24T10-00-00-000Z_stray.jsonl":                                                         file(),
		"history.jsonl":                                                                                file(),
	}
}

func TestOwns(t *testing.T) {
	l := tool.Layout()
	if !slices.Equal(l.Homes(), []string{".pi/agent"}) {
		t.Errorf("Homes = %q", l.Homes())
	}
	for name, test := range map[string]struct {
		home fstest.MapFS
		want bool
	}{
		"pi":       {home(), true},
		"new":      {fstest.MapFS{"auth.json": file(), "settings.json": file(), "sessions": {Mode: fs.ModeDir}}, true},
		"Codex":    {fstest.MapFS{"auth.json": file(), "config.toml": file(), "sessions/2026/11/15/rollout-x.jsonl": file()}, false},
		"Claude":   {fstest.MapFS{"settings.json": file(), "projects/-w/x.jsonl": file()}, false},
		"OpenClaw": {fstest.MapFS{"openclaw.json": file(), "agents/main/sessions/sessions.json": file()}, false},
		"empty":    {fstest.MapFS{}, false},
		"a file":   {fstest.MapFS{"sessions": file()}, false},
	} {
		if got := l.Owns(test.home); got != test.want {
			t.Errorf("%s: Owns = %t", name, got)
		}
	}
}

func TestTranscripts(t *testing.T) {
	found := make(map[string]dialect.Transcript)
	taken := make(map[firn.ID]bool)
	for tr, err := range tool.Layout().Transcripts(home()) {
		if err != nil {
			t.Fatal(err)
		}
		if taken[tr.ID] || tr.ID.Check() != nil {
			t.Errorf("%s has the id %q", tr.Parts, tr.ID)
		}
		taken[tr.ID] = true
		found[path.Base(tr.Parts[0])] = tr
	}
	if len(found) != 5 {
		t.Errorf("found %d transcripts: %v", len(found), found)
	}
	one := found["2026-03-16T10-00-00-120Z_my_own.jsonl"]
	if one.ID != "my_own" || one.Name != "my_own" || !one.Created.Equal(time.Date(2026, 3, 16, 10, 0, 0, 120e6, time.UTC)) {
		t.Errorf("a file reads as %+v", one)
	}
	if twin := found["2026-03-17T10-00-00-000Z_my_own.jsonl"]; twin.Name != "my_own" || twin.ID == one.ID {
		t.Errorf("its twin reads as %+v", twin)
	}
	if hand := found["by hand.jsonl"]; hand.Name != "by hand" || !dialect.IsUUID(string(hand.ID)) || !hand.Created.IsZero() {
		t.Errorf("a file with a name of its own reads as %+v", hand)
	}
	for range tool.Layout().Transcripts(home()) {
		break // stopping early must work
	}
}

// broken is a home with an unreadable directory.
type broken struct{ fstest.MapFS }

func (b broken) ReadDir(name string) ([]fs.DirEntry, error) {
	if strings.Contains(name, "other") {
		return nil, fs.ErrPermission
	}
	return b.MapFS.ReadDir(name)
}

func TestTranscriptsContinueAfterErrors(t *testing.T) {
	read, failed := 0, 0
	for _, err := range tool.Layout().Transcripts(broken{home()}) {
		switch {
		case err == nil:
			read++
		case errors.Is(err, fs.ErrPermission):
			failed++
		default:
			t.Error(err)
		}
	}
	if read != 3 || failed != 1 {
		t.Errorf("%d read, %d failed", read, failed)
	}
}

func TestPlace(t *testing.T) {
	for _, test := range []struct{ name, cwd, session, want string }{
		{"as pi does", "/home/u/my proj", "s1", "sessions/--home-u-my proj--/2026-11-15T02-40-15-042Z_s1.jsonl"},
		{"Windows", `C:\Users\u`, "s1", "sessions/--C--Users-u--/2026-11-15T02-40-15-042Z_s1.jsonl"},
		{"the root", "/", "s1", "sessions/----/2026-11-15T02-40-15-042Z_s1.jsonl"},
		{"nowhere", "", "s1", "sessions/----/2026-11-15T02-40-15-042Z_s1.jsonl"},
		{"up", "/../..", "s1", "sessions/--..-..--/2026-11-15T02-40-15-042Z_s1.jsonl"},
		{"hostile", "/a\x00b\nc\xff", "../../x", "sessions/--a-b-c---/2026-11-15T02-40-15-042Z_" + dialect.UUID("pi", "../../x") + ".jsonl"},
	} {
		got, err := tool.Layout().Place(home(), dialect.Target{Session: firn.ID(test.session), CWD: test.cwd, Created: when})
		if err != nil || got != test.want || !fs.ValidPath(got) {
			t.Errorf("%s: Place = %q, %v; want %q", test.name, got, err, test.want)
		}
	}
	long, err := tool.Layout().Place(home(), dialect.Target{Session: "s", CWD: "/" + strings.Repeat("é/", 300)})
	if dir := path.Base(path.Dir(long)); err != nil || len(dir) > 255 || !strings.HasPrefix(path.Base(long), "1970-01-01T00-00-00-000Z_s") {
		t.Errorf("Place in a long directory = %q, %v", long, err)
	}
}

func TestPlaceNeverTwice(t *testing.T) {
	h := home()
	to := dialect.Target{Session: "s1", CWD: "/w", Created: when}
	seen := make(map[string]bool)
	for range 5 {
		name, err := tool.Layout().Place(h, to)
		if err != nil || seen[name] {
			t.Fatalf("Place = %q, %v", name, err)
		}
		seen[name] = true
		h[name] = file()
	}
	if _, err := tool.Layout().Place(broken{h}, dialect.Target{Session: "s1", CWD: "/other", Created: when}); err != nil {
		t.Errorf("a directory that cannot be listed: %v", err)
	}
}

func TestRestOfLayout(t *testing.T) {
	l := tool.Layout()
	if got := l.Resume("/x/y.jsonl", dialect.Target{}); !slices.Equal(got, []string{"pi", "--session", "/x/y.jsonl"}) {
		t.Errorf("Resume = %q", got)
	}
	if files, err := l.Index(home(), "x", dialect.Target{}); files != nil || err != nil {
		t.Errorf("Index = %v, %v", files, err)
	}
	if _, more := l.Part("x", 1<<40, 1); more || l.Retention(home()) != 0 || l.SideFiles() != nil {
		t.Error("pi has parts, a timer or further files")
	}
}

// FuzzTranscripts lists arbitrary homes.
func FuzzTranscripts(f *testing.F) {
	f.Add("sessions/--w--/2026-03-16T10-00-00-120Z_a.jsonl", "sessions/--w--/2026-03-17T10-00-00-120Z_a.jsonl", "a.jsonl")
	f.Add("sessions/as_long_as_a_stamp_is_.jsonl", "sessions/aslongastimestampsareee.jsonl", "sessions/aslongastimestampsareeee_x.jsonl")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		h := fstest.MapFS{}
		for _, name := range []string{a, b, c} {
			if fs.ValidPath(name) && name != "." {
				h[name] = file()
			}
		}
		tool.Layout().Owns(h)
		taken := make(map[firn.ID]bool)
		for tr, err := range tool.Layout().Transcripts(h) {
			if err != nil {
				continue // a file in place of a directory
			}
			if taken[tr.ID] || tr.ID.Check() != nil || len(tr.Parts) != 1 {
				t.Fatalf("%q has the id %q", tr.Parts, tr.ID)
			}
			taken[tr.ID] = true
			if _, err := fs.Stat(h, tr.Parts[0]); err != nil {
				t.Fatal(err)
			}
		}
	})
}
