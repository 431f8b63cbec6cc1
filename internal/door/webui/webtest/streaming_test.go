package webtest

import (
	"fmt"
	"strings"
	"testing"

	"firn.dev"
)

// mostElements is the maximum number of elements of a page while an answer streams.
const mostElements = 6_000

// TestStreamingStaysSmall streams a long answer of paragraphs, lists, tables and code into a
// session with a long history: the page has few elements at every time.
func TestStreamingStaysSmall(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	w := newScribe(sessionID("streaming", 0), longAgo, firn.Header{Agent: "player"})
	for i := range 400 {
		w.user(fmt.Sprintf("Question %d?", i))
		w.uses("read_file", fmt.Sprintf(`{"path":"file%d.go"}`, i), strings.Repeat("a line of a file\n", 20))
		w.says(fmt.Sprintf("Answer **%d**.\n\n- one\n- two\n", i))
	}
	s.keep(t, w)
	b := s.login(t)
	b.open(toSession(w.id))
	b.see("Answer 399.")
	b.send("Please play streaming.")
	p := world.model.plays(t, "streaming")
	most, more := 0, strings.Repeat(" and more words of a long sentence", 9)
	for i := range 240 { // 120 kB, about 30,000 tokens: ten minutes of an answer
		p.text(fmt.Sprintf("Paragraph %d with **bold** and `code`%s.\n\n- an item\n- another item\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc f%d() {}\n```\n\n", i, more, i))
		if i%20 == 19 {
			b.see(fmt.Sprintf("Paragraph %d with", i))
			most = max(most, get[int](b, `document.querySelectorAll("*").length`))
		}
	}
	t.Logf("at most %d elements", most)
	if most > mostElements {
		t.Errorf("the page has %d elements while an answer streams, want at most %d", most, mostElements)
	}
	// What was emptied comes back when it is scrolled to.
	if get[bool](b, `webtest.text().includes("Paragraph 3 with")`) {
		t.Error("the beginning of the answer is in the page")
	}
	get[bool](b, `(document.querySelector(".streaming").scrollIntoView(), true)`)
	b.see("Paragraph 3 with")
	b.see("func f3()")
	p.end()
	b.wait(a("button", "Send"))
	if n := get[int](b, `document.querySelectorAll("*").length`); n > mostElements {
		t.Errorf("the page has %d elements after an answer, want at most %d", n, mostElements)
	}
}
