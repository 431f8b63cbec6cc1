package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p overviewCommands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show SESSION",
		GroupID: "look",
		Short:   "Show a session's details",
		Long: `Show a session's details: its agent and model, how full the window is, its
files, and entries that cannot be read. For sessions above 64 MB this lists
only damage in the live part and damage found by the index; firn verify reads
everything.

` + sessionHelp,
		Example: "  firn show -\n  firn show @agent:main:main --json", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(modeling, func(ctx context.Context, c *client.Client, args []string) error {
			s, err := p.session(ctx, c, args[0])
			if err != nil {
				return err
			}
			damage, err := p.damageOf(ctx, c, s)
			if err != nil {
				return err
			}
			var d damaged
			d.add(damage...)
			s.Unread = max(s.Unread, d.lost)
			children, err := c.Children(ctx, s.ID)
			if err != nil {
				return err
			}
			return p.print(s, func() string { return p.showText(s, damage, children) })
		}),
	}
}

// showText formats a session.
func (p overviewCommands) showText(s wire.Session, damage []wire.Damage, children []wire.Session) string {
	rows := [][]string{{"session", string(s.ID)}, {"title", prose.OneLine(nameOf(s), 100)}, {"agent", prose.Clean(s.Agent)}}
	rows = append(rows, []string{"key", keyText(s)})
	if s.CWD != "" {
		rows = append(rows, []string{"started in", prose.Clean(s.CWD)})
	}
	if n := len(s.Directories); n > 0 {
		rows = append(rows, []string{"last message in", prose.Clean(s.Directories[n-1])})
		if others := s.Directories[:n-1]; len(others) > 0 {
			rows = append(rows, []string{"also used in", prose.Clean(strings.Join(others, ", "))})
		}
	}
	if s.Parent != "" {
		how := "forked from"
		if s.Subagent {
			how = "sub-agent of"
		}
		rows = append(rows, []string{how, prose.Clean(s.Parent)})
	}
	rows = append(rows, childRows(children)...)
	rows = append(rows, stateRows(s)...)
	rows = append(rows,
		[]string{"created", s.Created.Local().Format("2006-01-02 15:04")},
		[]string{"updated", prose.Ago(s.Updated, p.now())},
		[]string{"size", fmt.Sprintf("%s in %s, on disk up to %d", prose.Size(s.Bytes), prose.Plural(s.Parts, "part"), s.End)})
	for i, f := range s.Files {
		name := ""
		if i == 0 {
			name = "files"
		}
		rows = append(rows, []string{name, prose.Clean(f)})
	}
	if put := putAway(s); put != "" {
		rows = append(rows, []string{"state", put})
	}
	rows = append(rows, p.otherHeads(s)...)
	rows = append(rows, unreadRows(s, damage)...)
	if s.Fault != "" {
		rows = append(rows, []string{"fault", prose.OneLine(s.Fault, 200)})
	}
	return strings.Join(prose.Table(rows), "\n") + "\n"
}

// childRows lists the sub-agents of a session.
func childRows(children []wire.Session) (rows [][]string) {
	for i, s := range children {
		name := ""
		if i == 0 {
			name = "sub-agents"
		}
		state := ""
		if s.Live {
			state = ", running"
		} else if s.Archived {
			state = ", archived"
		}
		rows = append(rows, []string{name, fmt.Sprintf("%s  %s: %s%s", s.ID, prose.Clean(s.Agent), prose.OneLine(nameOf(s), 60), state)})
	}
	return rows
}

func keyText(s wire.Session) string {
	switch {
	case s.Key == "":
		return "none"
	case s.Current:
		return prose.Clean(s.Key)
	}
	return prose.Clean(s.Key) + ", which no longer points at it"
}

// stateRows describes the live part of a session.
func stateRows(s wire.Session) [][]string {
	st := s.State
	if st == nil {
		return nil
	}
	thinking := st.Thinking
	if thinking == "" {
		thinking = "off"
	}
	rows := [][]string{
		{"model", prose.Clean(st.Provider+"/"+st.Model) + ", thinking " + prose.Clean(thinking)},
		{"turns", prose.Turns(st.Turns, st.Branches) + ", " + prose.Plural(st.Compactions, "compaction")},
		{"window", about(st.Window.Estimated) + prose.Share(st.Window.Tokens, st.Window.Window) + prose.Level(st.Window)},
		{"used", countersText(st.Counters)},
		{"head", string(st.Head)},
	}
	if st.Breaker != nil {
		rows = append(rows, []string{"compaction", prose.Breaker(*st.Breaker)})
	}
	if st.Send != "" || st.Verbose != "" || st.Auth != "" {
		rows = append(rows, []string{"toggles", strings.TrimSpace(toggle("send", st.Send) + toggle("verbose", st.Verbose) + toggle("auth", st.Auth))})
	}
	switch {
	case s.Live:
		rows = append(rows, []string{"running", fmt.Sprintf("a turn; %s queued", prose.Plural(s.Queued, "message"))})
	case st.Interrupted:
		rows = append(rows, []string{"interrupted", "the last turn did not finish"})
	}
	return rows
}

func toggle(name, value string) string {
	if value == "" {
		return ""
	}
	return name + " " + prose.Clean(value) + " "
}

// countersText formats token usage and cost.
func countersText(c wire.Counters) string {
	text := fmt.Sprintf("%s in, %s out", prose.Thousands(c.Input+c.CacheRead+c.CacheWrite), prose.Thousands(c.Output))
	if cost := prose.Dollars(c.Cost); cost != "" {
		text += ", " + cost
	}
	return text
}

func putAway(s wire.Session) string {
	switch {
	case s.Hidden:
		return "hidden; run firn restore " + prose.Short(s.ID)
	case s.Archived:
		return "archived; run firn archive --undo " + prose.Short(s.ID)
	}
	return ""
}
