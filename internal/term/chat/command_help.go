package chat

import (
	"context"
	"strings"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
)

// help lists the commands, on pages if they do not fit the screen.
func (c *chat) help(context.Context, string) error {
	lines := helpLines(c.screen.width())
	if c.term == nil {
		c.screen.lines(lines)
		return nil
	}
	if _, height := c.term.Size(); len(lines) <= height-3 {
		c.screen.lines(lines)
		return nil
	}
	c.term.OpenPager(line.Pager{Title: "Commands and keys", Lines: helpLines})
	return nil
}

// helpLines returns the help for a width; zero does not wrap.
func helpLines(width int) []string {
	var rows [][2]string
	for _, cmd := range commands() {
		rows = append(rows, [2]string{"/" + strings.TrimSpace(cmd.name+" "+cmd.args), cmd.help})
	}
	lines := prose.Definitions(rows, width)
	lines = append(lines, prose.WrapAll(keyHelp, width)...)
	return append(lines, prose.WrapAll([]string{
		"  Entries: an id or the start of it, a label, HEAD, HEAD~n or #n.",
		"  firn browse shows all sessions in full screen.",
	}, width)...)
}
