// Package client is the Go client of a firn gateway.
//
// Every route of the gateway is a method here, under the name that the
// gateway's own method has, and speaks the types of package wire. A client
// holds no state of a session: the gateway does. It never opens a session's
// files and never imports what does.
//
// An error is one of two: a [*wire.Problem], which is the gateway's answer and
// which errors.Is holds against the errors of package firn, or an
// [*Unreachable], which says that no gateway answered. Whose context ends gets
// the context's error.
//
// What may safely be asked again is asked again. Reads are repeated a few
// times with growing pauses. A message carries an id, made here if the caller
// gives none, so a turn whose answer was lost on the way is asked for once
// more under the same id, and the gateway takes it for the same message. Entries
// that have ids are appended once more if they are not found in the log. Nothing
// else that writes is ever repeated.
package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"firn.dev"
)

// Options say where the gateway is and how to speak to it.
type Options struct {
	// Address is "unix:/path/of/the/socket", "http://127.0.0.1:4114" or an
	// https URL. It may be empty if there is a Transport.
	Address string
	// Token is sent with every request if it is not empty. A gateway behind a
	// Unix socket needs none.
	Token string
	// Transport carries the requests instead of the network: see [InProcess]. If
	// it is an io.Closer, closing the client closes it.
	Transport http.RoundTripper
	// UserAgent is what the client calls itself; empty means "firn".
	UserAgent string
}

// Client speaks to one gateway. It is safe for concurrent use.
type Client struct {
	address string // as the user would say it
	base    string // a URL without a slash at the end
	token   string
	agent   string
	http    *http.Client
	pauses  pauses
}

// New makes a client. It does not speak to the gateway yet.
func New(o Options) (*Client, error) {
	base, socket, err := parseAddress(o.Address, o.Transport != nil)
	if err != nil {
		return nil, err
	}
	c := &Client{address: o.Address, base: base, token: o.Token, agent: o.UserAgent, pauses: usualPauses}
	if c.address == "" {
		c.address = "in-process"
	}
	if c.agent == "" {
		c.agent = "firn"
	}
	transport := o.Transport
	if transport == nil {
		transport = network(socket)
	}
	// A gateway does not redirect. What does is something else, and must not get
	// the token.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &http.Client{Transport: transport, CheckRedirect: stay}
	return c, nil
}

// Address is where the gateway is, as given to New; "in-process" if it is in
// this one.
func (c *Client) Address() string { return c.address }

// Close gives back idle connections, and closes a transport that can be closed.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	if closer, ok := c.http.Transport.(interface{ Close() error }); ok {
		return closer.Close()
	}
	return nil
}

// parseAddress splits an address into the URL that requests begin with and, for
// Unix sockets, the path of the socket.
func parseAddress(address string, carried bool) (base, socket string, err error) {
	if address == "" && carried {
		return "http://localhost", "", nil
	}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		path = strings.TrimPrefix(path, "//")
		if path == "" {
			return "", "", badAddress(address)
		}
		return "http://localhost", path, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", "", badAddress(address)
	}
	return strings.TrimRight(u.String(), "/"), "", nil
}

func badAddress(address string) error {
	return fmt.Errorf("connect to the gateway at %q: %w address: want unix:/path or http://host:port", address, firn.ErrInvalid)
}

// network is a transport over TCP or, with a path, over a Unix socket. It uses
// no proxy: a gateway is on this machine or in a private network.
func network(socket string) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	dial := dialer.DialContext
	if socket != "" {
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}
	}
	return &http.Transport{
		DialContext:         dial,
		DisableCompression:  true, // events must not wait in a compressor
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}
