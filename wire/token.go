package wire

import "time"

// Scope is a permission level. Each level includes the ones before it, except ScopeSync, which only
// ScopeAdmin includes.
type Scope string

// The scopes.
const (
	// ScopeHook may call the hooks that name the token, and nothing else.
	ScopeHook Scope = "hook"
	// ScopeSync may list, read and add the files of syncs that the gateway keeps, which are
	// encrypted, and read no sessions.
	ScopeSync Scope = "sync"
	// ScopeRead may read sessions and their event streams.
	ScopeRead Scope = "read"
	// ScopeWrite may send messages, append entries and make changes that can be undone.
	ScopeWrite Scope = "write"
	// ScopeAdmin may erase data permanently and create tokens.
	ScopeAdmin Scope = "admin"
)

// Includes reports whether s grants need. The empty scope grants only the empty scope.
func (s Scope) Includes(need Scope) bool {
	if need == ScopeSync {
		return s == ScopeSync || s == ScopeAdmin
	}
	return s.rank() >= need.rank()
}

// Known reports whether s is one of the scopes.
func (s Scope) Known() bool { return s.rank() > 0 }

func (s Scope) rank() int {
	switch s {
	case ScopeHook, ScopeSync:
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

// Token describes a token without its secret, which the gateway does not store.
type Token struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Scope Scope  `json:"scope"`
	// Agents and Keys, if set, restrict the token to sessions of these agents and to keys
	// with one of these prefixes.
	Agents  []string  `json:"agents,omitempty"`
	Keys    []string  `json:"keys,omitempty"`
	Created time.Time `json:"created"`
	// Expires is when it expires, Used the approximate time of its last use, and Revoked
	// when it was revoked. Zero means never.
	Expires time.Time `json:"expires,omitzero"`
	Used    time.Time `json:"used,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
	// LoggedOut is when its browser logged out; Revoked is then set too. Messages accepted
	// before that are still answered, unless the token is revoked explicitly.
	LoggedOut time.Time `json:"loggedOut,omitzero"`
}

// NewToken is a request for a token.
type NewToken struct {
	Name   string   `json:"name"`
	Scope  Scope    `json:"scope"`
	Agents []string `json:"agents,omitempty"`
	Keys   []string `json:"keys,omitempty"`
	// Expires is when it expires; zero means never.
	Expires time.Time `json:"expires,omitzero"`
}

// Created is a new token. Secret is the value that clients send; it is shown only once and
// not stored.
type Created struct {
	Token
	Secret string `json:"secret"`
}
