package tool

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The limits of detecting what a command changed. Files beyond them are named and cannot be
// restored.
const (
	// maxWatchedFile and maxWatched limit the contents that are kept in memory while a
	// command runs.
	maxWatchedFile = 1 << 20
	maxWatched     = 32 << 20
	// maxStored is the number of changed files whose contents are stored per command.
	maxStored = 300
	// maxNamed is the number of changed files in the details of a result.
	maxNamed = 100
	// scanTime limits the time for looking at the files, before and after a command.
	scanTime = 3 * time.Second
)

// RecordedChange is a change of a file that was found after it was made. A state whose
// content could not be kept has a size and no content.
type RecordedChange struct{ Before, After FileState }

// BatchRecorder is a [ChangeRecorder] that can record changes after they were made.
type BatchRecorder interface {
	ChangeRecorder
	// Changed records changes together.
	Changed(ctx context.Context, changes []RecordedChange) error
}

// shellChange is a file that a command changed, in the details of its result.
type shellChange struct {
	Path string `json:"path"`
	// Action is create, change or delete.
	Action string `json:"action"`
	// Lost means that the content from before cannot be restored.
	Lost bool `json:"notRestorable,omitempty"`
}

// watchedFile is what is known about a file before a command.
type watchedFile struct {
	size    int64
	changed time.Time
	mode    fs.FileMode
	// blob is the git object with the content, if git tracks the file and it is unchanged.
	blob string
	// content is the content, if known is set.
	content []byte
	known   bool
}

func (f watchedFile) same(other watchedFile) bool {
	return f.size == other.size && f.changed.Equal(other.changed) && f.mode == other.mode
}

// treeWatch finds the files of a directory that a command changed.
type treeWatch struct {
	dir   string
	env   []string
	limit int
	git   bool
	files map[string]*watchedFile
	// last is the scan of the last comparison.
	last map[string]*watchedFile
}

// errManyFiles means that a directory has more files than are compared.
var errManyFiles = errors.New("too many files")

// watchTree looks at the files of a directory before a command. It returns nil if their
// changes are not recorded, or the reason why they cannot be found.
func (o ShellOptions) watchTree(ctx context.Context) (w *treeWatch, problem string) {
	if r, ok := ctx.Value(recorderKey{}).(BatchRecorder); !ok || r == nil || o.WatchFiles <= 0 || o.Dir == "" {
		return nil, ""
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	w = &treeWatch{dir: dir, env: o.Env, limit: o.WatchFiles}
	if err == nil {
		w.files, err = w.scan(ctx)
	}
	switch {
	case errors.Is(err, errManyFiles):
		return nil, fmt.Sprintf("changed files are unknown: the workspace has more than %s", count(o.WatchFiles, "file"))
	case err != nil:
		return nil, "changed files are unknown: " + err.Error()
	}
	w.keepContents()
	return w, ""
}

// scan returns the files of the directory: in a git work tree those that git tracks or would
// add, elsewhere all.
func (w *treeWatch) scan(ctx context.Context) (map[string]*watchedFile, error) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), scanTime, errManyFiles)
	defer cancel()
	files := make(map[string]*watchedFile)
	err := w.scanGit(ctx, files)
	if w.git = err == nil; errors.Is(err, errNoGit) {
		clear(files)
		err = w.scanAll(ctx, files)
	}
	if err != nil && ctx.Err() != nil {
		err = errManyFiles
	}
	return files, err
}

// errNoGit means that the directory is not in a git work tree, or that there is no git.
var errNoGit = errors.New("not in a git work tree")

