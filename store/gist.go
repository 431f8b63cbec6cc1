package store

import (
	"time"

	"firn"
)

// promptLen bounds the beginning of a prompt in a list, in bytes.
const promptLen = 100

// Gist gathers what a list tells of a session from its entries. They are added
// in the order of the session; a store may leave out the middle of a long one.
type Gist struct {
	info  Info
	names Names
	// stones are the tombstones, in order.
	stones []firn.Glance
}

// Add takes notice of the next entry.
func (g *Gist) Add(e firn.Entry) {
	if !e.Time.IsZero() { // the remains of an erased entry may have none
		g.Seen(e.Time)
	}
	switch b := e.Body.(type) {
	case *firn.Header:
		g.info.ID, g.info.Agent, g.info.Key, g.info.CWD = b.Session, b.Agent, b.Key, b.CWD
	case *firn.Message:
		if g.info.Prompt == "" && b.Role == firn.RoleUser {
			g.info.Prompt = firn.CutText(b.Text(), promptLen)
		}
	case *firn.Title:
		g.names.See(e)
	case *firn.Custom:
		g.names.See(e)
		if counts, ok := CountsOf(b); ok {
			g.info.Counts = counts
		}
	case *firn.Tombstone:
		g.stones = append(g.stones, firn.GlanceOf(e))
	}
}

// Seen takes notice of an entry of which only the time is known.
func (g *Gist) Seen(t time.Time) {
	g.info.Updated = t
	if g.info.Created.IsZero() {
		g.info.Created = t
	}
}

// Needs reports whether an entry of that kind can tell more than its time.
// What does not can be passed over, but for the last entry.
func (g *Gist) Needs(kind firn.Kind) bool {
	switch kind {
	case firn.KindHeader, firn.KindTitle, firn.KindTombstone, firn.KindCustom:
		return true
	case firn.KindMessage:
		return g.info.Prompt == ""
	}
	return false
}

// Info returns what the entries told: id, owner, directory, title, prompt, tags,
// counts, times, and whether the session is hidden. The rest is for the store to fill.
func (g *Gist) Info() Info {
	info := g.info
	info.Title, info.Tags = g.names.Title, JoinTags(g.names.Tags)
	info.Hidden = g.hidden(firn.EntryID(info.ID))
	return info
}

// hidden reports whether a tombstone that is not itself hidden has the target.
func (g *Gist) hidden(target firn.EntryID) bool {
	hidden := make(map[firn.EntryID]bool, len(g.stones))
	for i := len(g.stones) - 1; i >= 0; i-- { // what hides a tombstone stands after it
		if stone := g.stones[i]; !hidden[stone.ID] {
			hidden[stone.Target] = true
		}
	}
	return hidden[target]
}
