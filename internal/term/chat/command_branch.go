package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/sentfiles"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// mostTurns is the largest number that is parsed as a number of turns and not as an entry
// ID.
const mostTurns = 9999

// branchCommands are the commands that move, fork and compact the session.
type branchCommands struct{ *chat }

// rewind moves the head back by some turns, or to an entry, and restores files if asked. At a
// terminal, without arguments, the user chooses.
func (c branchCommands) rewind(ctx context.Context, rest string) error {
	if rest == "" && c.term != nil {
		return c.pickRewind(ctx)
	}
	words := strings.Fields(rest)
	flag := func(name string) bool {
		n := len(words)
		words = slices.DeleteFunc(words, func(w string) bool { return w == name })
		return len(words) < n
	}
	m := wire.Move{Back: 1, Summary: flag("--summary")}
	files, only, force := flag("--files"), flag("--files-only"), flag("--force")
	if len(words) > 1 {
		return failure.Of(firn.ErrInvalid, "/rewind takes one entry, not %d", len(words))
	}
	if len(words) == 1 {
		switch n, err := strconv.Atoi(words[0]); {
		case err != nil || n > mostTurns:
			m.Back, m.To = 0, firn.EntryID(words[0])
		case n < 1:
			return failure.Of(firn.ErrInvalid, "/rewind cannot go back %d turns", n)
		default:
			m.Back = n
		}
	}
	switch {
	case only:
		return fileCommands(c).rewindFiles(ctx, wire.FileRewind{To: m.To, Back: m.Back, Force: force})
	case files:
		return fileCommands(c).rewindBoth(ctx, m, force)
	}
	return c.move(ctx, m, "")
}

// move moves the head and prints how it is undone, with the given flags.
func (c branchCommands) move(ctx context.Context, m wire.Move, flags string) error {
	c.watch.hold()
	defer c.watch.release()
	moved, err := c.client.Rewind(ctx, c.id, m)
	if err != nil {
		return err
	}
	c.watch.mine(moved.Entry)
	what := "rewound to before “" + prose.OneLine(sentfiles.Remove(moved.Text), 60) + "”"
	if m.To != "" {
		if what, err = c.gist(ctx, moved.To, 60); err != nil {
			return err
		}
		what = "rewound to " + what
	}
	c.screen.printf("%s\nlater entries stay in the log; undo: /rewind %s%s", what, moved.From, flags)
	return nil
}

// fork switches to a copy of the session, made at its head or at an entry.
func (c branchCommands) fork(ctx context.Context, ref string) error {
	old := c.id
	s, err := c.client.Fork(ctx, c.id, wire.Fork{At: firn.EntryID(ref), Key: c.key})
	if err != nil {
		return err
	}
	c.id, c.planned = s.ID, nil
	c.screen.printf("forked: this is now session %s; /resume %s goes back", prose.Short(c.id), prose.Short(old))
	return nil
}

// tree prints the branches of the session.
func (c branchCommands) tree(ctx context.Context, _ string) error {
	const drawn = 200
	t, err := c.client.Tree(ctx, c.id, drawn, "")
	if err != nil {
		return err
	}
	c.screen.lines(prose.Tree(t, false))
	return nil
}

func (c branchCommands) compact(ctx context.Context, hint string) error {
	done, err := c.client.Compact(ctx, c.id, wire.Compact{Hint: hint})
	if err != nil {
		return err
	}
	c.screen.printf("compacted: ~%s → ~%s tokens, %s; undo: /uncompact", prose.Grouped(done.Before), prose.Grouped(done.After), prose.Clean(done.Strategy))
	return nil
}

func (c branchCommands) uncompact(ctx context.Context, _ string) error {
	_, err := c.client.Undo(ctx, c.id, "latest")
	if wire.KindOf(err) == wire.NotFound {
		return &Problem{Err: failure.Of(firn.ErrNotFound, "no active compaction"), Hint: "/window shows what is sent to the model"}
	}
	if err != nil {
		return err
	}
	c.screen.printf("compaction undone; /window shows what is sent now")
	return nil
}

func (c branchCommands) compactions(ctx context.Context, _ string) error {
	past, err := c.client.Compactions(ctx, c.id)
	if err != nil {
		return err
	}
	if len(past) == 0 {
		c.screen.printf("no compactions on this branch")
		return nil
	}
	rows := [][]string{{"  ENTRY", "WHEN", "TOKENS", "HOW", "SUMMARY"}}
	for _, p := range past {
		mark, how := "  ", p.Strategy
		if p.Current {
			mark = "● "
		}
		if p.Undone {
			how = "undone"
		}
		at, err := time.Parse(time.RFC3339Nano, p.At)
		if err != nil {
			at = time.Time{} // unknown
		}
		rows = append(rows, []string{
			mark + string(p.ID), prose.Ago(at, c.now()), "~" + prose.Thousands(p.Before) + " → ~" + prose.Thousands(p.After), prose.Clean(how), prose.OneLine(p.Summary, 60),
		})
	}
	c.screen.lines(prose.Table(rows))
	return nil
}
