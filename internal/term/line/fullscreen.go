package line

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Sequences of the full screen.
const (
	altScreenOn  = "\x1b[?1049h"
	altScreenOff = "\x1b[?1049l"
	clearToEnd   = "\x1b[K"

	// The mouse reports buttons and the wheel, with positions of any size (SGR).
	mouseOn  = "\x1b[?1000h\x1b[?1006h"
	mouseOff = "\x1b[?1006l\x1b[?1000l"
)

// Columns returns the number of columns of a terminal, or 0 if the file is not one.
func Columns(file *os.File) int {
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// frame is the content of a full screen. It sends only the rows that changed.
type frame struct {
	rows          []string
	width, height int
}

// draw returns the output that changes the screen to rows, with the cursor at y and x; the
// cursor is hidden if y is negative. Rows may have styles and must fit the width.
func (f *frame) draw(rows []string, width, height, y, x int) string {
	var b strings.Builder
	b.WriteString(beginSync + hideCursor)
	if width != f.width || height != f.height {
		b.WriteString(clearScreen)
		f.rows, f.width, f.height = nil, width, height
	}
	for i := range height {
		var old, next string
		if i < len(f.rows) {
			old = f.rows[i]
		}
		if i < len(rows) {
			next = rows[i]
		}
		if old != next {
			// Clearing after a full row would erase its last character in some terminals.
			fmt.Fprintf(&b, "\x1b[%d;1H%s%s", i+1, clearToEnd, next)
		}
	}
	f.rows = append([]string(nil), rows[:min(len(rows), height)]...)
	if y >= 0 {
		fmt.Fprintf(&b, "\x1b[%d;%dH%s", y+1, x+1, showCursor)
	}
	b.WriteString(endSync)
	return b.String()
}

// Screen is a terminal whose whole screen is drawn by the caller. What was on it before
// returns when it is closed. It is safe for concurrent use.
type Screen struct {
	dev    Device
	mouse  bool
	inputs chan Input
	keys   chan []byte
	gone   chan struct{}
	run    sync.WaitGroup

	mu      sync.Mutex
	decoder decoder
	frame   frame
	err     error
	restore func() error
	closed  bool
}

// Input is a key, or a change of the size if Key is empty. Keys are named like "j", "up",
// "enter", "esc", "pgdn" or "ctrl-c"; pasted text is one key whose Paste is true. The mouse
// has the keys "click", "wheelup" and "wheeldown", at column X and row Y, counted from 0.
type Input struct {
	Key   string
	Paste bool
	X, Y  int
	// End is true if there is no more input.
	End bool
}

// OpenScreen takes over a terminal. With mouse, clicks and the wheel are inputs; the terminal
// then selects text only with Shift.
func OpenScreen(dev Device, mouse bool) (*Screen, error) {
	restore, err := dev.Raw()
	if err != nil {
		return nil, fmt.Errorf("take the terminal over: %w", err)
	}
	s := &Screen{dev: dev, mouse: mouse, inputs: make(chan Input), keys: make(chan []byte), gone: make(chan struct{}), restore: restore}
	s.write(s.modesOn())
	go s.read() // it ends with the input, or when the device is released
	s.run.Go(s.loop)
	return s, nil
}

// Inputs returns the channel of keys and size changes.
func (s *Screen) Inputs() <-chan Input { return s.inputs }

// Size returns the number of columns and rows.
func (s *Screen) Size() (width, height int) {
	width, height = s.dev.Size()
	if width < 1 {
		width = 80
	}
	if height < 1 {
		height = 24
	}
	return width, height
}

// Draw shows rows, with the cursor at row y and column x, or without one if y is negative.
// Rows may have styles and must fit the screen.
func (s *Screen) Draw(rows []string, y, x int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	width, height := s.Size()
	s.write(s.frame.draw(rows, width, height, y, x))
	return s.err
}

// Suspend stops the process until it is continued, as Ctrl-Z does.
func (s *Screen) Suspend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dev.Suspend == nil || s.closed {
		return nil
	}
	s.write(s.modesOff())
	err := s.restore()
	s.dev.Suspend()
	restore, rawErr := s.dev.Raw()
	if rawErr == nil {
		s.restore = restore
	}
	s.write(s.modesOn())
	s.frame = frame{}
	return errors.Join(err, rawErr)
}

