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
	"firn.dev/internal/formats/convert"
	"firn.dev/wire"
)

// Asker is who says something: the owner, or the holder of a token. It is kept in
// the log with what was said, and names nobody's agents or keys: who reads the session
// need not know them. What the asker may see is looked up when their turn begins, so
// a token that was revoked meanwhile begins none. The zero value is nobody, who may see
// nothing but the session.
type Asker struct {
	Owner bool   `json:"owner,omitempty"`
	Token string `json:"token,omitempty"`
	// Outside: the words are those of a person or a program outside, who have a part
	// in this conversation and in no other.
	Outside bool `json:"outside,omitempty"`
	// Bound: they may touch some agents or keys only.
	Bound bool `json:"bound,omitempty"`
	// Place is the key of the conversation that somebody outside has a part in, in a
	// session that an agent began for it; empty means that of the session.
	Place string `json:"place,omitempty"`
}

// free reports whether an asker may see everything. Those who may are alike: what
// they say is answered together.
func (a Asker) free() bool { return (a.Owner || a.Token != "") && !a.Bound && !a.Outside }

// likes reports whether what two askers say may be answered in one turn: it has the
// same bounds.
func (a Asker) likes(b Asker) bool { return a == b || a.free() && b.free() }

// outside is the asker as the voice of somebody outside, if a key is that of a
// conversation with people. Who writes under another key, such as an agent's main
// one, is taken for the owner by who set it up so.
func (a Asker) outside(k route.Key) Asker {
	switch k.Kind() {
	case route.KindDirect, route.KindGroup, route.KindChannel:
		a.Outside = true
	}
	return a
}

// asking is an asker with what they may see, while their request is served.
type asking struct {
	who    Asker
	bounds route.Bounds
}

type askingMark struct{}

// WithAsker puts into the context of a request who asks, and what they may see. What
// is asked of a gateway without it is asked by nobody.
func WithAsker(ctx context.Context, who Asker, bounds route.Bounds) context.Context {
	return context.WithValue(ctx, askingMark{}, asking{who, bounds})
}

// askerOf returns who asks.
func askerOf(ctx context.Context) Asker {
	a, _ := ctx.Value(askingMark{}).(asking)
	return a.who
}

// BoundsOf returns what the one who asks may see; nothing if nobody does.
func BoundsOf(ctx context.Context) route.Bounds {
	a, _ := ctx.Value(askingMark{}).(asking)
	return a.bounds
}

// asOwner is a context in which the owner asks: of what the settings ask for.
func asOwner(ctx context.Context) context.Context {
	return WithAsker(ctx, Asker{Owner: true}, route.Everything())
}

// Holder looks up what the holder of a token may see, and whether what they asked for
// before is still to be done. The error says that it cannot be found out at the moment.
type Holder func(ctx context.Context, token string) (bounds route.Bounds, owed bool, err error)

// holder is what the holder of a token may see now.
func (g *Gateway) holder(ctx context.Context, token string) (route.Bounds, bool, error) {
	if g.Options.Holder == nil {
		return route.Bounds{}, true, nil
	}
	bounds, owed, err := g.Options.Holder(ctx, token)
	if err != nil {
		err = &wire.Problem{Kind: wire.Unavailable, Message: "tokens cannot be checked at the moment", Hint: "try again in a moment"}
	}
	return bounds, owed, err
}

// boundsIn returns what an asker may see in a turn of the session with a key.
func (g *Gateway) boundsIn(ctx context.Context, a Asker, key string) (bounds route.Bounds, err error) {
	switch {
	case a.Owner:
		bounds = route.Everything()
	case a.Token != "":
		bounds, _, err = g.holder(ctx, a.Token)
	}
	switch conversation := route.Conversation(cmp.Or(a.Place, key)); {
	case err != nil || !a.Outside:
		return bounds, err
	case bounds.Empty(): // a token for hooks alone, or a signature
		return conversation, nil
	default:
		return bounds.And(conversation), nil
	}
}

