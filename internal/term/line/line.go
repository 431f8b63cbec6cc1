// Package line is a line editor for a terminal that prints output while the user types.
//
// Printed lines stay and scroll away. Below them are transient rows: a live area and the
// input line, which supports history, multiple lines, completion, search and a picker. A
// [Terminal] owns the whole terminal from Open to Close; other output corrupts the display.
//
// The package prints text unchanged. The caller must sanitize untrusted text first.
package line

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"firn.dev/internal/disk/history"
	"fmt"
	"io"
	"sync"
	"time"
)

// Device is a terminal of the operating system. [Files] makes one from two files.
type Device struct {
	In  io.Reader
	Out io.Writer
	// Raw switches to raw mode and returns a function that undoes it.
	Raw func() (restore func() error, err error)
	// Size returns the number of columns and rows.
	Size func() (width, height int)
	// Resized receives a value when the size may have changed. It is nil if that is not
	// supported.
	Resized <-chan struct{}
	// Suspend stops the process until it is continued. It is nil if that is not supported.
	Suspend func()
	// Pause stops reading from In until resume is called, so that another program can read
	// from the terminal. It is nil if that is not supported.
	Pause func() (resume func())
}

// Options configures a terminal. The zero value is usable.
type Options struct {
	// Prompt precedes the input, More its further lines.
	Prompt, More string
	History      *history.History
	Complete     Completer
	// Suggest fills the menu below the input line. It may be nil.
	Suggest Suggester
	// Paste gets pasted text first, without line breaks at its end. If it returns a
	// placeholder, that is inserted instead. It may be nil.
	Paste func(text string) (label string)
	// Extended uses the keyboard protocol and asks for the background color. It is for
	// terminals that ignore unknown sequences.
	Extended bool
	// Vim edits the line with the keys of vi.
	Vim bool
	// Palette is the choice of colors and characters. Unless FixedColors is set, it follows
	// the background that the terminal reports.
	Palette     Palette
	FixedColors bool
	// Styles permits dim and bold text.
	Styles bool
	// Report receives errors outside of editing. It may be nil.
	Report func(message string)
	// Unfold is called for Ctrl-O, to show what was folded. It may be nil.
	Unfold func()
}

// Event is an action of the user.
type Event struct {
	Kind EventKind
	// Text is the submitted input, or the content of the line, with folded pastes expanded.
	// Shown is the submitted input as it was shown.
	Text, Shown string
	// Again is true if Escape was pressed twice in an empty line.
	Again bool
}

// EventKind is the kind of an event.
type EventKind int

// The kinds of events.
const (
	// Entered is submitted input; it may span several lines.
	Entered EventKind = iota
	// Interrupt is Ctrl-C. The line is unchanged.
	Interrupt
	// End is Ctrl-D in an empty line, or the end of the input.
	End
	// Escape is Escape outside of menus. The line is unchanged.
	Escape
	// OpenEditor is Ctrl-G. The line is unchanged.
	OpenEditor
	// PasteImage is Ctrl-V. The line is unchanged.
	PasteImage
)

// Terminal is a terminal in use. It is safe for concurrent use.
type Terminal struct {
	dev    Device
	o      Options
	events chan Event
	keys   chan []byte
	gone   chan struct{}
	run    sync.WaitGroup

	mu      sync.Mutex
	editor  *editor
	decoder decoder
	painter painter
	style   style
	live    []row
	// asking is true while the input line is shown.
	asking bool
	// hint is shown below the input line until the next key.
	hint string
	// paused is true while another program uses the terminal; kept are the lines to print
	// afterwards.
	paused bool
	kept   []string
	query  query
	// picker is the open picker, and picked receives its result.
	picker *picker
	picked chan int
	// pager is the open pager, and held are the lines to print when it is closed.
	pager   *pager
	held    []string
	restore func() error
	closed  bool
}

// Open takes over a terminal. The input line is hidden until Prompt is called, but input is
// kept.
func Open(dev Device, o Options) (*Terminal, error) {
	restore, err := dev.Raw()
	if err != nil {
		return nil, fmt.Errorf("take the terminal over: %w", err)
	}
	if o.Prompt == "" {
		o.Prompt, o.More = "› ", "  "
	}
	t := &Terminal{
		dev: dev, o: o, events: make(chan Event), keys: make(chan []byte), gone: make(chan struct{}),
		editor: newEditor(o.History, o.Complete), painter: painter{out: dev.Out, palette: o.Palette}, style: style(o.Styles), restore: restore,
	}
	t.editor.suggest = o.Suggest
	if o.Vim {
		t.editor.vim = &vim{}
		t.editor.reset()
	}
	t.painter.write(t.modesOn())
	t.ask()
	go t.read() // a read from a terminal cannot be canceled: it ends with the next key, or with the process
	t.run.Go(t.loop)
	return t, nil
}

// Events returns the channel of events. The terminal waits until an event is received.
func (t *Terminal) Events() <-chan Event { return t.events }

// Close restores the terminal. Printed lines stay.
func (t *Terminal) Close() error {
	t.awaitReply()
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closePager()
	t.closed = true
	close(t.gone)
	err := t.painter.err
	if !t.paused {
		t.painter.clear(t.width())
		t.painter.write(t.modesOff())
		err = errors.Join(t.painter.err, t.restore())
	}
	if t.picked != nil {
		close(t.picked)
		t.picker, t.picked = nil, nil
	}
	t.mu.Unlock()
	t.run.Wait()
	return err
}

