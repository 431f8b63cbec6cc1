package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/chat"
	"firn.dev/wire"
)

// keyHelp describes keys in help texts.
const keyHelp = `A key, agent:<agent>:…, is a permanent name for a conversation and points at
its current session.`

// keyCommands are the commands of keys.
type keyCommands struct{ *program }

func (p keyCommands) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "keys",
		GroupID: "gateway",
		Short:   "Manage keys and the sessions they point at",
		Long:    keyHelp,
		Args:    cobra.ArbitraryArgs,
		RunE:    p.unknown,
	}
	cmd.AddCommand(p.keysLsCommand(), p.keysShowCommand(), p.keysSetCommand(), p.keysRmCommand(), p.keysResetCommand(), p.keysPreviousCommand())
	return cmd
}

func (p keyCommands) keysLsCommand() *cobra.Command {
	var agent string
	count := bound(listBound)
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List keys, most recently used first", Example: "  firn keys ls --agent main", Args: none,
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := someKeys(ctx, c, agent, int(count))
			if err != nil {
				return err
			}
			return p.print(page, func() string { return p.keysText(page) })
		}),
	}
	cmd.Flags().StringVarP(&agent, "agent", "a", "", "only keys of this `agent`")
	cmd.Flags().VarP(&count, "number", "n", "list at most `N`, or all")
	return cmd
}

// someKeys returns the first count keys, or all if count is zero, and the total number.
func someKeys(ctx context.Context, c *client.Client, agent string, count int) (wire.Page[wire.Key], error) {
	if 0 < count && count <= 1000 {
		page, err := c.Keys.Page(ctx, agent, count, "")
		page.Cursor = ""
		return page, err
	}
	keys, err := c.Keys.List(ctx, agent)
	page := wire.Page[wire.Key]{Items: append([]wire.Key{}, keys...), Total: len(keys)}
	if count > 0 && len(keys) > count {
		page.Items = page.Items[:count]
	}
	return page, err
}

func (p keyCommands) keysText(page wire.Page[wire.Key]) string {
	if page.Total == 0 {
		return "no keys\n"
	}
	rows := [][]string{{"KEY", "SESSION", "KIND", "RESET", "UPDATED"}}
	for _, k := range page.Items {
		session := prose.Short(k.Session)
		if session == "" {
			session = "–"
		}
		rows = append(rows, []string{chat.ShortKey(k.Key, 48), session, prose.Clean(k.Kind), prose.OneLine(k.Reset, 32), prose.Ago(k.Updated, p.now())})
	}
	lines := prose.Table(rows)
	if n := len(page.Items); n < page.Total {
		lines = append(lines, fmt.Sprintf("%s of %s shown (-n all)", prose.Grouped(int64(n)), prose.Grouped(int64(page.Total))))
	} else {
		lines = append(lines, prose.Plural(n, "key"))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (p keyCommands) keysShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show KEY", Short: "Show where a key points, and all its sessions", Example: "  firn keys show agent:main:main", Long: keyHelp, Args: args(1, 1, "one key"),
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
			k, err := c.Keys.Get(ctx, keyOf(args[0]))
			if err != nil {
				return err
			}
			return p.print(k, func() string { return p.keyText(k) })
		}),
	}
}

// keyOf returns the full key for an argument, which may start with an @ or omit the agent,
// as lists do.
func keyOf(arg string) string {
	key := strings.TrimPrefix(arg, "@")
	if strings.Contains(key, ":") && !strings.HasPrefix(key, "agent:") {
		key = "agent:" + key
	}
	return key
}

// kindText returns the kind of a key, or the kind of chat if that is more specific.
func kindText(k wire.Key) string {
	if k.ChatType == "" || k.ChatType == k.Kind {
		return k.Kind
	}
	return k.Kind + " " + k.ChatType
}

func (p keyCommands) keyText(k wire.Key) string {
	session := string(k.Session)
	if session == "" {
		session = "none"
	}
	rows := [][]string{{"key", prose.Clean(k.Key)}, {"agent", prose.Clean(k.Agent)}, {"kind", prose.Clean(kindText(k))}, {"session", session}, {"reset", prose.Clean(k.Reset)}}
	lines := prose.Table(rows)
	rows = nil
	for _, s := range k.History {
		mark := "  "
		if s.Current || s.ID == k.Session {
			mark = "● "
		}
		rows = append(rows, []string{mark + string(s.ID), prose.OneLine(nameOf(s), 40), prose.Size(s.Bytes), prose.Ago(s.Updated, p.now())})
	}
	return strings.Join(append(lines, prose.Table(rows)...), "\n") + "\n"
}

