// Package linetest emulates a terminal for tests. A [Screen] interprets the output of a
// program and returns the visible text. It records sequences that firn should never send.
package linetest

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"firn.dev/internal/base/basetest"

	"github.com/clipperhouse/displaywidth"
)

// Screen is an emulated terminal. It is an io.Writer and safe for concurrent use.
type Screen struct {
	mu            sync.Mutex
	width, height int
	// rows holds all rows ever written, including those that scrolled away.
	rows []line
	// x and y are the cursor position; y counts all rows. pending is true if the row is
	// full and the next character starts a new one.
	x, y, top int
	pending   bool
	style     style
	rest      []byte
	raw       []byte
	strange   []string
	modes     map[string]bool
	more      chan struct{}
	// main is the content of the normal screen while the alternate one is shown; nil
	// otherwise.
	main *Screen
	// keys receives the answers to questions, background is the color in them, and color the
	// answer about it.
	keys              io.Writer
	background, color string
	// copied is the text that was put on the clipboard last.
	copied string
	// wrapped are the rows that were longer than the screen.
	wrapped []string
	// answered is true if a question of the program was answered.
	answered bool
	// scenes are the first rows of the scenes of a picture.
	scenes []int
}

// line is a row: its cells, and whether it continues in the next one.
type line struct {
	cells []cell
	on    bool
}

// cell holds a character. The second cell of a wide character is empty.
type cell struct {
	char  string
	style style
}

// New returns an empty screen.
func New(width, height int) *Screen {
	return &Screen{width: width, height: height, rows: make([]line, 1), modes: make(map[string]bool), more: make(chan struct{}, 1)}
}

// Write interprets output of a program.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = append(s.raw, p...)
	s.rest = append(s.rest, p...)
	for len(s.rest) > 0 {
		n := s.take()
		if n == 0 {
			break
		}
		s.rest = s.rest[n:]
	}
	select {
	case s.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

// take interprets the next character or sequence and returns its length; 0 if it is
// incomplete.
func (s *Screen) take() int {
	switch c := s.rest[0]; {
	case c == 0x1b:
		return s.escape()
	case c == '\r':
		s.x, s.pending = 0, false
	case c == '\n':
		s.feed()
	case c < 0x20 || c == 0x7f:
		s.strange = append(s.strange, string(rune(c)))
	default:
		return s.text()
	}
	return 1
}

// text shows characters up to the next control character.
func (s *Screen) text() int {
	n := 0
	for n < len(s.rest) && s.rest[n] >= 0x20 && s.rest[n] != 0x7f && utf8.FullRune(s.rest[n:]) {
		_, size := utf8.DecodeRune(s.rest[n:])
		n += size
	}
	for g := displaywidth.StringGraphemes(string(s.rest[:n])); g.Next(); {
		s.put(g.Value(), g.Width())
	}
	return n
}

// put shows one character.
func (s *Screen) put(char string, width int) {
	if r, _ := utf8.DecodeRuneInString(char); r >= 0x80 && r < 0xa0 {
		s.strange = append(s.strange, char) // a C1 control character
		return
	}
	if width == 0 {
		return
	}
	if s.pending || s.x+width > s.width {
		s.rows[s.y].on = true
		s.wrapped = append(s.wrapped, s.rows[s.y].text())
		s.x, s.pending = 0, false
		s.feed()
	}
	row := &s.rows[s.y]
	for len(row.cells) < s.x+width {
		row.cells = append(row.cells, cell{char: " "})
	}
	row.cells[s.x] = cell{char, s.style}
	for i := 1; i < width; i++ {
		row.cells[s.x+i] = cell{style: s.style}
	}
	if s.x += width; s.x >= s.width {
		s.x, s.pending = s.width-1, true
	}
}

// feed moves to the next row.
func (s *Screen) feed() {
	s.pending = false
	s.y++
	for len(s.rows) <= s.y {
		s.rows = append(s.rows, line{})
	}
	s.top = max(s.top, s.y-s.height+1)
}

// escape interprets an escape sequence.
func (s *Screen) escape() int {
	if len(s.rest) < 2 {
		return 0
	}
	if s.rest[1] == ']' {
		return s.command()
	}
	if s.rest[1] != '[' {
		s.strange = append(s.strange, string(s.rest[:2]))
		return 2
	}
	n := 2
	for n < len(s.rest) && s.rest[n] >= 0x20 && s.rest[n] <= 0x3f {
		n++
	}
	if n == len(s.rest) {
		return 0
	}
	s.obey(string(s.rest[2:n]), s.rest[n])
	return n + 1
}

// obey executes a control sequence. Sequences that firn does not use are recorded as
// strange.
func (s *Screen) obey(params string, final byte) {
	n, err := strconv.Atoi(params)
	if err != nil || n == 0 {
		n = 1
	}
	if s.mode(params, final) {
		return
	}
	s.pending = s.pending && final == 'm'
	switch final {
	case 'A':
		s.y = max(s.y-n, s.top)
	case 'B':
		s.y = min(s.y+n, s.top+s.height-1, len(s.rows)-1)
	case 'C':
		s.x = min(s.x+n, s.width-1)
	case 'D':
		s.x = max(s.x-n, 0)
	case 'H':
		s.moveTo(params)
	case 'J':
		s.erase(params)
	case 'K':
		s.rows[s.y].cells = s.rows[s.y].cells[:min(s.x, len(s.rows[s.y].cells))]
	case 'h', 'l':
		s.modes[params] = final == 'h'
		if params == "?1049" {
			s.alternate(final == 'h')
		}
	case 'm':
		s.style.set(params)
	default:
		s.strange = append(s.strange, "\x1b["+params+string(final))
	}
}

// moveTo places the cursor, given as row and column from 1.
func (s *Screen) moveTo(params string) {
	row, column, _ := strings.Cut(params, ";")
	y, _ := strconv.Atoi(row) // an empty parameter is the first row or column
	x, _ := strconv.Atoi(column)
	s.y, s.x = s.top+min(max(y, 1), s.height)-1, min(max(x, 1), s.width)-1
	for len(s.rows) <= s.y {
		s.rows = append(s.rows, line{})
	}
}

// alternate shows the alternate screen, which is empty, or returns to the normal one.
func (s *Screen) alternate(on bool) {
	switch {
	case on && s.main == nil:
		s.main = &Screen{rows: s.rows, x: s.x, y: s.y, top: s.top}
		s.rows, s.x, s.y, s.top = make([]line, 1), 0, 0, 0
	case !on && s.main != nil:
		s.rows, s.x, s.y, s.top = s.main.rows, s.main.x, s.main.y, s.main.top
		s.main = nil
	}
	s.pending = false
}

// erase clears the screen from the cursor on, or all of it.
func (s *Screen) erase(params string) {
	if params == "2" {
		for i := s.top; i < len(s.rows); i++ {
			s.rows[i] = line{}
		}
		return
	}
	row := &s.rows[s.y]
	row.cells, row.on = row.cells[:min(s.x, len(row.cells))], false
	s.rows = s.rows[:s.y+1]
}

// Resize changes the size of the screen. Like most terminals, it rewraps long rows.
func (s *Screen) Resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []line
	var whole []cell
	y, x := 0, 0
	for i, r := range s.rows {
		if i == s.y {
			x = len(whole) + s.x
		}
		at := i == s.y
		whole = append(whole, r.cells...)
		if at && x >= len(whole) { // past the end of the row: tmux keeps the cursor on it, others do not
			y = len(rows) + max(len(whole)-1, 0)/width
			x = min(x-(y-len(rows))*width, width-1)
		} else if at {
			y = len(rows) + x/width
		}
		if r.on {
			continue
		}
		for len(whole) > width {
			rows = append(rows, line{whole[:width], true})
			whole = whole[width:]
		}
		rows = append(rows, line{whole, false})
		whole = nil
	}
	s.rows, s.width, s.height, s.x, s.y, s.pending = rows, width, height, x%width, y, false
	for len(s.rows) <= s.y {
		s.rows = append(s.rows, line{})
	}
	s.top = max(len(s.rows)-height, 0)
}

