package serve

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// gitTime limits the time that git may take for one file, and gitOutput its output in bytes.
const (
	gitTime   = 3 * time.Second
	gitOutput = 64 << 20
)

// gitFiles asks git about a file: its earlier paths, and the commits of its lines. It only
// reads. Without git, or outside of a work tree, it returns nothing.
type gitFiles struct{ env func(string) string }

// run runs git in the directory of a file.
func (g gitFiles) run(path string, args ...string) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.quotePath=false"}, args...)...)
	cmd.Dir = filepath.Dir(path)
	cmd.Env = []string{"GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"}
	for _, name := range []string{"PATH", "HOME", "SYSTEMROOT"} {
		if value := g.env(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out, err := cmd.Output()
	if err != nil || len(out) > gitOutput {
		return nil
	}
	return out
}

// Renamed returns the paths that a file had in earlier commits, latest first.
func (g gitFiles) Renamed(path string) []string {
	top := strings.TrimSpace(string(g.run(path, "rev-parse", "--show-toplevel")))
	if top == "" {
		return nil
	}
	out := g.run(path, "log", "--follow", "-M", "--diff-filter=R", "--name-status", "--format=", "-n", "20", "--", filepath.Base(path))
	var paths []string
	for line := range strings.SplitSeq(string(out), "\n") {
		if f := strings.Split(line, "\t"); len(f) == 3 && strings.HasPrefix(f[0], "R") {
			paths = append(paths, filepath.Join(top, filepath.FromSlash(f[1])))
		}
	}
	return paths
}

// Commits returns the commits of the lines of a file, by line number. Lines that are not
// committed are left out.
func (g gitFiles) Commits(path string) map[int]wire.BlamedCommit {
	commits, lines := make(map[string]wire.BlamedCommit), make(map[int]string)
	hash := ""
	for line := range bytes.SplitSeq(g.run(path, "blame", "--porcelain", "--", filepath.Base(path)), []byte{'\n'}) {
		name, value, _ := strings.Cut(string(line), " ")
		switch {
		case bytes.HasPrefix(line, []byte{'\t'}):
		case len(name) == 40 && strings.Trim(name, "0123456789abcdef") == "":
			hash = name
			if f := strings.Fields(value); len(f) >= 2 {
				if n, err := strconv.Atoi(f[1]); err == nil {
					lines[n] = hash
				}
			}
		case name == "author" || name == "summary":
			c := commits[hash]
			if text, _ := firn.CleanText(value); name == "author" {
				c.Author = text
			} else {
				c.Summary = text
			}
			c.Hash = hash
			commits[hash] = c
		}
	}
	found := make(map[int]wire.BlamedCommit, len(lines))
	for n, hash := range lines {
		if strings.Trim(hash, "0") != "" {
			found[n] = commits[hash]
		}
	}
	return found
}
