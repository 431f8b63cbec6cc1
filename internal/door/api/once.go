package api

import (
	"context"
	"iter"
	"net/http"

	"firn.dev/wire"
)

// answerOnce answers a conversation that is not stored. Bound callers may use their agents,
// as for new sessions.
func (c turnCalls) answerOnce() error {
	var q wire.Once
	if err := c.decode(&q, false); err != nil {
		return err
	}
	as, err := c.boundNew(wire.NewSession{Agent: q.Agent})
	if err != nil {
		return err
	}
	q.Agent = as.Agent
	if wantsStream(c.r) {
		return c.stream(source{turn: true, events: func(ctx context.Context) iter.Seq2[wire.Event, error] { return c.gateway.AnswerOnce(ctx, q) }})
	}
	var answer wire.Answer
	for e, err := range c.gateway.AnswerOnce(c.r.Context(), q) {
		if err != nil {
			return err
		}
		if e.Name == wire.TurnCompleted {
			answer = wire.DataOf[wire.Answer](e)
		}
	}
	return c.reply(http.StatusOK, answer)
}
