package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"time"
)

// Server describes how to reach a server, and which of its tools are used. Either Command or
// URL is set.
type Server struct {
	// Name is unique in a group. Source says where the server is configured.
	Name, Source string
	// Command is started with Args in Dir, with the environment Env and no other variables.
	Command string
	Args    []string
	Env     []string
	Dir     string
	// URL is the address of a server over streamable HTTP. Header is sent with each request.
	URL    string
	Header http.Header
	// ClientID and ClientSecret are credentials for OAuth's client credentials grant; empty
	// if the server needs none.
	ClientID, ClientSecret string
	// Allow and Deny select tools by the server's own names. A * matches any characters.
	Allow, Deny []string
	// TrustReadOnly makes tools that the server declares read-only count as such.
	TrustReadOnly bool
	// Wait is how long a turn waits for the server to start, StartTimeout how long a start
	// may take, and Timeout how long a call may take.
	Wait, StartTimeout, Timeout time.Duration
	// Problem is why the server cannot be used, such as a missing secret; empty if it can.
	Problem string
}

// The default limits of time.
const (
	DefaultWait         = 5 * time.Second
	DefaultStartTimeout = 30 * time.Second
	DefaultTimeout      = 2 * time.Minute
)

// withDefaults returns the server with defaults for limits that are not set.
func (s Server) withDefaults() Server {
	if s.Wait <= 0 {
		s.Wait = DefaultWait
	}
	if s.StartTimeout <= 0 {
		s.StartTimeout = DefaultStartTimeout
	}
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	if s.Allow == nil {
		s.Allow = []string{"*"}
	}
	return s
}

// identity returns a digest of everything that matters for a connection. Servers with the
// same identity share one.
func (s Server) identity() string {
	data, err := json.Marshal(s)
	if err != nil {
		return s.Name // unreachable: all fields can be encoded
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// enabled reports whether a tool of the server is used.
func (s Server) enabled(tool string) bool {
	fits := func(pattern string) bool {
		ok, err := path.Match(pattern, tool)
		return ok && err == nil
	}
	return slices.ContainsFunc(s.Allow, fits) && !slices.ContainsFunc(s.Deny, fits)
}

// State is the state of a server.
type State string

// The states.
const (
	Idle     State = "idle"
	Starting State = "starting"
	Ready    State = "ready"
	Failed   State = "failed"
)

// Status describes a server for people.
type Status struct {
	Name, Source string
	State        State
	// Tools are the names of the tools for models.
	Tools []string
	// Problem is why the server is not ready; empty if it is.
	Problem string
}
