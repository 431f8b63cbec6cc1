package mcp

import (
	"context"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// sendArgs are the message for an agent and its destination.
type sendArgs struct {
	Text    string `json:"text" jsonschema:"the message"`
	Session string `json:"session,omitempty" jsonschema:"the session to send it to"`
	Key     string `json:"key,omitempty" jsonschema:"instead of a session: a key, such as agent:main:notes"`
	Agent   string `json:"agent,omitempty" jsonschema:"for a new session: the agent; default: the default agent"`
	CWD     string `json:"cwd,omitempty" jsonschema:"the working directory of the message, as an absolute path"`
}

// sent is the result of sending a message.
type sent struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry,omitempty" jsonschema:"the entry ID of the answer"`
	Text    string       `json:"text" jsonschema:"the answer"`
	Calls   int          `json:"calls,omitempty" jsonschema:"number of tool calls"`
	Cut     bool         `json:"cut,omitempty" jsonschema:"the answer is longer; read the session for the rest"`
	Pending bool         `json:"pending,omitempty" jsonschema:"there is no answer yet: a tool call is waiting for the user's approval"`
}

// send sends a message in a session and waits for the answer.
func (d *toolServer) send(ctx context.Context, req *sdk.CallToolRequest, a sendArgs) (*sdk.CallToolResult, sent, error) {
	id, err := d.target(ctx, a)
	if err != nil {
		return nil, sent{}, sentence(err)
	}
	answer, err := d.turn(ctx, req, id, wire.Turn{Text: a.Text, CWD: a.CWD})
	if text, ok := isPending(err); ok {
		return nil, sent{Session: id, Text: text, Pending: true}, nil
	}
	if err != nil {
		return nil, sent{}, sentence(err)
	}
	out := sent{Session: id, Entry: answer.Entry, Text: answer.Text, Calls: answer.Calls}
	if len(out.Text) > mostText {
		out.Text, out.Cut = firn.CutText(out.Text, mostText), true
	}
	return nil, out, nil
}

// target returns the session for the message.
func (d *toolServer) target(ctx context.Context, a sendArgs) (firn.ID, error) {
	switch {
	case a.Text == "":
		return "", errors.New("text is empty")
	case a.Session != "" && a.Key != "":
		return "", errors.New("give a session or a key, not both")
	case a.Session != "":
		return d.c.Resolve(ctx, a.Session)
	}
	s, err := d.c.NewSession(ctx, wire.NewSession{Key: a.Key, Agent: a.Agent, CWD: a.CWD})
	return s.ID, err
}

// stopTimeout limits the time to stop a turn after its call was canceled.
const stopTimeout = 5 * time.Second

// turn runs a turn and reports its progress if the client asked for that. Canceling the
// call stops the turn.
func (d *toolServer) turn(ctx context.Context, req *sdk.CallToolRequest, id firn.ID, turn wire.Turn) (wire.Answer, error) {
	p := progress{req: req, token: req.Params.GetProgressToken()}
	p.start(ctx)
	for e, err := range d.c.StreamTurn(ctx, id, turn) {
		if err != nil {
			if ctx.Err() != nil {
				stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
				defer cancel()
				_, _ = d.c.Stop(stop, id) // the caller is not waiting for the result
			}
			return wire.Answer{}, err
		}
		if e.Name == wire.TurnCompleted {
			return wire.DataOf[wire.Answer](e), nil
		}
		if e.Name == wire.ApprovalRequested {
			if err := d.pending(ctx, id, wire.DataOf[wire.Approval](e)); err != nil {
				return wire.Answer{}, err
			}
		}
		p.report(ctx, e)
	}
	return wire.Answer{}, errors.New("the turn ended without a result")
}

// progress reports the progress of a turn.
type progress struct {
	req   *sdk.CallToolRequest
	token any
	// chars is the length of the answer so far, reported the length at the last report.
	chars, reported int
}

// step is the number of characters between progress reports.
const step = 400

// start reports that the message is being sent, before any event of the turn.
func (p *progress) start(ctx context.Context) {
	if p.token != nil {
		p.notify(ctx, "sending the message")
	}
}

func (p *progress) report(ctx context.Context, e wire.Event) {
	if p.token == nil {
		return
	}
	switch e.Name {
	case wire.DeltaText:
		p.chars += len(wire.DataOf[wire.Delta](e).Text)
		if p.chars-p.reported >= step {
			p.notify(ctx, "the agent is answering")
		}
	case wire.ToolStarted:
		p.chars++
		p.notify(ctx, "the agent is using "+prose.OneLine(wire.DataOf[wire.Tool](e).Name, 80))
	case wire.ToolCompleted:
		p.chars++
		p.notify(ctx, "the agent has used "+prose.OneLine(wire.DataOf[wire.Tool](e).Name, 80))
	}
}

func (p *progress) notify(ctx context.Context, message string) {
	p.reported = p.chars
	// progress is optional
	_ = p.req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: p.token, Message: message, Progress: float64(p.chars)})
}
