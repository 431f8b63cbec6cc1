// Package line is a terminal that somebody types at while things are printed.
//
// What is printed stays and scrolls away. Below it stand things that come and
// go: what is still being said, and the line that is typed, which can be edited
// as people are used to (history, words, several lines, completion, search, a
// list to choose from). The whole terminal belongs to a [Terminal] from Open to
// Close; who prints past it spoils the picture.
//
// The package knows no conversations. It prints what it is given, so whoever
// hands it the words of strangers has made them harmless before.
package line

import (
	"context"
	"errors"
	"firn.dev/internal/disk/history"
	"fmt"
	"io"
	"sync"
	"time"
)

// Device is a terminal as the system has it. [Files] makes one of two files.
type Device struct {
	In  io.Reader
	Out io.Writer
	// Raw lets every key come through at once, and returns what undoes that.
	Raw func() (restore func() error, err error)
	// Size tells how many columns and rows there are.
	Size func() (width, height int)
	// Resized tells that the size may be another one; nil if nobody knows.
	Resized <-chan struct{}
	// Suspend stops the program until it is told to go on; nil if it cannot be.
	Suspend func()
}

// Options says how a terminal is used. The zero value is a good one.
type Options struct {
	// Prompt stands before what is typed, More before further lines of it.
	Prompt, More string
	History      *history.History
	Complete     Completer
	// Styles says that text may be dim or bold.
	Styles bool
	// Report is told what went wrong beside the typing. Nil: nobody.
	Report func(message string)
}

// Event is something that who types did.
type Event struct {
	Kind EventKind
	// Text is the line, or what stood in it.
	Text string
}

// EventKind says what was done.
type EventKind int

// The kinds of events.
const (
	// Entered is a line, which may have several.
	Entered EventKind = iota
	// Interrupt is Ctrl-C. The line is as it was.
	Interrupt
	// End is Ctrl-D in an empty line, or the end of the input.
	End
)

// Terminal is a terminal in use. Its methods may be called from many goroutines.
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
	// asking says that the line is shown.
	asking bool
	// picker is a choice that is being made, picked where it is told.
	picker  *picker
	picked  chan int
	restore func() error
	closed  bool
}

// Open takes a terminal over. Until Prompt is called no line is shown, but what
// is typed is kept.
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
		editor: newEditor(o.History, o.Complete), painter: painter{out: dev.Out}, style: style(o.Styles), restore: restore,
	}
	t.painter.write(pasteOn)
	go t.read() // a read from a terminal cannot be called off: it ends with the next key, or with the process
	t.run.Go(t.loop)
	return t, nil
}

// Events tells what who types does. They wait until they are taken.
func (t *Terminal) Events() <-chan Event { return t.events }

// Close gives the terminal back as it was. What is printed stays.
func (t *Terminal) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	close(t.gone)
	t.painter.clear(t.width())
	t.painter.write(pasteOff)
	err := errors.Join(t.painter.err, t.restore())
	if t.picked != nil {
		close(t.picked)
		t.picker, t.picked = nil, nil
	}
	t.mu.Unlock()
	t.run.Wait()
	return err
}

// Err is why nothing can be shown any more; nil if it can.
func (t *Terminal) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.painter.err
}

// Prompt shows the line that is typed, or hides it.
func (t *Terminal) Prompt(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking = on
	t.draw()
}

// Clear empties the line.
func (t *Terminal) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.editor.reset()
	t.draw()
}

// Print prints lines, which stay. They may have styles, but no line breaks.
func (t *Terminal) Print(lines ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draw(lines...)
}

// Echo prints a line that was typed, as it was typed.
func (t *Terminal) Echo(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, r := range lay(t.o.Prompt, t.o.More, text, -1, t.width()).rows {
		lines = append(lines, t.style.bold(r.text))
	}
	t.draw(lines...)
}

// Show prints lines and replaces what is shown below them for the time being.
// Live rows have no styles of their own, are cut to the screen, and shown dim
// if dim says so.
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

// Live is a row that is shown for the time being.
type Live struct {
	Text string
	Dim  bool
}

// Width is how many columns the screen has.
func (t *Terminal) Width() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.width()
}

func (t *Terminal) width() int {
	width, _ := t.size()
	return width
}

// size is the size of the screen, or a guess.
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

// Pick lets somebody choose. It returns the row, or -1 if they chose none or ctx
// ended.
func (t *Terminal) Pick(ctx context.Context, c Choice) int {
	t.mu.Lock()
	if t.closed || t.picker != nil || len(c.Rows) == 0 {
		t.mu.Unlock()
		return -1
	}
	picked := make(chan int, 1)
	t.picker, t.picked = newPicker(c), picked
	t.draw()
	t.mu.Unlock()
	select {
	case row, ok := <-picked:
		if ok {
			return row
		}
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.picked == picked {
			t.picker, t.picked = nil, nil
			t.draw()
		}
	}
	return -1
}

// escapeWait is how long an Escape may be the beginning of something longer.
const escapeWait = 40 * time.Millisecond

// read reads keys until there are none or nobody wants them.
func (t *Terminal) read() {
	defer close(t.keys)
	for {
		b := make([]byte, 4096)
		n, err := t.dev.In.Read(b)
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

// loop deals with what happens, until the terminal is closed.
func (t *Terminal) loop() {
	var lone <-chan time.Time
	for {
		select {
		case b, ok := <-t.keys:
			if !ok {
				t.tell(Event{Kind: End})
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
		if t.waiting() {
			lone = time.After(escapeWait)
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

func (t *Terminal) waiting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decoder.waiting()
}

// tell hands an event over.
func (t *Terminal) tell(e Event) {
	select {
	case t.events <- e:
	case <-t.gone:
	}
}
