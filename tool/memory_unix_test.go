//go:build unix

package tool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// hold takes the lock on a file, as another process would.
func hold(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWaitingForTheLockCanBeEnded(t *testing.T) {
	w := workspace(t, map[string]string{today: "# 2026-03-10\n"})
	hold(t, filepath.Join(w.Dir(), today))
	ctx, cancel := context.WithCancel(t.Context())
	done := start(ctx, t, memory(w), args{"text": "x"})
	cancel()
	if r := <-done; !errors.Is(r.err, context.Canceled) {
		t.Errorf("got %q, %v", r.text, r.err)
	}
	if got := content(t, w, today); got != "# 2026-03-10\n" {
		t.Errorf("the file is %q", got)
	}
}

// TestANoteGoesIntoTheFileThatIsThere has an editor put a new file in the
// place of the one whose lock is waited for.
func TestANoteGoesIntoTheFileThatIsThere(t *testing.T) {
	w := workspace(t, map[string]string{today: "old\n", "memory/new": "edited\n"})
	path := filepath.Join(w.Dir(), today)
	f := hold(t, path)
	done := start(t.Context(), t, memory(w), args{"text": "x"})
	if err := os.Rename(filepath.Join(w.Dir(), "memory/new"), path); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if r := <-done; r.err != nil {
		t.Fatal(r.err)
	}
	if got := content(t, w, today); got != "edited\n- x\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestAPipeIsNoFileOfNotes(t *testing.T) {
	w := workspace(t, map[string]string{"memory/": ""})
	if err := syscall.Mkfifo(filepath.Join(w.Dir(), today), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, memory(w), args{"text": "x"})
}
