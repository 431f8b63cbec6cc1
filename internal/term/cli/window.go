package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p transcriptCommands) windowCommand() *cobra.Command {
	var diff bool
	var as string
	cmd := &cobra.Command{
		Use:     "window SESSION",
		GroupID: "look",
		Short:   "Show what is sent to the model, what is left out, and why",
		Long: `Show what is sent to the model next: the messages and their tokens, and what
is added for the next turn: notes, recalled passages, the environment and the
instruction files (AGENTS.md, CLAUDE.md, FIRN.md) of the workspace. Without a
gateway the workspace is the current directory, as for firn chat. --diff lists
which entries of the branch are in the window and which are not, why, and how
to bring them back. --as prints the exact request for a provider.

` + damageHelp + ` Nothing is sent to the model instead.

` + sessionHelp,
		Example: "  firn window -\n  firn window 0198c5a2 --diff\n  firn window 0198c5a2 --as anthropic", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "show which entries are in the window and which are not")
	cmd.Flags().StringVar(&as, "as", "", "print the request for a `provider`: anthropic or openai")
	cmd.RunE = p.with(modeling, func(ctx context.Context, c *client.Client, args []string) error {
		if as != "" && diff {
			return usage(cmd, "--diff and --as cannot be combined")
		}
		return p.window(ctx, c, args[0], as, diff)
	})
	return cmd
}

// window prints the window of a session.
func (p transcriptCommands) window(ctx context.Context, c *client.Client, ref, as string, diff bool) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	w, err := c.Window(ctx, s.ID, as)
	if err != nil {
		return err
	}
	var damage damaged
	damage.add(w.Damage...)
	if as != "" {
		err = p.request(w.Request)
	} else {
		err = p.print(w, func() string {
			if diff {
				return windowDiff(w)
			}
			return windowItems(w)
		})
	}
	if err != nil {
		return err
	}
	return p.reportDamage(s, damage)
}

// request prints a request, indented.
func (p transcriptCommands) request(raw json.RawMessage) error {
	var b strings.Builder
	if err := writeJSON(&b, "  ", raw); err != nil {
		return fmt.Errorf("print the request: %w", err)
	}
	return p.print(raw, b.String)
}

// windowHead formats the first line: the use of the window and its parts.
func windowHead(w wire.Window) string {
	full := fmt.Sprintf(" %s%s tokens", about(w.Usage.Estimated), prose.Grouped(w.Usage.Tokens))
	if w.Usage.Window > 0 {
		full = fmt.Sprintf(" %s%s of %s%s", about(w.Usage.Estimated), prose.Percent(w.Usage.Tokens, w.Usage.Window), about(w.Usage.Assumed), prose.Grouped(w.Usage.Window))
	}
	var parts []string
	for _, part := range []struct {
		name   string
		tokens int64
	}{
		{"system", w.Totals.System + w.Totals.Specs}, {"notes", w.Totals.Notes}, {"summary", w.Totals.Summary},
		{"kept", w.Totals.Kept}, {"tools", w.Totals.Tools},
	} {
		if part.tokens > 0 {
			parts = append(parts, part.name+" ~"+prose.Thousands(part.tokens))
		}
	}
	return full + "     " + strings.Join(parts, " · ")
}

// windowItems lists the messages.
func windowItems(w wire.Window) string {
	lines := []string{windowHead(w)}
	if n := w.Count - len(w.Items); n > 0 {
		lines = append(lines, fmt.Sprintf(" … %s before these", prose.Plural(n, "message")))
	}
	var rows [][]string
	for _, it := range w.Items {
		who := prose.AuthorOf(wire.Node{Role: it.Role})
		if it.Synthetic {
			who = "(" + who + ")"
		}
		rows = append(rows, []string{" " + who, "~" + prose.Thousands(it.Tokens), prose.OneLine(it.Preview, 72)})
	}
	lines = append(lines, prose.Columns(rows, "lr")...)
	lines = append(lines, injectedLines(w)...)
	return strings.Join(append(lines, repairLines(w)...), "\n") + "\n"
}

// injectedLines lists injected content: files by path, other content by its beginning.
func injectedLines(w wire.Window) []string {
	var rows [][]string
	for i, in := range w.Injected {
		text := in.Preview
		if len(in.Sources) > 0 {
			text = strings.Join(in.Sources, ", ")
		}
		rows = append(rows, []string{first(" injected", i), prose.Clean(in.Name), "~" + prose.Thousands(in.Tokens), prose.OneLine(text, 72)})
	}
	return prose.Columns(rows, "llr")
}

// repairLines describes the repairs of the window, and its missing entries.
func repairLines(w wire.Window) []string {
	var rows [][]string
	for _, r := range w.Repairs {
		rows = append(rows, []string{" fix", string(r.Entry), prose.Clean(r.Rule), prose.OneLine(r.What, 80)})
	}
	lines := prose.Table(rows)
	for _, d := range w.Damage {
		lines = append(lines, " "+prose.Damage(d))
	}
	return lines
}

// windowDiff lists the entries that are in the window and those that are not.
func windowDiff(w wire.Window) string {
	var rows [][]string
	for i, r := range w.In {
		rows = append(rows, []string{first(" in", i), span(r), "", countOf(r)})
	}
	for i, r := range w.Out {
		why := r.Why
		if why == "compacted" && w.Compactions > 1 {
			why = fmt.Sprintf("compacted ×%d", w.Compactions)
		}
		rows = append(rows, []string{first(" out", i), span(r), prose.Clean(why), undoOf(w.Session, r)})
	}
	lines := append([]string{windowHead(w)}, prose.Table(rows)...)
	lines = append(lines, injectedLines(w)...)
	return strings.Join(append(lines, repairLines(w)...), "\n") + "\n"
}

func first(word string, i int) string {
	if i > 0 {
		return ""
	}
	return word
}

// span formats a run of entries.
func span(r wire.Run) string {
	switch {
	case r.From > 0 && r.From == r.To:
		return fmt.Sprintf("#%d", r.From)
	case r.From > 0 && r.To > 0:
		return fmt.Sprintf("#%d–#%d", r.From, r.To)
	case r.First != "" && r.First == r.Last:
		return string(r.First)
	case r.First != "":
		return fmt.Sprintf("%s–%s", r.First, r.Last)
	}
	return "all before"
}

func countOf(r wire.Run) string {
	if r.Count < 0 {
		return ""
	}
	return prose.Count(r.Count, "entry", "entries")
}

// undoOf returns the command that brings entries back, or shows them.
func undoOf(id firn.ID, r wire.Run) string {
	short := prose.Short(id)
	switch r.Why {
	case "compacted":
		return "firn uncompact " + short
	case "tombstoned":
		return fmt.Sprintf("firn restore %s %s", short, quotedEntry(r))
	case "pruned":
		return fmt.Sprintf("firn cat %s --view disk --from %s", short, quotedEntry(r))
	case "other-branch":
		return fmt.Sprintf("firn tree %s", short)
	}
	return ""
}

// quotedEntry quotes the first entry of a run for a shell.
func quotedEntry(r wire.Run) string {
	if r.From > 0 {
		return fmt.Sprintf("'#%d'", r.From)
	}
	return string(r.First)
}
