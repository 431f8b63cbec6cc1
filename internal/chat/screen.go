package chat

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"firn/internal/prose"
)

// screen is where the chat shows things: answers on one stream, talk on the
// other. It may be used from many goroutines.
type screen struct {
	mu        sync.Mutex
	out, talk io.Writer
	terminal  Terminal

	// outOpen and talkOpen say that the last line of a stream is not ended.
	outOpen, talkOpen bool
	// call is the tool call that the open line of talk is about.
	call string
	// err is the first failure to show an answer.
	err error
}

func newScreen(o Options) *screen {
	return &screen{out: o.Stdout, talk: o.Stderr, terminal: o.Terminal}
}

// failure returns why answers cannot be shown any more.
func (s *screen) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// answer shows the next piece of an answer.
func (s *screen) answer(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTalk()
	if s.terminal.Out {
		text = prose.CleanLines(text)
	}
	s.write(text)
}

// write adds to stdout.
func (s *screen) write(text string) {
	if s.err != nil || text == "" {
		return
	}
	if _, err := io.WriteString(s.out, text); err != nil {
		s.err = fmt.Errorf("show the answer: %w", err)
		return
	}
	s.outOpen = !strings.HasSuffix(text, "\n")
}

// endAnswer ends the line of an answer.
func (s *screen) endAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outOpen {
		s.write("\n")
	}
}

// think shows the next piece of what a model says to itself, if somebody sits
// there.
func (s *screen) think(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal.Err {
		return
	}
	s.endOut()
	text = prose.CleanLines(text)
	s.put(s.dim(text))
	s.talkOpen = !strings.HasSuffix(text, "\n")
}

// say shows a line of talk.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(fmt.Sprintf(format, args...))
}

// note shows a line of talk, dim.
func (s *screen) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(s.dim(fmt.Sprintf(format, args...)))
}

// lines shows lines of talk together.
func (s *screen) lines(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lines {
		s.line(l)
	}
}

// problem shows an error and what can be done about it.
func (s *screen) problem(err error, hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(headline(err) + prose.OneLine(err.Error(), 2000))
	if hint != "" {
		s.line("hint: " + prose.Clean(hint))
	}
}

// line writes one line of talk.
func (s *screen) line(text string) {
	s.endOut()
	s.endTalk()
	s.put(text + "\n")
}

// callBegins shows a call on a line that is left open for how it ends, if
// somebody sits there.
func (s *screen) callBegins(id, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal.Err {
		return
	}
	s.endOut()
	s.endTalk()
	s.put(s.dim("· " + what + " …"))
	s.talkOpen, s.call = true, id
}

// callEnds shows how a call ended, on its own line if that is still open.
func (s *screen) callEnds(id, what, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.talkOpen && s.call == id {
		s.put(s.dim(" "+how) + "\n")
		s.talkOpen, s.call = false, ""
		return
	}
	s.line(s.dim("· " + what + " … " + how))
}

// put adds to stderr. There is nobody to tell if that fails.
func (s *screen) put(text string) { _, _ = io.WriteString(s.talk, text) }

// endTalk ends the open line of talk.
func (s *screen) endTalk() {
	if s.talkOpen {
		s.put("\n")
		s.talkOpen, s.call = false, ""
	}
}

// endOut ends the open line of an answer if talk would be shown behind it.
func (s *screen) endOut() {
	if s.outOpen && s.terminal.Out && s.terminal.Err {
		s.write("\n")
	}
}

const promptSign = "› "

// prompt asks for a line, if somebody sits there.
func (s *screen) prompt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal.In && s.terminal.Err {
		s.endOut()
		s.endTalk()
		s.put(promptSign)
		s.talkOpen = true
	}
}

// typed notices that the user ended the line of the prompt themselves.
func (s *screen) typed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.talkOpen = false
}

// endPrompt leaves a prompt that nothing was typed at.
func (s *screen) endPrompt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTalk()
}

// dim makes text dim where that can be shown.
func (s *screen) dim(text string) string {
	if !s.terminal.Err || !s.terminal.Dim || text == "" {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}
