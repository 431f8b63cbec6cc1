package client

import (
	"context"
	"encoding/json"
	"iter"

	"firn.dev"
	"firn.dev/wire"
)

// Turn says something in a session and waits for the answer, or, with Wait
// false, until the gateway has it on disk. If the connection breaks first, it
// is asked once more under the same id, and the gateway takes it for the same
// message.
func (c *Client) Turn(ctx context.Context, id firn.ID, t wire.Turn) (wire.Answer, error) {
	return ask[wire.Answer](ctx, c, turnRequest(id, t))
}

// turnRequest is the request for a turn. It gives the message an id, unless
// there is none: to answer what was not answered can be asked for twice.
func turnRequest(id firn.ID, t wire.Turn) request {
	if t.ID == "" && (t.Text != "" || len(t.Images) > 0) {
		t.ID = firn.NewEntryID()
	}
	return post(t, sessionPath(id, "turns")...).named()
}

// StreamTurn says something in a session and yields what happens until it is
// answered. The last event is [wire.TurnCompleted]; or it is [wire.TurnFailed],
// and then the problem is yielded as an error too.
//
// If the connection breaks it is made once more, under the same id: the turn
// goes on, or was completed meanwhile, and is not run twice. Deltas may then be
// missing or come twice, and an event [wire.Gap] says where. To stop listening
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

// turnStream is a turn that is listened to.
type turnStream struct {
	client  *Client
	request request
	session firn.ID
	yield   func(wire.Event, error) bool
	// began: something was yielded, so that a second connection leaves a gap.
	began bool
}

// run listens until the turn is over, over as many connections as the request
// may be sent. One that ended because we were too slow does not count.
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
			s.yield(wire.Event{}, s.client.broken(ctx, s.request, err))
			return
		}
	}
}

// connection yields what one connection brings. The turn is over, or nobody
// listens any more; or the connection ended before: because we were too slow, or
// by an error.
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

func (s *turnStream) cut() error { return s.client.unreachable(s.request.doing(), errCut) }

// problemOf is the problem that an event tells of.
func problemOf(e wire.Event) *wire.Problem {
	var p wire.Problem
	if err := json.Unmarshal(e.Data, &p); err != nil || p.Kind == "" {
		p = wire.Problem{Kind: wire.Internal, Message: "the turn failed, and the gateway did not say why"}
	}
	return &p
}

// Stop stops the turn that is running in a session and clears its queue. It
// reports whether there was anything to stop.
func (c *Client) Stop(ctx context.Context, id firn.ID) (bool, error) {
	answer, err := ask[wire.Stopped](ctx, c, post(nil, sessionPath(id, "kill")...))
	return answer.Stopped, err
}
