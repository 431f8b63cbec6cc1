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

// errDirectory rejects an invalid directory.
var errDirectory = &wire.Problem{Kind: wire.Invalid, Message: "invalid cwd: it is too long or contains control characters"}

// maxTitle is the maximum length of a title chosen by the user, in characters.
const maxTitle = 200

// NewSession returns the session of a key, creating it if the key is unbound, or a new
// session if there is no key. Concurrent calls with the same new key return the same
// session. The directory and title of an existing session are not changed. If Fresh is set
// and the key has a session, a new one is started as in a reset, with its settings carried
// over unless Defaults is set.
func (g *sessionEditor) NewSession(ctx context.Context, n wire.NewSession) (wire.Session, error) {
	title, err := titleEntry(n.Title)
	if err != nil {
		return wire.Session{}, err
	}
	if n.CWD != "" && !firn.ValidDirectory(n.CWD) {
		return wire.Session{}, errDirectory
	}
	var id firn.ID
	if n.Key == "" {
		id, err = g.newUnkeyed(ctx, &n, title)
	} else {
		id, err = g.newKeyed(ctx, &n, title)
	}
	if err != nil {
		return wire.Session{}, err
	}
	return g.reader.updated(g.reader.session(ctx, id))
}

// newUnkeyed creates a session without a key.
func (g *sessionEditor) newUnkeyed(ctx context.Context, n *wire.NewSession, title []firn.Entry) (firn.ID, error) {
	setup, owner := g.setup.Load(), n.Agent
	if owner == "" {
		owner = setup.Default
	}
	if _, err := setup.agent(owner); err != nil {
		return "", err
	}
	return g.create(ctx, firn.Header{Session: newID(ctx), Agent: owner, CWD: cmp.Or(n.CWD, g.workspaceOf(owner))}, title)
}

// workspaceOf returns the default directory for sessions of an agent; empty if there is
// none.
func (g *core) workspaceOf(name string) string {
	a, err := g.setup.Load().agent(name)
	if err != nil {
		return ""
	}
	return a.Workspace
}

// realWorkspaceOf returns the same directory without symbolic links; it may be empty if there
// are none.
func (g *core) realWorkspaceOf(name string) string {
	a, err := g.setup.Load().agent(name)
	if err != nil {
		return ""
	}
	return a.RealWorkspace
}

// newKeyed returns the session of a key, or creates one.
func (g *sessionEditor) newKeyed(ctx context.Context, n *wire.NewSession, title []firn.Entry) (firn.ID, error) {
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
	defer g.locks.lock(k.String())()
	id, err := keyed.Lookup(ctx, k.String())
	switch {
	case errors.Is(err, firn.ErrNotFound):
		return g.createKeyed(ctx, firn.Header{Session: newID(ctx), Agent: k.Agent(), Key: k.String(), CWD: cmp.Or(n.CWD, g.workspaceOf(k.Agent()))}, title)
	case err != nil:
		return "", fmt.Errorf("find the session of key %s: %w", k, err)
	}
	cause := route.CauseRequest
	if !n.Fresh {
		if away, err := g.remover.removed(ctx, id); err != nil || !away {
			return id, err
		}
		cause = route.CauseRemoved
	}
	if again, ok, err := g.startedBefore(ctx, k, id); err != nil || ok {
		return again, err
	}
	return g.keys.startSession(ctx, k, sessionStart{cause: cause, cwd: n.CWD, defaults: n.Defaults, more: title})
}

// startedBefore returns the session that the same request started for a key before, after
// confirming that it is durable. It points the key at it unless the key was pointed
// elsewhere since. held is the session that the key points at now.
func (g *sessionEditor) startedBefore(ctx context.Context, k route.Key, held firn.ID) (firn.ID, bool, error) {
	if _, ok := requestOf(ctx); !ok {
		return "", false, nil
	}
	id := newID(ctx)
	mark, err := g.keys.startingReset(ctx, id)
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
	if mark.Previous == "" || g.endsWithNext(ctx, mark.Previous, id) {
		return id, true, nil
	}
	_, err = g.Store.Append(ctx, mark.Previous, store.Any, resetMark{Reason: mark.Reason, Next: id}.entry())
	return id, err == nil, err
}

// endsWithNext reports whether the last entry of a session is the mark that names next.
func (g *sessionEditor) endsWithNext(ctx context.Context, id, next firn.ID) bool {
	for rec, err := range g.Store.ReadBack(ctx, id, store.End) {
		mark, ok := resetOf(&rec)
		return err == nil && ok && mark.Next == next
	}
	return false
}

// titleEntry returns the entry for a title chosen by the user; none if it is empty.
func titleEntry(name string) ([]firn.Entry, error) {
	name = strings.Join(strings.Fields(name), " ")
	if name == "" {
		return nil, nil
	}
	if n := utf8.RuneCountInString(name); n > maxTitle {
		return nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("a title of %d characters is too long; the limit is %d", n, maxTitle)}
	}
	return []firn.Entry{firn.Entry{Body: &firn.Title{Name: name, Source: firn.SourceUser}}}, nil
}

