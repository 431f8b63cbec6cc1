package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn"
	"firn/store"
	"firn/tool"
)

// sendArgs are those of sessions_send, with which an agent says something in another
// conversation of its own and is told the answer.
type sendArgs struct {
	Session string `json:"session" desc:"the id of the session"`
	Message string `json:"message" desc:"what to say there"`
	Timeout *int   `json:"timeout_seconds,omitempty" desc:"how long to wait for the answer (default 120); 0 does not wait"`
}

func (s *sessions) send(ctx context.Context, args sendArgs) (tool.Result, error) {
	here, err := asking(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if strings.TrimSpace(args.Message) == "" {
		return tool.Result{}, errors.New("say what the message is")
	}
	id, _, err := s.mine(ctx, args.Session)
	if err != nil {
		return tool.Result{}, err
	}
	if id == here.id || slices.Contains(here.above, id) {
		return tool.Result{}, waitsForThis(id)
	}
	return s.delegate(ctx, here, id, args.Message, args.Timeout)
}

// waitsForThis is why a session cannot be asked.
func waitsForThis(id firn.ID) error {
	return fmt.Errorf("session %s waits for this one; it cannot be asked now: %w", id, firn.ErrLocked)
}

// spawnArgs are those of sessions_spawn, which does the same in a conversation that
// is begun for it.
type spawnArgs struct {
	Task    string `json:"task" desc:"what to do, with all that must be known for it"`
	Label   string `json:"label,omitempty" desc:"a short name for the new conversation"`
	Model   string `json:"model,omitempty" desc:"provider/model to use instead of the usual one"`
	Timeout *int   `json:"timeout_seconds,omitempty" desc:"how long to wait for the result (default 120); 0 does not wait"`
}

// spawnedType is the type of the entry that links a session to its child.
const spawnedType = "firn.spawned"

func (s *sessions) spawn(ctx context.Context, args spawnArgs) (tool.Result, error) {
	here, err := asking(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if strings.TrimSpace(args.Task) == "" {
		return tool.Result{}, errors.New("say what the task is")
	}
	child := firn.NewID()
	entries, err := s.newborn(child, here.id, args)
	if err != nil {
		return tool.Result{}, err
	}
	if _, err := s.Store.Append(ctx, child, store.Start, entries...); err != nil {
		return tool.Result{}, fmt.Errorf("begin a session: %w", err)
	}
	link := custom(spawnedType, map[string]string{"session": string(child), "task": firn.CutText(args.Task, historyLen), "label": args.Label})
	if _, err := s.Store.Append(ctx, here.id, store.Any, link); err != nil {
		return tool.Result{}, fmt.Errorf("link session %s to its child: %w", here.id, err)
	}
	return s.delegate(ctx, here, child, args.Task, args.Timeout)
}

// newborn makes the entries that a spawned session begins with.
func (s *sessions) newborn(child, parent firn.ID, args spawnArgs) ([]firn.Entry, error) {
	entries := []firn.Entry{{Body: &firn.Header{Session: child, Agent: s.name(), ParentSession: string(parent)}}}
	if label := strings.TrimSpace(oneLine(args.Label)); label != "" {
		entries = append(entries, firn.NewEntry(&firn.Title{Name: firn.CutText(label, titleLen), Source: firn.SourceAuto}))
	}
	if args.Model == "" {
		return entries, nil
	}
	providerName, model, ok := strings.Cut(args.Model, "/")
	if !ok || providerName == "" || model == "" {
		return nil, fmt.Errorf("a model is named provider/model, not %q: %w", firn.CutText(args.Model, nameLen), firn.ErrInvalid)
	}
	more, err := s.overrides(Override{Provider: providerName, Model: model})
	return append(entries, more...), err
}

// delegate runs a turn of another session and waits for it as long as was
// asked for. A turn that is waited for ends with the one that waits, if that is
// stopped; one that is not, or not any longer, goes on to its own end.
func (s *sessions) delegate(ctx context.Context, here place, id firn.ID, message string, timeout *int) (tool.Result, error) {
	wait := 120 * time.Second
	if timeout != nil {
		wait = time.Duration(min(max(*timeout, 0), 3600)) * time.Second
	}
	if wait > 0 {
		if !s.lanes.await(here.id, id) {
			return tool.Result{}, waitsForThis(id)
		}
		defer s.lanes.awaited(here.id, id)
	}
	in := Say(message)
	in.Bounds = BoundsOf(ctx)
	ended, stop, err := s.start(here, id, in)
	if err != nil {
		return tool.Result{}, err
	}
	if wait == 0 {
		return tool.TextResult(fmt.Sprintf("accepted: session %s is at it", id)), nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case e := <-ended:
		if e.err != nil {
			return tool.Result{}, fmt.Errorf("session %s: %w", id, e.err)
		}
		return tool.TextResult(fmt.Sprintf("session %s answered:\n%s", id, e.text)), nil
	case <-timer.C:
		return tool.TextResult(fmt.Sprintf("timeout: session %s is still at it; sessions_history tells later what came of it", id)), nil
	case <-ctx.Done():
		stop(context.Cause(ctx))
		return tool.Result{}, context.Cause(ctx)
	}
}

// end is how a delegated turn ended.
type end struct {
	text string
	err  error
}

// start begins a turn of another session in the background. Its end is always
// told, whatever becomes of it. It is stopped by calling stop, and when the
// agent is closed.
func (s *sessions) start(here place, id firn.ID, in Input) (ended <-chan end, stop context.CancelCauseFunc, err error) {
	ctx, stop := context.WithCancelCause(context.WithValue(context.Background(), sessionKey{}, here))
	tell := make(chan end, 1)
	started := s.background.start(func(base context.Context) {
		defer context.AfterFunc(base, func() { stop(context.Cause(base)) })()
		defer stop(nil)
		e := end{err: errors.New("the turn ended without a word")}
		defer func() { tell <- e }()
		e.text, e.err = s.answer(ctx, id, in)
	})
	if !started {
		stop(nil)
		return nil, nil, fmt.Errorf("run a turn of session %s: %w", id, firn.ErrClosed)
	}
	return tell, stop, nil
}

// answer runs a turn, once the delegated turns before it have ended, and
// returns what was answered.
func (s *sessions) answer(ctx context.Context, id firn.ID, in Input) (text string, err error) {
	leave, err := s.lanes.enter(ctx, id)
	if err != nil {
		return "", err
	}
	defer leave()
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("the turn broke down: %v", p)
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
