package serve

import (
	"firn.dev"
	"firn.dev/internal/gateway"
	"firn.dev/internal/ops/memory"
)

// past returns a search over the sessions visible at a place, except the asking session.
func (n *notebook) past(at place, asking firn.ID) memory.Search {
	if n.builder.past == nil {
		return nil
	}
	return n.builder.past(at, asking)
}

// agentEntries filters out of an agent's own conversation the parts with callers that may
// not see its notes. They are not noted there either.
func agentEntries(entries []firn.Entry) []firn.Entry {
	all := make([]firn.Entry, 0, len(entries))
	theirs := false
	for _, e := range entries {
		m, ok := e.Body.(*firn.Message)
		if ok && m.Role == firn.RoleUser || e.Body.Kind() == firn.KindCustomMessage {
			theirs = gateway.AskerRestricted(e)
		}
		if !theirs {
			all = append(all, e)
		}
	}
	return all
}
