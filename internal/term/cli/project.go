package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// projectRoot returns the project of a directory: the root of the git repository or worktree
// that contains it, or else the directory itself. The directory is absolute and has no
// symbolic links. Git is not run.
func projectRoot(dir string) string {
	for at := dir; ; {
		if isRepository(filepath.Join(at, ".git")) {
			return at
		}
		parent := filepath.Dir(at)
		if parent == at {
			return dir
		}
		at = parent
	}
}

// isRepository reports whether .git marks a repository: a directory with a HEAD, or a file
// that points at one, as in worktrees and submodules.
func isRepository(git string) bool {
	info, err := os.Stat(git)
	if err != nil {
		return false
	}
	if info.IsDir() {
		_, err := os.Lstat(filepath.Join(git, "HEAD"))
		return err == nil
	}
	if !info.Mode().IsRegular() { // reading a pipe could block
		return false
	}
	f, err := os.Open(git)
	if err != nil {
		return false
	}
	defer f.Close() // only read
	start, err := io.ReadAll(io.LimitReader(f, int64(len(gitPointer))))
	return err == nil && strings.HasPrefix(string(start), gitPointer)
}

// gitPointer is the start of a .git file.
const gitPointer = "gitdir:"
