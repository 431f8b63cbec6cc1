package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/render/prose"
)

// Examine runs Verify on a whole home and also checks the home itself: permissions, routing
// tables, bin, unfinished purges, commit logs, index and disk. It changes nothing.
func Examine(ctx context.Context, home Target, opts Options) (*Report, error) {
	if !home.Home || !home.Whole {
		return nil, fmt.Errorf("examine %s: %w: not a home", home.Root, firn.ErrInvalid)
	}
	report, err := VerifyAccepted(func(limit int) (*Report, error) {
		o := opts
		if limit > 0 {
			o.Limit = limit
		}
		return Verify(ctx, home, o)
	}, home, false, "", time.Time{})
	if err != nil {
		return nil, err
	}
	h := &homeExam{ctx: ctx, fs: home.fs, home: home.Root, maxLine: home.MaxLine, opts: opts, report: report, sessions: make(map[firn.ID][]transcript), mirrored: home.mirroredIDs()}
	h.agents = home.dirNames(filepath.Join(home.Root, "agents")) // errors were reported before
	for _, t := range home.transcripts {
		h.sessions[t.session] = append(h.sessions[t.session], t)
	}
	h.result("transcripts", 0, fmt.Sprintf("%s, %s, %s", plural(report.Sessions, "session"), plural(report.Entries, "entry"), prose.Size(report.Bytes)))
	for _, check := range []struct {
		name string
		do   func() (string, error)
	}{
		{"permissions", h.checkPermissions},
		{"layout", h.checkLayout},
		{"mirrors", h.checkMirrors},
		{"keys", h.checkTables},
		{"bin", h.checkBin},
		{"files", h.checkFileHistory},
		{"purges", h.checkReceipts},
		{"commit log", h.checkCommitLogs},
		{"index", h.checkIndex},
		{"disk", h.checkDisk},
	} {
		if err := h.check(check.name, check.do); err != nil {
			return nil, err
		}
	}
	return report, h.checkModel()
}

// homeExam is the examination of a home.
type homeExam struct {
	ctx      context.Context
	fs       vfs.FS
	home     string
	maxLine  int64
	opts     Options
	report   *Report
	agents   []string
	sessions map[firn.ID][]transcript
	// mirrored are the sessions of other tools in mirrors.
	mirrored map[firn.ID]bool
}

// check runs one check. A failed check becomes a finding; only a context error ends the
// examination.
func (h *homeExam) check(name string, do func() (string, error)) error {
	if err := h.ctx.Err(); err != nil {
		return err
	}
	before := len(h.report.Findings)
	result, err := do()
	if ctxErr := h.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if err != nil {
		h.report.add(Finding{Severity: Fault, Kind: Unreadable, Message: err.Error()})
		result = "could not be checked"
	}
	h.result(name, before, result)
	return nil
}

// result lists a check with the worst severity of the findings since before.
func (h *homeExam) result(name string, before int, result string) {
	c := Check{Name: name, Result: result}
	for _, f := range h.report.Findings[before:] {
		if c.Worst == "" || f.Severity == Fault || f.Severity == Warn && c.Worst == Info {
			c.Worst = f.Severity
		}
	}
	h.report.Checks = append(h.report.Checks, c)
}

func (h *homeExam) path(elem ...string) string {
	return filepath.Join(append([]string{h.home}, elem...)...)
}

// add lists a finding about a file of the home.
func (h *homeExam) add(severity Severity, kind Kind, path, message, hint string) {
	h.report.add(Finding{Severity: severity, Kind: kind, File: relative(h.home, path), Message: message, Hint: hint})
}

// The permissions of files and directories in a home.
const (
	filePerm fs.FileMode = 0o600
	dirPerm  fs.FileMode = 0o700
)

