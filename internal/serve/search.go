package serve

import (
	"firn"
	"firn/memory"
)

// past finds what was said in sessions of the agent, with a person if there is
// one, but for the session that asks.
func (n *notebook) past(at place, asking firn.ID) memory.Search {
	if n.staff.past == nil {
		return nil
	}
	return n.staff.past(n.agent, at.person, asking)
}