// create creates a session.
func (g *sessionEditor) create(ctx context.Context, header firn.Header, entries []firn.Entry) (firn.ID, error) {
	entries = append([]firn.Entry{{Time: g.now(), Body: &header}}, entries...)
	_, err := g.Store.Append(ctx, header.Session, store.Start, entries...)
	if err != nil {
		err = g.history.confirmCreated(ctx, header.Session, err)
	}
	if err != nil {
		return "", fmt.Errorf("create session: %w", err)
	}
	return listedAs(g.Store, header.Session), nil
}

// listedAs returns the ID under which a store lists a new session. The folder of another
// tool may list it under a name of its own, which is the only one that other processes
// find.
func listedAs(st store.Store, id firn.ID) firn.ID {
	namer, ok := store.As[interface{ ListedAs(id firn.ID) firn.ID }](st)
	if !ok {
		return id
	}
	return namer.ListedAs(id)
}

// createKeyed creates a session and points its key at it. If another writer did so
// concurrently, it returns that session and hides its own.
func (g *sessionEditor) createKeyed(ctx context.Context, header firn.Header, entries []firn.Entry) (firn.ID, error) {
	id, err := g.create(ctx, header, entries)
	if err != nil {
		return "", err
	}
	return claimKey(ctx, g, header.Key, id)
}

// claimKey points an unbound key at a new session. If another writer did so concurrently,
// it returns that writer's session and hides the new one.
func claimKey(ctx context.Context, g *sessionEditor, key string, id firn.ID) (firn.ID, error) {
	claimer, claims := store.As[store.Claimer](g.Store)
	if !claims {
		return id, g.bindKey(ctx, key, id)
	}
	winner, err := claimer.Claim(ctx, key, id)
	if err != nil {
		return "", fmt.Errorf("point key %s at session %s: %w", key, id, halfDone(err))
	}
	if winner != id {
		if err := store.Discard(ctx, g.Store, id, key, winner); err != nil {
			return "", fmt.Errorf("hide unused session %s: %w", id, halfDone(err))
		}
	}
	return winner, nil
}

// The values of a session's send policy.
const (
	sendAllow   = "allow"
	sendDeny    = "deny"
	sendInherit = "inherit"
)

// sendWord parses such a value, including the forms that users type.
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

// Patch changes a session. Everything is validated before any change is made. It is allowed
// during a turn and takes effect with the next one.
func (g *sessionEditor) Patch(ctx context.Context, id firn.ID, p wire.Patch) (wire.Session, error) {
	if err := g.CheckExists(ctx, id); err != nil {
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
		if _, err := g.setHidden(ctx, id, firn.EntryID(id), *p.Hidden, ""); err != nil {
			return wire.Session{}, err
		}
	}
	return g.reader.updated(g.reader.session(ctx, id))
}

// patchEntries returns the entries of a patch that do not involve the agent.
func patchEntries(p *wire.Patch) ([]firn.Entry, error) {
	var entries []firn.Entry
	if p.Title != nil {
		title, err := titleEntry(*p.Title)
		if err != nil {
			return nil, err
		}
		if title == nil { // remove the title
			title = []firn.Entry{firn.Entry{Body: &firn.Title{Source: firn.SourceUser}}}
		}
		entries = title
	}
	if p.Send != nil {
		word, ok := sendWord(*p.Send)
		if !ok {
			return nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("sending must be allow, deny or inherit, not %q", view.Clip(*p.Send))}
		}
		entries = append(entries, firn.Entry{Body: &firn.Custom{Type: firn.SendType, Data: toJSON(map[string]string{"policy": word})}})
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

// override changes the model settings of a session.
func (g *sessionEditor) override(ctx context.Context, id firn.ID, p *wire.Patch) error {
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
			return &wire.Problem{Kind: wire.Invalid, Message: v.name + " cannot be empty", Hint: "null or default resets it"}
		case **v.value == wire.Default:
			o.Back, *v.value = append(o.Back, v.name), nil
		}
	}
	p = &kept
	if p.Model != nil {
		var ok bool
		if o.Provider, o.Model, ok = strings.Cut(*p.Model, "/"); !ok || o.Provider == "" || o.Model == "" {
			return errModelName(*p.Model)
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
		if o.Auth, err = g.access.profile(ctx, a, id, *p.Auth, o.Provider); err != nil {
			return err
		}
	}
	return a.Override(ctx, id, o)
}

// archive archives or unarchives a session.
func (g *sessionEditor) archive(ctx context.Context, id firn.ID, archived bool) error {
	remover, ok := store.As[store.Remover](g.Store)
	if !ok {
		return fmt.Errorf("archive session %s: not supported by the store: %w", id, firn.ErrUnsupported)
	}
	if archived {
		return remover.Archive(ctx, id)
	}
	return remover.Unarchive(ctx, id)
}
