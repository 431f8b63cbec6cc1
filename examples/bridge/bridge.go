// Package bridge has the parts that the example bridges share: the order of messages, retries,
// answers that belong to several messages, and files that survive a crash.
//
// A bridge accepts a message only after it is on disk or will be delivered again by its network,
// and forgets it only after its answer was sent. Killed in between, it delivers the message to
// the gateway again under the same ID. The gateway stores it once and returns the same answer.
package bridge

import (
	"context"
	"errors"
	"log"
	"slices"
	"strings"
	"sync"
	"time"

	"firn.dev/wire"
)

// Gateway stores messages and answers them; a *client.Client does.
type Gateway interface {
	Inbound(ctx context.Context, m wire.Inbound) (wire.Routed, error)
}

// Message is a message of a chat network.
type Message struct {
	// In is the message. It needs an ID; Wait is ignored.
	In wire.Inbound
	// Recovered means that the message was delivered before, so its answer may have been sent.
	Recovered bool
	// Prepare completes In before the gateway gets it, if it is not nil.
	Prepare func(ctx context.Context, in *wire.Inbound)
	// Stored is called, if it is not nil, when the gateway has stored the message.
	Stored func(ctx context.Context)
	// Send sends the answer. Errors are retried except those of Final.
	Send func(ctx context.Context, r Reply) error
	// Done is called after the answer was sent, or if there is none to send.
	Done func()
}

// Reply is the answer to a message.
type Reply struct {
	// ID is the same each time the message is delivered. Messages that were answered together
	// have the same ID.
	ID   string
	Text string
	// Unsure means that the answer may have been sent before: the bridge was restarted, or an
	// attempt failed.
	Unsure bool
}

// Bridge delivers messages to a gateway and answers to a network. It is safe for concurrent use.
type Bridge struct {
	gateway Gateway
	work    sync.WaitGroup
	mu      sync.Mutex
	// stored has, for each conversation with messages in delivery, a channel that is closed
	// when the gateway has the newest one.
	stored map[string]chan struct{}
	// answers has the latest answers by ID, each with a channel that is closed when it was
	// sent; order lists the IDs, oldest first.
	answers map[string]chan struct{}
	order   []string
}

// maxAnswers is the number of answers that a bridge remembers.
const maxAnswers = 1000

// New returns a bridge to a gateway.
func New(g Gateway) *Bridge {
	return &Bridge{gateway: g, stored: make(map[string]chan struct{}), answers: make(map[string]chan struct{})}
}

// Accept delivers a message in the background until its answer was sent or ctx ends. The
// gateway gets the messages of a conversation in the order of the calls, each without waiting
// for the answers to earlier ones, so that /stop reaches a running turn.
func (b *Bridge) Accept(ctx context.Context, m Message) {
	conversation := strings.Join([]string{m.In.Channel, m.In.AccountID, m.In.PeerKind, m.In.PeerID, m.In.ThreadID}, "\x00")
	stored := make(chan struct{})
	b.mu.Lock()
	before := b.stored[conversation]
	b.stored[conversation] = stored
	b.mu.Unlock()
	b.work.Go(func() {
		if before != nil {
			<-before
		}
		if m.Prepare != nil {
			m.Prepare(ctx, &m.In)
		}
		routed, err := b.inbound(ctx, m.In, false)
		b.mu.Lock()
		if b.stored[conversation] == stored {
			delete(b.stored, conversation)
		}
		b.mu.Unlock()
		close(stored)
		if err == nil && m.Stored != nil {
			m.Stored(ctx)
		}
		if err == nil {
			err = b.answer(ctx, m, routed)
		}
		if err != nil && ctx.Err() == nil {
			log.Printf("message %s: %v", m.In.ID, err)
		}
		if ctx.Err() == nil {
			m.Done()
		}
	})
}

// Wait waits until every accepted message is done or its context has ended.
func (b *Bridge) Wait() { b.work.Wait() }

// inbound sends a message to the gateway until it is stored or, with wait, answered. A message
// that the gateway rejects as invalid is not sent again.
func (b *Bridge) inbound(ctx context.Context, in wire.Inbound, wait bool) (routed wire.Routed, err error) {
	in.Wait = wait
	err = Retry(ctx, "message "+in.ID, func() error {
		routed, err = b.gateway.Inbound(ctx, in)
		if problem := new(wire.Problem); errors.As(err, &problem) && problem.Kind == wire.Invalid {
			return Final(err)
		}
		return err
	})
	return routed, err
}

// answer waits for the answer to a stored message and sends it.
func (b *Bridge) answer(ctx context.Context, m Message, routed wire.Routed) (err error) {
	r := Reply{ID: m.In.ID, Unsure: m.Recovered}
	if routed.Message != "" { // it is not a command, which is answered at once
		if routed, err = b.inbound(ctx, m.In, true); err != nil {
			return err
		}
		if routed.Answer != nil && routed.Answer.Entry != "" {
			r.ID = string(routed.Answer.Entry)
		}
	}
	if r.Text = routed.Reply; !routed.Deliver || r.Text == "" {
		return nil
	}
	sent, first := b.claim(r.ID)
	if !first {
		select {
		case <-sent:
		case <-ctx.Done():
		}
		return nil
	}
	defer close(sent)
	return Retry(ctx, "the answer to message "+m.In.ID, func() error {
		err := m.Send(ctx, r)
		r.Unsure = r.Unsure || err != nil
		return err
	})
}

// claim returns the channel of an answer, and whether the caller is the first one and so has
// to send it and close the channel.
func (b *Bridge) claim(id string) (sent chan struct{}, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sent, ok := b.answers[id]; ok {
		return sent, false
	}
	if len(b.order) == maxAnswers {
		delete(b.answers, b.order[0])
		b.order = slices.Delete(b.order, 0, 1)
	}
	sent = make(chan struct{})
	b.answers[id], b.order = sent, append(b.order, id)
	return sent, true
}

// Final marks an error of which a retry is useless.
func Final(err error) error { return &final{err} }

type final struct{ error }

func (f *final) Unwrap() error { return f.error }

// Limited is an error of a network that names the time after which to try again.
type Limited struct {
	After time.Duration
	Err   error
}

// Error returns the message of the network's error.
func (l *Limited) Error() string { return l.Err.Error() }

// Unwrap returns the network's error.
func (l *Limited) Unwrap() error { return l.Err }

// Retry calls a function until it succeeds, fails with an error of Final, or ctx ends. It waits
// as long as a Limited error asks for, else from a second up to a minute.
func Retry(ctx context.Context, what string, do func() error) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := do()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if fatal := new(final); err == nil || errors.As(err, &fatal) {
			return err
		}
		wait := pause
		if limited := new(Limited); errors.As(err, &limited) {
			wait = limited.After
		}
		log.Printf("%s: %v; retry in %s", what, err, wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
