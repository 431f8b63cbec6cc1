package chat

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"firn.dev/internal/render/prose"
)

// screen is where the chat shows things: a pair of streams, or a board, which is
// a terminal that can be drawn on. It may be used from many goroutines.
type screen interface {
	// answer shows the next piece of an answer, endAnswer ends it.
	answer(text string)
	endAnswer()
	// thinking shows the end of what a model says to itself, for the time being;
	// an empty text ends that.
	thinking(text string)
	// say shows a line of talk, note one that is dim, and lines several.
	say(format string, args ...any)
	note(format string, args ...any)
	lines(lines []string)
	// problem shows an error and what can be done about it.
	problem(err error, hint string)
	// callBegins shows that a tool runs, callEnds how that ended.
	callBegins(id, what string)
	callEnds(id, what, how string)
	// busy says that something takes its time; waits what was typed meanwhile.
	busy(is bool)
	waits(lines []string)
	// prompt asks for a line. typed notices that there is one, which is shown if
	// it is not on the screen, endPrompt that none came.
	prompt()
	typed(text string)
	endPrompt()
	// seen reports whether somebody sees the talk.
	seen() bool
	// failure returns why answers cannot be shown any more.
	failure() error
}

// streams is a screen of two streams: answers on one, talk on the other.
type streams struct {
	mu        sync.Mutex
	out, talk io.Writer
	terminal  Terminal

	// outOpen and talkOpen say that the last line of a stream is not ended.
	outOpen, talkOpen bool
	// call is the tool call that the open line of talk is about.
	call string
	// waiting is how many lines wait.
	waiting int
	// err is the first failure to show an answer.
	err error
}

func newStreams(o Options) *streams {
	return &streams{out: o.Stdout, talk: o.Stderr, terminal: o.Terminal}
}

func (s *streams) seen() bool { return s.terminal.Err }

func (s *streams) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *streams) answer(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTalk()
	if s.terminal.Out {
		text = prose.CleanLines(text)
	}
	s.write(text)
}

// write adds to stdout.
func (s *streams) write(text string) {
	if s.err != nil || text == "" {
		return
	}
	if _, err := io.WriteString(s.out, text); err != nil {
		s.err = fmt.Errorf("show the answer: %w", err)
		return
	}
	s.outOpen = !strings.HasSuffix(text, "\n")
}

func (s *streams) endAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outOpen {
		s.write("\n")
	}
}

// thinking shows nothing: what is on a stream stays there.
func (s *streams) thinking(string) {}

func (s *streams) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(fmt.Sprintf(format, args...))
}

func (s *streams) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(s.dim(fmt.Sprintf(format, args...)))
}

func (s *streams) lines(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lines {
		s.line(l)
	}
}

func (s *streams) problem(err error, hint string) { s.lines(problemLines(err, hint)) }

// problemLines is an error as people read it.
func problemLines(err error, hint string) []string {
	lines := []string{headline(err) + prose.OneLine(err.Error(), 2000)}
	if hint != "" {
		lines = append(lines, "hint: "+prose.Clean(hint))
	}
	return lines
}

// line writes one line of talk.
func (s *streams) line(text string) {
	s.endOut()
	s.endTalk()
	s.put(text + "\n")
}

// callBegins shows a call on a line that is left open for how it ends, if
// somebody sits there.
func (s *streams) callBegins(id, what string) {
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
func (s *streams) callEnds(id, what, how string) {
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
func (s *streams) put(text string) { _, _ = io.WriteString(s.talk, text) }

// endTalk ends the open line of talk.
func (s *streams) endTalk() {
	if s.talkOpen {
		s.put("\n")
		s.talkOpen, s.call = false, ""
	}
}

// endOut ends the open line of an answer if talk would be shown behind it.
func (s *streams) endOut() {
	if s.outOpen && s.terminal.Out && s.terminal.Err {
		s.write("\n")
	}
}

// busy shows nothing: answers come when they come.
func (s *streams) busy(bool) {}

// waits tells who sits there that what they typed waits.
func (s *streams) waits(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(lines) > s.waiting && s.terminal.In && s.terminal.Err {
		s.line(s.dim("(waits for the answer)"))
	}
	s.waiting = len(lines)
}

const promptSign = "› "

// prompt asks for a line, if somebody sits there.
func (s *streams) prompt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal.In && s.terminal.Err {
		s.endOut()
		s.endTalk()
		s.put(promptSign)
		s.talkOpen = true
	}
}

// typed notices that the user ended the line of the prompt themselves. What
// they typed is on the screen.
func (s *streams) typed(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.talkOpen = false
}

// endPrompt leaves a prompt that nothing was typed at.
func (s *streams) endPrompt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTalk()
}

// dim makes text dim where that can be shown.
func (s *streams) dim(text string) string {
	if !s.terminal.Err || !s.terminal.Dim || text == "" {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}
