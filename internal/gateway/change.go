package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/view"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/wire"
)

// errDirectory refuses what cannot be a directory.
var errDirectory = &wire.Problem{Kind: wire.Invalid, Message: "cwd is no directory: it is too long, or has control characters"}

// maxTitle bounds a title that somebody chooses, in characters.
const maxTitle = 200

// NewSession returns the session that a key points at, begun if it points
// nowhere, or without a key a new one. Of those who come with the same new key
// at the same time all get the same session. What is asked for of a session
// that is there already (directory, title) is left as it is. A fresh session of
// a key that has one is begun as a reset does it, with what that carries over.
func (g *Gateway) NewSession(ctx context.Context, n wire.NewSession) (wire.Session, error) {
	title, err := titleEntry(n.Title)
	if err != nil {
		return wire.Session{}, err
	}
	if n.CWD != "" && !firn.ValidDirectory(n.CWD) {
		return wire.Session{}, errDirectory
	}
	var id firn.ID
	if n.Key == "" {
		id, err = g.newWithout(ctx, &n, title)
	} else {
		id, err = g.newFor(ctx, &n, title)
	}
	if err != nil {
		return wire.Session{}, err
	}
	return g.updated(g.session(ctx, id))
}

// newWithout begins a session without a key.
func (g *Gateway) newWithout(ctx context.Context, n *wire.NewSession, title []firn.Entry) (firn.ID, error) {
	setup, owner := g.setup.Load(), n.Agent
	if owner == "" {
		owner = setup.Default
	}
	if _, err := setup.agent(owner); err != nil {
		return "", err
	}
	return g.create(ctx, firn.Header{Session: newID(ctx), Agent: owner, CWD: cmp.Or(n.CWD, g.workspaceOf(owner))}, title)
}

// workspaceOf is the directory that sessions of an agent are begun in if nobody names
// another one; empty if there is none.
func (g *Gateway) workspaceOf(name string) string {
	a, err := g.setup.Load().agent(name)
	if err != nil {
		return ""
	}
	return a.Workspace
}

// newFor returns the session of a key, or begins one.
func (g *Gateway) newFor(ctx context.Context, n *wire.NewSession, title []firn.Entry) (firn.ID, error) {
	k, err := g.canonical(n.Key)
	if err != nil {
		return "", err
	}
	if n.Agent != "" && n.Agent != k.Agent() {
		return "", &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("key %s belongs to agent %q, not to %q", k, k.Agent(), view.Clip(n.Agent))}
	}
	if _, err := g.setup.Load().agent(k.Agent()); err != nil {
		return "", err
	}
	keyed, err := g.keyed()
	if err != nil {
		return "", err
	}
	defer g.doors.lock(k.String())()
	id, err := keyed.Lookup(ctx, k.String())
	switch {
	case errors.Is(err, firn.ErrNotFound):
		return g.createFor(ctx, firn.Header{Session: newID(ctx), Agent: k.Agent(), Key: k.String(), CWD: cmp.Or(n.CWD, g.workspaceOf(k.Agent()))}, title)
	case err != nil:
		return "", fmt.Errorf("find the session of key %s: %w", k, err)
	}
	cause := route.CauseRequest
	if !n.Fresh {
		if away, err := g.removed(ctx, id); err != nil || !away {
			return id, err
		}
		cause = route.CauseRemoved
	}
	if again, ok, err := g.begunFor(ctx, k, id); err != nil || ok {
		return again, err
	}
	return g.begin(ctx, k, cause, "", n.CWD, title...)
}

