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
		Short:   "Manage tokens for clients over TCP",
		Long: `Tokens authenticate clients over TCP; the owner of the home needs none on the
Unix socket. A client sends its token in the header Authorization: Bearer. firn
itself reads it from FIRN_TOKEN.`,
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
		Use: "create NAME", Short: "Create a token and print its secret once", Args: args(1, 1, "a name"),
		Long: `Create a token and print its secret. The secret is shown only once; firn
stores only its hash. Scopes: hook (call the hooks that list the token, nothing
else), read, write (chat, and changes that can be undone) and admin (erase, and
create tokens). write includes read, and admin includes both.`,
		Example: "  firn token create phone --scope write --expires 90d\n  firn token create deploy --scope hook\n  FIRN_TOKEN=$(firn token create ci --scope read)",
	}
	flags := cmd.Flags()
	flags.StringVar(&scope, "scope", string(wire.ScopeRead), "`scope` of the token: read, write, admin, sync or hook")
	flags.StringSliceVar(&n.Agents, "agent", nil, "restrict the token to sessions of this `agent`; may be repeated")
	flags.StringSliceVar(&n.Keys, "key", nil, "restrict the token to sessions whose key has this `prefix`; may be repeated")
	flags.StringVar(&expires, "expires", "", "`time` until the token expires, such as 90d or 12h (default never)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		n.Name, n.Scope = args[0], wire.Scope(scope)
		if !n.Scope.Known() {
			return usage(cmd, "unknown scope %q; the scopes are hook, sync, read, write and admin", scope)
		}
		var err error
		if n.Expires, err = parseExpiry(expires, p.now()); err != nil {
			return usage(cmd, "%s", err)
		}
		return p.with(mayChange, func(ctx context.Context, c *client.Client, _ []string) error {
			made, err := c.Access.CreateToken(ctx, n)
			if err != nil {
				return err
			}
			if !p.json {
				fmt.Fprintf(p.stderr, "token %s (%s), scope %s; shown only once:\n", made.ID, prose.Clean(made.Name), made.Scope)
			}
			return p.print(made, func() string { return made.Secret + "\n" })
		})(cmd, args)
	}
	return cmd
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
	return time.Time{}, fmt.Errorf("--expires takes a duration such as 90d or 12h, not %q", text)
}

func (p tokenCommands) tokenLsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List tokens, without their secrets", Example: "  firn token ls", Args: none,
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			tokens, err := c.Access.Tokens(ctx)
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
		return "no tokens; to create one: firn token create NAME (the owner needs none on the Unix socket)\n"
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
		return "valid"
	case t.Expires.Before(p.now()):
		return "expired"
	}
	return "valid until " + t.Expires.Local().Format("2006-01-02")
}

func (p tokenCommands) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID|NAME", Short: "Revoke a token: it is rejected, and its turns are stopped", Example: "  firn token revoke phone", Args: args(1, 1, "one token"),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Access.RevokeToken(ctx, args[0])
			if err != nil {
				return err
			}
			return p.print(t, func() string { return fmt.Sprintf("revoked %s (%s)\n", t.ID, prose.Clean(t.Name)) })
		}),
	}
}
