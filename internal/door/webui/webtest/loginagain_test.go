package webtest

import (
	"strings"
	"testing"
)

// TestLoginAgainNeedsConfirmation follows a login link while already logged in: the user must
// confirm the change of identity.
func TestLoginAgainNeedsConfirmation(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := newTab(t, s.url)
	b.open(s.loginURL(t))
	b.wait(`location.pathname === "/sessions" && webtest.find("nav")`)

	other := s.loginURL(t, "--read")
	b.open(other)
	b.see("You are logged in as browser ")
	b.inBothLights()
	if at := get[string](b, "location.href"); strings.Contains(at, "#") {
		t.Errorf("the code is still in the address: %s", at)
	}
	b.click("button", "Stay logged in")
	b.wait(`location.pathname === "/sessions" && webtest.find("nav")`)
	b.gone("read-only")

	b.open(other) // the code is still unused
	b.click("button", "Switch login")
	b.wait(`location.pathname === "/sessions" && webtest.find("nav")`)
	b.see("read-only")
}

// TestCommandsDoNotSteer checks that copied commands contain no terminal control
// characters.
func TestCommandsDoNotSteer(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := newTab(t, s.url)
	b.open(s.loginURL(t))
	b.wait(`webtest.find("nav")`)
	b.open("/search?q=snow%15%1b%5B2J%E2%80%AEice%0Afrost")
	b.wait(a("button", "/^Copy as CLI: firn search 'snow\\[2Jice frost'/"))
}
