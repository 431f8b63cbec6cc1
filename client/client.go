// Package client is the Go client of a firn gateway.
//
// Every route of the gateway is a method of [Client] or of one of its fields, with the types
// of package wire. A client holds no session state and never opens the files
// of a session.
//
// An error is either a [*wire.Problem], the error response of the gateway, which works with
// errors.Is and the errors of package firn, or an [*Unreachable] if no gateway responded.
// If the context ends, the error is the context's.
//
// Requests that can be repeated safely are retried. Reads are retried a few times with
// increasing delays. A message has an ID, generated here if the caller gives none, so that
// a turn whose response was lost is requested once more under the same ID and the gateway
// recognizes it. Entries with IDs are appended once more if they are not found in the log.
// No other write is repeated.
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

// Options are the address of the gateway and the connection settings.
type Options struct {
	// Address is "unix:/path/of/the/socket", "http://127.0.0.1:4114" or an https URL. It
	// may be empty if there is a Transport.
	Address string
	// Token is sent with every request unless empty. A gateway behind a Unix socket does
	// not need one.
	Token string
	// Transport replaces the network transport, see [InProcess]. If it is an io.Closer,
	// closing the client closes it.
	Transport http.RoundTripper
	// UserAgent is the User-Agent header; empty means "firn".
	UserAgent string
}

// Client is a client of one gateway. It is safe for concurrent use.
type Client struct {
	*conn
	Access    Access
	Answers   Answers
	Approvals Approvals
	Files     Files
	Index     Index
	Keys      Keys
	Memory    Memory
	Queues    Queues
	Settings  Settings
	Transfer  Transfer
}

// conn sends requests to the gateway.
type conn struct {
	address string // as shown to the user
	base    string // a URL without a trailing slash
	token   string
	agent   string
	http    *http.Client
	pauses  backoff
}

// New returns a client. It does not connect to the gateway.
func New(o Options) (*Client, error) {
	base, socket, err := parseAddress(o.Address, o.Transport != nil)
	if err != nil {
		return nil, err
	}
	c := &conn{address: o.Address, base: base, token: o.Token, agent: o.UserAgent, pauses: defaultBackoff}
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
	// A gateway does not redirect. Any other server that does must not receive the token.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &http.Client{Transport: transport, CheckRedirect: stay}
	return &Client{
		conn: c, Access: Access{c}, Answers: Answers{c}, Approvals: Approvals{c}, Files: Files{conn: c}, Index: Index{c},
		Keys: Keys{c}, Memory: Memory{c}, Queues: Queues{c}, Settings: Settings{c}, Transfer: Transfer{c},
	}, nil
}

// Address returns the address of the gateway as given to New, or "in-process".
func (c *Client) Address() string { return c.address }

// Close closes idle connections, and the transport if it is an io.Closer.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	if closer, ok := c.http.Transport.(interface{ Close() error }); ok {
		return closer.Close()
	}
	return nil
}

// parseAddress splits an address into the base URL of requests and, for a Unix socket, its
// path.
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
	return fmt.Errorf("connect to the gateway at %q: %w address: expected unix:/path or http://host:port", address, firn.ErrInvalid)
}

// network returns a transport over TCP or, with a path, over a Unix socket. It uses no
// proxy: a gateway is on this machine or in a private network.
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
		DisableCompression:  true, // events must not be buffered by compression
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}
