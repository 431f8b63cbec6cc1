package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"firn.dev/wire"
)

// TestGitNote checks that firn blame explains why it knows no commits.
func TestGitNote(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(inside, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	found := func(string) (string, error) { return "/usr/bin/git", nil }
	missing := func(string) (string, error) { return "", errors.New("not found") }
	line := wire.Blame{Lines: []wire.BlamedLine{{N: 1, Text: "x"}}}
	committed := wire.Blame{Lines: []wire.BlamedLine{{N: 1, Commit: &wire.BlamedCommit{Hash: "1"}}}}
	for name, c := range map[string]struct {
		blame wire.Blame
		dir   string
		find  func(string) (string, error)
		want  string
	}{
		"outside":            {line, outside, found, "not in a git repository: only edits recorded by firn are shown\n"},
		"outside, no git":    {line, outside, missing, "not in a git repository: only edits recorded by firn are shown\n"},
		"no git":             {line, inside, missing, "git is not installed: only edits recorded by firn are shown\n"},
		"nothing committed":  {line, inside, found, ""},
		"commits, no git":    {committed, inside, missing, ""},
		"below a repository": {line, filepath.Join(inside, "a", "b"), missing, "git is not installed: only edits recorded by firn are shown\n"},
	} {
		if got := gitNote(c.blame, filepath.Join(c.dir, "f.go"), c.find); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
