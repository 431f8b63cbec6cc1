package jetstream

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A direct get is answered by a randomly chosen replica, and the response does not identify
// it. But a request can be traced: each server on its way then reports where it was
// forwarded. So repeated requests reach every replica, and it is known when they have.

// headTrace is the header that requests a trace.
const headTrace = "Nats-Trace-Dest"

const (
	// peerWait is the timeout for a replica's response to a request for one message if
	// there are other replicas.
	peerWait = 2 * time.Second
	// traceWait is how much later than the response its trace may arrive.
	traceWait = time.Second
)

// tracer receives the traces of requests.
type tracer struct {
	sub    *nats.Subscription
	prefix string

	mu      sync.Mutex
	waiting map[string]chan string
}

// newTracer subscribes to traces.
func newTracer(nc *nats.Conn) (*tracer, error) {
	t := &tracer{prefix: nc.NewInbox() + ".", waiting: make(map[string]chan string)}
	sub, err := nc.Subscribe(t.prefix+"*", t.take)
	if err != nil {
		return nil, err
	}
	t.sub = sub
	return t, sub.SetPendingLimits(-1, -1)
}

func (t *tracer) take(m *nats.Msg) {
	server := lastStop(m.Data)
	if server == "" {
		return
	}
	t.mu.Lock()
	waits := t.waiting[strings.TrimPrefix(m.Subject, t.prefix)]
	t.mu.Unlock()
	if waits != nil {
		select {
		case waits <- server:
		default: // already received
		}
	}
}

// follow returns the subject for the trace of a request and a channel that receives the
// server at which the request ended. done must be called.
func (t *tracer) follow() (subject string, server <-chan string, done func()) {
	name, waits := nonce(), make(chan string, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[name] = waits
	return t.prefix + name, waits, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting, name)
	}
}

// reply is a replica's response to a traced request.
type reply struct {
	// server is empty if it is unknown.
	server   string
	messages []*message
	// silent reports whether the server did not respond.
	silent bool
}

// first returns the only message of a reply; nil if there is none.
func (r *reply) first() *message {
	if len(r.messages) == 0 {
		return nil
	}
	return r.messages[0]
}

// traced requests messages from any replica, and returns the server that was asked.
func (e *engine) traced(ctx context.Context, stream string, req getRequest) reply {
	subject, server, done := e.tracer.follow()
	defer done()
	patience := peerWait
	if req.Batch > 0 {
		patience = attempt
	}
	once, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	messages, err := direct(once, e.nc, stream, req, subject)
	r := reply{messages: messages, silent: err != nil}
	if ctx.Err() != nil {
		return reply{silent: true}
	}
	late, cancel := context.WithTimeout(ctx, traceWait)
	defer cancel()
	select {
	case r.server = <-server:
	case <-late.Done():
	}
	return r
}

// The kinds of connections over which a message is forwarded to another server.
const (
	overRoute   = 1
	overGateway = 2
	overLeaf    = 4
)

// lastStop returns the server that sent a trace event if the message was not forwarded any
// further.
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
	for _, step := range event.Events { // an event only reports forwarding, not that the message was answered
		if step.Type == "eg" && (step.Kind == overRoute || step.Kind == overGateway || step.Kind == overLeaf) {
			return ""
		}
	}
	return event.Server.Name
}
