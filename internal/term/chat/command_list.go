package chat

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// listed is the number of sessions in a list, and offered the number of completions.
const (
	listed  = 20
	offered = 100
)

// listCommands are the commands that list sessions.
type listCommands struct{ *chat }

// sessions lists the agent's latest sessions. On a terminal it offers a picker and switches
// to the chosen session.
func (c listCommands) sessions(ctx context.Context, _ string) error {
	if c.term != nil {
		s, ok := (&sessionPicker{c: c.chat, agent: c.name}).pick(ctx)
		if !ok || s.ID == c.id {
			return nil
		}
		return c.switchTo(ctx, s.ID)
	}
	page, err := c.client.SessionsPage(ctx, client.Query{Agent: c.name, Limit: listed})
	if err != nil {
		return err
	}
	AddStates(ctx, c.client, page.Items)
	lines := c.sessionLines(page.Items)
	if page.Cursor != "" {
		lines = append(lines, fmt.Sprintf("  latest %d; there are more", listed))
	}
	c.screen.lines(lines)
	return nil
}

// sessionLines formats a list of sessions with a header.
func (c listCommands) sessionLines(sessions []wire.Session) []string {
	ids := make([]firn.ID, len(sessions))
	for i, s := range sessions {
		ids[i] = s.ID
	}
	rows := [][]string{{"  ID", "TITLE", "PLACE", "TURNS", "WINDOW", "UPDATED", "⎇", ""}}
	for _, s := range sessions {
		rows = append(rows, c.sessionRow(s, ids))
	}
	return prose.Columns(rows, "lllrrlrl")
}

// sessionRow formats a row of the list.
func (c listCommands) sessionRow(s wire.Session, ids []firn.ID) []string {
	mark := "  "
	switch {
	case s.Live:
		mark = "● "
	case s.ID == c.id:
		mark = "▸ "
	}
	title := cmp.Or(s.Title, s.Prompt)
	if s.Fault != "" {
		title = "cannot be read: " + s.Fault
	}
	turns, window, branches, compactions := "–", "–", "", ""
	if st := s.State; st != nil {
		turns, window, branches = prose.Grouped(int64(st.Turns)), prose.Percent(st.Window.Tokens, st.Window.Window), fmt.Sprint(max(st.Branches, 1))
		if st.Window.Estimated {
			window = "~" + window
		}
		if st.Compactions > 0 {
			compactions = fmt.Sprintf("◆%d", st.Compactions)
		}
	}
	return []string{
		mark + prose.Shortest(s.ID, ids), prose.OneLine(title, 40), Place(s, c.o.User, 28), turns, window, prose.Ago(s.Updated, c.now()), branches, compactions,
	}
}

// stateWorkers is the number of concurrent requests for session states.
const stateWorkers = 8

// AddStates fetches the states of sessions, which lists do not include. States that cannot
// be fetched stay nil.
func AddStates(ctx context.Context, c *client.Client, sessions []wire.Session) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range min(stateWorkers, len(sessions)) {
		wait.Go(func() {
			for i := range next {
				if sessions[i].State != nil {
					continue
				}
				if s, err := c.Session(ctx, string(sessions[i].ID)); err == nil {
					sessions[i].State, sessions[i].Unread = s.State, max(sessions[i].Unread, s.Unread)
				}
			}
		})
	}
	for i := range sessions {
		next <- i
	}
	close(next)
	wait.Wait()
}
