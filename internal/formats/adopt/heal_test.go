package adopt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
)

// hooked calls a function before a file is opened.
type hooked struct {
	vfs.OS
	open func(name string, mode vfs.Mode)
}

func (h hooked) Open(name string, mode vfs.Mode) (vfs.File, error) {
	h.open(name, mode)
	return h.OS.Open(name, mode)
}

// long is a transcript of several megabytes.
var long = header + strings.Repeat(`{"type":"custom","a":"0123456789"}`+"\n", 100_000)

// age moves a file's modification time to the past.
func age(t *testing.T, name string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// aside lists the older versions of a file.
func aside(t *testing.T, ours string) []string {
	t.Helper()
	names, err := filepath.Glob(ours + ".was-*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestLinkIsNotWrittenTo checks that a linked file is written only by the tool.
func TestLinkIsNotWrittenTo(t *testing.T) {
	m, theirs, ours := mirror(t, true)
	run(t, m)
	appendTo(t, theirs, "{\"n\":1}\n")
	m.FS = hooked{open: func(name string, mode vfs.Mode) {
		if mode != vfs.Read && name == ours {
			t.Errorf("the link was opened to be written to (mode %d)", mode)
		}
	}}
	run(t, m)
	if want := header + "{\"n\":1}\n"; get(t, theirs) != want || get(t, ours) != want {
		t.Errorf("the file reads %q", get(t, theirs))
	}
}

// TestLinkOfAnotherFile checks that the old file of a tool, to which the mirror has a link,
// is unchanged after the tool starts a new one.
func TestLinkOfAnotherFile(t *testing.T) {
	m, theirs, ours := mirror(t, true)
	run(t, m)
	if err := os.Rename(theirs, theirs+".bak"); err != nil {
		t.Fatal(err)
	}
	put(t, theirs, header+"{}\n")
	run(t, m)
	if get(t, theirs+".bak") != header || get(t, ours) != header+"{}\n" {
		t.Errorf("the source reads %q, the copy %q", get(t, theirs+".bak"), get(t, ours))
	}
	appendTo(t, theirs, "{}\n")
	run(t, m)
	if get(t, theirs) != header+"{}\n{}\n" || get(t, ours) != get(t, theirs) {
		t.Error("it did not continue")
	}
}

// TestEditInTheMiddle checks that an edit that keeps the length is detected anywhere in the
// file.
func TestEditInTheMiddle(t *testing.T) {
	for name, at := range map[string]int{"first": 0, "middle": len(long) / 2, "last": len(long) - 2} {
		t.Run(name, func(t *testing.T) {
			m, theirs, ours := mirror(t, false)
			put(t, theirs, long)
			age(t, theirs, time.Hour)
			run(t, m)
			edited := long[:at] + "X" + long[at+1:]
			put(t, theirs, edited)
			if done := run(t, m); done.Kept != 1 || done.Repaired != 0 || get(t, ours) != edited {
				t.Errorf("it did %+v", done)
			}
			if old := aside(t, ours); len(old) != 1 || get(t, old[0]) != long {
				t.Errorf("the previous content is in %v", old)
			}
		})
	}
}

// TestEditWithinATick checks that an edit directly after mirroring, within one tick of the
// file system's clock, is detected.
func TestEditWithinATick(t *testing.T) {
	m, theirs, ours := mirror(t, false)
	at := time.Now()
	m.Now = func() time.Time { return at } // the same tick regardless of the test's duration
	for _, text := range []string{header, strings.ToUpper(header)} {
		put(t, theirs, text)
		if err := os.Chtimes(theirs, at, at); err != nil {
			t.Fatal(err)
		}
		if run(t, m); get(t, ours) != text {
			t.Errorf("the mirror reads %q", get(t, ours))
		}
	}
}

// TestDamagedMirrorIsRepaired checks that damage to the mirror is repaired while the original
// exists, and that damaged versions are not kept.
func TestDamagedMirrorIsRepaired(t *testing.T) {
	for name, damage := range map[string]string{
		"another byte": long[:len(long)/2] + "\x00" + long[len(long)/2+1:],
		"zeros":        long[:len(long)/2] + strings.Repeat("\x00", len(long)-len(long)/2),
		"shorter":      long[:1000],
		"empty":        "",
	} {
		t.Run(name, func(t *testing.T) {
			m, theirs, ours := mirror(t, false)
			put(t, theirs, long)
			age(t, theirs, time.Hour)
			run(t, m)
			put(t, ours, damage)
			if run(t, m); get(t, ours) != long {
				t.Error("it is still damaged")
			}
			if old := aside(t, ours); len(old) != 0 {
				t.Errorf("%v was put aside", old)
			}
			if done := run(t, m); done.Bytes+int64(done.Repaired) != 0 {
				t.Errorf("then it did %+v", done)
			}
		})
	}
}

// TestLongerMirrorIsSetAside checks that a copy that is longer than recorded is put aside.
func TestLongerMirrorIsSetAside(t *testing.T) {
	m, theirs, ours := mirror(t, false)
	run(t, m)
	appendTo(t, theirs, "{\"n\":1}\n")
	put(t, ours, header+"{\"m\":1}\n{\"m\":2}\n")
	if done := run(t, m); done.Kept != 1 || get(t, ours) != get(t, theirs) {
		t.Errorf("it did %+v", done)
	}
	if old := aside(t, ours); len(old) != 1 || !strings.Contains(get(t, old[0]), `"m":2`) {
		t.Errorf("%v was put aside", old)
	}
}

// TestUnchangedIsNotRead checks that unchanged files are not read.
func TestUnchangedIsNotRead(t *testing.T) {
	m, theirs, _ := mirror(t, false)
	age(t, theirs, time.Hour)
	age(t, filepath.Join(filepath.Dir(theirs), "sessions.json"), time.Hour)
	run(t, m)
	m.FS = hooked{open: func(name string, _ vfs.Mode) {
		if base := filepath.Base(name); base == "a1.jsonl" || base == "sessions.json" {
			t.Errorf("%s was opened", name)
		}
	}}
	run(t, m)
}

// TestTwoAtOnce checks that one of two concurrent runs waits.
func TestTwoAtOnce(t *testing.T) {
	m, theirs, ours := mirror(t, false)
	put(t, theirs, long)
	waits, result := make(chan struct{}), make(chan error, 1)
	second := *m
	second.Waiting = func() { close(waits) }
	begun := false
	m.FS = hooked{open: func(name string, mode vfs.Mode) {
		if mode == vfs.Create && name == ours && !begun {
			begun = true
			go func() {
				_, err := second.Run(t.Context())
				result <- err
			}()
			<-waits
		}
	}}
	done := run(t, m)
	if err := <-result; err != nil || !begun || done.Copied != 2 {
		t.Errorf("they did %+v, %v", done, err)
	}
	if get(t, ours) != long || len(aside(t, ours)) != 0 {
		t.Error("the mirror differs from the tool's session")
	}
}

// TestFirstLineChanges checks that a tool that rewrites its first line leaves no copies;
// other changes are put aside.
func TestFirstLineChanges(t *testing.T) {
	meta := func(title string) string {
		return `{"agent":"crab","created_by":"user","created_at":"2026-03-15T10:00:00+00:00","title":"` + title + `","uptime_secs":1}` + "\n"
	}
	const one, two = `{"role":"user","content":"one"}` + "\n", `{"role":"user","content":"two"}` + "\n"
	for _, test := range []struct {
		name, before, after string
		kept                int
	}{
		{"title", meta("") + one, meta("longer") + one, 0},
		{"title and more", meta("longer") + one, meta("x") + one + two, 0},
		{"only a line", meta(""), meta("x"), 0},
		{"another message", meta("") + one, meta("x") + two, 1},
		{"fewer messages", meta("") + one + two, meta("x") + one, 1},
		{"no such line", one + two, two + two, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			crabtalk, _ := dialects.Find(string(dialect.CrabTalk))
			m := &adopt.Mirror{Tool: crabtalk, Home: t.TempDir(), Dir: filepath.Join(t.TempDir(), "mirror"), FS: vfs.OS{}, Now: time.Now}
			theirs, ours := filepath.Join(m.Home, "sessions/crab_user_1.jsonl"), filepath.Join(m.Dir, "sessions/crab_user_1.jsonl")
			put(t, theirs, test.before)
			run(t, m)
			put(t, ours+".next", "of a run that was killed")
			put(t, theirs, test.after)
			if done := run(t, m); done.Kept != test.kept || done.Grown != 1-test.kept || get(t, ours) != test.after || len(aside(t, ours)) != test.kept {
				t.Errorf("it did %+v and has %q", done, get(t, ours))
			}
		})
	}
}

var errKilled = errors.New("killed")

// killed is a file system that fails during the second write.
type killed struct{ vfs.OS }

type dying struct {
	vfs.File
	writes int
}

func (k killed) Open(name string, mode vfs.Mode) (vfs.File, error) {
	f, err := k.OS.Open(name, mode)
	if err == nil && mode == vfs.Create && strings.HasSuffix(name, ".jsonl") {
		f = &dying{File: f}
	}
	return f, err
}

func (d *dying) Write(p []byte) (int, error) {
	if d.writes++; d.writes < 2 {
		return d.File.Write(p)
	}
	n, _ := d.File.Write(p[:len(p)/3])
	return n, errKilled
}

// TestKilledMidway checks that an interrupted run is continued, with or without a recorded
// progress.
func TestKilledMidway(t *testing.T) {
	for _, noted := range []bool{true, false} {
		m, theirs, ours := mirror(t, false)
		put(t, theirs, long)
		m.FS = killed{}
		if _, err := m.Run(t.Context()); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if !noted {
			if err := os.Remove(filepath.Join(m.Dir, "source.json")); err != nil {
				t.Fatal(err)
			}
		}
		part := int64(len(get(t, ours)))
		m.FS = vfs.OS{}
		if done := run(t, m); done.Grown != 1 || done.Bytes != int64(len(long))-part+2 || get(t, ours) != long {
			t.Errorf("it did %+v", done)
		}
	}
}

// TestUnreadable checks that an unreadable file does not affect the others.
func TestUnreadable(t *testing.T) {
	m, theirs, ours := mirror(t, false)
	dir := filepath.Dir(theirs)
	if err := os.Symlink("a0.jsonl", filepath.Join(dir, "a0.jsonl")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "a2.jsonl"), header)
	if err := os.MkdirAll(filepath.Join(filepath.Dir(ours), "a2.jsonl"), 0o700); err != nil { // in the way
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "a3.jsonl"), header)
	done := run(t, m)
	if len(done.Failed) != 2 || done.Failed[0].Path != "agents/main/sessions/a0.jsonl" || done.Failed[1].Path != "agents/main/sessions/a2.jsonl" {
		t.Errorf("it did %+v", done)
	}
	if done.Copied != 3 || get(t, ours) != header || get(t, filepath.Join(filepath.Dir(ours), "a3.jsonl")) != header {
		t.Errorf("it did %+v", done)
	}
}

