package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// maxAppend is the maximum size of one append in bytes.
const maxAppend = 16 << 20

func (p changeCommands) appendCommand() *cobra.Command {
	var user string
	var plan bool
	expect := uint64(client.Any)
	cmd := &cobra.Command{
		Use:     "append SESSION",
		GroupID: "sessions",
		Short:   "Add entries to a session: lines on stdin, or --user TEXT",
		Long: `Add entries to the end of a session. They come on stdin as lines of JSON, in the format
that docs/format.md describes; ids, parents and times that are left out are filled in.
Lines of another tool will do as well, and get ids of firn's own. All of them are added, or
none; at most 1000 at a time. They are on disk when the command returns.

With --user one entry is added, in which the user says the text. Nobody answers it: firn
chat does that.

With --expect they are added only if the session still ends at that position, which firn
show and every append tell. Else it is a conflict.

` + sessionHelp,
		Example: "  firn append - --user 'What I forgot to say.'\n  firn append 0198c5a2 < entries.jsonl", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
	}
	flags := cmd.Flags()
	flags.StringVar(&user, "user", "", "add a message in which the user says this `text`")
	flags.Uint64Var(&expect, "expect", expect, "add them only if the session ends at this `position`")
	flags.BoolVar(&plan, "plan", false, "only say what would be added")
	flags.Lookup("expect").DefValue = "any"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		entries, err := p.newEntries(cmd, user)
		if err != nil {
			return err
		}
		return p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			return p.append(ctx, c, args[0], firn.Pos(expect), entries, plan)
		})(cmd, args)
	}
	return cmd
}

// newEntries reads the entries to append.
func (p changeCommands) newEntries(cmd *cobra.Command, user string) (wire.NewEntries, error) {
	if cmd.Flags().Changed("user") {
		if user == "" {
			return wire.NewEntries{}, usage(cmd, "--user says nothing")
		}
		return wire.NewEntries{User: user}, nil
	}
	if p.stdin == nil || isTerminal(p.stdin) {
		return wire.NewEntries{}, usage(cmd, "firn append takes lines on stdin, or --user TEXT")
	}
	lines, err := readLines(p.input(cmd.Context()))
	if err == nil && len(lines) == 0 {
		return wire.NewEntries{}, usage(cmd, "there is nothing on stdin to append")
	}
	return wire.NewEntries{Entries: lines}, err
}

// readLines reads lines of JSON.
func readLines(in io.Reader) ([]json.RawMessage, error) {
	var lines []json.RawMessage
	r := bufio.NewReader(io.LimitReader(in, maxAppend+1))
	total := 0
	for n := 1; ; n++ {
		text, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the entries: %w", err)
		}
		if total += len(text); total > maxAppend {
			return nil, fmt.Errorf("read the entries: %w: more than %s at once", firn.ErrTooLarge, prose.Size(maxAppend))
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if !json.Valid(text) || text[0] != '{' {
				return nil, fmt.Errorf("read the entries: line %d is no JSON object: %w", n, firn.ErrInvalid)
			}
			lines = append(lines, text)
		}
		if err != nil {
			return lines, nil
		}
	}
}

// append appends entries, or prints the plan.
func (p changeCommands) append(ctx context.Context, c *client.Client, ref string, expect firn.Pos, entries wire.NewEntries, plan bool) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	if plan {
		n := max(len(entries.Entries), 1)
		return p.plan(s.ID, "append", fmt.Sprintf("would append %s to %s%s, behind position %d", prose.Count(n, "entry", "entries"), prose.Short(s.ID), quotedName(s.Title), s.End))
	}
	done, err := c.Append(ctx, s.ID, expect, entries)
	if err != nil {
		return err
	}
	return p.print(done, func() string {
		return fmt.Sprintf("appended %s to %s, on disk up to %d\n", prose.Count(len(done.IDs), "entry", "entries"), prose.Short(s.ID), done.End)
	})
}

// planned is the JSON form of a plan.
type planned struct {
	Plan    string  `json:"plan"`
	Session firn.ID `json:"session,omitempty"`
	Would   string  `json:"would"`
}

// plan prints a plan.
func (p *program) plan(id firn.ID, command, would string) error {
	return p.print(planned{command, id, would}, func() string { return would + "; nothing was done\n" })
}
