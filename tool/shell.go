package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"firn"
)

// ShellOptions says how commands are run. Only Dir and Env need to be given.
type ShellOptions struct {
	// Dir is where commands run.
	Dir string
	// Env is the environment of commands, all of it, as name=value. What is not
	// in it, a command does not have: no PATH, no HOME, no secrets of ours.
	Env []string
	// Program is what is called with the command as its last argument; none
	// means sh -c, or cmd /c on Windows.
	Program []string
	// Timeout is for a call that names none, zero means 2 minutes; MaxTimeout
	// bounds what it may name, zero means 10 minutes.
	Timeout, MaxTimeout time.Duration
	// Grace is how long commands may take to end once they were asked to, before
	// they are made to; zero means 2 seconds.
	Grace time.Duration
	// MaxOutput is how many bytes of output are kept, half of them from the
	// beginning and half from the end; zero means 1 MB.
	MaxOutput int
}

func (o ShellOptions) orDefault() ShellOptions {
	if len(o.Program) == 0 {
		o.Program = defaultShell
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 10 * time.Minute
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	o.Timeout = min(o.Timeout, o.MaxTimeout)
	if o.Grace <= 0 {
		o.Grace = 2 * time.Second
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = 1 << 20
	}
	if o.Env == nil {
		o.Env = []string{} // nil would mean all of our own
	}
	return o
}

// maxCommand is how long a command may be.
const maxCommand = 100_000

type shellArguments struct {
	Command string  `json:"command" desc:"The command, as one would type it into the shell."`
	Timeout float64 `json:"timeout,omitempty" desc:"After how many seconds the command is ended; 120 if not given, unless set otherwise."`
}

// shellDetails is what people and programs are told of a command.
type shellDetails struct {
	// ExitCode is absent if the command was killed.
	ExitCode *int `json:"exitCode,omitempty"`
	// Ended says how it ended otherwise: "signal: …".
	Ended     string `json:"ended,omitempty"`
	TimedOut  bool   `json:"timedOut,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
	Millis    int64  `json:"millis"`
	// Bytes is how much was printed, Dropped how much of it was not kept.
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped,omitempty"`
}

// Shell makes the tool shell, which runs commands with all that the process may
// do: nothing keeps them inside of Dir. Who makes it allows that.
//
// A command has no input. What it and those it starts print is gathered in the
// order in which it comes. They are a process group: when the time is up, when
// ctx ends, and when the command itself has ended but others in the group still
// run, the group is asked to end, and after Grace it is made to. When this process
// is killed, the group ends with it, but not on Windows. On Linux what left the
// group on purpose, such as by setsid, is killed as well once the command has
// ended or this process is gone: it is found by the variable FIRN_COMMAND, which a
// command gets beside Env. What clears its environment too, or becomes another
// user's, goes on.
//
// When ctx ends, the result holds what was printed until then, beside the error.
func Shell(o ShellOptions) Tool {
	o = o.orDefault()
	return New("shell", "Runs a shell command and shows what it prints. It has no input. "+
		"What it leaves running in the background is ended when it returns.",
		func(ctx context.Context, a shellArguments) (Result, error) {
			if strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0) || len(a.Command) > maxCommand || a.Timeout < 0 {
				return Result{}, fmt.Errorf("%w arguments for shell: a command without NUL and of at most %s is needed, and timeout is not below zero", firn.ErrInvalid, count(maxCommand, "byte"))
			}
			timeout := o.Timeout
			if a.Timeout > 0 {
				timeout = o.MaxTimeout
				if a.Timeout < timeout.Seconds() {
					timeout = time.Duration(a.Timeout * float64(time.Second))
				}
			}
			return o.run(ctx, a.Command, timeout)
		})
}

// errTimeout is the cause when a command takes too long.
var errTimeout = errors.New("the time was up")

// run runs one command to its end.
func (o ShellOptions) run(ctx context.Context, command string, timeout time.Duration) (Result, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("run a command: %w", err)
	}
	defer r.Close()
	cmd := exec.Command(o.Program[0], append(o.Program[1:len(o.Program):len(o.Program)], command)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.Dir, o.Env, w, w
	began := time.Now()
	g, err := startGroup(cmd, o.Program, command)
	w.Close()
	if err != nil {
		return Result{}, fmt.Errorf("run a command in %s: %w", o.Dir, err)
	}
	defer g.close()
	out := newOutput(o.MaxOutput)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		out.fill(r)
	}()
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	stopped, err := o.wait(limited, cmd, g)
	o.sweep(g, r, copied)

	details := shellDetails{Millis: time.Since(began).Milliseconds(), TimedOut: errors.Is(stopped, errTimeout)}
	details.Cancelled = stopped != nil && !details.TimedOut
	result := outcome(out, cmd, err, details, timeout)
	if details.Cancelled {
		return result, fmt.Errorf("run a command: %w", stopped)
	}
	return result, nil
}

// wait waits for the command itself. When ctx ends first, the group is asked
// to end, and then made to; stopped is why.
func (o ShellOptions) wait(ctx context.Context, cmd *exec.Cmd, g *processGroup) (stopped, err error) {
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	select {
	case err := <-waited:
		return nil, err
	case <-ctx.Done():
	}
	stopped = context.Cause(ctx)
	g.ask()
	select {
	case err := <-waited:
		return stopped, err
	case <-time.After(o.Grace):
		g.end()
		return stopped, <-waited
	}
}

// settle is how long the rest of a group may take to end by itself once the
// command has ended, so that nothing that is being printed is lost.
const settle = 200 * time.Millisecond

// sweep ends what is left of the group once the command itself has ended, and
// waits until all output was read. Who holds the pipe open from outside of the
// group loses it.
func (o ShellOptions) sweep(g *processGroup, r *os.File, copied <-chan struct{}) {
	defer g.end() // also those who let go of the pipe
	steps := []struct {
		after time.Duration
		do    func()
	}{
		{min(settle, o.Grace), g.ask},
		{o.Grace, g.end},
		{o.Grace, func() { abandon(r) }},
	}
	for _, step := range steps {
		select {
		case <-copied:
			return
		case <-time.After(step.after):
			step.do()
		}
	}
	awaitAbandoned(copied)
}

// outcome tells what came of a command.
func outcome(out *output, cmd *exec.Cmd, err error, details shellDetails, timeout time.Duration) Result {
	text, total, dropped := out.text()
	details.Bytes, details.Dropped = total, dropped
	var said string
	switch code := cmd.ProcessState.ExitCode(); {
	case details.TimedOut:
		said = fmt.Sprintf("[the command was ended after %s, as it took too long]", timeout)
	case details.Cancelled:
		said = "[the command was ended, as it was no longer wanted]"
	case code > 0:
		said = fmt.Sprintf("[exit code %d]", code)
	case code < 0:
		said = fmt.Sprintf("[the command was ended: %s]", cmd.ProcessState)
	case err != nil:
		said = fmt.Sprintf("[%v]", err)
	case text == "":
		said = "[no output]"
	}
	if said != "" {
		text = onLine(text, said, "")
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		details.ExitCode = &code
	} else {
		details.Ended = cmd.ProcessState.String()
	}
	return Result{
		Parts:   TextResult(text).Parts,
		Details: quote(details),
		IsError: err != nil || details.TimedOut || details.Cancelled,
	}
}
