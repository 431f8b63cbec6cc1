package store

import (
	"slices"
	"strings"
	"time"

	"firn.dev"
)

// Gist computes the Info of a session from its entries, which are added in order. A store
// may skip the entries between the header and a [Checkpoint], except the first message of
// the user.
type Gist struct {
	info  Info
	state Checkpoint
	// used is set if the session is not empty.
	used bool
}

// Add applies the next entry.
func (g *Gist) Add(e firn.Entry) {
	if !e.Time.IsZero() && !movesKey(e) { // an erased entry may have no time
		g.Seen(e.Time)
	}
	g.used = g.used || !isSetup(e)
	prompted := g.state.Prompted // before this entry: the first prompt may be covered by a checkpoint
	g.state.See(g.info.ID, e)
	switch b := e.Body.(type) {
	case *firn.Header:
		g.info.ID, g.info.Agent, g.info.Key, g.info.CWD = b.Session, b.Agent, b.Key, b.CWD
		g.info.Imported = importedFrom(e.Extra)
	case *firn.Message:
		if g.info.Prompt == "" && !prompted && b.Role == firn.RoleUser {
			g.info.Prompt = promptOf(b)
		}
	case *firn.Custom:
		if counts, ok := CountsOf(b); ok {
			g.info.Counts = counts
		}
	}
}

// setupTypes are the types of custom entries that do not count as content of a session.
var setupTypes = []string{KeyType, resetType, firn.SendType, firn.VerboseType, firn.AuthType}

// isSetup reports whether an entry does not count as content: a session that has no others
// is empty.
func isSetup(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Header, *firn.ModelChange, *firn.ThinkingChange, *firn.Tombstone:
		return true
	case *firn.Custom:
		return slices.Contains(setupTypes, b.Type)
	}
	return false
}

// Lost records that entries could not be read. The session does not count as empty then.
func (g *Gist) Lost() { g.used = true }

// Used reports whether the session is known not to be empty.
func (g *Gist) Used() bool { return g.used }

// movesKey reports whether an entry only records that a key now points to another session.
// Such an entry does not count as activity in this session.
func movesKey(e firn.Entry) bool {
	b, ok := e.Body.(*firn.Custom)
	if !ok {
		return false
	}
	change, ok := keyChangeOf(b)
	return ok && change.Moved != ""
}

// Seen applies an entry of which only the time is known.
func (g *Gist) Seen(t time.Time) {
	g.info.Updated = t
	if g.info.Created.IsZero() {
		g.info.Created = t
	}
}

// Needs reports whether entries of that kind affect more than the times. Others can be
// skipped, except the last one.
func (g *Gist) Needs(kind firn.Kind) bool {
	if !g.used {
		return true
	}
	switch kind {
	case firn.KindHeader, firn.KindTitle, firn.KindTombstone, firn.KindCustom:
		return true
	case firn.KindMessage:
		return g.info.Prompt == "" && !g.state.Prompted
	}
	return false
}

// Prompted reports whether the first message of the user is covered by a checkpoint and was
// not added yet.
func (g *Gist) Prompted() bool { return g.state.Prompted && g.info.Prompt == "" }

// Prompt adds the first message of the user, which precedes a checkpoint.
func (g *Gist) Prompt(e firn.Entry) {
	if b, ok := e.Body.(*firn.Message); ok && b.Role == firn.RoleUser {
		g.info.Prompt = promptOf(b)
	}
}

// Info returns the result: ID, owner, keys, directories, title, prompt, tags, counts,
// times, and whether the session is hidden. The store fills in the other fields.
func (g *Gist) Info() Info {
	info := g.info
	info.Title, info.Tags = g.state.Title, JoinTags(g.state.Tags)
	info.Directories = strings.Join(g.state.Directories, "\n")
	info.BoundKeys = encodeClaims(g.state.Keys, info.Key, info.Created.UnixMilli())
	info.Hidden, info.Empty = g.state.Hidden(info.ID), !g.used
	return info
}
