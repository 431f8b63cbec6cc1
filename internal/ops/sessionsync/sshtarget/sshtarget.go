// Package sshtarget keeps the files of a sync in a folder of another machine, on which firn is
// installed. It runs the system's ssh, with the user's settings and keys.
package sshtarget

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/ops/sessionsync"
)

// Options describe the other machine.
type Options struct {
	// Host is the machine, as ssh knows it. User and Port may be empty.
	User, Host, Port string
	// Path is the folder; empty for the default one.
	Path string
	// Rate limits the bandwidth; it may be nil.
	Rate *sessionsync.Rate
}

// Folder is a folder on another machine. Close must be called after use.
type Folder struct {
	*sessionsync.Pipe
	o   Options
	cmd *exec.Cmd
	// streams are the input and output of ssh.
	streams []io.Closer
	message *tail
	closed  bool
}

// closeWait is how long ssh may take to end after its input was closed. It only ends a hang.
const closeWait = 10 * time.Second

// Open starts ssh and firn on the other machine.
func Open(ctx context.Context, o Options) (*Folder, error) {
	cmd := exec.CommandContext(ctx, "ssh", arguments(o)...)
	cmd.WaitDelay = closeWait
	f := &Folder{o: o, cmd: cmd, message: &tail{}}
	cmd.Stderr = f.message
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.streams = []io.Closer{stdin, stdout}
	if err := cmd.Start(); err != nil {
		return nil, failure.WithHint(failure.Of(firn.ErrUnavailable, "ssh cannot be started: %v", err), "install the ssh client")
	}
	if f.Pipe, err = sessionsync.OpenPipe(stdout, stdin, o.Rate); err != nil {
		return nil, f.explain(ctx, err)
	}
	return f, nil
}

// arguments returns the arguments of ssh. The shell of the other machine reads the command.
func arguments(o Options) []string {
	args := []string{"-T", "-o", "ServerAliveInterval=30", "-o", "ServerAliveCountMax=4"}
	if o.Port != "" {
		args = append(args, "-p", o.Port)
	}
	if o.User != "" {
		args = append(args, "-l", o.User)
	}
	command := "firn sync target"
	if o.Path != "" {
		command += " '" + strings.ReplaceAll(o.Path, "'", `'\''`) + "'"
	}
	return append(args, "--", o.Host, command)
}

// All implements sessionsync.Remote.
func (f *Folder) All(ctx context.Context) ([]string, error) {
	names, err := f.Pipe.All(ctx)
	return names, f.explain(ctx, err)
}

// Get implements sessionsync.Remote.
func (f *Folder) Get(ctx context.Context, name string) ([]byte, error) {
	data, err := f.Pipe.Get(ctx, name)
	return data, f.explain(ctx, err)
}

// Put implements sessionsync.Remote.
func (f *Folder) Put(ctx context.Context, name string, data []byte) error {
	return f.explain(ctx, f.Pipe.Put(ctx, name, data))
}

// Close ends the connection.
func (f *Folder) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	for _, stream := range f.streams { // ssh then ends, even in the middle of its output
		_ = stream.Close()
	}
	hang := time.AfterFunc(closeWait, func() { _ = f.cmd.Process.Kill() })
	defer hang.Stop()
	_ = f.cmd.Wait() // an error of the connection was returned by the call that it concerned
	return nil
}

// explain returns the error of a connection that ended with its cause and a hint.
func (f *Folder) explain(ctx context.Context, err error) error {
	if err == nil || !errors.Is(err, firn.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	_ = f.Close() // returns no error
	last := f.message.last()
	code := -1
	if f.cmd.ProcessState != nil {
		code = f.cmd.ProcessState.ExitCode()
	}
	switch {
	case code == 127 || strings.Contains(last, "not found") && strings.Contains(last, "firn"):
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "firn was not found on %s", f.o.Host), "install it there, in a directory in which ssh finds commands; to check: ssh "+f.o.Host+" firn version")
	case code == 255:
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "ssh to %s failed: %s", f.o.Host, cmp.Or(last, "it ended")), "check that this works: ssh "+f.o.Host+" firn version")
	case last != "":
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "firn on %s failed: %s", f.o.Host, last), "run there: firn sync target "+f.o.Path)
	}
	return failure.WithHint(failure.Of(firn.ErrUnavailable, "the connection to %s ended: %v", f.o.Host, err), "the next sync continues")
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	t.text = bytes.Clone(t.text[max(0, len(t.text)-4096):])
	return len(b), nil
}

// last returns the last error message: the last line that is not a hint.
func (t *tail) last() string {
	found := ""
	for line := range strings.Lines(string(t.text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "hint:") && !strings.HasPrefix(line, "try:") {
			found = line
		}
	}
	return found
}
