package cli

import (
	"context"

	"firn.dev/client"
)

// howToBegin is the hint for a home in which nothing was said yet.
const howToBegin = "\nhint: firn chat begins one, firn adopt finds those of other tools, firn demo shows what firn does"

// whyNothing is what to add to the news that there is nothing: in a home without
// any session, why, and how to begin; in others, where only something else was
// asked for, nothing.
func (p *program) whyNothing(ctx context.Context, c *client.Client) string {
	if !p.unbegun(ctx, c) {
		return "\n"
	}
	return ": there are no sessions yet" + howToBegin + "\n"
}

// unbegun reports whether there is no session at all, not even one that was put
// away. Who cannot find out says no: a hint to begin might be wrong.
func (p *program) unbegun(ctx context.Context, c *client.Client) bool {
	for _, q := range []client.Query{{}, {Archived: true}, {Hidden: true}, {Archived: true, Hidden: true}} {
		if there, err := anyLike(ctx, c, q); there || err != nil {
			return false
		}
	}
	return true
}

// anyLike reports whether there is a session that a query lists.
func anyLike(ctx context.Context, c *client.Client, q client.Query) (bool, error) {
	q.Limit = 1
	page, err := c.SessionsPage(ctx, q)
	return len(page.Items) > 0, err
}

// noSessions says that a list is empty, and what can be done about it.
func (p *program) noSessions(ctx context.Context, c *client.Client, q client.Query) string {
	if p.unbegun(ctx, c) {
		return "no sessions yet" + howToBegin + "\n"
	}
	if q != (client.Query{}) {
		return "no sessions are like that\nhint: firn ls lists all that were not put away\n"
	}
	archived, _ := anyLike(ctx, c, client.Query{Archived: true}) // who cannot be told is told less
	switch hidden, _ := anyLike(ctx, c, client.Query{Hidden: true}); {
	case archived && hidden:
		return "no sessions but some that are archived or hidden\nhint: firn ls --archived and firn ls --hidden list them\n"
	case archived:
		return "no sessions but some that are archived\nhint: firn ls --archived lists them\n"
	case hidden:
		return "no sessions but some that are hidden\nhint: firn ls --hidden lists them\n"
	}
	return "no sessions\n"
}
