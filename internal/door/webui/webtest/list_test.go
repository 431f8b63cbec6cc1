package webtest

import (
	"net/url"
	"testing"

	"firn.dev/client"
)

// listed counts the sessions whose title contains a text.
func (s *server) listed(t *testing.T, q client.Query) int {
	t.Helper()
	n := 0
	for _, err := range s.client.Sessions(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestManyAtOnce archives several sessions and undoes it.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	batch := unlike("Batch")
	for _, name := range []string{" one", " two", " three"} {
		s.newSession(t, batch+name, "Something.")
	}
	b := s.login(t)
	b.open("/sessions?q=" + url.QueryEscape(batch))
	b.wait(`document.querySelectorAll(".vlist-row a").length === 3`)
	b.settled()
	b.click("checkbox", "Select "+batch+" one")
	b.click("checkbox", "Select "+batch+" three")
	b.see("2 sessions selected")
	b.click("button", "Archive")
	b.gone(batch + " one")
	b.gone(batch + " three")
	b.see(batch + " two")
	b.see("Archived 2 sessions")
	if n := s.listed(t, client.Query{Text: batch}); n != 1 {
		t.Errorf("%d sessions are listed, want 1", n)
	}
	b.click("button", "Undo")
	b.see(batch + " one")
	b.see(batch + " three")
	b.gone("Archived 2 sessions")
	b.settled()
	if n := s.listed(t, client.Query{Text: batch}); n != 3 {
		t.Errorf("%d sessions are listed, want 3", n)
	}
	b.reload()
	b.see(batch + " one")
}

// TestListIsLive checks that a new session, its title and its turn appear without a reload.
func TestListIsLive(t *testing.T) {
	s := plainServer(t)
	b := s.login(t)
	b.open("/sessions")
	b.settled()
	came, named := unlike("Came meanwhile"), unlike("Has another name")
	id := s.newSessionFor(t, "player", came)
	b.see(came)
	s.run(t, "rename", string(id), named)
	b.see(named)
	b.gone(came)
}

// TestLive watches turns of other sessions and stops one.
func TestLive(t *testing.T) {
	s := plainServer(t)
	b := s.login(t)
	b.open("/live")
	b.see("No running turns")
	other := b.beside(t)
	other.open(toSession(s.newSessionFor(t, "player", "Running elsewhere")))
	other.send("Please play live.")
	p := world.model.plays(t, "live")
	b.see("Running elsewhere")
	p.text("Words from elsewhere.")
	b.see("Words from elsewhere.")
	late := b.beside(t) // and sees the earlier text
	late.open("/live")
	late.see("Words from elsewhere.")
	b.click("button", "Stop Running elsewhere")
	p.stopped(t)
	b.see("No running turns")
	other.wait(a("button", "Send"))
}

// TestNewSession creates a session on the page and chats with the offline model.
func TestNewSession(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open("/sessions")
	b.click("button", "New session")
	b.wait(`location.pathname.startsWith("/sessions/")`)
	b.see("No messages yet")
	b.send("What is 6 times 7?")
	b.once("What is 6 times 7?")
	b.wait(`webtest.times("42") >= 1`)
	b.wait(a("button", "Send"))
	b.click("link", "/^Sessions/")
	b.wait(a("link", "6 times 7")) // the automatic title
}
