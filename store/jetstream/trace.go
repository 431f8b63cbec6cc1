package jetstream

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
)

// The servers choose which replica answers a read and do not tell. But a request
// can ask to be traced: then each server that it passes tells where it went.

// headTrace is the header that asks for it.
const headTrace = "Nats-Trace-Dest"

const (
	// traces is how many requests are traced to have met every replica.
	traces = 40
	// traceWait is how long a trace may take.
	traceWait = 500 * time.Millisecond
	// tracesWait is how long all of them may take.
	tracesWait = 10 * time.Second
)

// without names a server that does not have one message but a later one; empty
// if none is found.
func (e *engine) without(ctx context.Context, stream string, seq, later uint64) string {
	if later <= seq {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, tracesWait)
	defer cancel()
	has, suspected := make(map[string]bool), false
	for range traces {
		// In this order: one that lags may get both in between, in the other.
		if suspected {
			if server, there, err := e.traced(ctx, stream, later); err == nil && there {
				has[server] = true
			}
		}
		server, there, err := e.traced(ctx, stream, seq)
		if err != nil || there {
			continue
		}
		if suspected = true; !has[server] {
			continue
		}
		if m, err := e.at(ctx, stream, seq); err != nil || m == nil {
			return "" // it was taken away for all of them
		}
		return server
	}
	return ""
}

// traced asks some replica for a message. It returns which server was asked and
// whether that has it.
func (e *engine) traced(ctx context.Context, stream string, seq uint64) (server string, there bool, err error) {
	once, cancel := context.WithTimeout(ctx, traceWait)
	defer cancel()
	trace, err := e.nc.SubscribeSync(e.nc.NewInbox())
	if err != nil {
		return "", false, err
	}
	defer func() { _ = trace.Unsubscribe() }() // fails only if the connection is gone, and with it the subscription
	body, err := json.Marshal(getRequest{Seq: seq})
	if err != nil {
		return "", false, err
	}
	m, err := e.nc.RequestMsgWithContext(once, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + stream, Header: nats.Header{headTrace: {trace.Subject}}, Data: body})
	if err != nil {
		return "", false, err
	}
	end, err := ends(m)
	if err != nil {
		return "", false, err
	}
	for {
		event, err := trace.NextMsgWithContext(once)
		if err != nil {
			return "", false, err
		}
		if server := lastStop(event.Data); server != "" {
			return server, !end, nil
		}
	}
}

// The kinds of connections over which a message goes on to another server.
const (
	overRoute   = 1
	overGateway = 2
	overLeaf    = 4
)

// lastStop returns the server that a trace is from if the message went no
// further than there.
func lastStop(data []byte) string {
	var event struct {
		Server struct {
			Name string `json:"name"`
		} `json:"server"`
		Events []struct {
			Type string `json:"type"`
			Kind int    `json:"kind"`
		} `json:"events"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return ""
	}
	for _, step := range event.Events { // that it is answered here is not told, only that it goes on
		if step.Type == "eg" && (step.Kind == overRoute || step.Kind == overGateway || step.Kind == overLeaf) {
			return ""
		}
	}
	return event.Server.Name
}