// begunFor finds the session that the same request began for a key before, and makes
// sure of it. The key points at it, unless it was pointed elsewhere since. Held is
// where it points now.
func (g *Gateway) begunFor(ctx context.Context, k route.Key, held firn.ID) (firn.ID, bool, error) {
	if _, ok := requestOf(ctx); !ok {
		return "", false, nil
	}
	id := newID(ctx)
	mark, err := g.begun(ctx, id)
	if errors.Is(err, firn.ErrNotFound) {
		return "", false, nil
	}
	if err == nil {
		err = store.Confirm(ctx, g.Store, id, store.Start)
	}
	if err != nil || held != id && held != mark.Previous {
		return id, err == nil, err
	}
	if err := g.bindKey(ctx, k.String(), id); err != nil {
		return "", false, err
	}
	if mark.Previous == "" || g.saysNext(ctx, mark.Previous, id) {
		return id, true, nil
	}
	_, err = g.Store.Append(ctx, mark.Previous, store.Any, resetMark{Reason: mark.Reason, Next: id}.entry())
	return id, err == nil, err
}

// saysNext reports whether a session ends with the mark that names the next one.
func (g *Gateway) saysNext(ctx context.Context, id, next firn.ID) bool {
	for rec, err := range g.Store.ReadBack(ctx, id, store.End) {
		mark, ok := resetOf(&rec)
		return err == nil && ok && mark.Next == next
	}
	return false
}

// titleEntry makes the entry of a title that the user chose; none if it is
// empty.
func titleEntry(name string) ([]firn.Entry, error) {
	name = strings.Join(strings.Fields(name), " ")
	if name == "" {
		return nil, nil
	}
	if n := utf8.RuneCountInString(name); n > maxTitle {
		return nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("a title of %d characters is too long: %d are allowed", n, maxTitle)}
	}
	return []firn.Entry{firn.Entry{Body: &firn.Title{Name: name, Source: firn.SourceUser}}}, nil
}

// create begins a session.
func (g *Gateway) create(ctx context.Context, header firn.Header, entries []firn.Entry) (firn.ID, error) {
	entries = append([]firn.Entry{{Time: g.now(), Body: &header}}, entries...)
	_, err := g.Store.Append(ctx, header.Session, store.Start, entries...)
	if err != nil {
		err = g.begunBefore(ctx, header.Session, err)
	}
	if err != nil {
		return "", fmt.Errorf("begin a session: %w", err)
	}
	return header.Session, nil
}

// createFor begins a session and points its key at it. If somebody else did so
// at the same time theirs is returned, and the one that was begun in vain is
// hidden.
func (g *Gateway) createFor(ctx context.Context, header firn.Header, entries []firn.Entry) (firn.ID, error) {
	id, err := g.create(ctx, header, entries)
	if err != nil {
		return "", err
	}
	claimer, claims := store.As[store.Claimer](g.Store)
	if !claims {
		return id, g.bindKey(ctx, header.Key, id)
	}
	winner, err := claimer.Claim(ctx, header.Key, id)
	if err != nil {
		return "", fmt.Errorf("point key %s at session %s: %w", header.Key, id, halfDone(err))
	}
	if winner != id {
		if err := store.Discard(ctx, g.Store, id, header.Key, winner); err != nil {
			return "", fmt.Errorf("hide session %s, which was begun in vain: %w", id, halfDone(err))
		}
	}
	return winner, nil
}

// The session's word on whether answers may be sent.
const (
	sendAllow   = "allow"
	sendDeny    = "deny"
	sendInherit = "inherit"
)

// sendWord reads such a word, also as people type it.
func sendWord(s string) (string, bool) {
	switch s := strings.ToLower(s); s {
	case sendAllow, "on":
		return sendAllow, true
	case sendDeny, "off":
		return sendDeny, true
	case sendInherit, wire.Default:
		return sendInherit, true
	}
	return "", false
}

