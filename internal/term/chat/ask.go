package chat

import (
	"context"
	"io"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// Answer is the result of a single question.
type Answer struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry"`
	Model   string       `json:"model"`
	Text    string       `json:"answer"`
	// Silent is true if the agent chose not to reply. Text is empty then.
	Silent bool   `json:"silent"`
	Stop   string `json:"stopReason"`
	// Rounds is the number of model requests, and Calls the number of tool calls.
	Rounds int   `json:"rounds"`
	Calls  int   `json:"toolCalls"`
	Usage  Usage `json:"usage"`
	// Damage lists unreadable or misplaced entries, which were not sent to the model.
	Damage []wire.Damage `json:"damage,omitempty"`
}

// Usage is the token usage and cost of an answer.
type Usage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"`
}

// Question is a message of an [Asker].
type Question struct {
	Text   string
	Images []wire.Image
}

// Started describes the session of an [Asker].
type Started struct {
	Session firn.ID `json:"session"`
	Agent   string  `json:"agent"`
	Key     string  `json:"key,omitempty"`
	CWD     string  `json:"cwd,omitempty"`
	Model   string  `json:"model"`
}

// Asker asks questions one after the other in one session, without a user at the terminal.
type Asker struct {
	c    *chat
	talk *streams
	// started is called before the first event with the session, and event with each event
	// of a turn. They may be nil.
	started func(Started)
	event   func(wire.Event)
}

// NewAsker finds or plans the session. started and event receive the session and the events
// of its turns; they may be nil.
func NewAsker(ctx context.Context, o Options, started func(Started), event func(wire.Event)) (*Asker, error) {
	a := &Asker{c: newChat(o), talk: newStreams(o), started: started, event: event}
	if err := a.open(ctx); err != nil {
		return nil, advise(err, o)
	}
	return a, nil
}

func (a *Asker) open(ctx context.Context) error {
	if err := a.c.open(ctx); err != nil {
		return err
	}
	quiet := a.c.o
	if !quiet.Terminal.Err {
		quiet.Stderr = io.Discard
	}
	a.c.screen = newStreams(quiet) // warnings are shown even if stderr is not a terminal
	if err := a.c.moveHead(ctx); err != nil {
		return err
	}
	return a.c.warnDamage(ctx, a.talk)
}

// Close prints the remaining warnings.
func (a *Asker) Close() {
	a.c.screen = a.talk
	a.c.showReports()
}

// Ask sends a message and returns the answer. It prints progress to stderr if that is a
// terminal.
func (a *Asker) Ask(ctx context.Context, q Question) (Answer, error) {
	c := a.c
	v := c.newView(true)
	v.tap = func(e wire.Event) { a.tap(ctx, e) }
	out, err := c.streamTurn(ctx, wire.Turn{Text: q.Text, Images: q.Images}, v)
	if err != nil {
		return Answer{}, advise(withGatewayHint(err), c.o)
	}
	s, err := c.fetchSession(ctx)
	if err != nil {
		return Answer{}, advise(err, c.o)
	}
	answer := Answer{
		Session: c.id, Entry: out.Entry, Model: prose.Clean(out.Provider + "/" + out.Model), Text: out.Text, Silent: out.Silent, Stop: out.Stop, Rounds: out.Rounds, Calls: out.Calls,
		Usage: Usage{out.Usage.Input, out.Usage.Output, out.Usage.CacheRead, out.Usage.CacheWrite, out.Usage.Cost},
	}
	if out.Silent {
		answer.Text = ""
	}
	if s.State != nil {
		answer.Damage = s.State.Damage
	}
	return answer, nil
}

// tap passes an event on, after the session.
func (a *Asker) tap(ctx context.Context, e wire.Event) {
	if a.started != nil {
		s, err := a.c.fetchSession(ctx)
		if err != nil { // the ID is known
			s = wire.Session{ID: a.c.id, Agent: a.c.name, Key: a.c.key}
		}
		a.started(Started{Session: a.c.id, Agent: a.c.name, Key: s.Key, CWD: a.c.o.Workspace, Model: a.c.chosenModel(s)})
		a.started = nil
	}
	if a.event != nil {
		a.event(e)
	}
}
