package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"firn.dev"
)

const (
	// maxBackground limits the commands in the background that have not been read to their
	// end.
	maxBackground = 16
	// maxPoll limits how long shell_output waits.
	maxPoll = 60 * time.Second
)

// Shells are the tools shell, shell_output and shell_kill: commands in the foreground and
// in the background. A command in the background runs until it ends, is killed, reaches its
// time limit, or Shells is closed. It is safe for concurrent use.
type Shells struct {
	o      ShellOptions
	mu     sync.Mutex
	jobs   map[string]*shellJob
	closed bool
	group  sync.WaitGroup
}

// shellJob is a command in the background.
type shellJob struct {
	handle string
	run    *runningCommand
	// changes are the files that it changed.
	changes *jobChanges
	cancel  context.CancelCauseFunc
	// done is closed when result is set.
	done   chan struct{}
	result Result
}

// NewShells returns the tools for commands. Close ends those in the background.
func NewShells(o ShellOptions) *Shells {
	return &Shells{o: o.orDefault(), jobs: make(map[string]*shellJob)}
}

// Close ends all commands in the background and waits for them.
func (s *Shells) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, j := range s.jobs {
		j.cancel(firn.ErrClosed)
	}
	s.mu.Unlock()
	s.group.Wait()
	return nil
}

type shellsArguments struct {
	Command    string  `json:"command" desc:"The command, as one would type it into the shell."`
	Timeout    float64 `json:"timeout,omitempty" desc:"After how many seconds the command is ended; 120 if not given, unless set otherwise. In the background: 3600."`
	Background bool    `json:"background,omitempty" desc:"Start the command and return a handle immediately. shell_output shows its output, shell_kill stops it."`
}

type handleArguments struct {
	Handle string `json:"handle" desc:"The handle that shell returned."`
}

type pollArguments struct {
	Handle string  `json:"handle" desc:"The handle that shell returned."`
	Wait   float64 `json:"wait,omitempty" desc:"How many seconds to wait for the command to end; at most 60."`
}

// jobDetails is the machine-readable result of a call about a command in the background.
type jobDetails struct {
	Handle  string `json:"handle"`
	Running bool   `json:"running"`
	// Changed, ChangedFiles and Unknown are as for a command in the foreground, since the
	// command started.
	Changed      []shellChange `json:"changed,omitempty"`
	ChangedFiles int           `json:"changedFiles,omitempty"`
	Unknown      string        `json:"changesUnknown,omitempty"`
}

// Tools returns the tools.
func (s *Shells) Tools() []Tool {
	return []Tool{
		New("shell", "Runs a shell command and shows its output. It has no input. Processes it leaves running are killed when it returns; "+
			"for a server or a long build set background.", s.shell),
		New("shell_output", "Shows the output of a background command since the last call, and its exit status.", s.output),
		New("shell_kill", "Ends a command in the background and shows its last output.", s.kill),
	}
}

func (s *Shells) shell(ctx context.Context, a shellsArguments) (Result, error) {
	if err := (shellArguments{a.Command, a.Timeout}).check(); err != nil {
		return Result{}, err
	}
	if !a.Background {
		s.Compare()
		defer s.acceptAll()
		return s.o.run(ctx, a.Command, s.o.timeout(a.Timeout, s.o.Timeout, s.o.MaxTimeout))
	}
	j, err := s.start(ctx, a.Command, s.o.timeout(a.Timeout, s.o.MaxBackground, s.o.MaxBackground))
	if err != nil {
		return Result{}, err
	}
	text := fmt.Sprintf("started in the background, handle %s: shell_output shows its output, shell_kill stops it", j.handle)
	return Result{Parts: TextResult(text).Parts, Details: quote(jobDetails{Handle: j.handle, Running: true})}, nil
}

// start starts a command in the background. The handle is random, so that a session cannot
// use the commands of another.
func (s *Shells) start(callCtx context.Context, command string, timeout time.Duration) (*shellJob, error) {
	changes := s.o.watchJob(callCtx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("start a command: the shell was %w", firn.ErrClosed)
	}
	s.forgetOldest()
	if len(s.jobs) >= maxBackground {
		return nil, fmt.Errorf("%d commands run in the background already: end one with shell_kill (%w)", len(s.jobs), firn.ErrTooLarge)
	}
	run, err := s.o.start(command, nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	j := &shellJob{handle: "sh-" + strings.ToLower(rand.Text()[:16]), run: run, changes: changes, cancel: cancel, done: make(chan struct{})}
	run.changes = changes.addTo
	s.jobs[j.handle] = j
	s.group.Go(func() {
		defer cancel(nil)
		j.result, _ = run.finish(ctx, timeout) // the result says how it ended
		close(j.done)
	})
	return j, nil
}

// forgetOldest removes a command that ended and whose output was not read, if there is no
// room. The caller holds mu.
func (s *Shells) forgetOldest() {
	var oldest *shellJob
	for _, j := range s.jobs {
		if j.ended() && (oldest == nil || j.run.began.Before(oldest.run.began)) {
			oldest = j
		}
	}
	if len(s.jobs) >= maxBackground && oldest != nil {
		delete(s.jobs, oldest.handle)
	}
}

// ended reports whether the command has ended.
func (j *shellJob) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// job finds a command by its handle.
func (s *Shells) job(handle string) (*shellJob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, ok := s.jobs[strings.TrimSpace(handle)]
	if !ok {
		return nil, fmt.Errorf("the command %s was %w: it was read to its end, or this process was restarted since", display(ellipsis(handle, 80)), firn.ErrNotFound)
	}
	return j, nil
}

func (s *Shells) output(ctx context.Context, a pollArguments) (Result, error) {
	j, err := s.job(a.Handle)
	if err != nil {
		return Result{}, err
	}
	if a.Wait > 0 {
		select {
		case <-j.done:
		case <-time.After(s.o.timeout(a.Wait, 0, maxPoll)):
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		}
	}
	if j.ended() {
		return s.last(j), nil
	}
	d := shellDetails{}
	j.changes.addTo(ctx, &d)
	state := fmt.Sprintf("[still running, for %s]", time.Since(j.run.began).Round(time.Second))
	text := onLine(j.run.out.take(), state, "")
	if lost := lostText(d.Changed, d.ChangedFiles); lost != "" {
		text = onLine(text, lost, "")
	}
	return Result{Parts: TextResult(text).Parts, Details: quote(jobDetails{Handle: j.handle, Running: true, Changed: d.Changed, ChangedFiles: d.ChangedFiles, Unknown: d.Unknown})}, nil
}

// last returns the result of a command that has ended and forgets it.
func (s *Shells) last(j *shellJob) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, j.handle)
	return j.result
}

// errKilled is the cause when shell_kill ends a command.
var errKilled = errors.New("killed")

func (s *Shells) kill(ctx context.Context, a handleArguments) (Result, error) {
	j, err := s.job(a.Handle)
	if err != nil {
		return Result{}, err
	}
	j.cancel(errKilled)
	select {
	case <-j.done:
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
	r := s.last(j)
	r.IsError = false // it was asked for
	return r, nil
}