// Patch changes a session. All of it is checked before any of it is done. It
// may be done while a turn is running, and counts from the next one on.
func (g *Gateway) Patch(ctx context.Context, id firn.ID, p wire.Patch) (wire.Session, error) {
	if err := g.MustBe(ctx, id); err != nil {
		return wire.Session{}, err
	}
	entries, err := patchEntries(&p)
	if err != nil {
		return wire.Session{}, err
	}
	if err := g.override(ctx, id, &p); err != nil {
		return wire.Session{}, err
	}
	if len(entries) > 0 {
		if _, err := g.Store.Append(ctx, id, store.Any, entries...); err != nil {
			return wire.Session{}, fmt.Errorf("change session %s: %w", id, err)
		}
	}
	if p.Archived != nil {
		if err := g.archive(ctx, id, *p.Archived); err != nil {
			return wire.Session{}, err
		}
	}
	if p.Hidden != nil {
		if _, err := g.veil(ctx, id, firn.EntryID(id), *p.Hidden, ""); err != nil {
			return wire.Session{}, err
		}
	}
	return g.updated(g.session(ctx, id))
}

// patchEntries makes the entries of a patch that the agent need not know of.
func patchEntries(p *wire.Patch) ([]firn.Entry, error) {
	var entries []firn.Entry
	if p.Title != nil {
		title, err := titleEntry(*p.Title)
		if err != nil {
			return nil, err
		}
		if title == nil { // no title any more
			title = []firn.Entry{firn.Entry{Body: &firn.Title{Source: firn.SourceUser}}}
		}
		entries = title
	}
	if p.Send != nil {
		word, ok := sendWord(*p.Send)
		if !ok {
			return nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("sending is allow, deny or inherit, not %q", view.Clip(*p.Send))}
		}
		entries = append(entries, firn.Entry{Body: &firn.Custom{Type: firn.SendType, Data: spell(map[string]string{"policy": word})}})
	}
	if p.Tags != nil {
		tags, err := store.NewTags(*p.Tags)
		if err != nil {
			return nil, &wire.Problem{Kind: wire.Invalid, Message: err.Error()}
		}
		entries = append(entries, tags)
	}
	return entries, nil
}

// override changes who answers in a session, and how.
func (g *Gateway) override(ctx context.Context, id firn.ID, p *wire.Patch) error {
	if p.Model == nil && p.Thinking == nil && p.Verbose == nil && p.Auth == nil {
		return nil
	}
	var o agent.Override
	kept := *p
	for _, v := range []struct {
		name  string
		value **string
	}{{"model", &kept.Model}, {"thinking", &kept.Thinking}, {"verbose", &kept.Verbose}, {"auth", &kept.Auth}} {
		switch {
		case *v.value == nil:
		case **v.value == "":
			return &wire.Problem{Kind: wire.Invalid, Message: v.name + " cannot be empty", Hint: "null, or default, takes the choice back"}
		case **v.value == wire.Default:
			o.Back, *v.value = append(o.Back, v.name), nil
		}
	}
	p = &kept
	if p.Model != nil {
		var ok bool
		if o.Provider, o.Model, ok = strings.Cut(*p.Model, "/"); !ok || o.Provider == "" || o.Model == "" {
			return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("a model is named provider/model, not %q", view.Clip(*p.Model)), Hint: "firn status lists the models"}
		}
	}
	if p.Thinking != nil {
		o.Thinking = provider.Thinking(*p.Thinking)
	}
	if p.Verbose != nil {
		o.Verbose = *p.Verbose
	}
	a, err := g.agentOf(ctx, id)
	if err != nil {
		return err
	}
	if p.Auth != nil {
		if o.Auth, err = g.profile(ctx, a, id, *p.Auth, o.Provider); err != nil {
			return err
		}
	}
	return a.Override(ctx, id, o)
}

// archive archives a session or takes it out of the archive.
func (g *Gateway) archive(ctx context.Context, id firn.ID, archived bool) error {
	remover, ok := store.As[store.Remover](g.Store)
	if !ok {
		return fmt.Errorf("archive session %s: the store cannot: %w", id, firn.ErrUnsupported)
	}
	if archived {
		return remover.Archive(ctx, id)
	}
	return remover.Unarchive(ctx, id)
}
