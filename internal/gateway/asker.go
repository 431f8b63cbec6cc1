package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/formats/dialect"
	"firn.dev/wire"
)

// Asker identifies the sender of a message: the owner, or the holder of a token. It is
// stored in the log with the message and contains no agents or keys, which readers of the
// session need not know. The asker's bounds are looked up when the turn starts, so a token
// revoked in the meantime starts none. The zero value may see only the session itself.
type Asker struct {
	Owner bool   `json:"owner,omitempty"`
	Token string `json:"token,omitempty"`
	// Outside is set for a person or a program outside that takes part in this conversation
	// only.
	Outside bool `json:"outside,omitempty"`
	// Bound is set if the asker is limited to some agents or keys.
	Bound bool `json:"bound,omitempty"`
	// Place is the key of the outside conversation, in a session that an agent started for
	// it; empty means the session's key.
	Place string `json:"place,omitempty"`
}

// unrestricted reports whether an asker may see everything.
func (a Asker) unrestricted() bool { return (a.Owner || a.Token != "") && !a.Bound && !a.Outside }

// sharesTurnWith reports whether messages of two askers may be answered in one turn: they
// have the same bounds.
func (a Asker) sharesTurnWith(b Asker) bool { return a == b || a.unrestricted() && b.unrestricted() }

// outside returns the asker marked as Outside if the key is of a conversation with people.
// Under other keys, such as an agent's main key, the configuration vouches for the sender.
func (a Asker) outside(k route.Key) Asker {
	switch k.Kind() {
	case route.KindDirect, route.KindGroup, route.KindChannel:
		a.Outside = true
	}
	return a
}

// askerContext is an asker with its bounds, for the duration of a request.
type askerContext struct {
	who    Asker
	bounds route.Bounds
}

type askerKey struct{}

// WithAsker returns a context with the asker of a request and its bounds. Without it the
// asker is the zero value.
func WithAsker(ctx context.Context, who Asker, bounds route.Bounds) context.Context {
	return context.WithValue(ctx, askerKey{}, askerContext{who, bounds})
}

// askerOf returns the asker of a request.
func askerOf(ctx context.Context) Asker {
	a, _ := ctx.Value(askerKey{}).(askerContext)
	return a.who
}

// BoundsOf returns the bounds of the asker; empty if there is none.
func BoundsOf(ctx context.Context) route.Bounds {
	a, _ := ctx.Value(askerKey{}).(askerContext)
	return a.bounds
}

// asOwner returns a context in which the owner is the asker. It is used for work requested
// by the configuration.
func asOwner(ctx context.Context) context.Context {
	return WithAsker(ctx, Asker{Owner: true}, route.Everything())
}

// Holder looks up the bounds of a token's holder, and whether messages accepted earlier are
// still to be answered. It returns an error if that is temporarily unknown.
type Holder func(ctx context.Context, token string) (bounds route.Bounds, owed bool, err error)

// holder returns the current bounds of a token's holder.
func (g *access) holder(ctx context.Context, token string) (route.Bounds, bool, error) {
	if g.Options.Holder == nil {
		return route.Bounds{}, true, nil
	}
	bounds, owed, err := g.Options.Holder(ctx, token)
	if err != nil {
		err = &wire.Problem{Kind: wire.Unavailable, Message: "tokens cannot be checked at the moment", Hint: "try again in a moment"}
	}
	return bounds, owed, err
}

// boundsIn returns the bounds of an asker in a turn of the session with a key.
func (g *access) boundsIn(ctx context.Context, a Asker, key string) (bounds route.Bounds, err error) {
	switch {
	case a.Owner:
		bounds = route.Everything()
	case a.Token != "":
		bounds, _, err = g.holder(ctx, a.Token)
	}
	switch conversation := route.Conversation(cmp.Or(a.Place, key)); {
	case err != nil || !a.Outside:
		return bounds, err
	case bounds.Empty(): // a token for hooks only, or a signature
		return conversation, nil
	default:
		return bounds.And(conversation), nil
	}
}

