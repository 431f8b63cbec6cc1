package wire

import "time"

// Scope is what somebody may do. Each holds the ones before it.
type Scope string

// The scopes.
const (
	// ScopeHook calls the hooks that name the token, and nothing else.
	ScopeHook Scope = "hook"
	// ScopeRead looks at sessions and listens.
	ScopeRead Scope = "read"
	// ScopeWrite talks, appends, and changes what can be undone.
	ScopeWrite Scope = "write"
	// ScopeAdmin erases for good, and hands out tokens.
	ScopeAdmin Scope = "admin"
)

// Includes reports whether who has the scope may do what needs the other. No
// scope at all includes nothing but what needs none.
func (s Scope) Includes(need Scope) bool { return s.rank() >= need.rank() }

// Known reports whether it is one of the scopes.
func (s Scope) Known() bool { return s.rank() > 0 }

func (s Scope) rank() int {
	switch s {
	case ScopeHook:
		return 1
	case ScopeRead:
		return 2
	case ScopeWrite:
		return 3
	case ScopeAdmin:
		return 4
	case "":
		return 0
	}
	return -1
}

// Token is what the gateway tells of a token: all but the secret, which it does
// not know itself.
type Token struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Scope Scope  `json:"scope"`
	// Agents and Keys, if there are any, are all that the token is good for:
	// sessions of these agents, under keys that begin with one of these.
	Agents  []string  `json:"agents,omitempty"`
	Keys    []string  `json:"keys,omitempty"`
	Created time.Time `json:"created"`
	// Expires is when it is no good any more, Used when it was used last, about;
	// Revoked when it was taken back. Zero is never.
	Expires time.Time `json:"expires,omitzero"`
	Used    time.Time `json:"used,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
	// LoggedOut is when its browser logged out; Revoked is set then, too. What was
	// accepted from it before is still answered, unless somebody revokes it.
	LoggedOut time.Time `json:"loggedOut,omitzero"`
}

// NewToken asks for a token.
type NewToken struct {
	Name   string   `json:"name"`
	Scope  Scope    `json:"scope"`
	Agents []string `json:"agents,omitempty"`
	Keys   []string `json:"keys,omitempty"`
	// Expires is when it ends; zero is never.
	Expires time.Time `json:"expires,omitzero"`
}

// Created is a token that was made. Secret is what a client sends; it is told
// this once and kept nowhere.
type Created struct {
	Token
	Secret string `json:"secret"`
}
