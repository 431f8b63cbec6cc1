package client

import (
	"context"
	"errors"
	"iter"
	"sync"

	"firn.dev"
	"firn.dev/wire"
)

// ToolHost runs tools for turns of a gateway.
type ToolHost interface {
	// Offer returns the tools.
	Offer() *wire.ClientTools
	// Run runs a call, or returns its preview. It stops when ctx is done. Progress reports
	// output meanwhile.
	Run(ctx context.Context, session firn.ID, call wire.ClientCall, progress func(text string)) wire.ClientResult
}

// HostedTurns runs turns whose tools run in this process.
type HostedTurns struct {
	c    *Client
	host ToolHost
}

// HostTools returns turns that use the tools of a host.
func HostTools(c *Client, host ToolHost) HostedTurns { return HostedTurns{c, host} }

// StreamTurn is like [Client.StreamTurn]. It offers the tools of the host with the message,
// runs the calls that arrive and sends their results. The events of these calls are not
// yielded. When it returns, no call is running.
func (h HostedTurns) StreamTurn(ctx context.Context, id firn.ID, t wire.Turn) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		t.ClientTools = h.host.Offer()
		secret := t.ClientTools.Secret
		ctx, cancel := context.WithCancel(ctx)
		r := &hostedCalls{HostedTurns: h, ctx: ctx, session: id, secret: secret, calls: make(map[hostedKey]*hostedCall)}
		defer r.work.Wait()
		defer cancel()
		for e, err := range h.c.StreamTurn(ctx, id, t) {
			switch {
			case err == nil && e.Name == wire.ToolCall:
				r.start(wire.DataOf[wire.ClientCall](e))
			case err == nil && e.Name == wire.ToolCanceled:
				r.cancel(wire.DataOf[wire.ClientCall](e))
			default:
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// hostedKey identifies a call of a turn, or its preview.
type hostedKey struct {
	entry   firn.EntryID
	call    string
	preview bool
}

func keyOf(c wire.ClientCall) hostedKey { return hostedKey{c.Entry, c.Call, c.Preview} }

// hostedCalls are the calls of one turn.
type hostedCalls struct {
	HostedTurns
	ctx     context.Context
	session firn.ID
	secret  string
	work    sync.WaitGroup

	mu    sync.Mutex
	calls map[hostedKey]*hostedCall
}

// hostedCall is a running or finished call.
type hostedCall struct {
	cancel context.CancelFunc
	result *wire.ClientResult // nil while it is running
}

// start runs a call, once. If the gateway sends it again after a reconnection, the result is
// sent again.
func (r *hostedCalls) start(c wire.ClientCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.calls[keyOf(c)]; known != nil {
		if known.result != nil {
			r.work.Go(func() { r.send(c, *known.result) })
		}
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	one := &hostedCall{cancel: cancel}
	r.calls[keyOf(c)] = one
	r.work.Go(func() {
		defer cancel()
		result := r.host.Run(ctx, r.session, c, func(text string) {
			r.send(c, wire.ClientResult{Secret: r.secret, Digest: c.Digest, Progress: text})
		})
		r.mu.Lock()
		one.result = &result
		r.mu.Unlock()
		r.send(c, result)
	})
}

// cancel cancels a call.
func (r *hostedCalls) cancel(c wire.ClientCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.calls[keyOf(c)]; one != nil {
		one.cancel()
	}
}

// send sends a result. A turn that no longer waits for it rejects it, which is ignored. A
// result that is too large is replaced by an error.
func (r *hostedCalls) send(c wire.ClientCall, result wire.ClientResult) {
	_, err := ask[wire.CallAccepted](r.ctx, r.c.conn, post(result, sessionPath(r.session, "calls", c.Call)...).repeatable())
	if err == nil || result.Progress != "" || wire.KindOf(err) == wire.NotFound || r.ctx.Err() != nil {
		return
	}
	if errors.Is(err, firn.ErrTooLarge) || wire.KindOf(err) == wire.Invalid {
		result = wire.ClientResult{Secret: result.Secret, Digest: result.Digest, Preview: result.Preview, Files: result.Files,
			Error: "the result could not be sent: " + err.Error()}
		_, _ = ask[wire.CallAccepted](r.ctx, r.c.conn, post(result, sessionPath(r.session, "calls", c.Call)...).repeatable())
	}
}
