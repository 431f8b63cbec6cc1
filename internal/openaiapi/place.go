package openaiapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"

	"firn"
	"firn/client"
	"firn/wire"
)

// keyPrefix begins the keys of sessions that come in through this door.
const keyPrefix = "openai:"

// keyFor is the key for an agent's session of that name.
func keyFor(agent, name string) string {
	if agent == "" {
		return keyPrefix + name // the default agent's
	}
	return "agent:" + agent + ":" + keyPrefix + name
}

// freshKey is a key that nobody has. It begins with what the conversation
// begins with, so that it is found again.
func freshKey(agent, opening string) string {
	return keyFor(agent, opening+"-"+strings.ToLower(rand.Text()[:10]))
}

// begin begins a session.
func (v *visit) begin(who choice, opening string) (spot, error) {
	s, err := v.c.NewSession(v.r.Context(), wire.NewSession{Key: freshKey(who.agent, opening)})
	if err != nil {
		return spot{}, err
	}
	at := spotIn(s)
	if err := v.assure(&at, who); err != nil {
		_, _ = v.c.Remove(v.r.Context(), s.ID, wire.Remove{Reason: "it was begun for a model that there is not"}) // it is empty
		return at, err
	}
	return at, nil
}

// spotIn is the end of a session.
func spotIn(s wire.Session) spot {
	at := spot{session: s.ID}
	if s.State != nil {
		at.model = s.State.Provider + "/" + s.State.Model
	}
	return at
}

// named finds the session that the client names, or begins it: by its key, its
// id, or a name of the client's own. fresh says that nothing was said in it.
func (v *visit) named(name string, who choice) (at spot, fresh bool, err error) {
	ctx := v.r.Context()
	if len(name) > 256 {
		return spot{}, false, bad("session", "the name of the session has more than 256 bytes")
	}
	var s wire.Session
	if strings.HasPrefix(name, "agent:") {
		s, err = v.c.NewSession(ctx, wire.NewSession{Key: name})
	} else if firn.ID(name).Check() == nil && len(name) >= 32 { // a whole id, or none
		s, err = v.c.Session(ctx, name)
		if wire.KindOf(err) == wire.NotFound && err != nil {
			s, err = v.c.NewSession(ctx, wire.NewSession{Key: keyFor(who.agent, clean(name))})
		}
	} else {
		s, err = v.c.NewSession(ctx, wire.NewSession{Key: keyFor(who.agent, clean(name))})
	}
	if err != nil {
		return spot{}, false, err
	}
	if err := belongs(s, who); err != nil {
		return spot{}, false, err
	}
	at = spotIn(s)
	err = v.assure(&at, who)
	return at, s.State != nil && s.State.Turns == 0, err
}

// belongs refuses an agent that a session does not belong to.
func belongs(s wire.Session, who choice) error {
	if who.agent != "" && s.Agent != "" && s.Agent != who.agent {
		return bad("model", "the session belongs to the agent %s, not to %s", quoted(s.Agent), quoted(who.agent))
	}
	return nil
}

// clean spells a name so that it can be part of a key, and two names are never
// the same part: what is not a letter, a digit or a dash is spelt as a number.
func clean(name string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			b.WriteByte('_')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

// tries is how often an append is tried where others write too.
const tries = 3

// put appends entries where the conversation goes on, and returns in which
// session that is. If somebody else went on from there, it is another branch of
// the session; if they are just about to, a session of its own.
func (v *visit) put(at spot, who choice, entries []firn.Entry) (firn.ID, error) {
	ctx := v.r.Context()
	spelt, err := lines(entries)
	if err != nil {
		return "", err
	}
	batch := wire.NewEntries{Entries: spelt}
	if at.entry == "" {
		_, err := v.c.Append(ctx, at.session, client.Any, batch)
		return at.session, err
	}
	for range tries {
		end, err := v.goTo(ctx, at)
		if wire.KindOf(err) == wire.Busy && err != nil {
			break
		}
		if err == nil {
			_, err = v.c.Append(ctx, at.session, end, batch)
		}
		if !errors.Is(err, firn.ErrConflict) {
			return at.session, err
		}
	}
	fork, err := v.c.Fork(ctx, at.session, wire.Fork{At: at.entry, Key: freshKey(who.agent, "fork")})
	if err != nil {
		return "", err
	}
	_, err = v.c.Append(ctx, fork.ID, client.Any, batch)
	return fork.ID, err
}

// goTo makes the next message of a session follow an entry, and returns where
// the session ends.
func (v *visit) goTo(ctx context.Context, at spot) (firn.Pos, error) {
	last, end, err := v.tip(ctx, at.session)
	if err != nil || last == at.entry {
		return end, err
	}
	moved, err := v.c.Rewind(ctx, at.session, wire.Move{To: at.entry})
	return moved.End, err
}

// tip is the last entry of a session's branch that says something, behind which
// there are only titles, compactions and the like, and the end of the session.
func (v *visit) tip(ctx context.Context, id firn.ID) (last firn.EntryID, end firn.Pos, err error) {
	const enough = 20
	page, err := v.c.EntriesPage(ctx, id, client.EntryQuery{View: wire.ViewBranch, Back: true, Limit: enough})
	if err != nil {
		return "", 0, err
	}
	for _, e := range page.Items {
		end = max(end, e.Next)
		var entry struct {
			Type firn.Kind    `json:"type"`
			ID   firn.EntryID `json:"id"`
		}
		if last != "" || json.Unmarshal(e.Line, &entry) != nil {
			continue
		}
		switch entry.Type {
		case firn.KindTitle, firn.KindLabel, firn.KindModelChange, firn.KindThinkingChange, firn.KindCustom, firn.KindCompaction, firn.KindTombstone, firn.KindHead:
		default:
			last = entry.ID
		}
	}
	return last, end, nil
}