// String returns the visible text without empty rows at the end.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return text(s.rows[s.top:])
}

// All returns the visible and the scrolled text. Wrapped rows are joined.
func (s *Screen) All() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return text(s.rows)
}

func text(rows []line) string {
	var b strings.Builder
	for _, r := range rows {
		row := r.text()
		if !r.on {
			row = strings.TrimRight(row, " ") + "\n"
		}
		b.WriteString(row)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func (l line) text() string {
	var b strings.Builder
	for _, c := range l.cells {
		b.WriteString(c.char)
	}
	return b.String()
}

// Cursor returns the cursor position, from the top left.
func (s *Screen) Cursor() (x, y int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.x, s.y - s.top
}

// Wrapped returns the rows that were longer than the screen, so that the terminal continued
// them in the next row.
func (s *Screen) Wrapped() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrapped)
}

// Strange returns the sequences that firn does not use, such as those that move windows,
// set titles, fill the clipboard or ring the bell.
func (s *Screen) Strange() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.strange...)
}

// Mode reports whether a mode is on, as in "?2004".
func (s *Screen) Mode(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modes[name]
}

// Raw returns all bytes received.
func (s *Screen) Raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.raw)
}

// Await waits until the visible or scrolled text contains text.
func (s *Screen) Await(t testing.TB, text string) {
	t.Helper()
	s.AwaitThat(t, "there is "+strconv.Quote(text), func() bool { return strings.Contains(s.All(), text) })
}

// AwaitThat waits until holds returns true. It is called after each write.
func (s *Screen) AwaitThat(t testing.TB, what string, holds func() bool) {
	t.Helper()
	timeout := time.After(basetest.Limit)
	for !holds() {
		select {
		case <-s.more:
		case <-timeout:
			t.Fatalf("timed out waiting until %s; the screen has\n%s", what, s.All())
		}
	}
}
