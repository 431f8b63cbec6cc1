package chat

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"firn.dev/internal/render/prose"
)

// screen displays the chat: on a pair of streams, or on a board, which supports line
// editing. It is safe for concurrent use.
type screen interface {
	// answer prints the next part of an answer, and endAnswer ends it.
	answer(text string)
	endAnswer()
	// thinking temporarily shows the last line of the model's thinking; an empty text
	// removes it.
	thinking(text string)
	// printf prints a line of status text, note a dim one, and lines several.
	printf(format string, args ...any)
	note(format string, args ...any)
	lines(lines []string)
	// problem prints an error and its hint.
	problem(err error, hint string)
	// callBegins shows a running tool call, and callEnds its result.
	callBegins(id, what string)
	callEnds(id, what, how string)
	// callOutput adds output of a running call, whose last lines are shown.
	callOutput(id, text string)
	// busy shows or hides an activity marker, and showQueue shows the queued input.
	busy(is bool)
	showQueue(lines []string)
	// prompt shows the input prompt. typed ends it with a line, which is echoed unless it
	// is already on the screen; endPrompt ends it without one.
	prompt()
	typed(text string)
	endPrompt()
	// width returns the number of columns that lines must fit, or 0 if they need not.
	width() int
	// seen reports whether status text is shown on a terminal.
	seen() bool
	// failure returns the error that prevents further output of answers, or nil.
	failure() error
}

// streams is a [screen] on two streams: answers on one, status text on the other.
type streams struct {
	mu        sync.Mutex
	out, talk io.Writer
	terminal  Terminal

	// outOpen and talkOpen are true if the last line of the stream is incomplete.
	outOpen, talkOpen bool
	// call is the tool call of the incomplete line, talkWidth its width.
	call      string
	talkWidth int
	// waiting is the number of queued lines.
	waiting int
	// err is the first error while printing an answer.
	err error
}

func newStreams(o Options) *streams {
	return &streams{out: o.Stdout, talk: o.Stderr, terminal: o.Terminal}
}

// width returns the columns of a terminal without line editing. Other streams have no width.
func (s *streams) width() int {
	if !s.terminal.Err {
		return 0
	}
	return s.terminal.Columns
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

// write writes to stdout.
func (s *streams) write(text string) {
	if s.err != nil || text == "" {
		return
	}
	if _, err := io.WriteString(s.out, text); err != nil {
		s.err = fmt.Errorf("print the answer: %w", err)
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

// thinking does nothing: output on a stream cannot be removed.
func (s *streams) thinking(string) {}

func (s *streams) printf(format string, args ...any) {
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

// problemLines formats an error and its hint.
func problemLines(err error, hint string) []string {
	lines := []string{headline(err) + prose.OneLine(err.Error(), 2000)}
	if hint != "" {
		lines = append(lines, "hint: "+prose.Clean(hint))
	}
	return lines
}

// line writes a line of status text.
func (s *streams) line(text string) {
	s.endOut()
	s.endTalk()
	s.put(strings.Join(prose.WrapAll(strings.Split(text, "\n"), s.width()), "\n") + "\n")
}

// promptWidth is the width of a prompt that may be on the line of a call: a line was typed
// before it was shown.
const promptWidth = 2

// callBegins prints a call on a terminal and leaves the line open for its result.
func (s *streams) callBegins(id, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal.Err {
		return
	}
	s.endOut()
	s.endTalk()
	rows := prose.Wrap("· "+what+" …", s.width()-promptWidth)
	s.put(s.dim(strings.Join(rows, "\n")))
	s.talkOpen, s.call, s.talkWidth = true, id, promptWidth+prose.Width(rows[len(rows)-1])
}

// callEnds prints the result of a call, on the call's line if that is still open.
func (s *streams) callEnds(id, what, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.talkOpen && s.call == id {
		rows := []string{" " + how}
		if width := s.width(); width > 0 && s.talkWidth+1+prose.Width(how) > width {
			rows = append([]string{""}, prose.Wrap("  "+how, width)...)
		}
		s.put(s.dim(strings.Join(rows, "\n")) + "\n")
		s.talkOpen, s.call = false, ""
		return
	}
	s.line(s.dim("· " + what + " … " + how))
}

// callOutput does nothing: output on a stream cannot be replaced.
func (s *streams) callOutput(string, string) {}

// put writes to stderr. Errors are ignored: they could not be reported.
func (s *streams) put(text string) { _, _ = io.WriteString(s.talk, text) }

// endTalk ends the open line of status text.
func (s *streams) endTalk() {
	if s.talkOpen {
		s.put("\n")
		s.talkOpen, s.call = false, ""
	}
}

// endOut ends the open line of an answer if status text would follow it on the same
// terminal.
func (s *streams) endOut() {
	if s.outOpen && s.terminal.Out && s.terminal.Err {
		s.write("\n")
	}
}

// busy does nothing on streams.
func (s *streams) busy(bool) {}

// showQueue notes on a terminal that the input was queued.
func (s *streams) showQueue(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(lines) > s.waiting && s.terminal.In && s.terminal.Err {
		s.line(s.dim("(queued)"))
	}
	s.waiting = len(lines)
}

const promptSign = "› "

// prompt prints the prompt on a terminal.
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

// typed records that the user ended the prompt's line. The text is already on the screen.
func (s *streams) typed(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.talkOpen = false
}

// endPrompt ends a prompt without input.
func (s *streams) endPrompt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTalk()
}

// dim makes text dim where styles are supported.
func (s *streams) dim(text string) string {
	if !s.terminal.Err || !s.terminal.Dim || text == "" {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}