// Close restores the terminal.
func (s *Screen) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.gone)
	s.write(s.modesOff())
	err := errors.Join(s.err, s.restore())
	s.mu.Unlock()
	s.run.Wait()
	return err
}

// Copy puts a text on the clipboard of the terminal, as [Terminal.Copy] does.
func (s *Screen) Copy(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.write(copySequence(text))
	}
}

// modesOn and modesOff return the sequences that take the screen over and give it back.
func (s *Screen) modesOn() string {
	if s.mouse {
		return altScreenOn + pasteOn + mouseOn
	}
	return altScreenOn + pasteOn
}

func (s *Screen) modesOff() string {
	if s.mouse {
		return mouseOff + showCursor + pasteOff + altScreenOff
	}
	return showCursor + pasteOff + altScreenOff
}

func (s *Screen) write(text string) {
	if s.err == nil {
		_, s.err = s.dev.Out.Write([]byte(text))
	}
}

// read reads bytes until the input ends or the screen is closed.
func (s *Screen) read() {
	defer close(s.keys)
	for {
		b := make([]byte, 4096)
		n, err := s.dev.In.Read(b)
		if n > 0 {
			select {
			case s.keys <- b[:n]:
			case <-s.gone:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// loop decodes keys and passes them on until the screen is closed.
func (s *Screen) loop() {
	var lone <-chan time.Time
	for {
		var inputs []Input
		select {
		case b, ok := <-s.keys:
			if !ok {
				s.send(Input{End: true})
				<-s.gone
				return
			}
			inputs = inputsOf(s.decoder.feed(b))
		case <-lone:
			inputs = inputsOf(s.decoder.flush())
		case <-s.dev.Resized:
			inputs = []Input{{}}
		case <-s.gone:
			return
		}
		for _, in := range inputs {
			s.send(in)
		}
		lone = nil
		if s.decoder.waiting() {
			lone = time.After(escapeWait)
		}
	}
}

func (s *Screen) send(in Input) {
	select {
	case s.inputs <- in:
	case <-s.gone:
	}
}

// inputsOf returns decoded keys as inputs. Typed text becomes one key for each character.
func inputsOf(keys []key) []Input {
	var inputs []Input
	for _, k := range keys {
		switch k.name {
		case keyText:
			for _, r := range k.text {
				inputs = append(inputs, Input{Key: string(r)})
			}
		case keyPaste:
			inputs = append(inputs, Input{Key: k.text, Paste: true})
		case keyMouse:
			if in, ok := mouseInput(k.text); ok {
				inputs = append(inputs, in)
			}
		default:
			if name := k.inputName(); name != "" {
				inputs = append(inputs, Input{Key: name})
			}
		}
	}
	return inputs
}

// mouseButtons are the names of the buttons that are reported; the wheel is one of them.
var mouseButtons = map[int]string{0: "click", 64: "wheelup", 65: "wheeldown"}

// mouseInput decodes "button;x;yM". Releases end with "m" and are ignored, as are other
// buttons and clicks with modifiers.
func mouseInput(text string) (Input, bool) {
	params, pressed := strings.CutSuffix(text, "M")
	n := numbers(params)
	name, ok := mouseButtons[n[0]]
	return Input{Key: name, X: n[1] - 1, Y: n[2] - 1}, pressed && ok && n[1] > 0 && n[2] > 0
}

// inputNames are the names of keys in an Input.
var inputNames = map[keyName]string{
	keyEnter: "enter", keyNewline: "newline", keyTab: "tab", keyBackTab: "backtab", keyEscape: "esc", keyBackspace: "backspace", keyDelete: "delete",
	keyLeft: "left", keyRight: "right", keyUp: "up", keyDown: "down", keyHome: "home", keyEnd: "end", keyPageUp: "pgup", keyPageDown: "pgdn",
}

func (k key) inputName() string {
	if k.name == keyControl {
		return "ctrl-" + strings.ToLower(k.text)
	}
	return inputNames[k.name]
}
