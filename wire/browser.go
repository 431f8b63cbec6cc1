package wire

import "time"

// LoginOrder asks for a code that lets a browser in once. What is empty is as
// it is of who asks; nobody can let in somebody who may do more.
type LoginOrder struct {
	Scope  Scope    `json:"scope,omitempty"`
	Agents []string `json:"agents,omitempty"`
	Keys   []string `json:"keys,omitempty"`
}

// LoginCode is such a code. It is good once, and not for long.
type LoginCode struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
	// URL is the address to open, with the code behind the #, where no server
	// and no log sees it.
	URL string `json:"url"`
}

// Login lets a browser in: by a code, or by a token.
type Login struct {
	Code  string `json:"code,omitempty"`
	Token string `json:"token,omitempty"`
}

// LoggedOut tells whether a browser was logged in until now.
type LoggedOut struct {
	LoggedOut bool `json:"loggedOut"`
}

// Me is who asks, and what a page needs to know at its beginning.
type Me struct {
	Name   string   `json:"name"`
	Scope  Scope    `json:"scope"`
	Agents []string `json:"agents,omitempty"`
	Keys   []string `json:"keys,omitempty"`
	// Expires is when a browser must log in again.
	Expires time.Time `json:"expires,omitzero"`
	Version string    `json:"version"`
}
