package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"firn.dev"
)

// ShellOptions configures the execution of commands. Only Dir and Env are required.
type ShellOptions struct {
	// Dir is the working directory of commands.
	Dir string
	// Env is the complete environment of commands, as name=value. Nothing else is
	// inherited: no PATH, no HOME, no secrets.
	Env []string
	// Program is called with the command as its last argument; empty means sh -c, or cmd /c
	// on Windows.
	Program []string
	// Timeout applies to calls that specify none; zero means 2 minutes. MaxTimeout limits
	// the timeout of a call; zero means 10 minutes.
	Timeout, MaxTimeout time.Duration
	// Grace is the time between the request to terminate and the kill; zero means 2
	// seconds.
	Grace time.Duration
	// MaxBackground limits the time of a command in the background; zero means 1 hour.
	MaxBackground time.Duration
	// MaxOutput is the number of output bytes to keep, half of them from the beginning and
	// half from the end; zero means 1 MB.
	MaxOutput int
	// WatchFiles is the number of files in Dir up to which changes by a command are found and
	// reported to a [BatchRecorder]; zero means none.
	WatchFiles int
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
	if o.MaxBackground <= 0 {
		o.MaxBackground = time.Hour
	}
	if o.Grace <= 0 {
		o.Grace = 2 * time.Second
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = 1 << 20
	}
	if o.Env == nil {
		o.Env = []string{} // nil would inherit this process's environment
	}
	return o
}

// maxCommand limits the length of a command.
const maxCommand = 100_000

type shellArguments struct {
	Command string  `json:"command" desc:"The command, as one would type it into the shell."`
	Timeout float64 `json:"timeout,omitempty" desc:"After how many seconds the command is ended; 120 if not given, unless set otherwise."`
}

// shellDetails is the machine-readable result of a command.
type shellDetails struct {
	// ExitCode is absent if the command was killed.
	ExitCode *int `json:"exitCode,omitempty"`
	// Ended describes any other end: "signal: …".
	Ended     string `json:"ended,omitempty"`
	TimedOut  bool   `json:"timedOut,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
	Millis    int64  `json:"millis"`
	// Bytes is the size of the output, Dropped the part that was not kept.
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped,omitempty"`
	// Changed are the first changed files, ChangedFiles the number of all. Unknown is why
	// they are not known.
	Changed      []shellChange `json:"changed,omitempty"`
	ChangedFiles int           `json:"changedFiles,omitempty"`
	Unknown      string        `json:"changesUnknown,omitempty"`
}

// Shell returns the tool shell, which runs commands with all permissions of this process;
// they are not confined to Dir. [NewShells] adds commands in the background.
//
// A command has no input. The output of the command and its children is collected in order
// and reported with [Progress] while it runs. They form a process group. When the timeout
// expires, when ctx is done, or when the command has ended but others in the group still
// run, the group is asked to terminate, and is killed after Grace. When this process is
// killed, the group ends too, except on Windows. On Linux, processes that left the group,
// for example with setsid, are also killed once the command or this process has ended. They
// are found by the variable FIRN_COMMAND, which a command gets in addition to Env.
// Processes that also clear their environment or change their user keep running.
//
// When ctx is done, Shell returns the output so far together with the error.
func Shell(o ShellOptions) Tool {
	o = o.orDefault()
	return New("shell", "Runs a shell command and shows its output. It has no input. "+
		"What it leaves running in the background is ended when it returns.",
		func(ctx context.Context, a shellArguments) (Result, error) {
			if err := a.check(); err != nil {
				return Result{}, err
			}
			return o.run(ctx, a.Command, o.timeout(a.Timeout, o.Timeout, o.MaxTimeout))
		})
}

// check returns an error if the arguments are invalid.
func (a shellArguments) check() error {
	if strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0) || len(a.Command) > maxCommand || a.Timeout < 0 {
		return fmt.Errorf("%w arguments for shell: command must have 1 to %s and no NUL, and timeout must not be negative", firn.ErrInvalid, count(maxCommand, "byte"))
	}
	return nil
}

// timeout returns the time limit of a call that asks for so many seconds.
func (o ShellOptions) timeout(seconds float64, standard, most time.Duration) time.Duration {
	switch {
	case seconds <= 0:
		return standard
	case seconds < most.Seconds():
		return time.Duration(seconds * float64(time.Second))
	}
	return most
}

// errTimeout is the cause when a command takes too long.
var errTimeout = errors.New("the time was up")

// run runs one command to its end.
func (o ShellOptions) run(ctx context.Context, command string, timeout time.Duration) (Result, error) {
	progress := newProgress(ctx)
	defer progress.close()
	watch, unknown := o.watchTree(ctx)
	c, err := o.start(command, progress)
	if err != nil {
		return Result{}, err
	}
	c.watch, c.unknown = watch, unknown
	return c.finish(ctx, timeout)
}

