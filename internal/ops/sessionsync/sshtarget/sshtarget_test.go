package sshtarget

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// TestArguments checks the command line of ssh. The shell there reads the path as one word.
func TestArguments(t *testing.T) {
	got := arguments(Options{User: "ann", Host: "nas", Port: "22", Path: "it's; rm -rf /"})
	if want := []string{"-p", "22", "-l", "ann", "--", "nas", `firn sync target 'it'\''s; rm -rf /'`}; !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("the arguments are %q", got)
	}
}

// TestOpen runs programs in the place of ssh: each failure is explained with a hint, and none is
// taken for a missing file. The script syncssh.txtar syncs over one that works.
func TestOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there is no shell; arguments and errors are the same
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for script, want := range map[string][2]string{
		"exit 127":                   {"firn was not found on nas", "install it there"},
		"echo refused >&2; exit 255": {"ssh to nas failed: refused", "check that this works"},
		"exit 255":                   {"ssh to nas failed: it ended", "check that this works"},
		"echo firn: no >&2; echo hint: x >&2; exit 3": {"firn on nas failed: firn: no", "run there"},
		"yes": {"the connection to nas ended: something other than firn answered", "the next sync continues"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Options{Host: "nas"})
		if !errors.Is(err, firn.ErrUnavailable) || errors.Is(err, firn.ErrNotFound) || err.Error() != want[0] || !strings.Contains(failure.Hint(err), want[1]) {
			t.Errorf("%s: %v, hint %q", script, err, failure.Hint(err))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Options{Host: "nas"}); err == nil {
		t.Error("a canceled connection")
	}
	t.Setenv("PATH", filepath.Join(dir, "none"))
	if _, err := Open(t.Context(), Options{Host: "nas"}); !errors.Is(err, firn.ErrUnavailable) || failure.Hint(err) != "install the ssh client" {
		t.Errorf("without ssh: %v", err)
	}
}
