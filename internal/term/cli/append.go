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
	"firn.dev/internal/base/failure"
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
		Short:   "Append entries to a session: from stdin, or --user TEXT",
		Long: `Append entries to a session. They are read from stdin as lines of JSON in the
format of docs/format.md; missing ids, parents and times are filled in. Lines
in another tool's format also work and get new ids. Either all entries are
appended or none; at most 1,000 at a time. They are on disk when the command
returns.

--user appends one user message. No agent answers it; use firn chat for that.

--expect appends only if the session still ends at that position, as printed by firn show and by every append. Otherwise it fails with a conflict.

` + sessionHelp,
		Example: "  firn append - --user 'One more thing.'\n  firn append 0198c5a2 < entries.jsonl", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
	}
	flags := cmd.Flags()
	flags.StringVar(&user, "user", "", "append a user message with this `text`")
	flags.Uint64Var(&expect, "expect", expect, "append only if the session ends at this `position`")
	flags.BoolVar(&plan, "plan", false, "print the plan without changing anything")
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
			return wire.NewEntries{}, usage(cmd, "--user is empty")
		}
		return wire.NewEntries{User: user}, nil
	}
	if p.stdin == nil || isTerminal(p.stdin) {
		return wire.NewEntries{}, usage(cmd, "firn append needs lines on stdin, or --user TEXT")
	}
	lines, err := readLines(p.input(cmd.Context()))
	if err == nil && len(lines) == 0 {
		return wire.NewEntries{}, usage(cmd, "stdin is empty: no entries to append")
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
			return nil, fmt.Errorf("read entries: %w", err)
		}
		if total += len(text); total > maxAppend {
			return nil, fmt.Errorf("read entries: %w: more than %s at once", firn.ErrTooLarge, prose.Size(maxAppend))
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if !json.Valid(text) || text[0] != '{' {
				return nil, failure.Of(firn.ErrInvalid, "read entries: line %d is not a JSON object", n)
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
		return p.plan(s.ID, "append", fmt.Sprintf("would append %s to %s%s, after position %d", prose.Count(n, "entry", "entries"), prose.Short(s.ID), quotedName(s.Title), s.End))
	}
	done, err := c.Append(ctx, s.ID, expect, entries)
	if err != nil {
		return err
	}
	return p.print(done, func() string {
		text := fmt.Sprintf("appended %s to %s, saved up to position %d\n", prose.Count(len(done.IDs), "entry", "entries"), prose.Short(s.ID), done.End)
		if done.Masked > 0 {
			text += prose.Plural(done.Masked, "secret") + " replaced before storing (session.redact)\n"
		}
		return text
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
	return p.print(planned{command, id, would}, func() string { return would + "; no changes made\n" })
}
