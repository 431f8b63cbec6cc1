package chat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn"
	"firn/compact"
)

// rewind goes back some turns, or to an entry.
func (c *chat) rewind(ctx context.Context, rest string) error {
	words := strings.Fields(rest)
	n := len(words)
	words = slices.DeleteFunc(words, func(w string) bool { return w == "--summary" })
	summarise := len(words) < n
	if len(words) > 1 {
		return fmt.Errorf("/rewind takes one place to go to, not %d: %w", len(words), firn.ErrInvalid)
	}
	path, err := c.path(ctx)
	if err != nil {
		return err
	}
	to, what, err := c.rewindTo(ctx, strings.Join(words, ""))
	if err != nil {
		return err
	}
	if _, err := c.agent.Move(ctx, c.id, to, summarise); err != nil {
		return err
	}
	c.screen.say("%s; what was left stays in the log: /rewind %s returns to it", what, path.Head)
	return nil
}

// mostTurns is the largest number that is taken for a number of turns, and not
// for the id of an entry.
const mostTurns = 9999

// rewindTo finds the entry to go on from, and says what that means.
func (c *chat) rewindTo(ctx context.Context, ref string) (to firn.EntryID, what string, err error) {
	turns := 1
	if ref != "" {
		n, err := strconv.Atoi(ref)
		if err != nil || n > mostTurns {
			e, err := c.entry(ctx, ref)
			if err != nil {
				return "", "", err
			}
			return e.ID, "the session goes on from " + gist(e, 60), nil
		}
		turns = n
	}
	path, err := c.path(ctx)
	if err != nil {
		return "", "", err
	}
	live := 0
	for _, e := range slices.Backward(path.Entries) {
		m, ok := e.Body.(*firn.Message)
		if !ok || m.Role != firn.RoleUser {
			continue
		}
		if live++; live == turns {
			to = e.Parent
			if to == "" {
				to = firn.Root
			}
			return to, "went back to before you said “" + oneLine(m.Text(), 60) + "”", nil
		}
	}
	return "", "", fmt.Errorf("go back %s: there are %d in the live part of this session: %w", plural(turns, "turn"), live, firn.ErrInvalid)
}

func (c *chat) compact(ctx context.Context, hint string) error {
	result, err := c.agent.Compact(ctx, c.id, hint)
	if err != nil {
		return err
	}
	c.screen.say("compacted: ~%s → ~%s tokens, %s; /uncompact takes it back", grouped(result.Before), grouped(result.After), result.Strategy)
	return nil
}

func (c *chat) uncompact(ctx context.Context, _ string) error {
	if _, err := compact.Undo(ctx, c.st, c.id, ""); err != nil {
		return err
	}
	c.screen.say("the last compaction is taken back; /window shows what is sent now")
	return nil
}

func (c *chat) compactions(ctx context.Context, _ string) error {
	past, err := compact.List(ctx, c.st, c.id)
	if err != nil {
		return err
	}
	if len(past) == 0 {
		c.screen.say("nothing was compacted on this branch")
		return nil
	}
	rows := [][]string{{"  ENTRY", "WHEN", "TOKENS", "HOW", "SUMMARY"}}
	for _, p := range past {
		mark, how := "  ", string(p.Strategy)
		if p.Counts {
			mark = "● "
		}
		if p.Undone {
			how = "undone"
		}
		rows = append(rows, []string{
			mark + string(p.ID), ago(p.Time, c.now()), "~" + short1k(p.Before) + " → ~" + short1k(p.After), how, oneLine(p.Line, 60),
		})
	}
	c.screen.lines(table(rows))
	return nil
}
