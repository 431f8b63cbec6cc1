package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/chat"
	"firn.dev/wire"
)

func (p gatewayCommands) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		GroupID: "gateway",
		Short:   "Show the status: home, store, gateway, agents, latest sessions",
		Example: "  firn status\n  firn status --json | jq .gateway", Args: none,
		RunE: p.with(modeling, func(ctx context.Context, c *client.Client, _ []string) error {
			s, err := c.Status(ctx)
			if err != nil {
				return err
			}
			if s.Gateway == "" {
				s.Gateway = c.Address()
			}
			chat.AddStates(ctx, c, s.Recent)
			files := filesSize(ctx, c)
			vectors := vectorProgress(ctx, c)
			return p.print(s, func() string { return p.statusText(s, files, vectors) })
		}),
	}
}

// statusText formats the status.
func (p gatewayCommands) statusText(s wire.Status, files int64, vectors string) string {
	gateway := "not running; commands work without it"
	if s.Gateway != "in-process" {
		gateway = fmt.Sprintf("%s%s, process %d, %s", s.Gateway, andTCP(s), s.PID, formatUptime(p.now().Sub(s.Started)))
	}
	version := prose.Clean(s.Version)
	if own := prose.Clean(p.build.Version); s.Gateway != "in-process" && own != "" && own != version {
		version += ", but this command is " + own + "; restart the gateway to update it"
	}
	rows := [][]string{
		{"version", version}, {"home", placeOr(s.Home)}, {"store", placeOr(s.Store)}, {"gateway", prose.Clean(gateway)},
		{"sessions", fmt.Sprintf("%s, %d running, %d queued", prose.Grouped(int64(s.Sessions)), s.Running, s.Queued)},
	}
	if files > 0 {
		rows = append(rows, []string{"files", prose.Size(files) + ", contents of files that tools changed"})
	}
	if vectors != "" {
		rows = append(rows, []string{"vectors", vectors})
	}
	for i, a := range s.Agents {
		rows = append(rows, []string{first("agents", i), fmt.Sprintf("%s, %s, window %s%s", prose.Clean(a.ID), prose.Clean(a.Provider+"/"+a.Model), about(a.Assumed), prose.Thousands(a.Window))})
	}
	for i, m := range s.MCP {
		rows = append(rows, []string{first("MCP servers", i), chat.MCPServer(m)})
	}
	if len(s.Recent) == 0 {
		return strings.Join(prose.Table(rows), "\n") + "\n"
	}
	lines := append(prose.Table(append(rows, latestRows(s.Recent[0])...)), "latest")
	rows = nil
	for _, r := range s.Recent {
		rows = append(rows, p.recentRow(r))
	}
	return strings.Join(append(lines, prose.Columns(rows, "llllrrr")...), "\n") + "\n"
}

// filesSize returns the size of the contents of files that tools changed; zero if the caller
// may not see it.
func filesSize(ctx context.Context, c *client.Client) int64 {
	ops, err := c.Ops(ctx)
	if err != nil {
		return 0
	}
	return ops.Storage.Files
}

// vectorProgress describes the vectors of messages; empty without an embeddings model.
func vectorProgress(ctx context.Context, c *client.Client) string {
	state, err := c.Index.State(ctx)
	if err != nil || state.Vectors == nil {
		return ""
	}
	v := state.Vectors
	text := fmt.Sprintf("%s of %s messages, %s", prose.Grouped(int64(v.Done)), prose.Grouped(int64(v.Total)), prose.Clean(v.Model))
	if v.Failed != "" {
		text += "; failed: " + prose.OneLine(v.Failed, 200)
	}
	return text
}

// andTCP returns the additional TCP address of a gateway.
func andTCP(s wire.Status) string {
	if s.TCP == "" || strings.HasSuffix(strings.TrimSuffix(s.Gateway, "/"), "://"+s.TCP) {
		return ""
	}
	return " and http://" + s.TCP
}

// placeOr returns a location, or a placeholder if it is unknown.
func placeOr(place string) string {
	return prose.Clean(cmp.Or(place, "shown only to the owner and tokens with scope admin"))
}

// latestRows describes the most recently used session.
func latestRows(s wire.Session) [][]string {
	rows := [][]string{{"session", prose.Short(s.ID) + ", " + prose.OneLine(nameOf(s), 60)}, {"key", keyText(s)}}
	st := s.State
	if st == nil {
		return rows
	}
	word := func(value, usual string) string { return prose.Clean(cmp.Or(value, usual)) }
	return append(rows, []string{"model", prose.Clean(st.Provider + "/" + st.Model)},
		[]string{"window", windowText(st.Window) + ", " + prose.Plural(st.Compactions, "compaction") + prose.Level(st.Window)},
		[]string{"toggles", fmt.Sprintf("thinking %s, verbose %s, send %s", word(st.Thinking, "off"), word(st.Verbose, "off"), word(st.Send, "inherit")) + authText(st.Auth)})
}

// authText names the credential profile of a session.
func authText(profile string) string {
	if profile == "" {
		return ""
	}
	return ", auth " + prose.Clean(profile)
}

// windowText formats the use of a window in tokens and as a share.
func windowText(u wire.Usage) string {
	return fmt.Sprintf("%s%s tokens, %s", about(u.Estimated), prose.Grouped(u.Tokens), prose.Share(u.Tokens, u.Window))
}

func (p gatewayCommands) recentRow(s wire.Session) []string {
	mark, model, window, compactions := "  ", "–", "–", ""
	if s.Live {
		mark = "● "
	}
	if st := s.State; st != nil {
		model, window = prose.Clean(st.Provider+"/"+st.Model), windowText(st.Window)
		compactions = prose.Plural(st.Compactions, "compaction")
	}
	return []string{mark + prose.Short(s.ID), prose.OneLine(nameOf(s), 32), p.place(s), model, window, compactions, prose.Ago(s.Updated, p.now())}
}

// formatUptime formats an uptime.
func formatUptime(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "up for less than a minute"
	case d < time.Hour:
		return fmt.Sprintf("up for %d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("up for %d h", int(d.Hours()))
	}
	return fmt.Sprintf("up for %d days", int(d.Hours()/24))
}
