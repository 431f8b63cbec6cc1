package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/route"
	"firn.dev/tool"
)

// Delegator runs turns of other sessions for the session tools of an agent. A gateway
// implements it; without one the agent runs them itself. Its methods may be called
// concurrently, with the context of the delegating turn.
type Delegator interface {
	// Spawn creates a session for a task, as a child of the session whose turn ctx belongs
	// to, and returns its ID. It does not send a message.
	Spawn(ctx context.Context, task Task) (firn.ID, error)
	// Send sends a message to a session. The turn runs within the bounds of the turn of
	// ctx. If awaited is set, the caller waits for the answer: Send then fails with
	// [firn.ErrLocked] if that session waits for the caller's, and with [firn.ErrTooLarge]
	// if the nesting is too deep.
	Send(ctx context.Context, id firn.ID, message string, awaited bool) (Delegated, error)
}

// Task is the task of a sub-agent.
type Task struct {
	// Agent is the agent that runs it; empty means the delegating agent.
	Agent string
	Text  string
	// Label becomes the title of the session; empty means the start of Text.
	Label string
	// Provider and Model replace the agent's model; set both or neither.
	Provider, Model string
}

// Delegated is a message that was sent to another session.
type Delegated interface {
	// Done is closed when the turn that answers the message has ended.
	Done() <-chan struct{}
	// Answer returns the answer or an error. It may be called once Done is closed.
	Answer() (string, error)
	// Detach stops waiting for the answer. It reports whether the answer will be delivered
	// to the calling session.
	Detach() bool
	// Stop cancels the delegated turn because the calling turn was stopped.
	Stop(cause error)
}

// sendArgs are the arguments of sessions_send.
type sendArgs struct {
	Session string `json:"session" desc:"the id of the session"`
	Message string `json:"message" desc:"the message to send"`
	Timeout *int   `json:"timeout_seconds,omitempty" desc:"how long to wait for the answer (default 120); 0 does not wait"`
}

func (s *sessions) send(ctx context.Context, args sendArgs) (tool.Result, error) {
	if _, ok := SessionOf(ctx); !ok {
		return tool.Result{}, errNoTurn
	}
	if strings.TrimSpace(args.Message) == "" {
		return tool.Result{}, errors.New("the message is missing")
	}
	id, _, err := s.resolveOwn(ctx, args.Session)
	if err != nil {
		return tool.Result{}, err
	}
	return s.delegate(ctx, id, args.Message, args.Timeout)
}

// deadlockError is returned for a session that waits for the calling one.
func deadlockError(id firn.ID) error {
	return fmt.Errorf("session %s is waiting for this one, so it cannot be sent a message now: %w", id, firn.ErrLocked)
}

// spawnArgs are the arguments of sessions_spawn.
type spawnArgs struct {
	Task    string `json:"task" desc:"what to do, including all necessary context"`
	Agent   string `json:"agent,omitempty" desc:"the agent that runs the task, one of those in <agents>; empty means yourself"`
	Label   string `json:"label,omitempty" desc:"a short name for the new conversation"`
	Model   string `json:"model,omitempty" desc:"provider/model to use instead of the usual one"`
	Timeout *int   `json:"timeout_seconds,omitempty" desc:"how long to wait for the result (default 120); 0 does not wait"`
}

// SpawnedType is the type of the entry that links a session to a sub-agent's session.
const SpawnedType = "firn.spawned"

// Spawned is the data of an entry of type SpawnedType.
type Spawned struct {
	Session firn.ID `json:"session"`
	Agent   string  `json:"agent,omitempty"`
	Task    string  `json:"task"`
	Label   string  `json:"label,omitempty"`
}

// spawnedIn returns the link to a sub-agent's session in an entry, if it is one.
func spawnedIn(e firn.Entry) (Spawned, bool) {
	c, ok := e.Body.(*firn.Custom)
	if !ok || c.Type != SpawnedType {
		return Spawned{}, false
	}
	var link Spawned
	err := json.Unmarshal(c.Data, &link)
	return link, err == nil && link.Session != ""
}