// scanGit lists the files with git.
func (w *treeWatch) scanGit(ctx context.Context, files map[string]*watchedFile) error {
	blobs := make(map[string]string)
	err := w.listGit(ctx, func(line string) error {
		about, name, _ := strings.Cut(line, "\t")
		if f := strings.Fields(about); len(f) == 3 && f[2] == "0" {
			blobs[name] = f[1]
		}
		return w.stat(files, name)
	}, "-s")
	if err != nil {
		return err
	}
	err = w.listGit(ctx, func(name string) error {
		delete(blobs, name) // changed, or not tracked
		return w.stat(files, name)
	}, "-m", "-o", "--exclude-standard")
	for name, blob := range blobs {
		if f := files[name]; f != nil {
			f.blob = blob
		}
	}
	return err
}

// listGit runs git ls-files and passes on its lines.
func (w *treeWatch) listGit(ctx context.Context, pass func(string) error, flags ...string) error {
	cmd := w.gitCommand(ctx, append([]string{"ls-files", "-z"}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return errNoGit
	}
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	scanner.Split(splitNUL)
	for scanner.Scan() && err == nil {
		err = pass(scanner.Text())
	}
	if err = errors.Join(err, scanner.Err()); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	if cmd.Wait() != nil {
		return errNoGit
	}
	return nil
}

// gitCommand returns a git command that changes nothing and runs no hooks.
func (w *treeWatch) gitCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.quotePath=false"}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = append(slices.Clip(w.env), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	return cmd
}

// splitNUL splits at NUL bytes.
func splitNUL(data []byte, end bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if end && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// scanAll lists all files, without those in .git directories.
func (w *treeWatch) scanAll(ctx context.Context, files map[string]*watchedFile) error {
	seen := 0
	return filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if seen++; ctx.Err() != nil || seen > 4*w.limit {
			return errManyFiles
		}
		switch {
		case err != nil:
			return nil // unreadable directories are not compared
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		name, err := filepath.Rel(w.dir, path)
		if err != nil {
			return err
		}
		return w.stat(files, filepath.ToSlash(name))
	})
}

// stat adds a file, unless it is not a regular one.
func (w *treeWatch) stat(files map[string]*watchedFile, name string) error {
	if files[name] != nil {
		return nil
	}
	info, err := os.Lstat(filepath.Join(w.dir, filepath.FromSlash(name)))
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if len(files) >= w.limit {
		return errManyFiles
	}
	files[name] = &watchedFile{size: info.Size(), changed: info.ModTime(), mode: info.Mode().Perm()}
	return nil
}

// keepContents reads the contents that git does not have, up to the limits.
func (w *treeWatch) keepContents() {
	var total int64
	for name, f := range w.files {
		if f.known {
			total += f.size
		}
		if f.known || f.blob != "" || f.size > maxWatchedFile || total+f.size > maxWatched {
			continue
		}
		content, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(name)))
		if err == nil && int64(len(content)) == f.size {
			f.content, f.known = content, true
			total += f.size
		}
	}
}

// record finds the changes of a command that has ended and records them. It returns them for
// the details of the result, and how many there are.
func (w *treeWatch) record(ctx context.Context) (changed []shellChange, total int, err error) {
	ctx = context.WithoutCancel(ctx)
	after, err := w.scan(ctx)
	if err != nil {
		return nil, 0, err
	}
	w.last = after
	var names []string
	for name, f := range w.files {
		if now := after[name]; now == nil || !now.same(*f) {
			names = append(names, name)
		}
	}
	for name := range after {
		if w.files[name] == nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, 0, nil
	}
	slices.Sort(names)
	w.loadBlobs(ctx, names[:min(len(names), maxStored)])
	changes := make([]RecordedChange, 0, len(names))
	for i, name := range names {
		c := RecordedChange{w.before(name, i < maxStored), w.after(name, after[name], i < maxStored)}
		changes = append(changes, c)
		if len(changed) < maxNamed {
			changed = append(changed, describeChange(name, c))
		}
	}
	r, _ := ctx.Value(recorderKey{}).(BatchRecorder)
	return changed, len(names), r.Changed(ctx, changes)
}

