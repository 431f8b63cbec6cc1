package serve

import (
	"firn.dev"
	"firn.dev/internal/gateway"
	"firn.dev/memory"
)

// past finds what was said in the sessions that are seen at a place, but for the
// session that asks.
func (n *notebook) past(at place, asking firn.ID) memory.Search {
	if n.staff.past == nil {
		return nil
	}
	return n.staff.past(at, asking)
}

// ofTheAgent leaves out of a conversation of the agent's own what was said with those
// who may not see its notes: what they say is not noted there either.
func ofTheAgent(entries []firn.Entry) []firn.Entry {
	all := make([]firn.Entry, 0, len(entries))
	theirs := false
	for _, e := range entries {
		m, ok := e.Body.(*firn.Message)
		if ok && m.Role == firn.RoleUser || e.Body.Kind() == firn.KindCustomMessage {
			theirs = gateway.SaidWithinBounds(e)
		}
		if !theirs {
			all = append(all, e)
		}
	}
	return all
}