func (p keyCommands) keysSetCommand() *cobra.Command {
	var plan bool
	cmd := &cobra.Command{
		Use: "set KEY SESSION", Short: "Point a key at a session", Example: "  firn keys set agent:main:main 0198c5a2", Long: keyHelp + "\n\n" + sessionHelp, Args: args(2, 2, "a key and a session"),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			s, err := p.session(ctx, c, args[1])
			if err != nil {
				return err
			}
			old, err := p.pointed(ctx, c, args[0])
			if err != nil {
				return err
			}
			if plan {
				return p.plan(s.ID, "keys set", fmt.Sprintf("would point %s at %s%s%s", prose.Clean(keyOf(args[0])), prose.Short(s.ID), quotedName(s.Title), pointsNow(old)))
			}
			k, err := c.Keys.Point(ctx, keyOf(args[0]), s.ID)
			if err != nil {
				return err
			}
			return p.print(k, func() string {
				if old == k.Session {
					return fmt.Sprintf("%s already points at %s%s; no changes made\n", prose.Clean(k.Key), prose.Short(k.Session), quotedName(s.Title))
				}
				return fmt.Sprintf("%s now points at %s%s\n", prose.Clean(k.Key), prose.Short(k.Session), quotedName(s.Title)) + undoPoint(k, old)
			})
		}),
	}
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	return cmd
}

// pointed returns the session that a key points at; empty if there is none.
func (p keyCommands) pointed(ctx context.Context, c *client.Client, key string) (firn.ID, error) {
	k, err := c.Keys.Get(ctx, keyOf(key))
	if errors.Is(err, firn.ErrNotFound) {
		return "", nil
	}
	return k.Session, err
}

// undoPoint returns a line with the command that points a key back at its old session;
// empty if that is unchanged.
func undoPoint(k wire.Key, old firn.ID) string {
	if old == k.Session {
		return ""
	}
	if old == "" {
		return fmt.Sprintf("undo: firn keys rm %s\n", quote(prose.Clean(k.Key)))
	}
	return fmt.Sprintf("undo: firn keys set %s %s\n", quote(prose.Clean(k.Key)), prose.Short(old))
}

// pointsNow describes the current target of a key.
func pointsNow(id firn.ID) string {
	if id == "" {
		return ", which points at no session"
	}
	return ", which points at " + prose.Short(id) + " now"
}

func (p keyCommands) keysRmCommand() *cobra.Command {
	var plan bool
	cmd := &cobra.Command{
		Use: "rm KEY", Aliases: []string{"remove"}, Short: "Remove a key; its sessions remain", Example: "  firn keys rm agent:main:telegram:direct:ann", Args: args(1, 1, "one key"),
		Long: keyHelp + `

The key then points at no session, and the next message for it starts a new
one. Its sessions remain, and record that the key was removed.`,
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			old, err := c.Keys.Get(ctx, keyOf(args[0]))
			if err != nil {
				return err
			}
			if plan && old.Session != "" {
				return p.plan(old.Session, "keys rm", fmt.Sprintf("would remove %s%s", prose.Clean(old.Key), pointsNow(old.Session)))
			}
			k, err := c.Keys.Remove(ctx, keyOf(args[0]))
			if err != nil {
				return err
			}
			return p.print(k, func() string {
				return fmt.Sprintf("removed %s · its session %s remains · 0 bytes removed\n", prose.Clean(k.Key), prose.Short(old.Session)) + undoPoint(k, old.Session)
			})
		}),
	}
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	return cmd
}

func (p keyCommands) keysResetCommand() *cobra.Command {
	var plan bool
	cmd := &cobra.Command{
		Use: "reset KEY", Short: "Start a new session for a key; the old one remains", Example: "  firn keys reset agent:main:main", Long: keyHelp, Args: args(1, 1, "one key"),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			k, err := c.Keys.Get(ctx, keyOf(args[0]))
			if err != nil { // an invalid key cannot be created
				return err
			}
			if plan {
				return p.plan(k.Session, "keys reset", "would start a new session for "+prose.Clean(k.Key)+pointsNow(k.Session))
			}
			r, err := c.Keys.Reset(ctx, keyOf(args[0]))
			if err != nil {
				return err
			}
			return p.print(r, func() string {
				return fmt.Sprintf("%s now points at the new session %s · 0 bytes removed\nundo: firn keys previous %s\n", prose.Clean(r.Key), prose.Short(r.Session), prose.Clean(r.Key))
			})
		}),
	}
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	return cmd
}

func (p keyCommands) keysPreviousCommand() *cobra.Command {
	return &cobra.Command{
		Use: "previous KEY", Aliases: []string{"continue-previous"}, Short: "Undo a reset: point the key at its previous session", Example: "  firn keys previous agent:main:main", Long: keyHelp, Args: args(1, 1, "one key"),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			old, err := p.pointed(ctx, c, args[0])
			if err != nil {
				return err
			}
			k, err := c.Keys.ContinuePrevious(ctx, keyOf(args[0]))
			if err != nil {
				return err
			}
			return p.print(k, func() string {
				return fmt.Sprintf("%s points at %s again\n", prose.Clean(k.Key), prose.Short(k.Session)) + undoPoint(k, old)
			})
		}),
	}
}
