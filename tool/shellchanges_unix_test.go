//go:build unix

package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// batch collects recorded changes.
type batch struct{ all []RecordedChange }

func (*batch) Before(context.Context, FileState) error           { return nil }
func (*batch) After(context.Context, FileState, FileState) error { return nil }
func (b *batch) Changed(_ context.Context, c []RecordedChange) error {
	b.all = append(b.all, c...)
	return nil
}

// texts returns the recorded changes as path, content before and after; ? is unknown, - no
// file.
func (b *batch) texts(dir string) []string {
	text := func(s FileState) string {
		switch {
		case !s.Exists:
			return "-"
		case s.Content == nil && s.Size > 0:
			return "?"
		}
		return string(s.Content)
	}
	var all []string
	for _, c := range b.all {
		name, _ := filepath.Rel(dir, c.After.Path)
		all = append(all, fmt.Sprintf("%s %s>%s", name, text(c.Before), text(c.After)))
	}
	slices.Sort(all)
	return all
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// watched runs a command and returns what was recorded, and the result.
func watched(t *testing.T, dir, command string, files int) (*batch, Result, shellDetails) {
	t.Helper()
	b := &batch{}
	r, err := Shell(ShellOptions{Dir: dir, Env: os.Environ(), WatchFiles: files}).Run(WithChangeRecorder(t.Context(), b), json.RawMessage(fmt.Sprintf(`{"command":%q}`, command)))
	if err != nil {
		t.Fatal(err)
	}
	var d shellDetails
	if err := json.Unmarshal(r.Details, &d); err != nil {
		t.Fatal(err)
	}
	return b, r, d
}

// TestShellChanges finds the files that a command created, changed and deleted, with their
// contents, inside and outside of a git work tree.
func TestShellChanges(t *testing.T) {
	large := strings.Repeat("x", maxWatchedFile+1)
	for _, git := range []bool{false, true} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, "clean", "clean")
		put(t, dir, "sub/gone", "gone")
		put(t, dir, "same", "same")
		put(t, dir, "dirty", "committed")
		put(t, dir, "large", large)
		want := []string{"clean clean>clean2", "dirty dirty>dirty2", "large ?>short", "new ->new", "sub/gone gone>-", "untracked old>new2"}
		if git {
			put(t, dir, ".gitignore", "*.log\n")
			for _, args := range [][]string{{"init", "-q"}, {"add", "clean", "sub", "same", "dirty", ".gitignore"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
				cmd := exec.Command("git", args...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v %s", args, err, out)
				}
			}
		}
		put(t, dir, "dirty", "dirty")
		put(t, dir, "untracked", "old")
		b, r, d := watched(t, dir, "printf clean2 >clean; rm sub/gone; printf dirty2 >dirty; printf new >new; printf new2 >untracked; printf short >large; echo x >.git/x; echo x >a.log; touch -r same same", 1000)
		got := b.texts(dir)
		if !git {
			got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "a.log") || strings.HasPrefix(s, ".git") })
		}
		if !slices.Equal(got, want) {
			t.Errorf("git %v: recorded %q, want %q", git, got, want)
		}
		if text := r.Parts[0]; !strings.Contains(fmt.Sprint(text), "[a rewind cannot restore large]") || d.ChangedFiles < len(want) {
			t.Errorf("git %v: the result is %v with %+v", git, text, d)
		}
	}
}

// TestShellChangesLimit checks that a tree with too many files is not compared, which the
// details report, and that nothing is examined if the comparison is disabled.
func TestShellChangesLimit(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		put(t, dir, fmt.Sprint("f", i), "x")
	}
	b, _, d := watched(t, dir, "echo y >f1", 10)
	if len(b.all) != 0 || !strings.Contains(d.Unknown, "more than 10 files") {
		t.Errorf("recorded %v, %+v", b.all, d)
	}
	if b, _, d = watched(t, dir, "echo z >f1", 0); len(b.all) != 0 || d.Unknown != "" {
		t.Errorf("recorded %v, %+v", b.all, d)
	}
	b, r, d := watched(t, dir, "for i in $(seq 400); do echo y >n$i; done", 10_000)
	if d.ChangedFiles != 400 || len(d.Changed) != maxNamed || !strings.Contains(fmt.Sprint(r.Parts[0]), "100 files after the first 300") {
		t.Errorf("%d of %d changes, %v", len(b.all), d.ChangedFiles, r.Parts)
	}
	stored := 0
	for _, c := range b.all {
		if c.After.Content != nil {
			stored++
		}
	}
	if len(b.all) != 400 || stored != maxStored {
		t.Errorf("recorded %d changes with %d contents", len(b.all), stored)
	}
}

// TestBackgroundChanges finds the files that a command in the background changes: at the next
// turn while it runs, when its output is read, and when it ends. Files that other tools write
// meanwhile are not among them.
func TestBackgroundChanges(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a.txt", "old")
	if err := syscall.Mkfifo(filepath.Join(dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewShells(ShellOptions{Dir: dir, Env: os.Environ(), WatchFiles: 100})
	t.Cleanup(func() { s.Close() })
	w, err := OpenWorkspace(dir, WorkspaceOptions{Changed: s.Accept})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	call := func(b *batch, name string, arguments string) (r Result, d jobDetails) {
		t.Helper()
		for _, x := range append(s.Tools(), w.Tools()...) {
			if x.Spec().Name == name {
				if r, err = x.Run(WithChangeRecorder(t.Context(), b), json.RawMessage(arguments)); err != nil {
					t.Fatal(err)
				}
				_ = json.Unmarshal(r.Details, &d)
				return r, d
			}
		}
		t.Fatalf("no tool %s", name)
		return r, d
	}
	expect := func(b *batch, want ...string) {
		t.Helper()
		if got := b.texts(dir); !slices.Equal(got, want) {
			t.Errorf("recorded %q, want %q", got, want)
		}
	}
	started, other := &batch{}, &batch{}
	step := func() { // the command reads and writes the pipe in turn
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "go"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(filepath.Join(dir, "go")); err != nil {
			t.Fatal(err)
		}
	}
	_, d := call(started, "shell", `{"background":true,"command":"cat go; printf new > a.txt; echo x > go; cat go; printf b > b.txt; echo x > go; cat go; rm a.txt"}`)
	step()
	s.Compare() // the next turn
	expect(started, "a.txt old>new")
	call(other, "write_file", `{"path":"own.txt","content":"mine"}`)
	call(other, "shell", `{"command":"printf theirs > theirs.txt"}`)
	s.Compare()
	expect(started, "a.txt old>new")
	expect(other, "theirs.txt ->theirs") // write_file is recorded by Before and After
	step()
	_, d = call(other, "shell_output", `{"handle":"`+d.Handle+`"}`)
	expect(started, "a.txt old>new", "b.txt ->b")
	if d.ChangedFiles != 2 || len(d.Changed) != 2 || d.Changed[1].Path != "b.txt" {
		t.Errorf("the details are %+v", d)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := call(other, "shell_output", `{"handle":"`+d.Handle+`","wait":60}`)
	expect(started, "a.txt new>-", "a.txt old>new", "b.txt ->b")
	if !strings.Contains(string(r.Details), `"changedFiles":3`) {
		t.Errorf("the last details are %s", r.Details)
	}
}
