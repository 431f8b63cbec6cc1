package local

import (
	"bufio"
	"context"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// MaxFiles is the most files that are listed of a project.
const MaxFiles = 20_000

// Files lists the files below Dir, relative to it and with slashes, without those that
// .gitignore excludes. It asks git, and walks the directories if there is no git or no
// repository. At most [MaxFiles] are returned; whole is false if there are more.
func (m Machine) Files(ctx context.Context) (files []string, whole bool, err error) {
	files, whole, err = m.gitFiles(ctx)
	if err != nil && ctx.Err() == nil {
		files, whole, err = m.walkFiles(ctx)
	}
	slices.Sort(files)
	return slices.Compact(files), whole, err
}

// gitFiles lists tracked files, and others that are not ignored. It disables the file
// system monitor, because a repository could name any program as one.
func (m Machine) gitFiles(ctx context.Context) (files []string, whole bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "--no-optional-locks", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	cmd.Dir = m.Dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	scan := bufio.NewScanner(out)
	scan.Split(splitZero)
	for len(files) < MaxFiles && scan.Scan() {
		files = append(files, scan.Text())
	}
	if len(files) == MaxFiles {
		cancel()
		_ = cmd.Wait() // it was killed
		return files, false, nil
	}
	if err := cmd.Wait(); err != nil {
		return nil, false, err
	}
	return files, true, scan.Err()
}

// splitZero splits output at NUL bytes.
func splitZero(data []byte, atEOF bool) (int, []byte, error) {
	if i := strings.IndexByte(string(data), 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// walkFiles lists the files below Dir without git.
func (m Machine) walkFiles(ctx context.Context) (files []string, whole bool, err error) {
	root := m.Path(".")
	var rules ignoreRules
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name, relErr := filepath.Rel(root, path)
		if err != nil || relErr != nil {
			return nil // an unreadable directory has no files
		}
		name = filepath.ToSlash(name)
		switch {
		case name != "." && (d.Name() == ".git" || rules.ignores(name, d.IsDir())):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			rules = rules.read(path, name)
		case len(files) == MaxFiles:
			return fs.SkipAll
		default:
			files = append(files, name)
		}
		return nil
	})
	return files, len(files) < MaxFiles, err
}
