package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// fileFlags are the flags of rewind that concern files.
type fileFlags struct {
	both, only  bool
	force, skip bool
	from        string
}

func (f *fileFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.both, "files", false, "restore the files that tools changed, too")
	flags.BoolVar(&f.only, "files-only", false, "restore the files and leave the conversation alone")
	flags.BoolVar(&f.force, "force", false, "restore files that were changed by something else; their content is kept")
	flags.BoolVar(&f.skip, "skip-changed", false, "leave files alone that were changed by something else")
	flags.StringVar(&f.from, "from", "", "the `entry` whose state the files have now (default HEAD)")
}

func (f *fileFlags) wanted() bool { return f.both || f.only }

// request returns the request for a move of the conversation.
func (f *fileFlags) request(m wire.Move) wire.FileRewind {
	return wire.FileRewind{To: m.To, Back: m.Back, From: firn.EntryID(f.from), Force: f.force}
}

// restoreFiles restores the files of a session. By default it restores none if one
// of them was changed by something else.
func restoreFiles(ctx context.Context, c *client.Client, s wire.Session, q wire.FileRewind, f fileFlags) (wire.FilesRewound, error) {
	q.Plan = true
	planned, err := c.Files.Rewind(ctx, s.ID, q)
	if err != nil {
		return planned, err
	}
	if there := filesElsewhere(planned.Steps); len(there) > 0 && !f.skip {
		return planned, &hinted{
			failure.Of(firn.ErrUnsupported, "%s: changed by a terminal with another home, which has the content", changedList(there)),
			"run the same command there, with --gateway; --skip-changed leaves such files alone",
		}
	}
	if changed := changedFiles(planned.Steps); len(changed) > 0 && !f.skip {
		return planned, &hinted{
			failure.Of(firn.ErrConflict, "%s changed since the session wrote it", changedList(changed)),
			"--skip-changed leaves such files alone; --force restores them and keeps their content",
		}
	}
	q.Plan = false
	return c.Files.Rewind(ctx, s.ID, q)
}

// filesElsewhere returns the files that only another terminal can restore.
func filesElsewhere(steps []wire.FileStep) []string {
	var paths []string
	for _, s := range steps {
		if s.Problem == wire.FileElsewhere {
			paths = append(paths, s.Path)
		}
	}
	return paths
}

func changedFiles(steps []wire.FileStep) []string {
	var changed []string
	for _, s := range steps {
		if s.Problem != "" {
			changed = append(changed, s.Path)
		}
	}
	return changed
}

func changedList(paths []string) string {
	if len(paths) == 1 {
		return prose.Clean(paths[0])
	}
	return fmt.Sprintf("%s and %s", prose.Clean(paths[0]), prose.Count(len(paths)-1, "other file", "other files"))
}

// fileSteps prints one line per file, or a diff.
func fileSteps(steps []wire.FileStep) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "  %s %s%s\n", actionMark(s.Action), prose.Clean(relativePath(s.Path)), stepNote(s))
		if s.Diff != "" {
			b.WriteString(prose.CleanLines(s.Diff))
		}
	}
	return b.String()
}

func actionMark(a wire.FileAction) string {
	switch a {
	case wire.FileCreated:
		return "A"
	case wire.FileDeleted:
		return "D"
	}
	return "M"
}

func stepNote(s wire.FileStep) string {
	note := ""
	switch {
	case s.Binary:
		note = " (binary)"
	case s.Added+s.Removed > 0:
		note = fmt.Sprintf(" +%d -%d", s.Added, s.Removed)
	}
	if s.Problem != "" {
		note += ": left alone, " + prose.Clean(s.Problem)
	}
	return note
}

// relativePath returns a path relative to the working directory if it is inside.
func relativePath(path string) string {
	dir, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// rewindOnlyFiles restores files without moving the head.
func rewindOnlyFiles(ctx context.Context, p *program, c *client.Client, s wire.Session, m wire.Move, f fileFlags) error {
	done, err := restoreFiles(ctx, c, s, f.request(m), f)
	if err != nil {
		return err
	}
	return p.print(done, func() string {
		restored := restoredFiles(done.Steps)
		text := fmt.Sprintf("%s: %s\n%s", prose.Short(s.ID), restoredText(restored), fileSteps(done.Steps))
		if restored > 0 {
			text += fmt.Sprintf("undo: firn rewind %s %s --files-only --from %s%s\n", prose.Short(s.ID), done.From, cmp.Or(done.To, firn.Root), skipFlag(f))
		}
		return text
	})
}

func restoredFiles(steps []wire.FileStep) int {
	n := 0
	for _, s := range steps {
		if s.Done {
			n++
		}
	}
	return n
}

// skipFlag is added to the undo of a rewind that left files alone.
func skipFlag(f fileFlags) string {
	if f.skip {
		return " --skip-changed"
	}
	return ""
}

func restoredText(n int) string {
	if n == 0 {
		return "no files were restored"
	}
	return prose.Count(n, "file was", "files were") + " restored"
}

// planFiles prints the diffs that a rewind would apply.
func planFiles(ctx context.Context, p *program, c *client.Client, s wire.Session, m wire.Move, f fileFlags) error {
	q := f.request(m)
	q.Plan, q.Diff = true, true
	planned, err := c.Files.Rewind(ctx, s.ID, q)
	if err != nil {
		return err
	}
	return p.print(planned, func() string {
		if len(planned.Steps) == 0 {
			return "no files would be restored\n"
		}
		return fmt.Sprintf("would restore %s; nothing was done\n%s", prose.Count(len(planned.Steps), "file", "files"), fileSteps(planned.Steps))
	})
}

func filesCommand(p *program) *cobra.Command {
	diff := false
	cmd := &cobra.Command{
		Use:     "files SESSION",
		GroupID: "look",
		Short:   "List the files that a session changed",
		Long: `List the files that the tools of a session changed, on the branch of the head: A for
added, M for modified, D for deleted, with the number of lines. "firn rewind --files"
restores them.

` + sessionHelp,
		Example: "  firn files -\n  firn files 0198c5a2 --diff", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
			s, err := p.session(ctx, c, args[0])
			if err != nil {
				return err
			}
			steps, err := c.Files.Changes(ctx, s.ID, diff)
			if err != nil {
				return err
			}
			return p.print(steps, func() string {
				if len(steps) == 0 {
					return "this session changed no files\n"
				}
				return fileSteps(steps)
			})
		}),
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "show what changed, as a unified diff")
	return cmd
}

func blameCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "blame FILE[:LINE]",
		GroupID: "look",
		Short:   "Show which session wrote each line of a file",
		Long: `Show for each line of a file the session and the entry whose tool call wrote it, or only
for one line. Lines are followed through later edits, by tools or by anything else. A
line without a session was written by something else.`,
		Example: "  firn blame main.go\n  firn blame main.go:42", Args: args(1, 1, "one file"),
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
			path, line := splitLine(args[0])
			abs, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			if real, err := filepath.EvalSymlinks(abs); err == nil {
				abs = real
			}
			b, err := c.Files.Blame(ctx, abs)
			if err != nil {
				return blameHint(args[0], err)
			}
			if line > 0 {
				if line > len(b.Lines) {
					err := failure.Of(firn.ErrNotFound, "%s has no line %d: it has %s", prose.Clean(path), line, prose.Count(len(b.Lines), "line", "lines"))
					return &hinted{err, "to see all lines: firn blame " + prose.Clean(path)}
				}
				b.Lines = b.Lines[line-1 : line]
			}
			return p.print(b, func() string { return blameText(b) + gitNote(b, abs, exec.LookPath) })
		}),
	}
}

// blameHint adds a hint to the error for a file that does not exist.
func blameHint(arg string, err error) error {
	if !errors.Is(err, firn.ErrNotFound) {
		return err
	}
	if file, _, ok := strings.Cut(arg, ":"); ok {
		if _, missing := os.Stat(file); missing == nil {
			return &hinted{err, "a line is a number from 1: firn blame " + prose.Clean(file) + ":42"}
		}
	}
	return &hinted{err, "check the spelling; relative paths start at the current directory. For deleted files: firn files SESSION --diff"}
}

