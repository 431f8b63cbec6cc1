package chat

import (
	"context"
	"fmt"
	"strings"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// tellState tells who sits there how the session is after a turn. What cannot be
// found out is left out: the answer is there.
func (c *chat) tellState(ctx context.Context, a wire.Answer) {
	if !c.screen.seen() {
		return
	}
	s, err := c.look(ctx)
	if err != nil || s.State == nil {
		return
	}
	c.screen.note("%s", statusLine(s, a.Usage, c.number(ctx)))
}

// number is the number of the last entry that is on disk, zero if that is not
// known.
func (c *chat) number(ctx context.Context) int {
	page, err := c.client.EntriesPage(ctx, c.id, client.EntryQuery{View: wire.ViewDisk, Back: true, Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return 0
	}
	return page.Items[0].N
}

// statusLine is the line after a turn: which session and branch, who answers, how
// full the window is, what the turn used, and how much of it is on disk.
func statusLine(s wire.Session, used wire.Counters, number int) string {
	st := s.State
	var words []string
	if s.Title != "" {
		words = append(words, prose.OneLine(s.Title, 40))
	}
	words = append(words, branchText(st.Branches), modelName(s), windowBar(st.Window),
		fmt.Sprintf("%s in, %s out", prose.Thousands(used.Input+used.CacheRead+used.CacheWrite), prose.Thousands(used.Output)))
	if used.Cost > 0 {
		words = append(words, fmt.Sprintf("$%.4f", used.Cost))
	}
	disk := fmt.Sprintf("#%s on disk", prose.Grouped(int64(number)))
	if number == 0 {
		disk = fmt.Sprintf("on disk up to %s", prose.Grouped(int64(s.End)))
	}
	return strings.Join(append(words, disk), " · ")
}

// branchText says how many branches there are.
func branchText(n int) string { return fmt.Sprintf("⎇ %d", max(n, 1)) }

// barCells is how many cells the bar of a window has.
const barCells = 10

// windowBar is how full a window is, as a bar and in words.
func windowBar(u wire.Usage) string {
	about := ""
	if u.Estimated {
		about = "~"
	}
	if u.Window <= 0 {
		return about + prose.Share(u.Tokens, u.Window)
	}
	full := int(min(max(u.Tokens*barCells+u.Window/2, 0)/u.Window, barCells))
	return strings.Repeat("▰", full) + strings.Repeat("▱", barCells-full) + " " + about + prose.Share(u.Tokens, u.Window)
}
