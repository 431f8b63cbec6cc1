package line

import (
	"errors"
	"strings"
)

// ErrNoPause means that another program cannot use the terminal meanwhile.
var ErrNoPause = errors.New("no other program can use the terminal meanwhile on this system")

// Edit gives the terminal to run, which gets the text of the input line and returns the new
// one. Meanwhile no keys are read, and printed lines are kept until it returns. If run
// fails, the line is unchanged.
func (t *Terminal) Edit(run func(text string) (string, error)) error {
	if t.dev.Pause == nil {
		return ErrNoPause
	}
	// In raw mode a read never blocks once there is input, so the pause comes first.
	resume := t.dev.Pause()
	defer resume()
	t.mu.Lock()
	if t.closed || t.paused {
		t.mu.Unlock()
		return ErrNoPause
	}
	before := t.editor.expanded()
	t.release()
	t.paused = true
	t.mu.Unlock()

	text, err := run(before)

	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = false
	if t.closed {
		return err
	}
	t.takeOver()
	if text = strings.TrimRight(cleanInput(text), "\n"); err == nil && text != before {
		t.editor.menu, t.editor.folds = nil, nil
		t.editor.set(text)
	}
	kept := t.kept
	t.kept = nil
	t.draw(kept...)
	return err
}

// release removes the transient rows and leaves raw mode.
func (t *Terminal) release() {
	t.painter.clear(t.width())
	t.painter.write(t.modesOff())
	if err := t.restore(); err != nil && t.o.Report != nil {
		t.o.Report(err.Error())
	}
}

// takeOver enters raw mode again. On failure, input is line-buffered from there on.
func (t *Terminal) takeOver() {
	restore, err := t.dev.Raw()
	if err != nil {
		if t.o.Report != nil {
			t.o.Report(err.Error())
		}
		return
	}
	t.restore = restore
	t.painter.write(t.modesOn())
}

// modesOn and modesOff return the sequences that enable and disable the modes in use.
func (t *Terminal) modesOn() string {
	if t.o.Extended {
		return pasteOn + keyboardOn
	}
	return pasteOn
}

func (t *Terminal) modesOff() string {
	if t.o.Extended {
		return pasteOff + keyboardOff
	}
	return pasteOff
}
