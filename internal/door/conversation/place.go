package conversation

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

// keyFor returns the key of an agent's session with the given name.
func (k *Keeper) keyFor(agent, name string) string {
	name = k.protocol + ":" + name
	if agent == "" {
		return name // the default agent's
	}
	return "agent:" + agent + ":" + name
}

// freshKey returns an unused key. It contains opening, the digest of the beginning of the
// conversation, so that the session can be found again.
func (k *Keeper) freshKey(agent, opening string) string {
	return k.keyFor(agent, opening+"-"+strings.ToLower(rand.Text()[:10]))
}

// CreateSession creates a session.
func (v *Request) CreateSession(who Choice, opening string) (Position, error) {
	s, err := v.Client.NewSession(v.HTTP.Context(), wire.NewSession{Key: v.Keeper.freshKey(who.Agent, opening), CWD: v.dir})
	if err != nil {
		return Position{}, err
	}
	at := EndOf(s)
	if err := v.CheckModel(&at, who); err != nil {
		_, _ = v.Client.Remove(v.HTTP.Context(), s.ID, wire.Remove{Reason: "created for an unknown model"}) // if this fails, an empty session remains
		return at, err
	}
	return at, nil
}

// EndOf returns the end of a session.
func EndOf(s wire.Session) Position {
	at := Position{Session: s.ID}
	if s.State != nil {
		at.model = s.State.Provider + "/" + s.State.Model
	}
	return at
}

// resolveSession returns the session that the client names by key, ID or a name of its own,
// and creates it if necessary. fresh is true if the session has no messages.
func (v *Request) resolveSession(name string, who Choice) (at Position, fresh bool, err error) {
	ctx := v.HTTP.Context()
	if len(name) > 256 {
		return Position{}, false, BadRequest("session", "the name of the session exceeds 256 bytes")
	}
	var s wire.Session
	if strings.HasPrefix(name, "agent:") {
		s, err = v.Client.NewSession(ctx, wire.NewSession{Key: name, CWD: v.dir})
	} else if firn.ID(name).Check() == nil && len(name) >= 32 { // only a full ID
		s, err = v.Client.Session(ctx, name)
		if wire.KindOf(err) == wire.NotFound && err != nil {
			s, err = v.Client.NewSession(ctx, wire.NewSession{Key: v.Keeper.keyFor(who.Agent, escapeName(name)), CWD: v.dir})
		}
	} else {
		s, err = v.Client.NewSession(ctx, wire.NewSession{Key: v.Keeper.keyFor(who.Agent, escapeName(name)), CWD: v.dir})
	}
	if err != nil {
		return Position{}, false, err
	}
	if err := CheckAgent(s, who); err != nil {
		return Position{}, false, err
	}
	at = EndOf(s)
	err = v.CheckModel(&at, who)
	return at, s.State != nil && s.State.Turns == 0, err
}

// CheckAgent returns an error if the chosen agent does not own the session.
func CheckAgent(s wire.Session, who Choice) error {
	if who.Agent != "" && s.Agent != "" && s.Agent != who.Agent {
		return BadRequest("model", "the session belongs to agent %s, not to %s", Quoted(s.Agent), Quoted(who.Agent))
	}
	return nil
}

// escapeName encodes a name for use in a key, without collisions: bytes other than
// lowercase letters, digits and dashes become an underscore and two hex digits.
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

// Put appends entries where the conversation continues, and returns the session. If another
// client continued from there, the entries start a new branch; if another turn is about to
// start there, they go to a new session.
func (v *Request) Put(at Position, who Choice, entries []firn.Entry) (firn.ID, error) {
	ctx := v.HTTP.Context()
	if err := v.markDirectory(at.Session, entries); err != nil {
		return "", err
	}
	encoded, err := lines(entries)
	if err != nil {
		return "", err
	}
	batch := wire.NewEntries{Entries: encoded}
	if at.Entry == "" {
		_, err := v.Client.Append(ctx, at.Session, client.Any, batch)
		return at.Session, err
	}
	for range tries {
		end, err := v.goTo(ctx, at)
		if wire.KindOf(err) == wire.Busy && err != nil {
			break
		}
		if err == nil {
			_, err = v.Client.Append(ctx, at.Session, end, batch)
		}
		if !errors.Is(err, firn.ErrConflict) {
			return at.Session, err
		}
	}
	fork, err := v.Client.Fork(ctx, at.Session, wire.Fork{At: at.Entry, Key: v.Keeper.freshKey(who.Agent, "fork")})
	if err != nil {
		return "", err
	}
	_, err = v.Client.Append(ctx, fork.ID, client.Any, batch)
	return fork.ID, err
}

// SetDirectory sets the working directory of the request to the member cwd of its metadata.
func (v *Request) SetDirectory(metadata map[string]string) error {
	if v.dir = metadata["cwd"]; v.dir != "" && !firn.ValidDirectory(v.dir) {
		return BadRequest("metadata", "invalid cwd: it is too long or contains control characters")
	}
	return nil
}

// markDirectory records the working directory in the last user message, unless it is
// the session's latest already.
func (v *Request) markDirectory(id firn.ID, entries []firn.Entry) error {
	if v.dir == "" {
		return nil
	}
	s, err := v.Client.Session(v.HTTP.Context(), string(id))
	if err != nil {
		return err
	}
	latest := s.CWD
	if n := len(s.Directories); n > 0 {
		latest = s.Directories[n-1]
	}
	if latest == v.dir || latest == "…/"+path.Base(v.dir) { // tokens without admin rights see only the last element
		return nil
	}
	for i := range slices.Backward(entries) {
		if m, ok := entries[i].Body.(*firn.Message); ok && m.Role == firn.RoleUser {
			dir, err := wire.Marshal(v.dir)
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
func (v *Request) goTo(ctx context.Context, at Position) (firn.Pos, error) {
	last, end, err := v.tip(ctx, at.Session)
	if err != nil || last == at.Entry {
		return end, err
	}
	moved, err := v.Client.Rewind(ctx, at.Session, wire.Move{To: at.Entry})
	return moved.End, err
}

// tip returns the last message of a session's branch, which may be followed by titles,
// compactions and the like, and the end of the session.
func (v *Request) tip(ctx context.Context, id firn.ID) (last firn.EntryID, end firn.Pos, err error) {
	const enough = 20
	page, err := v.Client.EntriesPage(ctx, id, client.EntryQuery{View: wire.ViewBranch, Back: true, Limit: enough})
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
