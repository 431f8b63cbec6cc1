package gateway

import (
	"context"
	"errors"
	"slices"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// errRevoked is the cause of a turn whose asker's token was revoked.
var errRevoked error = &wire.Problem{Kind: wire.NoToken, Message: "the turn was interrupted: the token of one of its messages was revoked", Hint: "send the other messages again"}

// dropRevoked returns the messages of a batch whose tokens are valid. Messages of revoked
// or expired tokens are refused. A logout does not count: accepted messages are answered.
func (l *lane) dropRevoked(ctx context.Context, batch []*ticket) (rest []*ticket, err error) {
	for i, t := range batch {
		owed := true
		if t.Asker.Token != "" {
			if _, owed, err = l.g.access.holder(ctx, t.Asker.Token); err != nil {
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

// refuse records that a message is not answered, so that no later gateway answers it, and
// finishes its ticket.
func (l *lane) refuse(ctx context.Context, t *ticket) error {
	refusal := &wire.Problem{Kind: wire.NoToken, Message: "the message is not answered: the token it was sent with was revoked or has expired"}
	var entry firn.Entry
	switch {
	case t.state().resumes(): // it was delivered
		entry = firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Time: l.g.now(), StopReason: firn.StopError, Error: refusal.Message})
	case t.state().inQueue():
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

// watch cancels the turn of a batch when the token of one of its askers is revoked.
func (l *lane) watch(batch []*ticket, stop context.CancelCauseFunc) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watching = true
	for _, t := range batch {
		l.watchToken(t.Asker, stop)
	}
	for _, t := range l.queue { // messages that arrived in the meantime
		if t.steered() {
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

// watchedToken is a token whose revocation cancels the running turn.
type watchedToken struct {
	token string
	end   func()
}

// watchToken cancels the running turn when an asker's token is revoked. The caller holds
// mu.
func (l *lane) watchToken(a Asker, stop context.CancelCauseFunc) {
	if a.Token == "" || l.g.Revoked == nil || slices.ContainsFunc(l.watched, func(w watchedToken) bool { return w.token == a.Token }) {
		return
	}
	l.watched = append(l.watched, watchedToken{a.Token, l.g.Revoked(a.Token, func() { stop(errRevoked) })})
}

// requeueRevoked puts messages back into the queue if a token was revoked before their turn
// started: there the messages of that token are refused and the others answered. It returns
// the rest, which were not acknowledged.
func (l *lane) requeueRevoked(batch []*ticket, err error) []*ticket {
	if !errors.Is(err, errRevoked) || slices.ContainsFunc(batch, turnStarted) {
		return batch
	}
	rest := l.requeueStored(batch)
	l.restoreDropped()
	return rest
}