// TestEmpty checks that a folder without a session is mirrored.
func TestEmpty(t *testing.T) {
	m := &adopt.Mirror{Tool: tool{}, Home: t.TempDir(), Dir: filepath.Join(t.TempDir(), "mirror"), FS: vfs.OS{}, Now: time.Now}
	if done := run(t, m); done.Files != 0 || done.Failed != nil {
		t.Errorf("it did %+v", done)
	}
	if _, err := adopt.ReadManifest(m.Dir); err != nil {
		t.Error(err)
	}
}

// TestMetadataFiles checks that metadata files are found at any depth, and no others.
func TestMetadataFiles(t *testing.T) {
	m, _, _ := mirror(t, false)
	for name, want := range map[string]bool{
		"agents/main/deep/x.meta.json": true, "agents/main/deep/a/b/c/x.meta.json": true, "agents/main/deep/a/x.json": false,
		"agents/main/x.meta.json": false, "agents/main/sessions/credentials.json": false, "agents/main/sessions/sessions.json": true,
	} {
		put(t, filepath.Join(m.Home, name), "{}")
		run(t, m)
		if _, err := os.Stat(filepath.Join(m.Dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSecrets checks that no secrets of a tool are mirrored, and that its session metadata
// is.
func TestSecrets(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	for tool, names := range map[dialect.Name][]string{
		dialect.ClaudeCode: {"projects/-x/" + id + ".jsonl", "projects/-x/" + id + "/custom-title.json", "projects/-x/" + id + "/subagents/agent-1.jsonl", "projects/-x/" + id + "/subagents/agent-1.meta.json"},
		dialect.Pi:         {"2026-01-01T00-00-00-000Z_" + id + ".jsonl", "sessions/2026-01-01T00-00-00-000Z_" + id + ".jsonl"},
		dialect.Codex:      {"sessions/rollout-2026-01-02T03-04-05-" + id + ".jsonl", "session_index.jsonl"},
		dialect.OpenClaw:   {"agents/main/sessions/a.jsonl", "agents/main/sessions/sessions.json", "sessions/b.jsonl", "sessions/sessions.json"},
		dialect.CrabTalk:   {"sessions/crab_user_1.jsonl", "sessions/crab_user_2/meta", "sessions/crab_user_2/step-000001"},
		dialect.Claw0:      {".sessions/transcripts/main_cli_user_6916a7a2e793.jsonl", ".sessions/sessions.json", ".sessions/agents/main/sessions.json", ".sessions/agents/main/sessions/a.jsonl"},
		dialect.Cersei:     {"projects/x/abc.jsonl"},
	} {
		home, dir := t.TempDir(), filepath.Join(t.TempDir(), "mirror")
		secrets := []string{"auth.json", ".credentials.json", "settings.json", "history.jsonl"}
		for _, name := range names {
			put(t, filepath.Join(home, name), `{"type":"tombstone","deleted_uuid":"x","timestamp":"2026-01-02T03:04:05+00:00"}`+"\n")
			secrets = append(secrets, filepath.Join(filepath.Dir(name), "auth.json"))
		}
		for _, name := range secrets {
			put(t, filepath.Join(home, name), "secret")
		}
		found, ok := dialects.Find(string(tool))
		if !ok {
			t.Fatal(tool)
		}
		m := &adopt.Mirror{Tool: found, Home: home, Dir: dir, FS: vfs.OS{}, Now: time.Now}
		if done := run(t, m); done.Copied != len(names) || done.Failed != nil {
			t.Errorf("%s: it did %+v", tool, done)
		}
		for _, name := range secrets {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s: %s was mirrored", tool, name)
			}
		}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s: %v", tool, err)
			}
		}
	}
}