// advance makes a scan the state to compare with. Contents of unchanged files are kept.
func (w *treeWatch) advance(after map[string]*watchedFile) {
	for name, now := range after {
		if f := w.files[name]; f != nil && f.same(*now) {
			now.content, now.known = f.content, f.known
		}
	}
	w.files = after
	w.keepContents()
}

// acceptFile makes the present state of one file the one to compare with.
func (w *treeWatch) acceptFile(name string) {
	delete(w.files, name)
	if w.stat(w.files, name) != nil || w.files[name] == nil {
		return
	}
	if f := w.files[name]; f.size <= maxWatchedFile {
		content, err := os.ReadFile(w.path(name))
		f.content, f.known = content, err == nil && int64(len(content)) == f.size
	}
}

// lostText names the files that cannot be restored; empty if there are none.
func lostText(changed []shellChange, total int) string {
	var lost []string
	for _, c := range changed {
		if c.Lost {
			lost = append(lost, c.Path)
		}
	}
	if total > maxStored {
		lost = append(lost, fmt.Sprintf("%s after the first %d", count(total-maxStored, "file"), maxStored))
	}
	if len(lost) == 0 {
		return ""
	}
	if n := len(lost) - 10; n > 0 {
		lost = append(lost[:10], fmt.Sprintf("%d more", n))
	}
	return "[a rewind cannot restore " + strings.Join(lost, ", ") + "]"
}

func describeChange(name string, c RecordedChange) shellChange {
	s := shellChange{Path: name, Action: "change", Lost: c.Before.Exists && c.Before.Content == nil && c.Before.Size > 0}
	switch {
	case !c.Before.Exists:
		s.Action = "create"
	case !c.After.Exists:
		s.Action = "delete"
	}
	return s
}

// loadBlobs reads the contents of changed files from git's objects. A content with another
// size than the file had is not the file's: git converted it.
func (w *treeWatch) loadBlobs(ctx context.Context, names []string) {
	var wanted []*watchedFile
	var input strings.Builder
	for _, name := range names {
		if f := w.files[name]; f != nil && f.blob != "" && f.size <= maxRecorded {
			wanted = append(wanted, f)
			input.WriteString(f.blob + "\n")
		}
	}
	if len(wanted) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	cmd := w.gitCommand(ctx, "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(input.String())
	pipe, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	defer func() { _ = cmd.Wait() }()
	defer cancel()
	out := bufio.NewReader(pipe)
	for _, f := range wanted {
		var hash, kind string
		var size int64
		line, err := out.ReadString('\n')
		if err != nil {
			return
		}
		if _, err := fmt.Sscanf(line, "%s %s %d", &hash, &kind, &size); err != nil || size > maxRecorded {
			return
		}
		content := make([]byte, size+1) // and a line break
		if _, err := io.ReadFull(out, content); err != nil {
			return
		}
		if kind == "blob" && size == f.size {
			f.content, f.known = content[:size], true
		}
	}
}

// before returns the state of a file before the command.
func (w *treeWatch) before(name string, store bool) FileState {
	f := w.files[name]
	if f == nil {
		return FileState{Path: w.path(name)}
	}
	s := FileState{Path: w.path(name), Exists: true, Mode: f.mode, Size: f.size}
	if f.known {
		s.Hash = sha256.Sum256(f.content)
		if store {
			s.Content = append([]byte{}, f.content...)
		}
	}
	return s
}

// after returns the state of a file after the command.
func (w *treeWatch) after(name string, f *watchedFile, store bool) FileState {
	s := FileState{Path: w.path(name)}
	if f == nil {
		return s
	}
	s.Exists, s.Mode, s.Size = true, f.mode, f.size
	if f.size > maxRecorded {
		return s
	}
	content, err := os.ReadFile(s.Path)
	if err != nil {
		return s
	}
	s.Size, s.Hash = int64(len(content)), sha256.Sum256(content)
	if store {
		s.Content = append([]byte{}, content...)
	}
	return s
}

func (w *treeWatch) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }
