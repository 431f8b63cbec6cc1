package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// fileCommands are the commands about the files that tools changed.
type fileCommands struct{ *chat }

// diff shows what the session changed in files, or in those whose path has a text.
func (c fileCommands) diff(ctx context.Context, rest string) error {
	steps, err := c.client.Files.Changes(ctx, c.id, true)
	if err != nil {
		return err
	}
	steps = slices.DeleteFunc(steps, func(s wire.FileStep) bool { return !strings.Contains(s.Path, rest) })
	if len(steps) == 0 {
		if rest == "" {
			c.screen.printf("this session changed no files")
			return nil
		}
		c.screen.printf("this session changed no files whose path has “%s”", prose.Clean(rest))
		return nil
	}
	most := foldedDiff
	if rest != "" {
		most = maxDiffLines
	}
	for _, s := range steps {
		c.screen.lines([]string{c.fileLine(s)})
		c.showDiff("/diff "+prose.Clean(pathIn(c.o.Workspace, s.Path)), withoutHeader(s.Diff), most)
	}
	return nil
}

// undo takes back the last turn, with the files that it changed.
func (c fileCommands) undo(ctx context.Context, rest string) error {
	if rest != "" && rest != "--force" {
		return failure.Of(firn.ErrInvalid, "/undo takes no entry; /rewind does")
	}
	return c.rewindBoth(ctx, wire.Move{Back: 1}, rest == "--force")
}

// rewindBoth restores files, and then moves the head. Files that were changed by something
// else stop it unless force is set.
func (c fileCommands) rewindBoth(ctx context.Context, m wire.Move, force bool) error {
	if err := c.rewindFiles(ctx, wire.FileRewind{To: m.To, Back: m.Back, Force: force}); err != nil {
		return err
	}
	return branchCommands(c).move(ctx, m, " --files")
}

// rewindFiles restores files and lists them.
func (c fileCommands) rewindFiles(ctx context.Context, q wire.FileRewind) error {
	q.Plan = true
	planned, err := c.client.Files.Rewind(ctx, c.id, q)
	if err != nil {
		return err
	}
	for _, s := range planned.Steps {
		if s.Problem == wire.FileElsewhere {
			return &Problem{
				Err:  fmt.Errorf("no file was restored: %s was changed by a terminal with another home", prose.OneLine(s.Path, 60)),
				Hint: "rewind in that terminal; /rewind without --files moves the conversation only", Kind: firn.ErrUnsupported,
			}
		}
		if s.Problem != "" {
			return &Problem{
				Err:  fmt.Errorf("no file was restored: %s (%s)", prose.OneLine(s.Path, 60), prose.Clean(s.Problem)),
				Hint: "--force restores such files and keeps their content", Kind: firn.ErrConflict,
			}
		}
	}
	q.Plan = false
	done, err := c.client.Files.Rewind(ctx, c.id, q)
	if err != nil {
		return err
	}
	for _, s := range done.Steps {
		c.screen.lines([]string{c.fileLine(s)})
	}
	return nil
}

// withoutHeader returns a unified diff without the names of the file.
func withoutHeader(diff string) string {
	if at := strings.Index(diff, "\n@@"); strings.HasPrefix(diff, "--- ") && at >= 0 {
		return diff[at+1:]
	}
	return diff
}

// fileLine describes what happened to a file.
func (c fileCommands) fileLine(s wire.FileStep) string {
	mark := map[wire.FileAction]string{wire.FileCreated: "A", wire.FileDeleted: "D"}[s.Action]
	line := fmt.Sprintf("  %s %s", cmp.Or(mark, "M"), prose.Clean(pathIn(c.o.Workspace, s.Path)))
	if s.Binary {
		line += " (binary)"
	} else if s.Added+s.Removed > 0 {
		line += fmt.Sprintf(" +%d -%d", s.Added, s.Removed)
	}
	if s.Problem != "" {
		line += ": " + prose.Clean(s.Problem)
	}
	return line
}