// reach returns what a turn that answers some messages may see: what all may see who
// asked; and what others may see whom it hears besides.
func (l *lane) reach(ctx context.Context, batch []*ticket) (route.Bounds, func(context.Context, firn.Entry) route.Bounds, error) {
	h, err := l.g.header(ctx, l.id)
	if err != nil {
		return route.Bounds{}, nil, err
	}
	bounds := route.Everything()
	for i, t := range batch {
		if i > 0 && t.Asker == batch[i-1].Asker {
			continue
		}
		one, err := l.g.boundsIn(ctx, t.Asker, h.Key)
		if err != nil {
			return route.Bounds{}, nil, err
		}
		bounds = bounds.And(one)
	}
	return bounds, func(ctx context.Context, e firn.Entry) route.Bounds {
		a, ok := askerIn(e)
		if !ok {
			return route.Everything() // nobody else is known to have said it
		}
		for _, t := range batch {
			if t.Asker == a {
				return route.Everything() // which is narrowed to that already
			}
		}
		one, _ := l.g.boundsIn(ctx, a, h.Key) // nothing if it cannot be found out
		return one
	}, nil
}

// narrow returns what the one who said an entry may see; everything if it does not
// tell who that was.
func (g *Gateway) narrow(ctx context.Context, id firn.ID, e firn.Entry) route.Bounds {
	a, ok := askerIn(e)
	if !ok {
		return route.Everything()
	}
	h, err := g.header(ctx, id)
	if err != nil {
		return route.Bounds{}
	}
	bounds, _ := g.boundsIn(ctx, a, h.Key) // nothing if it cannot be found out
	return bounds
}

// Window is that of the view, with what the one who asks may see of what is injected.
func (g *Gateway) Window(ctx context.Context, id firn.ID, as string) (wire.Window, error) {
	return g.View.Window(agent.WithBounds(ctx, BoundsOf(ctx)), id, as)
}

// askerField names who said a message, in the entry of it.
const askerField = "asker"

// askerIn is who said an entry; false if it does not tell. One that cannot be read is
// nobody's.
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

// SaidWithinBounds reports whether an entry is what somebody said, or had said, who may
// not see everything.
func SaidWithinBounds(e firn.Entry) bool {
	a, ok := askerIn(e)
	return ok && !a.free()
}

// sign marks what somebody with bounds writes into a session as theirs, whatever it
// says of itself: they must not be able to speak in the name of others. What waits in
// the queue is for the gateway to write.
func sign(entries []firn.Entry, a Asker) error {
	if a.free() {
		return nil
	}
	for i := range entries {
		if !signed(&entries[i], a) {
			return &wire.Problem{Kind: wire.NotAllowed, Message: fmt.Sprintf("entry %d of %d is one that the gateway writes", i+1, len(entries)), Hint: "say it in a turn"}
		}
	}
	return nil
}

// signed marks an entry; false if it is one that waits.
func signed(e *firn.Entry, a Asker) bool {
	switch b := e.Body.(type) {
	case *firn.Custom:
		return b.Type != queuedType
	case *firn.Message, *firn.CustomMessage:
		fields := make(firn.Fields, 0, len(e.Extra)+1)
		for _, f := range e.Extra {
			if f.Name != askerField {
				fields = append(fields, f)
			}
		}
		e.Extra = append(fields, firn.Field{Name: askerField, Value: spell(a)})
	}
	return true
}

// all reports whether something is so of all whose messages wait or are being
// answered. The caller holds the lane's lock.
func (l *lane) all(is func(Asker) bool) bool {
	return !slices.ContainsFunc(slices.Concat(l.running, l.queue), func(t *ticket) bool { return !is(t.Asker) })
}

// collects reports whether a message is answered together with others.
func (t *ticket) collects() bool { return t.Mode == route.QueueCollect && !t.onward }

// collectsWith reports whether two messages are answered together: those of askers
// with other bounds are not, nor those for other agents.
func (t *ticket) collectsWith(other *ticket) bool {
	return t.collects() && other.collects() && t.Asker.likes(other.Asker) && t.Agent == other.Agent
}

// importedType is what an entry of a message that waits is called, in the transcript
// that somebody with bounds imports.
const importedType = queuedType + ".imported"

// signTold marks what a transcript says as that of who imports it.
func signTold(t convert.Told, a Asker) convert.Told {
	if a.free() {
		return t
	}
	if b, ok := t.Entry.Body.(*firn.Custom); ok && b.Type == queuedType {
		ours := *b
		ours.Type = importedType
		t.Entry.Body = &ours
	}
	signed(&t.Entry, a)
	return t
}