// Err returns the error that prevents further output, or nil.
func (t *Terminal) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.painter.err
}

// Prompt shows or hides the input line.
func (t *Terminal) Prompt(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking = on
	t.draw()
}

// Hint shows a dim row below the input line until the next key.
func (t *Terminal) Hint(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hint = text
	t.draw()
}

// Clear empties the input line.
func (t *Terminal) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.editor.reset()
	t.draw()
}

// Print prints lines, which stay. They may contain styles, but no line breaks.
func (t *Terminal) Print(lines ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draw(lines...)
}

// Copy puts a text on the clipboard with the sequence OSC 52, which also works over ssh. A
// terminal that does not support or allow it ignores it.
func (t *Terminal) Copy(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.painter.write(copySequence(text))
	}
}

// copySequence returns the sequence OSC 52 that puts a text on the clipboard.
func copySequence(text string) string {
	return "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x1b\\"
}

// Echo prints input as it was typed.
func (t *Terminal) Echo(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, r := range layOut(t.o.Prompt, t.o.More, text, -1, t.width()).rows {
		lines = append(lines, t.style.bold(r.text))
	}
	t.draw(lines...)
}

// Show prints lines and replaces the live rows below them. Live rows contain no styles and
// are cut to the width of the screen.
func (t *Terminal) Show(lines []string, live ...Live) {
	t.mu.Lock()
	defer t.mu.Unlock()
	width := t.width()
	t.live = nil
	for _, l := range live {
		r := plainRow(l.Text, width)
		if l.Dim {
			r.text = t.style.dim(r.text)
		}
		t.live = append(t.live, r)
	}
	t.draw(lines...)
}

// Live is a transient row.
type Live struct {
	Text string
	Dim  bool
}

// Size returns the number of columns and rows of the screen.
func (t *Terminal) Size() (width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size()
}

// Width returns the number of columns of the screen.
func (t *Terminal) Width() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.width()
}

func (t *Terminal) width() int {
	width, _ := t.size()
	return width
}

// size returns the size of the screen, or a default.
func (t *Terminal) size() (width, height int) {
	width, height = t.dev.Size()
	if width < 1 {
		width = 80
	}
	if height < 1 {
		height = 24
	}
	return width, height
}

// Pick shows a list to choose from. It returns the chosen row, or -1 if none was chosen or
// ctx ended.
func (t *Terminal) Pick(ctx context.Context, c Choice) int {
	if len(c.Rows) == 0 {
		return -1
	}
	picked, ok := t.openPicker(newPicker(c))
	if !ok {
		return -1
	}
	select {
	case row, ok := <-picked:
		if ok {
			return row
		}
	case <-ctx.Done():
		t.closePicker(picked)
	}
	return -1
}

// openPicker shows a picker. It reports false if one is open or the terminal is closed.
func (t *Terminal) openPicker(p *picker) (picked chan int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.picker != nil {
		return nil, false
	}
	picked = make(chan int, 1)
	t.picker, t.picked = p, picked
	t.draw()
	return picked, true
}

// closePicker removes a picker that is still open.
func (t *Terminal) closePicker(picked chan int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.picked == picked {
		t.picker, t.picked = nil, nil
		t.draw()
	}
}

// escapeWait is how long to wait for the rest of a sequence after an Escape.
const escapeWait = 40 * time.Millisecond

// answerWait is how long to wait for the rest of an answer of the terminal.
const answerWait = time.Second

// read reads keys until the input ends or the terminal is closed.
func (t *Terminal) read() {
	defer close(t.keys)
	for first := true; ; first = false {
		b := make([]byte, 4096)
		n, err := t.dev.In.Read(b)
		if first && n > 1 { // typed before raw mode: the system has replaced Enter with \n
			b = bytes.ReplaceAll(b[:n], []byte("\n"), []byte("\r"))
		}
		if n > 0 {
			select {
			case t.keys <- b[:n]:
			case <-t.gone:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// loop handles input and size changes until the terminal is closed.
func (t *Terminal) loop() {
	var lone <-chan time.Time
	for {
		select {
		case b, ok := <-t.keys:
			if !ok {
				t.sendEvent(Event{Kind: End})
				<-t.gone
				return
			}
			t.pressAll(t.decode(b))
		case <-lone:
			t.pressAll(t.flush())
		case <-t.dev.Resized:
			t.mu.Lock()
			t.draw()
			t.mu.Unlock()
		case <-t.gone:
			return
		}
		lone = nil
		if wait := t.waiting(); wait > 0 {
			lone = time.After(wait)
		}
	}
}

func (t *Terminal) decode(b []byte) []key {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decoder.feed(b)
}

func (t *Terminal) flush() []key {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decoder.flush()
}

// waiting returns how long to wait for the rest of a sequence; zero if none is pending.
func (t *Terminal) waiting() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.decoder.waiting():
		return 0
	case t.decoder.answering():
		return answerWait
	}
	return escapeWait
}

// sendEvent sends an event unless the terminal is closed.
func (t *Terminal) sendEvent(e Event) {
	select {
	case t.events <- e:
	case <-t.gone:
	}
}
