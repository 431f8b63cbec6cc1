package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// offer returns candidates for completion. The caller compares them with the typed prefix.
type offer func(ctx context.Context, c *client.Client) ([]cobra.Completion, error)

// completeAll registers completions for all flags and commands whose values can be listed.
// Commands that take sessions register theirs themselves.
func (p *program) completeAll(root *cobra.Command) {
	flags := map[string]cobra.CompletionFunc{
		"agent": p.complete(offerAgents), "model": p.complete(offerModels), "key": p.complete(offerKeys), "tag": p.complete(offerTags),
		"source": p.complete(offerSources), "session": p.completeSession(true), "resume": p.completeSession(true),
		"view": words(wire.ViewDisk, wire.ViewBranch, wire.ViewWindow), "print-unit": words("systemd", "launchd"), "as": words("anthropic", "openai"),
		"thinking": words("off", "minimal", "low", "medium", "high", "xhigh"), "in": words("talk", "tools", "all"),
		"role": words("user", "assistant", "tool", "shell", "system", "summary", "title"),
		"by":   words("day", "model", "agent", "session"), "and": words("day", "model", "agent", "session"),
	}
	args := map[string]cobra.CompletionFunc{
		"firn keys show": p.complete(offerKeys), "firn keys reset": p.complete(offerKeys), "firn keys previous": p.complete(offerKeys), "firn keys set": p.complete(offerKeys),
		"firn jobs run": p.complete(offerJobs), "firn token revoke": p.complete(offerTokens), "firn config get": completeSetting, "firn config set": completeSetting,
		"firn memory show": p.complete(offerNotes), "firn memory edit": p.complete(offerNotes), "firn memory forget": p.complete(offerNotes),
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for name, complete := range flags {
			// Not LocalFlags: for each command it merges the flags of all commands above.
			if cmd.Flags().Lookup(name) != nil || cmd.PersistentFlags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, complete) // the flag already has a completion
			}
		}
		if complete, ok := args[cmd.CommandPath()]; ok {
			cmd.ValidArgsFunction = complete
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	_ = root.MarkPersistentFlagDirname("home")
}

// words returns a completion with fixed candidates.
func words(all ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
}

// complete returns a completion with candidates from the gateway, for one argument.
func (p *program) complete(find offer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var fitting []cobra.Completion
		ask := p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := find(ctx, c)
			for _, word := range all {
				if strings.HasPrefix(word, begun) {
					fitting = append(fitting, word)
				}
			}
			return err
		})
		if err := ask(cmd, nil); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSetting completes the paths of settings.
func completeSetting(_ *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var paths []cobra.Completion
	for _, f := range config.Schema() {
		if len(given) == 0 && !f.Table && !strings.ContainsAny(f.Path, "<#") && strings.HasPrefix(f.Path, begun) {
			paths = append(paths, cobra.CompletionWithDesc(f.Path, prose.OneLine(f.Description, 60)))
		}
	}
	return paths, cobra.ShellCompDirectiveNoFileComp
}

// list converts a list to candidates.
func list[T any](all []T, err error, name func(T) (word, what string)) ([]cobra.Completion, error) {
	var offered []cobra.Completion
	for _, thing := range all {
		word, what := name(thing)
		offered = append(offered, cobra.CompletionWithDesc(word, prose.OneLine(what, 40)))
	}
	return offered, err
}

func offerAgents(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
	all, err := c.Agents(ctx)
	return list(all, err, func(a wire.Agent) (string, string) { return a.ID, a.Model })
}

func offerModels(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
	all, err := c.Models(ctx)
	return list(all, err, func(m wire.Model) (string, string) { return m.ID, "" })
}

func offerKeys(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
	page, err := c.Keys.Page(ctx, "", 1000, "")
	return list(page.Items, err, func(k wire.Key) (string, string) { return k.Key, k.Title })
}

func offerTags(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
	all, err := c.Tags(ctx)
	return list(all, err, func(t wire.Tag) (string, string) { return t.Name, prose.Plural(t.Sessions, "session") })
}

func offerSources(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
	all, err := c.Sources(ctx)
	return list(all, err, func(s wire.Source) (string, string) { return s.Name, s.Dir })
}

func offerJobs(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
	all, err := c.Jobs(ctx)
	return list(all, err, func(j wire.Job) (string, string) { return j.ID, j.Schedule })
}

func offerTokens(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
	all, err := c.Access.Tokens(ctx)
	return list(all, err, func(t wire.Token) (string, string) { return t.Name, string(t.Scope) })
}

func offerNotes(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
	all, err := c.Memory.Notes(ctx, wire.MemoryPlace{})
	return list(all, err, func(n wire.Note) (string, string) { return n.Name, n.Description })
}
