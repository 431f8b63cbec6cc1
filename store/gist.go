package store

import (
	"strings"
	"time"

	"firn.dev"
)

// promptLen bounds the beginning of a prompt in a list, in bytes.
const promptLen = 100

// Gist computes what a list shows of a session from its entries. They are added in the
// order of the session. A store may leave out what a [Checkpoint] stands for: the
// entries between the header and the checkpoint, but for the first message of the user.
type Gist struct {
	info  Info
	state Checkpoint
}

// Add takes notice of the next entry.
func (g *Gist) Add(e firn.Entry) {
	if !e.Time.IsZero() && !movesOn(e) { // the remains of an erased entry may have no time
		g.Seen(e.Time)
	}
	prompted := g.state.Prompted // by an entry that a checkpoint stands for, if Prompt is empty
	g.state.See(g.info.ID, e)
	switch b := e.Body.(type) {
	case *firn.Header:
		g.info.ID, g.info.Agent, g.info.Key, g.info.CWD = b.Session, b.Agent, b.Key, b.CWD
	case *firn.Message:
		if g.info.Prompt == "" && !prompted && b.Role == firn.RoleUser {
			g.info.Prompt = firn.CutText(b.Text(), promptLen)
		}
	case *firn.Custom:
		if counts, ok := CountsOf(b); ok {
			g.info.Counts = counts
		}
	}
}

// movesOn reports whether an entry only says that a key points at another session from
// then on. That is no use of the session: the other one is the latest.
func movesOn(e firn.Entry) bool {
	b, ok := e.Body.(*firn.Custom)
	if !ok {
		return false
	}
	change, ok := keyChangeOf(b)
	return ok && change.Moved != ""
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
		return g.info.Prompt == "" && !g.state.Prompted
	}
	return false
}

// Prompted reports whether the user has said something, and what he said first was
// not added: a checkpoint stands for it.
func (g *Gist) Prompted() bool { return g.state.Prompted && g.info.Prompt == "" }

// Prompt adds the first message of the user, which stands before a checkpoint.
func (g *Gist) Prompt(e firn.Entry) {
	if b, ok := e.Body.(*firn.Message); ok && b.Role == firn.RoleUser {
		g.info.Prompt = firn.CutText(b.Text(), promptLen)
	}
}

// Info returns what the entries say: id, owner, keys, directory, title, prompt, tags,
// counts, times, and whether the session is hidden. The rest is for the store to fill.
func (g *Gist) Info() Info {
	info := g.info
	info.Title, info.Tags = g.state.Title, JoinTags(g.state.Tags)
	info.Directories = strings.Join(g.state.Directories, "\n")
	info.Held = spellClaims(g.state.Keys, info.Key, info.Created.UnixMilli())
	info.Hidden = g.state.Hidden(info.ID)
	return info
}
