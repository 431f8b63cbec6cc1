package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// sessionHelp describes session references in help texts.
const sessionHelp = `Refer to a session by its id, the first or last 4 or more characters of it,
its title or first message, the start or words of those, @ and a key, the path
of its file, or - for the most recently updated session. If several match, they
are listed.`

// entryHelp describes entry references in help texts.
const entryHelp = `Refer to an entry by its id or the start of it, its label, HEAD, HEAD~n for
the head n turns ago, or #n for the n-th entry of the file.`

// session finds a session by reference.
func (p *program) session(ctx context.Context, c *client.Client, ref string) (wire.Session, error) {
	if ref == "-" {
		latest, err := p.latest(ctx, c, "")
		if err != nil {
			return wire.Session{}, err
		}
		ref = string(latest.ID)
	}
	if id, ok := idOfPath(ref); ok {
		ref = string(id)
	}
	return c.Session(ctx, ref)
}

// latest returns the most recently updated session of an agent, or of all. That can be an
// empty one, which firn new just created.
func (p *program) latest(ctx context.Context, c *client.Client, agent string) (wire.Session, error) {
	page, err := c.SessionsPage(ctx, client.Query{Agent: agent, Empty: true, Limit: 1})
	if err != nil {
		return wire.Session{}, err
	}
	if len(page.Items) == 0 {
		return wire.Session{}, &hinted{failure.Of(firn.ErrNotFound, "there are no sessions"), "run firn chat or firn new"}
	}
	return page.Items[0], nil
}

// partName matches the name of a transcript or of a further part of one.
var partName = pattern.New(`^(.+?)(?:_part[0-9]+)?\.jsonl$`)

// idOfPath returns the session of the file at a path.
func idOfPath(path string) (firn.ID, bool) {
	name := partName().FindStringSubmatch(filepath.Base(path))
	if name == nil {
		return "", false
	}
	if _, err := os.Stat(path); err != nil {
		return "", false
	}
	return firn.ID(name[1]), true
}

// each calls do for every session. If there are several, it continues after errors, prints
// them, and returns an error for the exit code.
func (p *program) each(refs []string, do func(ref string) error) error {
	failed := 0
	for _, ref := range refs {
		err := do(ref)
		if err == nil {
			continue
		}
		if len(refs) == 1 || errors.Is(err, context.Canceled) {
			return err
		}
		p.printError(err)
		failed++
	}
	if failed > 0 {
		return errPartial
	}
	return nil
}

// args checks the number of arguments. If most is negative, there is no maximum.
func args(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if n := len(given); n == 0 && strings.HasPrefix(cmd.Use, cmd.Name()+" SESSION") {
			return &usageError{message: fmt.Sprintf("%s takes %s", cmd.CommandPath(), want), hint: fmt.Sprintf("firn ls lists the sessions; - is the latest: %s -", cmd.CommandPath())}
		} else if n < least || most >= 0 && n > most {
			return usage(cmd, "%s takes %s, not %s", cmd.CommandPath(), want, prose.Plural(n, "argument"))
		}
		for _, arg := range given {
			if strings.TrimSpace(arg) == "" {
				return usage(cmd, "%s takes %s, but an argument is empty", cmd.CommandPath(), want)
			}
		}
		return nil
	}
}

// completionLimit is the maximum number of sessions offered for completion.
const completionLimit = 50

// completeSession offers the latest sessions for the first argument, or for all arguments:
// by ID, and after the first character by title too.
func (p *program) completeSession(all bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(given) > 0 && !all {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []cobra.Completion
		offer := p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			for s, err := range c.Sessions(ctx, client.Query{Limit: completionLimit}) {
				if err != nil {
					return err
				}
				if strings.HasPrefix(string(s.ID), begun) {
					words = append(words, cobra.CompletionWithDesc(string(s.ID), prose.OneLine(nameOf(s), 40)))
				}
				if begun != "" && strings.HasPrefix(s.Title, begun) && s.Title == prose.OneLine(s.Title, len(s.Title)) {
					words = append(words, cobra.CompletionWithDesc(s.Title, string(s.ID)))
				}
			}
			return nil
		})
		if err := offer(cmd, nil); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// nameOf returns the title of a session, or the beginning of its first message.
func nameOf(s wire.Session) string {
	switch {
	case s.Fault != "":
		return "cannot be read: " + s.Fault
	case s.Title != "":
		return s.Title
	}
	return s.Prompt
}

// quotedName returns the quoted title of a session with a leading space; empty if it has
// none.
func quotedName(title string) string {
	if title == "" {
		return ""
	}
	return fmt.Sprintf(" %q", prose.OneLine(title, 60))
}