// turnBounds returns the bounds of the turn for a batch, which is the intersection of its
// askers' bounds, and a function for the bounds of entries that the turn reads in addition.
func (l *lane) turnBounds(ctx context.Context, batch []*ticket) (route.Bounds, func(context.Context, firn.Entry) route.Bounds, error) {
	h, err := l.g.header(ctx, l.id)
	if err != nil {
		return route.Bounds{}, nil, err
	}
	bounds := route.Everything()
	for i, t := range batch {
		if i > 0 && t.Asker == batch[i-1].Asker {
			continue
		}
		one, err := l.g.access.boundsIn(ctx, t.Asker, h.Key)
		if err != nil {
			return route.Bounds{}, nil, err
		}
		bounds = bounds.And(one)
	}
	return bounds, func(ctx context.Context, e firn.Entry) route.Bounds {
		a, ok := askerIn(e)
		if !ok {
			return route.Everything() // no other asker is known
		}
		for _, t := range batch {
			if t.Asker == a {
				return route.Everything() // already part of the intersection
			}
		}
		one, _ := l.g.access.boundsIn(ctx, a, h.Key) // empty if unknown
		return one
	}, nil
}

// boundsOfEntry returns the bounds of an entry's asker; everything if the entry does not
// record one.
func (g *access) boundsOfEntry(ctx context.Context, id firn.ID, e firn.Entry) route.Bounds {
	a, ok := askerIn(e)
	if !ok {
		return route.Everything()
	}
	h, err := g.header(ctx, id)
	if err != nil {
		return route.Bounds{}
	}
	bounds, _ := g.boundsIn(ctx, a, h.Key) // empty if unknown
	return bounds
}

// Window is like [view.View.Window], with injected content limited to the bounds of the
// asker.
func (g *access) Window(ctx context.Context, id firn.ID, as string) (wire.Window, error) {
	return g.View.Window(agent.WithBounds(ctx, BoundsOf(ctx)), id, as)
}

// askerField is the extra field with the asker of a message.
const askerField = "asker"

// askerIn returns the asker of an entry and whether it records one. An unreadable asker is
// the zero value.
func askerIn(e firn.Entry) (a Asker, ok bool) {
	raw := e.Extra.Get(askerField)
	if raw == nil {
		return a, false
	}
	if json.Unmarshal(raw, &a) != nil {
		return Asker{}, true
	}
	return a, true
}

// AskerRestricted reports whether the asker of an entry was restricted.
func AskerRestricted(e firn.Entry) bool {
	a, ok := askerIn(e)
	return ok && !a.unrestricted()
}

// signEntries marks entries appended by a restricted asker as the asker's own, replacing
// any such mark, so that clients cannot write on behalf of others. It rejects queue entries,
// which only the gateway writes.
func signEntries(entries []firn.Entry, a Asker) error {
	if a.unrestricted() {
		return nil
	}
	for i := range entries {
		if !signEntry(&entries[i], a) {
			return &wire.Problem{Kind: wire.NotAllowed, Message: fmt.Sprintf("entry %d of %d has a type that only the gateway writes", i+1, len(entries)), Hint: "send it as a message"}
		}
	}
	return nil
}

// signEntry marks an entry. It returns false for queue and approval entries.
func signEntry(e *firn.Entry, a Asker) bool {
	switch b := e.Body.(type) {
	case *firn.Custom:
		return b.Type != queuedType && b.Type != agent.AskedType && b.Type != agent.AnsweredType
	case *firn.Message, *firn.CustomMessage:
		fields := make(firn.Fields, 0, len(e.Extra)+1)
		for _, f := range e.Extra {
			if f.Name != askerField {
				fields = append(fields, f)
			}
		}
		e.Extra = append(fields, firn.Field{Name: askerField, Value: toJSON(a)})
	}
	return true
}

// allAskers reports whether a condition holds for the askers of all running and queued
// messages. The caller holds mu.
func (l *lane) allAskers(is func(Asker) bool) bool {
	return !slices.ContainsFunc(slices.Concat(l.running, l.queue), func(t *ticket) bool { return !is(t.Asker) })
}

// importedType replaces queuedType in the transcript that a restricted asker imports.
const importedType = queuedType + ".imported"

// signImported marks an imported entry as the importer's own.
func signImported(t dialect.EntryLines, a Asker) dialect.EntryLines {
	if a.unrestricted() {
		return t
	}
	if b, ok := t.Entry.Body.(*firn.Custom); ok && b.Type == queuedType {
		ours := *b
		ours.Type = importedType
		t.Entry.Body = &ours
	}
	signEntry(&t.Entry, a)
	return t
}
