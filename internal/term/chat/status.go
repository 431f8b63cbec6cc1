package chat

import (
	"context"
	"fmt"
	"strings"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// showStatus prints the status line after a turn, if it is seen. Errors are ignored, since
// the answer is already shown.
func (c *chat) showStatus(ctx context.Context, a wire.Answer) {
	if !c.screen.seen() {
		return
	}
	s, err := c.fetchSession(ctx)
	if err != nil || s.State == nil {
		return
	}
	if a.Model != "" { // -m may have replaced the session's model
		state := *s.State
		state.Provider, state.Model = a.Provider, a.Model
		s.State = &state
	}
	c.screen.note("%s", statusLine(s, a.Usage, c.lastNumber(ctx), c.screen.width()))
}

// lastNumber returns the number of the last entry on disk, or 0 if unknown.
func (c *chat) lastNumber(ctx context.Context) int {
	page, err := c.client.EntriesPage(ctx, c.id, client.EntryQuery{View: wire.ViewDisk, Back: true, Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return 0
	}
	return page.Items[0].N
}

// statusLine formats the line after a turn: session, branches, model, window, usage, and
// the last entry on disk. If it is wider than width, the less important fields are left
// out; a width of zero keeps all.
func statusLine(s wire.Session, used wire.Counters, number, width int) string {
	st := s.State
	window := windowBar(st.Window)
	if width > 0 && width < barWidth {
		window = windowShare(st.Window)
	}
	title, cost := "", prose.Dollars(used.Cost)
	if s.Title != "" {
		title = prose.OneLine(s.Title, 40)
	}
	disk := fmt.Sprintf("#%s on disk", prose.Grouped(int64(number)))
	if number == 0 {
		disk = fmt.Sprintf("on disk up to %s", prose.Grouped(int64(s.End)))
	}
	return prose.FitFields([]prose.Field{
		{Text: title, Short: prose.OneLine(title, 20), Drop: 5},
		{Text: branchText(st.Branches), Drop: 6},
		{Text: modelName(s), Drop: 2},
		{Text: window, Short: windowShare(st.Window), Drop: 3},
		{Text: fmt.Sprintf("%s in, %s out", prose.Thousands(used.Input+used.CacheRead+used.CacheWrite), prose.Thousands(used.Output)), Drop: 7},
		{Text: cost, Drop: 4},
		{Text: disk, Drop: 1},
	}, " · ", width)
}

// branchText formats the number of branches, if there are several.
func branchText(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf("⎇ %d", n)
}

// barCells is the number of cells in the window bar, and barWidth the width of the narrowest
// screen that has one.
const (
	barCells = 10
	barWidth = 100
)

// windowBar formats the use of a window as a bar and a share.
func windowBar(u wire.Usage) string {
	if u.Window <= 0 {
		return windowShare(u)
	}
	full := int(min(max(u.Tokens*barCells+u.Window/2, 0)/u.Window, barCells))
	return strings.Repeat("▰", full) + strings.Repeat("▱", barCells-full) + " " + windowShare(u)
}

// windowShare formats the use of a window as a share.
func windowShare(u wire.Usage) string {
	if u.Estimated {
		return "~" + prose.Share(u.Tokens, u.Window)
	}
	return prose.Share(u.Tokens, u.Window)
}
