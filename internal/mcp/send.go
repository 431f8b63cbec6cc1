package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn"
	"firn/internal/prose"
	"firn/wire"
)

// sendArgs are what is said to an agent, and where.
type sendArgs struct {
	Text    string `json:"text" jsonschema:"what is said"`
	Session string `json:"session,omitempty" jsonschema:"the session to say it in"`
	Key     string `json:"key,omitempty" jsonschema:"instead of a session: the key whose session it is, such as agent:main:notes"`
	Agent   string `json:"agent,omitempty" jsonschema:"for a new session: who answers; the default agent if left out"`
}

// sent is what became of it.
type sent struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry,omitempty" jsonschema:"the answer in the log"`
	Text    string       `json:"text" jsonschema:"the answer"`
	Calls   int          `json:"calls,omitempty" jsonschema:"how many tools the agent used"`
	Cut     bool         `json:"cut,omitempty" jsonschema:"the answer is longer; read the session for the rest"`
}

// send says something in a session, and waits for the answer.
func (d *desk) send(ctx context.Context, req *sdk.CallToolRequest, a sendArgs) (*sdk.CallToolResult, sent, error) {
	id, err := d.target(ctx, a)
	if err != nil {
		return nil, sent{}, sentence(err)
	}
	answer, err := d.turn(ctx, req, id, a.Text)
	if err != nil {
		return nil, sent{}, sentence(err)
	}
	out := sent{Session: id, Entry: answer.Entry, Text: answer.Text, Calls: answer.Calls}
	if len(out.Text) > mostText {
		out.Text, out.Cut = firn.CutText(out.Text, mostText), true
	}
	return nil, out, nil
}

// target is the session in which something is said.
func (d *desk) target(ctx context.Context, a sendArgs) (firn.ID, error) {
	switch {
	case a.Text == "":
		return "", errors.New("there is nothing to say: text is empty")
	case a.Session != "" && a.Key != "":
		return "", errors.New("say it in a session or under a key, not both")
	case a.Session != "":
		return d.c.Resolve(ctx, a.Session)
	}
	s, err := d.c.NewSession(ctx, wire.NewSession{Key: a.Key, Agent: a.Agent})
	return s.ID, err
}

// stopping is how long it may take to stop a turn that nobody waits for.
const stopping = 5 * time.Second

// turn runs a turn, and tells how far it is to who wants to know. A call that is
// cancelled stops it.
func (d *desk) turn(ctx context.Context, req *sdk.CallToolRequest, id firn.ID, text string) (wire.Answer, error) {
	p := progress{req: req, token: req.Params.GetProgressToken()}
	for e, err := range d.c.StreamTurn(ctx, id, wire.Turn{Text: text}) {
		if err != nil {
			if ctx.Err() != nil {
				stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopping)
				defer cancel()
				_, _ = d.c.Stop(stop, id) // who cancelled waits for nothing
			}
			return wire.Answer{}, err
		}
		if e.Name == wire.TurnCompleted {
			return dataOf[wire.Answer](e), nil
		}
		p.hear(ctx, e)
	}
	return wire.Answer{}, errors.New("the turn broke off, and the gateway did not say why")
}

// progress tells how far a turn is.
type progress struct {
	req   *sdk.CallToolRequest
	token any
	// chars is how much the agent has said, told how much of it was told.
	chars, told int
}

// step is after how much text progress is told.
const step = 400

func (p *progress) hear(ctx context.Context, e wire.Event) {
	if p.token == nil {
		return
	}
	switch e.Name {
	case wire.DeltaText:
		p.chars += len(dataOf[wire.Delta](e).Text)
		if p.chars-p.told >= step {
			p.tell(ctx, "the agent answers")
		}
	case wire.ToolStarted:
		p.chars++
		p.tell(ctx, "the agent uses "+prose.OneLine(dataOf[wire.Tool](e).Name, 80))
	}
}

func (p *progress) tell(ctx context.Context, message string) {
	p.told = p.chars
	// It is only told to be nice.
	_ = p.req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: p.token, Message: message, Progress: float64(p.chars)})
}

// dataOf reads what an event tells. What cannot be read is empty.
func dataOf[T any](e wire.Event) T {
	var data T
	_ = json.Unmarshal(e.Data, &data)
	return data
}
