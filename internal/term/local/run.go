package local

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"
)

// maxOutput is the number of bytes kept of a command's output, from its end.
const maxOutput = 50 << 10

// Executed is a command that has ended.
type Executed struct {
	Output string
	// ExitCode is nil if the command was killed.
	ExitCode *int
	// Cancelled is true if ctx ended, and Truncated if the beginning of the output is
	// missing.
	Cancelled, Truncated bool
}

// killWait is how long a killed command may keep its output open.
const killWait = 2 * time.Second

// Run runs a command in the user's shell, in Dir and without input. It passes output to
// progress as it arrives. When ctx ends, the command and its children are killed. An error
// means that the command did not run.
func (m Machine) Run(ctx context.Context, command string, progress func(text string)) (Executed, error) {
	cmd := m.shell(ctx, command)
	cmd.Dir = m.Dir
	cmd.WaitDelay = killWait
	out := &tail{progress: progress}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	done := Executed{Output: out.text(), Truncated: out.cut, Cancelled: ctx.Err() != nil}
	var exit *exec.ExitError
	switch {
	case done.Cancelled, errors.Is(err, exec.ErrWaitDelay):
		return done, nil
	case err != nil && !errors.As(err, &exit):
		return done, err
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		done.ExitCode = &code
	}
	return done, nil
}

// tail keeps the end of what is written to it. Only one goroutine writes.
type tail struct {
	kept     []byte
	cut      bool
	progress func(string)
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*maxOutput {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-maxOutput:]...)
		t.cut = true
	}
	if t.progress != nil {
		t.progress(string(p))
	}
	return len(p), nil
}

// text returns the kept output without an incomplete first line.
func (t *tail) text() string {
	kept := t.kept
	if len(kept) > maxOutput {
		kept, t.cut = kept[len(kept)-maxOutput:], true
	}
	text := strings.ReplaceAll(string(kept), "\r\n", "\n")
	if t.cut {
		if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
			text = text[i+1:]
		}
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.TrimRight(text, "\n")
}
