package gateway

import (
	"context"
	"errors"
	"slices"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// errRevoked is why a turn ends whose asker's token was revoked.
var errRevoked error = &wire.Problem{Kind: wire.NoToken, Message: "the turn was interrupted: the token that one of its messages was sent with was revoked", Hint: "send the other messages again"}

// admit returns the messages of a batch whose tokens were not revoked and have not
// expired. The others are not answered: whoever revoked a token wants nothing done any
// more that it asked for. A logout does not count: what was accepted is answered.
func (l *lane) dropRevoked(ctx context.Context, batch []*ticket) (rest []*ticket, err error) {
	for i, t := range batch {
		owed := true
		if t.Asker.Token != "" {
			if _, owed, err = l.g.holder(ctx, t.Asker.Token); err != nil {
				return append(rest, batch[i:]...), err
			}
		}
		if owed {
			rest = append(rest, t)
			continue
		}
		if err := l.refuse(ctx, t); err != nil {
			return append(rest, batch[i:]...), err
		}
	}
	return rest, nil
}

// refuse says on record that a message is not answered, so that no gateway after this
// one does, and tells who waits.
func (l *lane) refuse(ctx context.Context, t *ticket) error {
	refusal := &wire.Problem{Kind: wire.NoToken, Message: "the message is not answered: the token of who sent it was revoked or has expired"}
	var entry firn.Entry
	switch {
	case t.resume: // it was said
		entry = firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Time: l.g.now(), StopReason: firn.StopError, Error: refusal.Message})
	case t.queued || t.recovered:
		entry = firn.NewEntry(&firn.Custom{Type: unqueuedType, Data: toJSON(map[string]any{"ids": []firn.EntryID{t.ID}})})
	}
	if entry.Body != nil {
		if _, err := l.g.Store.Append(ctx, l.id, store.Any, entry); err != nil {
			return err
		}
	}
	l.g.events.publish(event(wire.TurnFailed, l.id, ProblemOf(refusal)))
	l.conclude(t, wire.Answer{Session: l.id}, refusal)
	return nil
}

// watch stops the turn of a batch once the token of one of its askers is revoked.
func (l *lane) watch(batch []*ticket, stop context.CancelCauseFunc) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watching = true
	for _, t := range batch {
		l.watchToken(t.Asker, stop)
	}
	for _, t := range l.queue { // what came meanwhile
		if steered(t) {
			l.watchToken(t.Asker, stop)
		}
	}
	return func() {
		l.mu.Lock()
		watched := l.watched
		l.watched, l.watching = nil, false
		l.mu.Unlock()
		for _, w := range watched {
			w.end()
		}
	}
}

// watchedToken is a token whose revocation stops the turn that runs.
type watchedToken struct {
	token string
	end   func()
}

// heed stops the turn that runs once the token of an asker is revoked. The caller holds
// the lane's lock.
func (l *lane) watchToken(a Asker, stop context.CancelCauseFunc) {
	if a.Token == "" || l.g.Revoked == nil || slices.ContainsFunc(l.watched, func(w watchedToken) bool { return w.token == a.Token }) {
		return
	}
	l.watched = append(l.watched, watchedToken{a.Token, l.g.Revoked(a.Token, func() { stop(errRevoked) })})
}

// putAside puts messages back into the queue whose turn was to begin when a token was
// revoked: those of that token are refused there, and the others answered. It returns the
// rest, which were not acknowledged.
func (l *lane) requeueRevoked(batch []*ticket, err error) []*ticket {
	if !errors.Is(err, errRevoked) || slices.ContainsFunc(batch, turnStarted) {
		return batch
	}
	rest := l.requeueStored(batch)
	l.restoreDropped()
	return rest
}
