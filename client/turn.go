package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"firn.dev"
	"firn.dev/wire"
)

// Turn sends a message to a session and waits for the answer or, with Wait false, until the
// message is durable. If the connection breaks, the request is repeated once under the same
// ID, which the gateway recognizes.
func (c *Client) Turn(ctx context.Context, id firn.ID, t wire.Turn) (wire.Answer, error) {
	return ask[wire.Answer](ctx, c.conn, turnRequest(id, t))
}

// turnRequest returns the request for a turn. It assigns an ID to the message. A request
// without a message needs none, because it can be repeated.
func turnRequest(id firn.ID, t wire.Turn) request {
	if t.ID == "" && (t.Text != "" || len(t.Images) > 0) {
		t.ID = firn.NewEntryID()
	}
	return post(t, sessionPath(id, "turns")...).repeatable()
}

// StreamTurn sends a message to a session and yields events until it is answered. The last
// event is [wire.TurnCompleted] or [wire.TurnFailed]; the latter is followed by the problem
// as an error.
//
// If the connection breaks, StreamTurn reconnects once under the same ID: the turn
// continues, or has been completed meanwhile, and is not run twice. Deltas may then be
// missing or repeated, and an event [wire.Gap] marks the place. Breaking out of the loop
// does not stop the turn: see [Client.Stop].
func (c *Client) StreamTurn(ctx context.Context, id firn.ID, t wire.Turn) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		s := &turnStream{client: c, request: turnRequest(id, t), session: id, yield: yield}
		body, err := encodeBody(s.request)
		if err != nil {
			yield(wire.Event{}, err)
			return
		}
		s.run(ctx, body)
	}
}

// Answers are answers to conversations that are not stored.
type Answers struct{ *conn }

// Once answers a conversation that is not stored, and yields events until it is answered; the
// last one is [wire.TurnCompleted]. Breaking out of the loop stops the turn.
func (c Answers) Once(ctx context.Context, q wire.Once) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		r := post(q, "v1", "answers")
		body, err := encodeBody(r)
		if err != nil {
			yield(wire.Event{}, err)
			return
		}
		for e, err := range c.stream(ctx, r, body, nil) {
			if !yield(e, err) || err != nil || e.Name == wire.TurnCompleted {
				return
			}
		}
	}
}

// turnStream is the event stream of a turn.
type turnStream struct {
	client  *Client
	request request
	session firn.ID
	yield   func(wire.Event, error) bool
	// began means that an event was yielded, so that a second connection leaves a gap.
	began bool
}

// run yields events until the turn ends, over as many connections as the request may be
// sent. A connection that ended because the client was too slow does not count.
func (s *turnStream) run(ctx context.Context, body []byte) {
	for failures := 0; ; {
		over, slow, err := s.connection(ctx, body)
		if over {
			return
		}
		if !slow {
			failures++
		}
		if failures >= s.request.tries || !worthRepeating(s.request, err) {
			s.yield(wire.Event{}, err)
			return
		}
		if s.began && !s.yield(wire.Event{Name: wire.Gap, Session: s.session}, nil) {
			return
		}
		if s.client.pauses.wait(ctx, failures) != nil {
			s.yield(wire.Event{}, s.client.connectionError(ctx, s.request, err))
			return
		}
	}
}

// connection yields the events of one connection. over means that the turn ended or the
// caller stopped ranging, slow that the connection ended because the client was too slow.
func (s *turnStream) connection(ctx context.Context, body []byte) (over, slow bool, err error) {
	for e, err := range s.client.stream(ctx, s.request, body, nil) {
		if err != nil {
			return false, false, err
		}
		if e.Name == wire.Gap {
			return false, true, s.cut()
		}
		s.began = true
		if !s.yield(e, nil) {
			return true, false, nil
		}
		switch e.Name {
		case wire.TurnCompleted:
			return true, false, nil
		case wire.TurnFailed:
			s.yield(wire.Event{}, problemOf(e))
			return true, false, nil
		}
	}
	return false, false, s.cut()
}

func (s *turnStream) cut() error { return s.client.unreachable(s.request.describe(), errCut) }

// problemOf returns the problem in an event.
func problemOf(e wire.Event) *wire.Problem {
	var p wire.Problem
	if err := json.Unmarshal(e.Data, &p); err != nil || p.Kind == "" {
		p = wire.Problem{Kind: wire.Internal, Message: "the turn failed for an unknown reason"}
	}
	return &p
}

// Approvals are the tool calls of sessions that wait for approval.
type Approvals struct{ *conn }

// List returns the tool calls of a session that wait for approval.
func (a Approvals) List(ctx context.Context, id firn.ID) ([]wire.Approval, error) {
	page, err := ask[wire.Page[wire.Approval]](ctx, a.conn, get(sessionPath(id, "approvals")...))
	return page.Items, err
}

// Answer answers a tool call that waits for approval. The answer is durable when it
// returns.
func (a Approvals) Answer(ctx context.Context, id firn.ID, call string, answer wire.ApprovalAnswer) (wire.ApprovalAnswer, error) {
	return ask[wire.ApprovalAnswer](ctx, a.conn, post(answer, sessionPath(id, "approvals", call)...))
}

// Queues are the queues of sessions: messages that wait for the running turn.
type Queues struct{ *conn }

// Change removes messages from the queue of a session or changes its order. The change is
// durable when it returns. If a named message is not queued, nothing changes.
func (q Queues) Change(ctx context.Context, id firn.ID, change wire.QueueChange) (wire.Queue, error) {
	return ask[wire.Queue](ctx, q.conn, request{method: http.MethodPatch, path: sessionPath(id, "queue"), body: change})
}

// Stop cancels the running turn of a session and clears its queue. It reports whether there
// was anything to stop.
func (c *Client) Stop(ctx context.Context, id firn.ID) (bool, error) {
	answer, err := ask[wire.Stopped](ctx, c.conn, post(nil, sessionPath(id, "kill")...))
	return answer.Stopped, err
}
