package webtest

import (
	"strings"
	"testing"
)

// TestLoginAnewIsAsked follows a link to a login while logged in already: nobody
// becomes somebody else unawares.
func TestLoginAnewIsAsked(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := newTab(t, s.url)
	b.open(s.loginURL(t))
	b.wait(`location.pathname === "/sessions" && webtest.find("nav")`)

	other := s.loginURL(t, "--read")
	b.open(other)
	b.see("You are browser ")
	b.accessible()
	if at := get[string](b, "location.href"); strings.Contains(at, "#") {
		t.Errorf("the code is still in the address: %s", at)
	}
	b.click("button", "Stay as you are")
	b.wait(`location.pathname === "/sessions" && webtest.find("nav")`)
	b.gone("read only")

	b.open(other) // it was not used
	b.click("button", "Log in anew")
	b.wait(`location.pathname === "/sessions" && webtest.find("nav")`)
	b.see("read only")
}

// TestCommandsDoNotSteer: what would steer a terminal is not in a command that is
// copied.
func TestCommandsDoNotSteer(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := newTab(t, s.url)
	b.open(s.loginURL(t))
	b.wait(`webtest.find("nav")`)
	b.open("/search?q=snow%15%1b%5B2J%E2%80%AEice%0Afrost")
	b.wait(a("button", "/^Copy as CLI: firn search 'snow\\[2Jice frost'/"))
}
