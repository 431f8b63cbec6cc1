package cli

import (
	"context"

	"firn.dev/client"
)

// howToBegin is the hint for a home without sessions.
const howToBegin = "\nhint: firn chat starts one, firn adopt finds other tools' sessions, firn demo shows what firn does"

// whyNothing returns the end of a message about an empty result. In a home without sessions
// it explains how to start.
func (p *program) whyNothing(ctx context.Context, c *client.Client) string {
	if !p.hasNoSessions(ctx, c) {
		return "\n"
	}
	return ": there are no sessions yet" + howToBegin + "\n"
}

// hasNoSessions reports whether there are no sessions at all, including archived and hidden
// ones. It returns false on errors, since the hint might be wrong.
func (p *program) hasNoSessions(ctx context.Context, c *client.Client) bool {
	for _, q := range []client.Query{{}, {Archived: true}, {Hidden: true}, {Archived: true, Hidden: true}} {
		if there, err := anyLike(ctx, c, q); there || err != nil {
			return false
		}
	}
	return true
}

// anyLike reports whether a query matches any session.
func anyLike(ctx context.Context, c *client.Client, q client.Query) (bool, error) {
	q.Limit = 1
	page, err := c.SessionsPage(ctx, q)
	return len(page.Items) > 0, err
}

// noSessions returns the message for an empty list, with a hint.
func (p *program) noSessions(ctx context.Context, c *client.Client, q client.Query) string {
	if p.hasNoSessions(ctx, c) {
		return "no sessions yet" + howToBegin + "\n"
	}
	if q != (client.Query{}) {
		return "no matching sessions\nhint: firn ls lists all that are not archived or hidden\n"
	}
	archived, _ := anyLike(ctx, c, client.Query{Archived: true}) // on errors the hint is left out
	switch hidden, _ := anyLike(ctx, c, client.Query{Hidden: true}); {
	case archived && hidden:
		return "no sessions except archived and hidden ones\nhint: run firn ls --archived or firn ls --hidden\n"
	case archived:
		return "no sessions except archived ones\nhint: run firn ls --archived\n"
	case hidden:
		return "no sessions except hidden ones\nhint: run firn ls --hidden\n"
	}
	return "no sessions\n"
}
