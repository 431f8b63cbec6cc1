package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/store"
)

// local is the [Delegator] of an agent without a gateway. It runs the turns of other
// sessions itself, in the background.
type local sessions

// Spawn creates the session of a task.
func (s *local) Spawn(ctx context.Context, task Task) (firn.ID, error) {
	here, err := callingPlace(ctx)
	if err != nil {
		return "", err
	}
	if task.Agent != s.name() {
		return "", fmt.Errorf("unknown agent %q: %w", firn.CutText(task.Agent, nameLen), firn.ErrNotFound)
	}
	child := firn.NewID()
	entries, link, err := task.NewSession(child, here.id)
	if err != nil {
		return "", err
	}
	if _, err := s.Store.Append(ctx, child, store.Start, entries...); err != nil {
		return "", fmt.Errorf("start a session: %w", err)
	}
	if _, err := s.Store.Append(ctx, here.id, store.Any, link); err != nil {
		return "", fmt.Errorf("link session %s to its child: %w", here.id, err)
	}
	return child, nil
}

// Send runs a turn of another session in the background.
func (s *local) Send(ctx context.Context, id firn.ID, message string, awaited bool) (Delegated, error) {
	here, err := callingPlace(ctx)
	if err != nil {
		return nil, err
	}
	if id == here.id || slices.Contains(here.above, id) || awaited && !s.lanes.Await(here.id, id) {
		return nil, deadlockError(id)
	}
	in := TextInput(message)
	in.Bounds = BoundsOf(ctx)
	d := &localTurn{done: make(chan struct{}), stopWaiting: func() {}}
	if awaited {
		d.stopWaiting = func() { s.lanes.Awaited(here.id, id) }
	}
	if err := s.start(here, id, in, d); err != nil {
		d.stopWaiting()
		return nil, err
	}
	return d, nil
}

// localTurn is a turn that runs in the background.
type localTurn struct {
	done chan struct{}
	text string
	err  error
	stop context.CancelCauseFunc
	// stopWaiting records that the turn is no longer awaited.
	stopWaiting func()
}

func (d *localTurn) Done() <-chan struct{} { return d.done }

func (d *localTurn) Answer() (string, error) {
	d.stopWaiting()
	return d.text, d.err
}

func (d *localTurn) Detach() bool {
	d.stopWaiting()
	return false
}

func (d *localTurn) Stop(cause error) {
	d.stopWaiting()
	d.stop(cause)
}

// start runs a turn of another session in the background. The turn is canceled by its stop
// function and when the agent is closed. Its end is reported in all cases.
func (s *local) start(here place, id firn.ID, in Input, d *localTurn) error {
	ctx, stop := context.WithCancelCause(context.WithValue(context.Background(), sessionKey{}, here))
	d.stop, d.err = stop, errors.New("the turn ended without an answer")
	started := s.background.start(func(base context.Context) {
		defer context.AfterFunc(base, func() { stop(context.Cause(base)) })()
		defer stop(nil)
		defer close(d.done)
		d.text, d.err = s.answer(ctx, id, in)
	})
	if !started {
		stop(nil)
		return fmt.Errorf("run a turn of session %s: %w", id, firn.ErrClosed)
	}
	return nil
}

// answer runs a turn after the earlier delegated turns of the session and returns the
// answer.
func (s *local) answer(ctx context.Context, id firn.ID, in Input) (text string, err error) {
	leave, err := s.lanes.enter(ctx, id)
	if err != nil {
		return "", err
	}
	defer leave()
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("the turn panicked: %v", p)
		}
	}()
	var out Outcome
	for event, err := range s.Run(ctx, id, in) {
		if err != nil {
			return "", err
		}
		if f, ok := event.(Finished); ok {
			out = f.Outcome
		}
	}
	if out.Silent {
		return "(nothing to say)", nil
	}
	return out.Text, nil
}
