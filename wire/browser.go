package wire

import "time"

// LoginOrder requests a one-time login code for a browser. Empty fields default to the
// caller's own rights; a code cannot have more rights than the caller.
type LoginOrder struct {
	Scope  Scope    `json:"scope,omitempty"`
	Agents []string `json:"agents,omitempty"`
	Keys   []string `json:"keys,omitempty"`
}

// LoginCode is a short-lived one-time login code.
type LoginCode struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
	// URL is the address to open, with the code in the fragment, which is not sent to
	// servers or logged.
	URL string `json:"url"`
}

// Login logs a browser in with a code or a token.
type Login struct {
	Code  string `json:"code,omitempty"`
	Token string `json:"token,omitempty"`
}

// LoggedOut reports whether the browser was logged in until now.
type LoggedOut struct {
	LoggedOut bool `json:"loggedOut"`
}

// Me describes the caller and the initial state of a page.
type Me struct {
	Name   string   `json:"name"`
	Scope  Scope    `json:"scope"`
	Agents []string `json:"agents,omitempty"`
	Keys   []string `json:"keys,omitempty"`
	// Expires is when a browser must log in again.
	Expires time.Time `json:"expires,omitzero"`
	Version string    `json:"version"`
}
