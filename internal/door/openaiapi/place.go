package openaiapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// keyPrefix is the prefix of the keys of sessions created through this API.
const keyPrefix = "openai:"

// keyFor returns the key of an agent's session with the given name.
func keyFor(agent, name string) string {
	if agent == "" {
		return keyPrefix + name // the default agent's
	}
	return "agent:" + agent + ":" + keyPrefix + name
}

// freshKey returns an unused key. It starts with the opening of the conversation, so that
// the session can be found again.
func freshKey(agent, opening string) string {
	return keyFor(agent, opening+"-"+strings.ToLower(rand.Text()[:10]))
}

// createSession creates a session.
func (v *exchange) createSession(who choice, opening string) (position, error) {
	s, err := v.c.NewSession(v.r.Context(), wire.NewSession{Key: freshKey(who.agent, opening), CWD: v.cwd})
	if err != nil {
		return position{}, err
	}
	at := endOf(s)
	if err := v.checkModel(&at, who); err != nil {
		_, _ = v.c.Remove(v.r.Context(), s.ID, wire.Remove{Reason: "it was started for an unknown model"}) // it is empty
		return at, err
	}
	return at, nil
}

// endOf returns the end of a session.
func endOf(s wire.Session) position {
	at := position{session: s.ID}
	if s.State != nil {
		at.model = s.State.Provider + "/" + s.State.Model
	}
	return at
}

// resolveSession returns the session that the client names by key, ID or a name of its own,
// and creates it if necessary. fresh is true if the session has no messages.
func (v *exchange) resolveSession(name string, who choice) (at position, fresh bool, err error) {
	ctx := v.r.Context()
	if len(name) > 256 {
		return position{}, false, badRequest("session", "the name of the session exceeds 256 bytes")
	}
	var s wire.Session
	if strings.HasPrefix(name, "agent:") {
		s, err = v.c.NewSession(ctx, wire.NewSession{Key: name, CWD: v.cwd})
	} else if firn.ID(name).Check() == nil && len(name) >= 32 { // only a full ID
		s, err = v.c.Session(ctx, name)
		if wire.KindOf(err) == wire.NotFound && err != nil {
			s, err = v.c.NewSession(ctx, wire.NewSession{Key: keyFor(who.agent, escapeName(name)), CWD: v.cwd})
		}
	} else {
		s, err = v.c.NewSession(ctx, wire.NewSession{Key: keyFor(who.agent, escapeName(name)), CWD: v.cwd})
	}
	if err != nil {
		return position{}, false, err
	}
	if err := checkAgent(s, who); err != nil {
		return position{}, false, err
	}
	at = endOf(s)
	err = v.checkModel(&at, who)
	return at, s.State != nil && s.State.Turns == 0, err
}

// checkAgent rejects an agent that does not own the session.
func checkAgent(s wire.Session, who choice) error {
	if who.agent != "" && s.Agent != "" && s.Agent != who.agent {
		return badRequest("model", "the session belongs to agent %s, not to %s", quoted(s.Agent), quoted(who.agent))
	}
	return nil
}

// escapeName encodes a name for use in a key, without collisions: characters other than
// letters, digits and dashes are replaced by their numbers.
func escapeName(name string) string {
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

// tries is the number of attempts to append in case of conflicts.
const tries = 3

// put appends entries where the conversation continues, and returns the session. If another
// client continued from there, the entries start a new branch; if another turn is about to
// start there, they go to a new session.
func (v *exchange) put(at position, who choice, entries []firn.Entry) (firn.ID, error) {
	ctx := v.r.Context()
	if err := v.markDirectory(at.session, entries); err != nil {
		return "", err
	}
	encoded, err := lines(entries)
	if err != nil {
		return "", err
	}
	batch := wire.NewEntries{Entries: encoded}
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

// setDirectory reads the working directory of the request, the metadata member cwd.
func (v *exchange) setDirectory(metadata map[string]string) error {
	if v.cwd = metadata["cwd"]; v.cwd != "" && !firn.ValidDirectory(v.cwd) {
		return badRequest("metadata", "invalid cwd: too long, or with control characters")
	}
	return nil
}

// markDirectory records the working directory in the last message of the user, if it is
// not the session's latest.
func (v *exchange) markDirectory(id firn.ID, entries []firn.Entry) error {
	if v.cwd == "" {
		return nil
	}
	s, err := v.c.Session(v.r.Context(), string(id))
	if err != nil {
		return err
	}
	latest := s.CWD
	if n := len(s.Directories); n > 0 {
		latest = s.Directories[n-1]
	}
	if latest == v.cwd || latest == "…/"+path.Base(v.cwd) { // tokens without admin rights see the name only
		return nil
	}
	for i := range slices.Backward(entries) {
		if m, ok := entries[i].Body.(*firn.Message); ok && m.Role == firn.RoleUser {
			dir, err := wire.Marshal(v.cwd)
			if err != nil {
				return err
			}
			entries[i].Extra = append(slices.Clip(entries[i].Extra), firn.Field{Name: firn.DirectoryField, Value: dir})
			return nil
		}
	}
	return nil
}

// goTo moves the head of a session to an entry and returns the end of the session.
func (v *exchange) goTo(ctx context.Context, at position) (firn.Pos, error) {
	last, end, err := v.tip(ctx, at.session)
	if err != nil || last == at.entry {
		return end, err
	}
	moved, err := v.c.Rewind(ctx, at.session, wire.Move{To: at.entry})
	return moved.End, err
}

// tip returns the last message of a session's branch, which may be followed by titles,
// compactions and the like, and the end of the session.
func (v *exchange) tip(ctx context.Context, id firn.ID) (last firn.EntryID, end firn.Pos, err error) {
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
