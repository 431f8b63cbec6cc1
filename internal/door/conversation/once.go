package conversation

import (
	"context"
	"iter"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/wire"
)

// PlaceOnce prepares a conversation that is answered without being stored. It continues the
// messages up to a position; without a session there are none. Nothing finds it again: its
// position is a new one.
func (v *Request) PlaceOnce(before Position, who Choice, t *Transcript) (*Placed, error) {
	messages, err := v.messagesUpTo(before)
	if err != nil {
		return nil, err
	}
	if _, fresh := t.split(); len(fresh) == 0 || t.IsEmpty() {
		return nil, BadRequest("messages", "there is nothing to answer")
	}
	entries := v.Keeper.entriesOf(append(messages, t.withSystem()...), digest{})
	p := &Placed{At: Position{Session: firn.NewID()}, Question: entries[len(entries)-1].ID, release: func() {}}
	p.once = &wire.Once{Agent: who.Agent}
	p.once.Entries, err = lines(entries)
	return p, err
}

// messagesUpTo returns the messages of a branch.
func (v *Request) messagesUpTo(at Position) (messages []firn.Message, err error) {
	if at.Session == "" {
		return nil, nil
	}
	for e, err := range v.Client.Entries(v.HTTP.Context(), at.Session, client.EntryQuery{View: wire.ViewBranch, Head: string(at.Entry)}) {
		if err != nil {
			return nil, err
		}
		entry, err := native.New().Decode(e.Line)
		if err != nil || e.Out == "tombstoned" {
			continue
		}
		if m, ok := entry.Body.(*firn.Message); ok {
			messages = append(messages, *m)
		}
	}
	return messages, nil
}

// Stored reports whether the conversation is stored.
func (p *Placed) Stored() bool { return p.once == nil }

// events runs the turn and returns its events.
func (v *Request) events(ctx context.Context, p *Placed, terms wire.TurnOptions) iter.Seq2[wire.Event, error] {
	if p.once == nil {
		return v.Client.StreamTurn(ctx, p.At.Session, wire.Turn{Terms: &terms})
	}
	once := *p.once
	once.Terms = &terms
	return v.Client.Answers.Once(ctx, once)
}
