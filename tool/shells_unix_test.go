//go:build unix

package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/tool"
)

type job struct {
	Handle  string
	Running bool
}

// shells returns the tools for commands in a directory, by name.
func shells(t *testing.T, dir string) map[string]tool.Tool {
	t.Helper()
	s := tool.NewShells(tool.ShellOptions{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}})
	t.Cleanup(func() { s.Close() })
	all := make(map[string]tool.Tool)
	for _, x := range s.Tools() {
		all[x.Spec().Name] = x
	}
	return all
}

func TestShellBackground(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := shells(t, dir)
	started := details[job](t, result(t, s["shell"], args{"command": "echo first; cat go; echo last; exit 3", "background": true}))
	if !started.Running || started.Handle == "" {
		t.Fatalf("started %+v", started)
	}
	seen := ""
	for !strings.Contains(seen, "first") {
		r := result(t, s["shell_output"], args{"handle": started.Handle, "wait": 0.05})
		if !details[job](t, r).Running {
			t.Fatalf("it ended: %v", r.Parts)
		}
		seen += firn.JoinText(r.Parts)
	}
	has(t, seen, "still running")
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("between\n"), 0o600); err != nil { // cat is waiting for it
		t.Fatal(err)
	}
	var r tool.Result
	for r = result(t, s["shell_output"], args{"handle": started.Handle, "wait": 60}); details[job](t, r).Running; {
		seen += firn.JoinText(r.Parts)
		r = result(t, s["shell_output"], args{"handle": started.Handle, "wait": 60})
	}
	seen += firn.JoinText(r.Parts)
	has(t, seen, "between", "last", "[exit code 3]")
	if strings.Count(seen, "first") != 1 {
		t.Errorf("output was shown twice: %q", seen)
	}
	has(t, fails(t, s["shell_output"], args{"handle": started.Handle}).Error(), "not found")
}

func TestShellKill(t *testing.T) {
	dir := t.TempDir()
	s := shells(t, dir)
	started := details[job](t, result(t, s["shell"], args{"command": "echo $$ >pid; echo on; exec sleep 1000", "background": true}))
	for range 1000 {
		if data, _ := os.ReadFile(filepath.Join(dir, "pid")); strings.HasSuffix(string(data), "\n") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	text := call(t, s["shell_kill"], args{"handle": started.Handle})
	has(t, text, "on", "ended")
	has(t, fails(t, s["shell_kill"], args{"handle": started.Handle}).Error(), "not found")
}

func TestShellBackgroundTimeLimit(t *testing.T) {
	s := shells(t, t.TempDir())
	started := details[job](t, result(t, s["shell"], args{"command": "sleep 1000", "background": true, "timeout": 0.1}))
	has(t, call(t, s["shell_output"], args{"handle": started.Handle, "wait": 60}), "took too long")
}

func TestShellsClose(t *testing.T) {
	dir := t.TempDir()
	sh := tool.NewShells(tool.ShellOptions{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}})
	shell := sh.Tools()[0]
	for range 3 {
		result(t, shell, args{"command": "sleep 1000", "background": true})
	}
	sh.Close() // returns when they have ended
	has(t, fails(t, shell, args{"command": "sleep 1", "background": true}).Error(), "closed")
}

// TestShellProgress checks that output is reported before the command ends.
func TestShellProgress(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := shells(t, dir)
	var once sync.Once
	ctx := tool.WithProgress(t.Context(), func(text string) {
		if strings.Contains(text, "early") {
			once.Do(func() { // the command waits for this
				if err := os.WriteFile(filepath.Join(dir, "go"), []byte("late\n"), 0o600); err != nil {
					t.Error(err)
				}
			})
		}
	})
	r, err := s["shell"].Run(ctx, marshal(t, args{"command": "echo early; cat go", "timeout": 60}))
	if err != nil || firn.JoinText(r.Parts) != "early\nlate\n" {
		t.Errorf("%q, %v", firn.JoinText(r.Parts), err)
	}
}
