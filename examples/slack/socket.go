package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"golang.org/x/net/websocket"
)

// envelope is a message of Socket Mode.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Reason  string          `json:"reason"`
	Payload json.RawMessage `json:"payload"`
	Retries int             `json:"retry_attempt"`
}

// silence is the time after which a connection is considered broken. Slack sends pings more
// often.
const silence = 2 * time.Minute

// listen opens a connection and passes its events to a function until the connection ends. An
// event is acknowledged when the function returns nil; if it does not, Slack delivers it again.
// listen returns nil if a connection that has worked ends.
func (a *api) listen(ctx context.Context, handle func(context.Context, envelope) error) error {
	conn, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	messages := json.NewDecoder(conn)
	for worked := false; ; worked = true {
		var e envelope
		if err := messages.Decode(&e); err != nil {
			if worked {
				return nil
			}
			return fmt.Errorf("the connection to Slack: %w", err)
		}
		switch {
		case e.Type == "disconnect" && e.Reason == "link_disabled":
			return &rejection{"the connection", "link_disabled"} // Socket Mode was switched off
		case e.Type == "disconnect":
			return nil
		case e.ID == "": // hello
			continue
		}
		if err := handle(ctx, e); err != nil {
			return err
		}
		if err := websocket.JSON.Send(conn, map[string]string{"envelope_id": e.ID}); err != nil {
			return fmt.Errorf("acknowledge an event: %w", err)
		}
	}
}

// connect asks for an address, which is valid once, and connects to it.
func (a *api) connect(ctx context.Context) (*websocket.Conn, error) {
	var answer struct {
		URL string `json:"url"`
	}
	if err := a.call(ctx, "apps.connections.open", a.app, struct{}{}, &answer); err != nil {
		return nil, err
	}
	address, err := url.Parse(answer.URL)
	if err != nil {
		return nil, errors.New("apps.connections.open: the address is invalid") // it contains a ticket
	}
	tcp, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	config, err := websocket.NewConfig(answer.URL, "https://"+address.Host)
	if err != nil {
		return nil, err
	}
	conn, err := websocket.NewClient(config, &watched{tcp})
	if err != nil {
		_ = tcp.Close()
		return nil, fmt.Errorf("connect to %s: %w", address.Host, err)
	}
	return conn, nil
}

// dial connects to the host of an address of the scheme wss, or ws in tests.
func dial(ctx context.Context, address *url.URL) (net.Conn, error) {
	if address.Scheme == "ws" {
		return new(net.Dialer).DialContext(ctx, "tcp", address.Host)
	}
	host := address.Host
	if address.Port() == "" {
		host = net.JoinHostPort(address.Hostname(), "443")
	}
	return new(tls.Dialer).DialContext(ctx, "tcp", host)
}

// watched is a connection whose reads fail after a long silence.
type watched struct{ net.Conn }

func (w *watched) Read(p []byte) (int, error) {
	if err := w.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return w.Conn.Read(p)
}
