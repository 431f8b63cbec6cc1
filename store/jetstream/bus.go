package jetstream

import (
	"errors"
	"fmt"

	"firn.dev"

	"github.com/nats-io/nats.go"
)

// Bus passes notes between the processes that have the store open. Notes are not stored: a
// process that does not listen misses them, and a slow one misses some.
type Bus struct{ st *Store }

// Bus returns the bus of the store.
func (st *Store) Bus() *Bus { return &Bus{st} }

// Shared reports whether other processes can have the store open too.
func (st *Store) Shared() bool { return st.opts.Server == nil }

// Note is a message received from the bus.
type Note struct {
	// Topic is the topic of the note; empty if it was received by an inbox.
	Topic string
	// Reply is the inbox for answers; empty if the sender expects none.
	Reply string
	Data  []byte
	// NoListeners reports, in an inbox, that the note had no listeners.
	NoListeners bool
}

// MaxSize returns the maximum size of a note in bytes.
func (b *Bus) MaxSize() int {
	const spare = 8 << 10 // for headers and the subject
	return min(int(b.st.engine.nc.MaxPayload()), maxMessage) - spare
}

func (b *Bus) prefix() string { return b.st.names.space + ".b." }

// Publish sends a note to all listeners of its topic. A topic consists of parts of letters,
// digits, - and _, separated by dots. Reply is an inbox for answers, or empty.
func (b *Bus) Publish(topic, reply string, data []byte) error {
	return b.failed(b.st.engine.nc.PublishMsg(&nats.Msg{Subject: b.prefix() + topic, Reply: reply, Data: data}))
}

// Answer sends a note to an inbox.
func (b *Bus) Answer(inbox string, data []byte) error {
	return b.failed(b.st.engine.nc.Publish(inbox, data))
}

func (b *Bus) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrConnectionClosed):
		return b.st.closedErr()
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("pass a note: %w", firn.ErrTooLarge)
	}
	return fmt.Errorf("pass a note: %w", &Unavailable{Cause: err})
}

// pendingBytes is the maximum number of bytes buffered for a listener.
const pendingBytes = 64 << 20

// Listen calls take for every note on a topic, sequentially, until stop is called. In the
// topic, * matches any part and > matches all remaining parts.
func (b *Bus) Listen(topic string, take func(Note)) (stop func(), err error) {
	return b.listen(b.prefix()+topic, func(m *nats.Msg) {
		take(Note{Topic: m.Subject[len(b.prefix()):], Reply: m.Reply, Data: m.Data})
	})
}

// Inbox creates an inbox for answers and calls take for each one, sequentially, until stop
// is called.
func (b *Bus) Inbox(take func(Note)) (inbox string, stop func(), err error) {
	inbox = b.st.engine.nc.NewInbox()
	stop, err = b.listen(inbox, func(m *nats.Msg) {
		take(Note{Reply: m.Reply, Data: m.Data, NoListeners: len(m.Data) == 0 && m.Header.Get("Status") == "503"})
	})
	return inbox, stop, err
}

func (b *Bus) listen(subject string, take func(*nats.Msg)) (func(), error) {
	sub, err := b.st.engine.nc.Subscribe(subject, take)
	if err == nil {
		err = sub.SetPendingLimits(-1, pendingBytes)
	}
	if err != nil {
		return nil, b.failed(err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails only if the connection is closed, which ends the subscription
}