// runningCommand is a command that was started.
type runningCommand struct {
	o      ShellOptions
	cmd    *exec.Cmd
	group  *processGroup
	pipe   *os.File
	out    *output
	copied chan struct{}
	began  time.Time
	// watch finds the files that the command changes; nil if they are not recorded. unknown
	// is the reason, if there is one.
	watch   *treeWatch
	unknown string
	// changes adds the changed files of a command in the background; nil in the foreground.
	changes func(context.Context, *shellDetails)
}

// start starts a command. The caller must call finish.
func (o ShellOptions) start(command string, progress *progressWriter) (*runningCommand, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("run a command: %w", err)
	}
	cmd := exec.Command(o.Program[0], append(o.Program[1:len(o.Program):len(o.Program)], command)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.Dir, o.Env, w, w
	c := &runningCommand{o: o, cmd: cmd, pipe: r, out: newOutput(o.MaxOutput), copied: make(chan struct{}), began: time.Now()}
	c.group, err = startGroup(cmd, o.Program, command)
	w.Close()
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("run a command in %s: %w", o.Dir, err)
	}
	go func() {
		defer close(c.copied)
		c.out.fill(r, progress)
	}()
	return c, nil
}

// finish waits for the end of the command, or ends it when the time is up or ctx is done.
func (c *runningCommand) finish(ctx context.Context, timeout time.Duration) (Result, error) {
	defer c.pipe.Close()
	defer c.group.close()
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	stopped, err := c.o.wait(limited, c.cmd, c.group)
	c.o.sweep(c.group, c.pipe, c.copied)

	details := shellDetails{Millis: time.Since(c.began).Milliseconds(), TimedOut: errors.Is(stopped, errTimeout)}
	details.Cancelled = stopped != nil && !details.TimedOut
	if c.changes != nil {
		c.changes(ctx, &details)
	} else {
		c.addChanges(ctx, &details)
	}
	result := outcome(c.out, c.cmd, err, details, timeout)
	if details.Cancelled {
		return result, fmt.Errorf("run a command: %w", stopped)
	}
	return result, nil
}

// addChanges records the files that the command changed.
func (c *runningCommand) addChanges(ctx context.Context, d *shellDetails) {
	d.Unknown = c.unknown
	if c.watch == nil {
		return
	}
	var err error
	if d.Changed, d.ChangedFiles, err = c.watch.record(ctx); err != nil {
		d.Unknown = "changed files are unknown: " + err.Error()
	}
}

// wait waits for the command itself. If ctx is done first, the group is asked to terminate
// and then killed; stopped is the cause.
func (o ShellOptions) wait(ctx context.Context, cmd *exec.Cmd, g *processGroup) (stopped, err error) {
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	select {
	case err := <-waited:
		return nil, err
	case <-ctx.Done():
	}
	stopped = context.Cause(ctx)
	g.terminate()
	select {
	case err := <-waited:
		return stopped, err
	case <-time.After(o.Grace):
		g.kill()
		return stopped, <-waited
	}
}

// groupExitWait is the time that the rest of a group has to end by itself after the command
// has ended, so that no output is lost.
const groupExitWait = 200 * time.Millisecond

// sweep ends the rest of the group after the command has ended, and waits until all output
// was read. A process outside the group that holds the pipe open loses it.
func (o ShellOptions) sweep(g *processGroup, r *os.File, copied <-chan struct{}) {
	defer g.kill() // including processes that closed the pipe
	steps := []struct {
		after time.Duration
		do    func()
	}{
		{min(groupExitWait, o.Grace), g.terminate},
		{o.Grace, g.kill},
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
	waitCopied(copied)
}

// outcome returns the result of a command.
func outcome(out *output, cmd *exec.Cmd, err error, details shellDetails, timeout time.Duration) Result {
	text, total, dropped := out.text()
	details.Bytes, details.Dropped = total, dropped
	var note string
	switch code := cmd.ProcessState.ExitCode(); {
	case details.TimedOut:
		note = fmt.Sprintf("[the command was ended after %s, as it took too long]", timeout)
	case details.Cancelled:
		note = "[the command was ended, as it was no longer wanted]"
	case code > 0:
		note = fmt.Sprintf("[exit code %d]", code)
	case code < 0:
		note = fmt.Sprintf("[the command was ended: %s]", cmd.ProcessState)
	case err != nil:
		note = fmt.Sprintf("[%v]", err)
	case text == "":
		note = "[no output]"
	}
	if note != "" {
		text = onLine(text, note, "")
	}
	if lost := lostText(details.Changed, details.ChangedFiles); lost != "" {
		text = onLine(text, lost, "")
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