// splitLine splits FILE:LINE. A file that has such a name is preferred.
func splitLine(arg string) (path string, line int) {
	i := strings.LastIndexByte(arg, ':')
	if i < 0 {
		return arg, 0
	}
	if _, err := os.Stat(arg); err == nil {
		return arg, 0
	}
	n, err := strconv.Atoi(arg[i+1:])
	if err != nil || n < 1 {
		return arg, 0
	}
	return arg[:i], n
}

// gitNote says why commits and renames are not known, if no line has a commit.
func gitNote(b wire.Blame, path string, find func(program string) (string, error)) string {
	hasCommit := func(l wire.BlamedLine) bool { return l.Commit != nil }
	if slices.ContainsFunc(b.Lines, hasCommit) {
		return ""
	}
	if !inRepository(path) {
		return "not in a git repository: only edits recorded by firn are shown\n"
	}
	if _, err := find("git"); err != nil {
		return "git is not installed: only edits recorded by firn are shown\n"
	}
	return ""
}

// inRepository reports whether a directory above a file is the root of a git work tree.
func inRepository(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

func blameText(b wire.Blame) string {
	var out strings.Builder
	width := 0
	if n := len(b.Lines); n > 0 {
		width = len(strconv.Itoa(b.Lines[n-1].N))
	}
	authors, widest := make([]string, len(b.Lines)), 0
	for i, l := range b.Lines {
		authors[i] = lineAuthor(l)
		widest = max(widest, utf8.RuneCountInString(authors[i]))
	}
	for i, l := range b.Lines {
		fmt.Fprintf(&out, "%-*s %*d  %s\n", widest, authors[i], width, l.N, prose.Clean(l.Text))
	}
	return out.String()
}

// lineAuthor returns what wrote a line: the session, the end of the entry's ID and the date,
// or a commit and its author; empty if neither is known.
func lineAuthor(l wire.BlamedLine) string {
	switch entry := string(l.Entry); {
	case l.Commit != nil:
		return fmt.Sprintf("git %-8.8s %.15s", l.Commit.Hash, prose.Clean(l.Commit.Author))
	case l.Session != "":
		return fmt.Sprintf("%s %-8s %s", prose.Short(l.Session), entry[max(len(entry)-8, 0):], l.Time.Local().Format("2006-01-02"))
	}
	return ""
}

// check rejects combinations that make no sense.
func (f *fileFlags) check(cmd *cobra.Command, m wire.Move) error {
	switch {
	case f.both && f.only:
		return usage(cmd, "firn rewind takes --files or --files-only, not both")
	case !f.wanted() && (f.force || f.skip || f.from != ""):
		return usage(cmd, "--force, --skip-changed and --from need --files or --files-only")
	case f.force && f.skip:
		return usage(cmd, "firn rewind takes --force or --skip-changed, not both")
	case f.both && f.from != "":
		return usage(cmd, "--from needs --files-only")
	case f.only && m.Summary:
		return usage(cmd, "--summary needs the conversation to move")
	}
	return nil
}

var errFilesFirst = errors.New("the files were restored, but the conversation was not moved")

// rewindBoth restores files and then moves the head.
func rewindBoth(ctx context.Context, p *program, c *client.Client, s wire.Session, m wire.Move, f fileFlags) error {
	files, err := restoreFiles(ctx, c, s, f.request(m), f)
	if err != nil {
		return err
	}
	moved, err := c.Rewind(ctx, s.ID, m)
	if err != nil {
		if restoredFiles(files.Steps) > 0 {
			err = fmt.Errorf("%w: %w", errFilesFirst, err)
		}
		return err
	}
	type both struct {
		wire.Moved
		Files []wire.FileStep `json:"files"`
	}
	return p.print(both{moved, files.Steps}, func() string {
		text := restoredText(restoredFiles(files.Steps)) + "\n" + fileSteps(files.Steps)
		lines := strings.SplitAfter(rewindText(s, moved), "\n")
		if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "undo: ") }); i >= 0 {
			lines[i] = strings.TrimSuffix(lines[i], "\n") + " --files" + skipFlag(f) + "\n"
		}
		return text + strings.Join(lines, "")
	})
}
