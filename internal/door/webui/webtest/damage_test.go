package webtest

import (
	"bytes"
	"os"
	"testing"
)

// TestDamageIsShown checks that unreadable data is shown as a block at its place in the
// log, with a command for details, and as a mark in the list and in the session header. An
// undamaged session has neither.
func TestDamageIsShown(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := s.newSession(t, unlike("Damaged"), "The first question.", "The second question.", "The third question.")
	sound := s.newSession(t, unlike("Sound"), "A question.")
	files, err := s.client.Session(t.Context(), string(id))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(files.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(data, []byte("The second question."), []byte("The sec\x00nd question."), 1)
	if bytes.Equal(data, damaged) {
		t.Fatal("there is nothing to damage")
	}
	if err := os.WriteFile(files.Files[0], damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	b := s.login(t)
	b.open(toSession(id))
	b.see("Unreadable entry")
	b.see("zero bytes; ")
	b.see("firn verify " + string(id))
	b.see("1 place unreadable")
	b.see("The first question.")
	b.see("The third question.")
	b.wait(`!document.querySelector("main").textContent.includes("The second question.")`)
	b.wait(`document.querySelector(".log-gap").compareDocumentPosition([...document.querySelectorAll("article")].find((a) => a.textContent.includes("The third question."))) & Node.DOCUMENT_POSITION_FOLLOWING`)
	b.open(toSession(id) + "/window")
	b.see("an entry after #")
	b.open("/sessions")
	b.see("⚠ 1 unread")
	b.open(toSession(sound))
	b.see("A question.")
	b.wait(`!document.querySelector(".log-gap, .unread")`)
}
