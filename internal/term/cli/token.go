package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// tokenCommands are the commands of tokens.
type tokenCommands struct{ *program }

func (p tokenCommands) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		GroupID: "gateway",
		Short:   "Tokens, which let clients in over TCP",
		Long: `Tokens let clients in over TCP; over the Unix socket the owner of the home needs none. A
client sends its token in the header Authorization: Bearer, and firn itself takes it from
FIRN_TOKEN.`,
		Args: cobra.ArbitraryArgs,
		RunE: p.unknown,
	}
	cmd.AddCommand(p.tokenCreateCommand(), p.tokenLsCommand(), p.tokenRevokeCommand())
	return cmd
}

func (p tokenCommands) tokenCreateCommand() *cobra.Command {
	var n wire.NewToken
	var scope, expires string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a token and print its secret, this once", Args: args(1, 1, "a name"),
		Long: `Make a token and print its secret. It is told this once and kept nowhere: only its hash
is. The scopes are hook (call the hooks of the settings that name the token, and nothing
else), read, write (talk, and change what can be undone) and admin (erase, and hand out
tokens); each of the last three may do what the ones before it may.`,
		Example: "  firn token create phone --scope write --expires 90d\n  firn token create deploy --scope hook\n  FIRN_TOKEN=$(firn token create ci --scope read)",
	}
	flags := cmd.Flags()
	flags.StringVar(&scope, "scope", string(wire.ScopeRead), "the `scope`, what it may do: read, write, admin or hook")
	flags.StringSliceVar(&n.Agents, "agent", nil, "it is good only for sessions of this `agent`; may be repeated")
	flags.StringSliceVar(&n.Keys, "key", nil, "it is good only for sessions whose key begins with this `prefix`; may be repeated")
	flags.StringVar(&expires, "expires", "", "when it ends: `how` long from now, such as 90d or 12h (default never)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		n.Name, n.Scope = args[0], wire.Scope(scope)
		if !n.Scope.Known() {
			return usage(cmd, "there is no scope %q; the scopes are hook, read, write and admin", scope)
		}
		var err error
		if n.Expires, err = parseExpiry(expires, p.now()); err != nil {
			return usage(cmd, "%s", err)
		}
		return p.with(mayChange, func(ctx context.Context, c *client.Client, _ []string) error {
			made, err := c.CreateToken(ctx, n)
			if err != nil {
				return err
			}
			if !p.json {
				fmt.Fprintf(p.stderr, "token %s (%s) may %s; this is told once:\n", made.ID, prose.Clean(made.Name), mayDo(made.Scope))
			}
			return p.print(made, func() string { return made.Secret + "\n" })
		})(cmd, args)
	}
	return cmd
}

// mayDo describes the permissions of a scope; it follows "may".
func mayDo(s wire.Scope) string {
	if s == wire.ScopeHook {
		return "call its hooks"
	}
	return string(s)
}

// parseExpiry returns the end of a duration such as 90d or 12h that starts now; zero if text is empty.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 {
			return now.AddDate(0, 0, n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	return time.Time{}, fmt.Errorf("--expires takes how long it lasts, such as 90d or 12h, not %q", text)
}

func (p tokenCommands) tokenLsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List tokens, without their secrets", Example: "  firn token ls", Args: none,
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			tokens, err := c.Tokens(ctx)
			if err != nil {
				return err
			}
			page := wire.Page[wire.Token]{Items: append([]wire.Token{}, tokens...), Total: len(tokens)}
			return p.print(page, func() string { return p.tokensText(tokens) })
		}),
	}
}

func (p tokenCommands) tokensText(tokens []wire.Token) string {
	if len(tokens) == 0 {
		return "no tokens; firn token create NAME makes one, over the socket the owner needs none\n"
	}
	rows := [][]string{{"ID", "NAME", "SCOPE", "FOR", "USED", "STATE"}}
	for _, t := range tokens {
		used := "never"
		if !t.Used.IsZero() {
			used = prose.Ago(t.Used, p.now())
		}
		rows = append(rows, []string{t.ID, prose.OneLine(t.Name, 32), string(t.Scope), prose.OneLine(boundText(t), 40), used, p.tokenState(t)})
	}
	return strings.Join(prose.Table(rows), "\n") + "\n"
}

func boundText(t wire.Token) string {
	if len(t.Agents)+len(t.Keys) == 0 {
		return "everything"
	}
	return strings.Join(slices.Concat(t.Agents, t.Keys), " ")
}

func (p tokenCommands) tokenState(t wire.Token) string {
	switch {
	case !t.LoggedOut.IsZero():
		return "logged out"
	case !t.Revoked.IsZero():
		return "revoked"
	case t.Expires.IsZero():
		return "good"
	case t.Expires.Before(p.now()):
		return "expired"
	}
	return "good until " + t.Expires.Local().Format("2006-01-02")
}

func (p tokenCommands) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID|NAME", Short: "Revoke a token: it lets nobody in, and its turns are stopped", Example: "  firn token revoke phone", Args: args(1, 1, "one token"),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.RevokeToken(ctx, args[0])
			if err != nil {
				return err
			}
			return p.print(t, func() string { return fmt.Sprintf("revoked %s (%s)\n", t.ID, prose.Clean(t.Name)) })
		}),
	}
}