// checkPermissions looks for files that other users can read or the owner cannot.
func (h *homeExam) checkPermissions() (string, error) {
	if runtime.GOOS == "windows" {
		return "not available on this system", nil
	}
	looked, wrong := 0, 0
	err := walk(h.fs, h.home, func(path string, mode fs.FileMode) error {
		if err := h.ctx.Err(); err != nil {
			return err
		}
		if mode&fs.ModeSymlink != 0 {
			h.add(Warn, Symlink, path, "a symbolic link: its target is not part of the home, so backups and removals skip it", "replace the link with the file itself")
			return nil
		}
		if !mode.IsDir() && !mode.IsRegular() {
			return nil
		}
		info, err := h.fs.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		looked++
		want := filePerm
		if mode.IsDir() {
			want = dirPerm
		}
		if perm := info.Mode.Perm(); perm != want {
			wrong++
			h.add(Warn, Permissions, path, wrongPerm(perm, want), fmt.Sprintf("chmod %o %s", want, path))
		}
		return nil
	})
	if wrong > 0 {
		return fmt.Sprintf("%s of %s wrong", prose.Grouped(int64(wrong)), prose.Grouped(int64(looked))), err
	}
	return "owner only", err
}

func wrongPerm(perm, want fs.FileMode) string {
	if perm&0o077 != 0 {
		return fmt.Sprintf("accessible to other users: mode %04o, expected %04o", perm, want)
	}
	return fmt.Sprintf("mode %04o, expected %04o", perm, want)
}

// checkCommitLogs looks for logs that have not been replayed, and for processes that have
// the home open.
func (h *homeExam) checkCommitLogs() (string, error) {
	waiting, err := journal.PendingLogs(h.fs, h.home)
	if err != nil {
		return "", err
	}
	all, err := h.logs()
	if err != nil {
		return "", err
	}
	if waiting > 0 {
		h.add(Warn, CommitLog, h.path("commit"), plural(waiting, "commit log")+" of crashed processes not replayed yet: until then transcripts may lack acknowledged entries", "run firn repair --apply; any program that opens the home for writing does the same")
	}
	if live := all - waiting; live > 0 {
		h.add(Info, InUse, h.path("commit"), plural(live, "commit log")+" in use by running processes", "")
	}
	switch {
	case waiting > 0:
		return fmt.Sprintf("%d waiting", waiting), nil
	case all > 0:
		return fmt.Sprintf("%d in use", all), nil
	}
	return "empty", nil
}

// logs returns the number of commit logs.
func (h *homeExam) logs() (int, error) {
	names, err := h.list(h.path("commit"))
	n := 0
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			n++
		}
	}
	return n, err
}

// lowDisk is the free space, in bytes, below which a finding is added.
const lowDisk = 1 << 30

// checkDisk checks the disk of the home.
func (h *homeExam) checkDisk() (string, error) {
	ask := h.opts.Disk
	if ask == nil {
		ask = diskOf
	}
	disk, err := ask(h.home)
	if errors.Is(err, errors.ErrUnsupported) {
		return "not available on this system", nil
	}
	if err != nil {
		return "", err
	}
	if disk.Free < lowDisk {
		h.add(Warn, DiskSpace, h.home, fmt.Sprintf("only %s free on the disk", prose.Size(disk.Free)), "free some space: appends to a full disk fail")
	}
	if disk.Network != "" {
		h.add(Info, NetworkDisk, h.home, "the home is on a "+disk.Network+" file system: locks and syncs are only as reliable as its server", "use a local disk: it is safer and faster")
	}
	return prose.Size(disk.Free) + " free", nil
}

// list returns the names in a directory. A missing directory is empty.
func (h *homeExam) list(dir string) ([]string, error) {
	entries, err := h.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", dir, err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// read returns the content of a small file.
func (h *homeExam) read(path string) ([]byte, error) {
	file, err := h.fs.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	defer file.Close() // read-only
	return io.ReadAll(file)
}

// exists reports whether there is a file at path.
func (h *homeExam) exists(path string) bool {
	_, err := h.fs.Stat(path)
	return err == nil
}
