package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
)

// completeWait is the time limit for completions.
const completeWait = time.Second

// complete completes a line that begins with a command: names of commands, and their
// arguments such as sessions and models. It returns nothing if the candidates cannot be
// fetched.
func (c *chat) complete(before string) (from int, words []string) {
	rest, ok := strings.CutPrefix(before, "/")
	if !ok || strings.Contains(before, "\n") {
		return 0, nil
	}
	name, typed, behind := strings.Cut(rest, " ")
	if !behind {
		return 0, beginning(rest, "/", commandNames())
	}
	if other, ok := otherNames[name]; ok {
		name = other
	}
	ctx, cancel := context.WithTimeout(context.Background(), completeWait)
	defer cancel()
	return len(before) - len(typed), beginning(typed, "", c.arguments(ctx, name))
}

// commandNames returns the names of all commands.
func commandNames() []string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return append(names, "switch")
}

// beginning returns the words with a prefix, ignoring case, each preceded by sign.
func beginning(typed, sign string, words []string) []string {
	var fit []string
	for _, w := range words {
		if len(w) >= len(typed) && strings.EqualFold(w[:len(typed)], typed) {
			fit = append(fit, sign+w)
		}
	}
	return fit
}

// arguments returns the possible arguments of a command.
func (c *chat) arguments(ctx context.Context, command string) []string {
	switch command {
	case "resume", "delete":
		return c.sessionNames(ctx, client.Query{Agent: c.name, Limit: offered})
	case "restore":
		return c.sessionNames(ctx, client.Query{Agent: c.name, Limit: offered, Hidden: true})
	case "model":
		return c.modelNames(ctx)
	case "think":
		return levels
	case "send":
		return []string{"on", "off", "inherit"}
	case "verbose":
		return []string{"on", "off"}
	case "rewind", "fork":
		return []string{"HEAD~1", "HEAD~2", "HEAD~3"}
	}
	return nil
}

// sessionNames returns the unique titles of sessions, and the IDs of the others.
func (c *chat) sessionNames(ctx context.Context, q client.Query) []string {
	page, err := c.client.SessionsPage(ctx, q)
	if err != nil {
		return nil
	}
	seen := make(map[string]int)
	for _, s := range page.Items {
		seen[s.Title]++
	}
	var names []string
	for _, s := range page.Items {
		if title := prose.Clean(s.Title); title != "" && title == s.Title && seen[title] == 1 {
			names = append(names, title)
		} else {
			names = append(names, string(s.ID))
		}
	}
	return names
}

// modelNames returns the known models, and the providers of others.
func (c *chat) modelNames(ctx context.Context) []string {
	models, err := c.client.Models(ctx)
	if err != nil {
		return nil
	}
	var names []string
	for _, m := range models {
		names = append(names, prose.Clean(m.ID))
	}
	for _, p := range c.o.Providers {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, p+"/") }) {
			names = append(names, p+"/")
		}
	}
	slices.Sort(names)
	return names
}
