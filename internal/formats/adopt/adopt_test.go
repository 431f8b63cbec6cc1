package adopt_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
)

// tool is firn with a retention period and a home chosen by the test.
type tool struct{ native.Tool }

type layout struct{ dialect.Layout }

func (t tool) Layout() dialect.Layout { return layout{t.Tool.Layout()} }

func (layout) Homes() []string { return []string{".tool", ".oldtool"} }

func (layout) SideFiles() []string {
	return []string{"agents/*/sessions/sessions.json", "agents/*/deep/**/*.meta.json"}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const header = `{"type":"session","version":3,"id":"a1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/x","firn":1}` + "\n"

func TestFind(t *testing.T) {
	user := t.TempDir()
	put(t, filepath.Join(user, ".oldtool/agents/main/sessions/a1.jsonl"), header)
	put(t, filepath.Join(user, ".oldtool/agents/main/sessions/a2.jsonl"), header+header)
	found, err := adopt.Find(t.Context(), user, []dialect.Tool{tool{}}, nil)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	f := found[0]
	if f.Sessions != 2 || f.Bytes != int64(3*len(header)) || f.Home != filepath.Join(user, ".oldtool") || f.Oldest.IsZero() {
		t.Errorf("found %+v", f)
	}
	elsewhere := t.TempDir()
	put(t, filepath.Join(elsewhere, "agents/main/sessions/b1.jsonl"), header)
	found, err = adopt.Find(t.Context(), user, []dialect.Tool{tool{}}, map[dialect.Name]string{dialect.Native: elsewhere})
	if err != nil || len(found) != 1 || found[0].Home != elsewhere {
		t.Errorf("with a folder that was named: %v, %v", found, err)
	}
}

// mirror returns a mirror of a home with one session.
func mirror(t *testing.T, link bool) (m *adopt.Mirror, theirs, ours string) {
	t.Helper()
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "mirror")
	m = &adopt.Mirror{Tool: tool{}, Home: home, Dir: dir, FS: vfs.OS{}, Link: link, Now: time.Now}
	const name = "agents/main/sessions/a1.jsonl"
	put(t, filepath.Join(home, name), header)
	put(t, filepath.Join(home, "agents/main/sessions/sessions.json"), "{}")
	put(t, filepath.Join(home, "auth.json"), "secret")
	put(t, filepath.Join(home, "agents/main/sessions/a1.jsonl.lock"), "1")
	return m, filepath.Join(home, name), filepath.Join(dir, name)
}

func run(t *testing.T, m *adopt.Mirror) adopt.Result {
	t.Helper()
	done, err := m.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestMirror(t *testing.T) {
	m, theirs, ours := mirror(t, false)
	if done := run(t, m); done.Copied != 2 || get(t, ours) != header {
		t.Errorf("the first run did %+v", done)
	}
	for _, secret := range []string{"auth.json", "agents/main/sessions/a1.jsonl.lock"} {
		if _, err := os.Stat(filepath.Join(m.Dir, secret)); err == nil {
			t.Errorf("%s was mirrored", secret)
		}
	}
	if done := run(t, m); done.Bytes != 0 || done.Copied+done.Grown+done.Kept != 0 {
		t.Errorf("with nothing new it did %+v", done)
	}
	put(t, theirs, header+"{}\n")
	if done := run(t, m); done.Grown != 1 || done.Bytes != 3 || get(t, ours) != header+"{}\n" {
		t.Errorf("with a line more it did %+v", done)
	}
	if err := os.Remove(theirs); err != nil {
		t.Fatal(err)
	}
	if run(t, m); get(t, ours) != header+"{}\n" {
		t.Error("an entry that the tool deleted is missing")
	}
	manifest, err := adopt.ReadManifest(m.Dir)
	if err != nil || manifest.Home != m.Home || manifest.Tool != dialect.Native {
		t.Errorf("the manifest is %+v, %v", manifest, err)
	}
}

// TestMirrorKeeps checks that the mirror loses nothing if a tool rewrites or truncates its
// file.
func TestMirrorKeeps(t *testing.T) {
	for name, text := range map[string]string{"another": strings.ToUpper(header) + "{}\n", "shorter": "{}\n", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			m, theirs, ours := mirror(t, false)
			run(t, m)
			put(t, theirs, text)
			if done := run(t, m); done.Kept != 1 || get(t, ours) != text {
				t.Errorf("it did %+v and has %q", done, get(t, ours))
			}
			old, err := filepath.Glob(ours + ".was-*")
			if err != nil || len(old) != 1 || get(t, old[0]) != header {
				t.Errorf("the previous content is in %v, %v", old, err)
			}
		})
	}
}

// TestInterruptedMirrorIsCompleted checks that an interrupted copy is completed regardless of
// the manifest.
func TestInterruptedMirrorIsCompleted(t *testing.T) {
	m, theirs, ours := mirror(t, false)
	run(t, m)
	put(t, theirs, header+strings.Repeat("{}\n", 1000))
	put(t, ours, header+strings.Repeat("{}\n", 10)+"{")
	run(t, m)
	if get(t, ours) != get(t, theirs) {
		t.Error("the copies differ")
	}
}

func TestMirrorLinks(t *testing.T) {
	m, theirs, ours := mirror(t, true)
	if done := run(t, m); done.Linked != 1 {
		t.Fatalf("it did %+v", done)
	}
	a, err := os.Stat(theirs)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.Stat(ours)
	if err != nil || !os.SameFile(a, b) {
		t.Errorf("the mirror is another file: %v", err)
	}
	f, err := os.OpenFile(theirs, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{}\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if done := run(t, m); done.Bytes != 0 || get(t, ours) != header+"{}\n" {
		t.Errorf("with a line more it did %+v", done)
	}
}

func TestMirrorStops(t *testing.T) {
	m, _, _ := mirror(t, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Run(ctx); err == nil {
		t.Error("it continued")
	}
	if done := run(t, m); done.Copied != 2 {
		t.Errorf("the next run did %+v", done)
	}
}
