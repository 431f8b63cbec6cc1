package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNormalRemote gives all ways to reach a repository one address, and none to repositories
// that another machine cannot reach the same way.
func TestNormalRemote(t *testing.T) {
	for remote, want := range map[string]string{
		"https://git.example.org/ada/shop.git":             "git.example.org/ada/shop",
		"https://ada:secret@GIT.example.org/Ada/Shop.git/": "git.example.org/ada/shop",
		"git@git.example.org:ada/shop.git":                 "git.example.org/ada/shop",
		"git.example.org:ada/shop":                         "git.example.org/ada/shop",
		"ssh://git@git.example.org:2222/ada/shop":          "git.example.org/ada/shop",
		"git://192.0.2.7/shop":                             "192.0.2.7/shop",
		"/srv/git/shop.git":                                "",
		"../shop":                                          "",
		"file:///srv/git/shop.git":                         "",
		`C:\src\shop`:                                      "",
		"C:/src/shop":                                      "",
		"http://127.0.0.1:3000/ada/shop":                   "",
		"http://[::1]/ada/shop":                            "",
		"git@192.168.1.7:ada/shop":                         "",
		"git@server.local:ada/shop":                        "",
		"work:shop":                                        "",
		"https://git.example.org":                          "",
		"https://%zz":                                      "",
		"":                                                 "",
	} {
		if got := normalRemote(remote); got != want {
			t.Errorf("%q: %q, want %q", remote, got, want)
		}
	}
}

// TestRepositoryAddress finds the remote of a repository, of a worktree and of a submodule,
// and none where the files of git are damaged.
func TestRepositoryAddress(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main/.git/config", "[core]\n\turl = https://core.example.org/x\n[remote \"a\"]\n\tURL = \"git@a.example.org:x\"\n[remote \"origin\"]\n\turl=git@o.example.org:x\n")
	write("tree/.git", "gitdir: ../main/.git/worktrees/tree\n")
	write("main/.git/worktrees/tree/commondir", "../..\n")
	write("main/sub/.git", "gitdir: ../.git/modules/sub\n")
	write("main/.git/modules/sub/config", "[remote \"up\"]\n\turl = https://s.example.org/y\n")
	write("damaged/.git/config", "[remote \"origin\"\nurl\n=\x00\xff\n[remote \"origin\"]\nurl\n")
	write("lost/.git", "gitdir: ../nowhere\n")
	for name, want := range map[string]string{
		"main": "o.example.org/x", "tree": "o.example.org/x", "main/sub": "s.example.org/y", "damaged": "", "lost": "", "none": "",
	} {
		if got := repositoryAddress(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
