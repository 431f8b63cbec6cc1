package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/find/search"
	"firn.dev/tool"
)

// Limits of the search tool.
const (
	toolHits    = 5
	maxToolHits = 20
)

type searchArguments struct {
	Query  string `json:"query" desc:"Words to look for. Also: \"a phrase\", begin*, AND, OR, NOT, parentheses, and filters: role:user, tool:NAME, since:7d, until:2026-11-01, session:ID, in:tools, machines:only (jobs, hooks and sub-agents)."`
	Limit  int    `json:"limit,omitempty" desc:"How many hits to show; 5 if not given, 20 at most."`
	Before *int   `json:"before,omitempty" desc:"How many messages before each hit to show; 1 if not given."`
	After  *int   `json:"after,omitempty" desc:"How many messages after each hit to show; 1 if not given."`
}

// searchSessions returns the tool that searches the sessions of an agent. In the asking
// session it finds only entries outside the model's window.
func (s *agentBuilder) searchSessions(name string) tool.Tool {
	return tool.New("search_sessions", "Searches the messages of earlier conversations, including messages compacted away in this one. Each hit has its session and entry, for read_window.",
		func(ctx context.Context, a searchArguments) (tool.Result, error) {
			q, err := search.Parse(a.Query, s.clock())
			if err != nil {
				return tool.Result{}, err
			}
			if q.Want == nil && q.Free() {
				return tool.Result{}, fmt.Errorf("%w arguments for search_sessions: expected a query with words or a filter", firn.ErrInvalid)
			}
			asking, _ := agent.SessionOf(ctx)
			one := 1
			q.Before, q.After = a.Before, a.After
			if q.Before == nil {
				q.Before = &one
			}
			if q.After == nil {
				q.After = &one
			}
			q.Limit = toolHits
			if a.Limit > 0 {
				q.Limit = min(a.Limit, maxToolHits)
			}
			q.Agents = []string{name}
			q.Owners, q.Shown = s.place(ctx, name, asking).canSee, true
			hits, err := s.find(ctx, q)
			if err != nil {
				return tool.Result{}, err
			}
			hits = slices.DeleteFunc(hits, func(h search.Hit) bool { return h.Session == asking && len(h.Marks) == 0 })
			return tool.TextResult(formatHits(a.Query, hits)), nil
		})
}

// place returns the place of the asking session for the caller of the turn.
func (s *agentBuilder) place(ctx context.Context, name string, asking firn.ID) place {
	if asking == "" || s.notes == nil {
		return newPlace(name, "", "", agent.BoundsOf(ctx))
	}
	return s.notes.placeOf(ctx, name, asking, "", agent.BoundsOf(ctx))
}

// formatHits formats hits for a model.
func formatHits(query string, hits []search.Hit) string {
	if len(hits) == 0 {
		return fmt.Sprintf("no results for %q", firn.CutText(query, 100))
	}
	var b strings.Builder
	for i, h := range hits {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "[%d] session %s, entry %s, %s", i+1, h.Session, h.Entry, h.Time.Format("2006-01-02 15:04"))
		if h.Title != "" {
			fmt.Fprintf(&b, " “%s”", strings.ReplaceAll(firn.CutText(h.Title, 80), "\n", " "))
		}
		if len(h.Marks) > 0 {
			b.WriteString(" (" + strings.Join(h.Marks, ", ") + ")")
		}
		b.WriteString("\n" + formatItems(h.Window))
	}
	return b.String()
}

// formatItems formats a window. It is indented so that no line looks like the start of
// another hit.
func formatItems(items []search.Item) string {
	var lines []string
	for _, item := range items {
		mark := "  "
		if item.Hit {
			mark = "> "
		}
		lines = append(lines, fmt.Sprintf("%s#%d %s: %s", mark, item.N, item.Role, strings.ReplaceAll(item.Text, "\n", "\n    ")))
	}
	return strings.Join(lines, "\n")
}

type windowArguments struct {
	Session string `json:"session" desc:"The id of the session, as returned by search_sessions."`
	Entry   string `json:"entry" desc:"The id of the entry in it, or its number with a # before it."`
	Before  *int   `json:"before,omitempty" desc:"How many messages before it to show; 4 if not given. With the entry there are 16 at most."`
	After   *int   `json:"after,omitempty" desc:"How many after it; 4 if not given."`
}

// readWindow returns the tool that shows the messages around an entry.
func (s *agentBuilder) readWindow(name string) tool.Tool {
	return tool.New("read_window", "Shows the messages around an entry of an earlier conversation that search_sessions found.",
		func(ctx context.Context, a windowArguments) (tool.Result, error) {
			asking, _ := agent.SessionOf(ctx)
			q := search.Query{Before: a.Before, After: a.After, Owners: s.place(ctx, name, asking).canSee, Shown: true}
			hit, err := s.window(ctx, firn.ID(a.Session), a.Entry, q)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.TextResult(fmt.Sprintf("session %s, %s\n%s", hit.Session, hit.Time.Format("2006-01-02 15:04"), formatItems(hit.Window))), nil
		})
}
