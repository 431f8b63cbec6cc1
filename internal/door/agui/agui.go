// Package agui implements the Agent-User Interaction Protocol (AG-UI), so that user
// interfaces written for it can use firn's agents. A thread of the protocol is a session.
//
// A client sends the whole conversation with each run. Only what follows the last answer is
// new: earlier messages are those of the session.
package agui

import (
	"net/http"
	"time"

	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// Door serves clients of the protocol. It is safe for concurrent use.
type Door struct{ keeper *conversation.Keeper }

// New returns a Door. clock returns the current time; nil means time.Now.
func New(clock func() time.Time) *Door { return &Door{conversation.New("ag-ui", clock)} }

// Handler returns a handler that serves the requests of user who, using gate to reach the
// gateway.
func (d *Door) Handler(who string, gate http.Handler) http.Handler {
	return d.keeper.Serve(who, gate, run, func(err error) (any, int) {
		p, status := conversation.ProblemOf(err)
		return wire.Failure{Error: *p}, status
	})
}

// run answers the new messages of a thread with a stream of events.
func run(v *conversation.Request) error {
	var q request
	if err := v.Decode(&q); err != nil {
		return err
	}
	t, err := q.transcript()
	if err != nil {
		return err
	}
	who, err := v.Choose(v.HTTP.PathValue("agent"))
	if err != nil {
		return err
	}
	options, err := q.options(who)
	if err != nil {
		return err
	}
	options.Instructions = t.Instructions()
	p, err := v.Place(q.Thread, "", who, t)
	if err != nil {
		return err
	}
	defer p.Release()
	v.Header().Set(conversation.SessionHeader, string(p.At.Session))
	a := &answer{v: v, thread: q.Thread, run: q.Run}
	done, err := v.Run(p, options, a)
	if err != nil {
		return a.fail(err)
	}
	a.end(done.Answer)
	return nil
}
