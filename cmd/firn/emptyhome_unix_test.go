//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// refusedCommands are commands that fail in a home without sessions. WORDS with spaces are
// not used, so they are split at spaces.
var refusedCommands = []string{
	"chat -a mian",
	"chat -a mian -p hello",
	"chat -m nonsense/model -p hello",
	"chat -m nonsense",
	"chat -c",
	"chat -r nothing",
	"chat --key agent:mian:x",
	"chat --at #4",
	"new --agent mian",
	"new --key agent:mian:main",
	"append nothing --user hello",
	"append - --user hello",
	"archive nothing",
	"compact nothing",
	"fork nothing",
	"handoff nothing pi",
	"import nothing.jsonl",
	"keys previous agent:main:main",
	"keys rm agent:main:main",
	"keys set agent:main:main nothing",
	"label nothing #1 x",
	"purge nothing --sure nothing",
	"rename nothing title",
	"restore nothing",
	"rewind nothing",
	"rm nothing",
	"rm --bin nothing",
	"tag nothing +x",
	"uncompact nothing",
}

// TestRefusedInEmptyHome runs commands that are refused in a home that is missing, that is
// empty, and that has only settings. They leave the home as it was.
func TestRefusedInEmptyHome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	homes := map[string]string{"missing": filepath.Join(dir, "missing"), "empty": filepath.Join(dir, "empty"), "settings": filepath.Join(dir, "settings")}
	for _, name := range []string{"empty", "settings"} {
		if err := os.Mkdir(homes[name], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(homes["settings"], "firn.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for name, home := range homes {
		want[name] = treeOf(t, home)
	}
	for _, line := range refusedCommands {
		for name, home := range homes {
			cmd := firnCommand(home, strings.Fields(line)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			var failed *exec.ExitError
			if !errors.As(err, &failed) {
				t.Errorf("firn %s is not refused in the home %q: %v\n%s", line, name, err, out)
			}
			if now := treeOf(t, home); now != want[name] {
				t.Fatalf("firn %s leaves in the home %q\n%s", line, name, now)
			}
		}
	}
}

// treeOf returns the paths below a directory; "none" if it does not exist.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, strings.TrimPrefix(path, dir))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(paths, "\n")
}