// NewSession returns the first entries of the session of a task and the entry that links its
// parent to it.
func (t Task) NewSession(child, parent firn.ID) (entries []firn.Entry, link firn.Entry, err error) {
	k, err := route.Parts{Agent: t.Agent, Kind: route.KindSubagent, Peer: route.EncodeID(string(parent)) + ":" + route.EncodeID(string(child))}.Key()
	if err != nil {
		return nil, link, fmt.Errorf("start a session of agent %q: %w", firn.CutText(t.Agent, nameLen), err)
	}
	title := promptTitle(t.Text)
	if label := strings.TrimSpace(oneLine(t.Label)); label != "" {
		title = firn.CutText(label, titleLen)
	}
	entries = []firn.Entry{
		{Body: &firn.Header{Session: child, Agent: t.Agent, Key: k.String(), ParentSession: string(parent)}},
		firn.NewEntry(&firn.Title{Name: title, Source: firn.SourceAuto}),
	}
	if t.Model != "" {
		entries = append(entries, firn.NewEntry(&firn.ModelChange{Provider: t.Provider, Model: t.Model}))
	}
	return entries, customEntry(SpawnedType, Spawned{Session: child, Agent: t.Agent, Task: firn.CutText(t.Text, historyLen), Label: t.Label}), nil
}

func (s *sessions) spawn(ctx context.Context, args spawnArgs) (tool.Result, error) {
	if _, ok := SessionOf(ctx); !ok {
		return tool.Result{}, errNoTurn
	}
	if strings.TrimSpace(args.Task) == "" {
		return tool.Result{}, errors.New("the task is missing")
	}
	task := Task{Agent: strings.TrimSpace(args.Agent), Text: args.Task, Label: args.Label}
	if task.Agent == "" {
		task.Agent = s.name()
	}
	if args.Model != "" {
		var ok bool
		if task.Provider, task.Model, ok = strings.Cut(args.Model, "/"); !ok || task.Provider == "" || task.Model == "" {
			return tool.Result{}, failure.Of(firn.ErrInvalid, "invalid model %q, expected provider/model", firn.CutText(args.Model, nameLen))
		}
		if _, err := s.overrides(Override{Provider: task.Provider, Model: task.Model}); err != nil {
			return tool.Result{}, err
		}
	}
	child, err := s.delegator().Spawn(ctx, task)
	if err != nil {
		return tool.Result{}, err
	}
	return s.delegate(ctx, child, args.Task, args.Timeout)
}

// delegator returns the Delegator of the agent.
func (s *sessions) delegator() Delegator {
	if s.Delegator != nil {
		return s.Delegator
	}
	return (*local)(s)
}

// delegate sends a message to another session and waits for the answer until the timeout.
// If the calling turn is stopped, an awaited turn is stopped too; a turn that is no longer
// awaited continues.
func (s *sessions) delegate(ctx context.Context, id firn.ID, message string, timeout *int) (tool.Result, error) {
	wait := 120 * time.Second
	if timeout != nil {
		wait = time.Duration(min(max(*timeout, 0), 3600)) * time.Second
	}
	sent, err := s.delegator().Send(ctx, id, message, wait > 0)
	if err != nil {
		return tool.Result{}, err
	}
	if wait == 0 {
		return tool.TextResult(fmt.Sprintf("accepted: session %s is working%s", id, pendingText(sent.Detach()))), nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-sent.Done():
		text, err := sent.Answer()
		if err != nil {
			return tool.Result{}, fmt.Errorf("session %s: %w", id, err)
		}
		return tool.TextResult(fmt.Sprintf("session %s answered:\n%s", id, text)), nil
	case <-timer.C:
		return tool.TextResult(fmt.Sprintf("timeout: session %s is still working%s", id, pendingText(sent.Detach()))), nil
	case <-ctx.Done():
		sent.Stop(context.Cause(ctx))
		return tool.Result{}, context.Cause(ctx)
	}
}

// pendingText states where an answer will appear that the caller no longer waits for.
func pendingText(delivered bool) string {
	if delivered {
		return "; its answer will arrive here as a message"
	}
	return "; sessions_history shows the result later"
}
