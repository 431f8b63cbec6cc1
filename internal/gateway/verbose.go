package gateway

import (
	"context"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// verboseLines returns the lines that a chat with /verbose on shows before an answer: its
// tool calls, and compactions during the turn.
func (g *lanes) verboseLines(ctx context.Context, answer wire.Answer) string {
	path, err := g.Path(ctx, answer.Session)
	if err != nil || path.Chosen.Verbose != agent.VerboseOn {
		return ""
	}
	var lines []string
	from := 0
	for i, e := range path.Entries {
		if e.ID == answer.Message {
			from = i
		}
	}
	if c := path.Compaction; c != nil {
		if body, ok := c.Body.(*firn.Compaction); ok && len(path.Entries) > 0 && c.Time.After(path.Entries[from].Time) {
			lines = append(lines, fmt.Sprintf("[compacted: %d tokens were summarized]", body.TokensBefore))
		}
	}
	for _, e := range path.Entries[from:] {
		m, ok := e.Body.(*firn.Message)
		if !ok || m.Role != firn.RoleAssistant {
			continue
		}
		for _, p := range m.Parts {
			if call, ok := p.(firn.ToolCall); ok {
				lines = append(lines, fmt.Sprintf("[%s %s]", call.Name, view.OneLine(firn.CutText(string(call.Arguments), 120))))
			}
		}
		if e.ID == answer.Entry {
			break
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n\n"
}
