// Package linetest is a terminal without glass: it obeys what programs send to
// terminals and can be asked what one would see. Tests look at it, and at what
// no program of ours should ever send.
package linetest

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"firn.dev/internal/base/basetest"

	"github.com/clipperhouse/displaywidth"
)

// Screen is a terminal. It is an io.Writer for what a program sends, and may be
// used from many goroutines.
type Screen struct {
	mu            sync.Mutex
	width, height int
	// rows are all rows ever written, those that scrolled away too.
	rows []line
	// x and y are where the cursor is; y counts all rows. pending says that the
	// row is full and the next character begins another.
	x, y, top int
	pending   bool
	style     style
	rest      []byte
	raw       []byte
	strange   []string
	modes     map[string]bool
	more      chan struct{}
}

// line is a row: its cells, and whether it goes on in the next one.
type line struct {
	cells []cell
	on    bool
}

// cell is a place for a character. The second one of a wide character is empty.
type cell struct {
	char  string
	style style
}

// New makes a screen.
func New(width, height int) *Screen {
	return &Screen{width: width, height: height, rows: make([]line, 1), modes: make(map[string]bool), more: make(chan struct{}, 1)}
}

// Write takes what a program sends.
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

// take obeys the next thing that was sent, and returns how long it is; zero if
// it is not whole.
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

// text shows characters up to the next thing that is none.
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
		s.strange = append(s.strange, char) // a control character of the second set
		return
	}
	if width == 0 {
		return
	}
	if s.pending || s.x+width > s.width {
		s.rows[s.y].on = true
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

// feed goes to the next row.
func (s *Screen) feed() {
	s.pending = false
	s.y++
	for len(s.rows) <= s.y {
		s.rows = append(s.rows, line{})
	}
	s.top = max(s.top, s.y-s.height+1)
}

// escape obeys an escape sequence.
func (s *Screen) escape() int {
	if len(s.rest) < 2 {
		return 0
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

// obey does what a sequence says. What our programs have no use for is strange.
func (s *Screen) obey(params string, final byte) {
	n, err := strconv.Atoi(params)
	if err != nil || n == 0 {
		n = 1
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
		s.y, s.x = s.top, 0
	case 'J':
		s.erase(params)
	case 'K':
		s.rows[s.y].cells = s.rows[s.y].cells[:min(s.x, len(s.rows[s.y].cells))]
	case 'h', 'l':
		s.modes[params] = final == 'h'
	case 'm':
		s.style.set(params)
	default:
		s.strange = append(s.strange, "\x1b["+params+string(final))
	}
}

// erase clears what stands behind the cursor, or all.
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

// Resize gives the screen another size. As most terminals do, it breaks rows
// anew that are too long, and joins those that were broken.
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
		if at {
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

// String is what one sees, without empty rows at the end.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return text(s.rows[s.top:])
}

// All is what one sees and what has scrolled away. Rows that are broken because
// they are too long are one.
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

// Cursor is where the cursor is, from the top left.
func (s *Screen) Cursor() (x, y int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.x, s.y - s.top
}

// Strange is what was sent that our programs have no use for: what would move
// windows, set titles, fill the clipboard, ring.
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

// Raw is all that was sent, as it was.
func (s *Screen) Raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.raw)
}

// Await waits until what one sees, or has seen, has a text.
func (s *Screen) Await(t testing.TB, text string) {
	t.Helper()
	s.AwaitThat(t, "there is "+strconv.Quote(text), func() bool { return strings.Contains(s.All(), text) })
}

// AwaitThat waits until something holds, which is asked whenever more was sent.
func (s *Screen) AwaitThat(t testing.TB, what string, holds func() bool) {
	t.Helper()
	late := time.After(basetest.Limit)
	for !holds() {
		select {
		case <-s.more:
		case <-late:
			t.Fatalf("waited in vain until %s; the screen has\n%s", what, s.All())
		}
	}
}
