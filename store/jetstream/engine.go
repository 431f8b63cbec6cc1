package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// engine is the connection to the cluster with the few requests that the store uses.
// Requests for the latest state go to the stream's leader, and to other replicas for
// messages that it lacks. Bulk reads go to one replica.
type engine struct {
	nc *nats.Conn
	js jetstream.JetStream
	// wait is how long a request is retried.
	wait    time.Duration
	outages outages
	// tracer is nil for a single server.
	tracer *tracer
	places placements
	watch  watch
}

// clustered reports whether streams have replicas on several servers.
func (e *engine) clustered() bool { return e.tracer != nil }

// attempt is the timeout of one attempt. A stopped server does not respond at all, and
// another one may become leader in the meantime.
const attempt = 3 * time.Second

// errConnClosed means that this side closed the connection.
var errConnClosed = nats.ErrConnectionClosed

func (e *engine) close() {
	e.watch.close()
	e.nc.Close()
}

// withWait returns a context that limits how long a request is retried.
func (e *engine) withWait(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.wait)
}

// publish sends a message once and waits for the response.
func (e *engine) publish(ctx context.Context, msg *nats.Msg) (ack, error) {
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	reply, err := e.nc.RequestMsgWithContext(once, msg)
	if err != nil {
		return ack{}, err
	}
	var a ack
	if err := json.Unmarshal(reply.Data, &a); err != nil {
		return ack{}, fmt.Errorf("invalid response to a publish: %w", err)
	}
	return a, nil
}

// message is a stored message.
type message struct {
	seq     uint64
	subject string
	header  nats.Header
	data    []byte
}

// getRequest requests one or several messages.
type getRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// next returns the first message of a subject from a sequence on, or nil if a majority of
// replicas has none.
func (e *engine) next(ctx context.Context, stream, subject string, seq uint64) (*message, error) {
	return e.pick(ctx, stream, getRequest{Seq: max(seq, 1), NextFor: subject}, nil)
}

// fromLeader sends one request to the leader.
func (e *engine) fromLeader(ctx context.Context, stream string, req getRequest) (*message, error) {
	var reply struct {
		Error   *apiError `json:"error"`
		Message *struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	if err := e.ask(ctx, "$JS.API.STREAM.MSG.GET."+stream, req, &reply); err != nil {
		return nil, err
	}
	switch {
	case reply.Error != nil && reply.Error.ErrCode == codeNoMessage:
		return nil, nil
	case reply.Error != nil:
		return nil, reply.Error
	case reply.Message == nil:
		return nil, errors.New("the response has neither a message nor an error")
	}
	m := &message{seq: reply.Message.Seq, subject: reply.Message.Subject, data: reply.Message.Data}
	if len(reply.Message.Header) > 0 {
		var err error
		if m.header, err = nats.DecodeHeadersMsg(reply.Message.Header); err != nil {
			return nil, fmt.Errorf("message %d of %s: its headers: %w", m.seq, stream, err)
		}
	}
	return m, nil
}

// ask sends a request to the JetStream API.
func (e *engine) ask(ctx context.Context, subject string, req, reply any) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	m, err := e.nc.RequestWithContext(once, subject, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(m.Data, reply)
}

// askUntilAnswered calls ask until the leader responds or the context is done.
func askUntilAnswered[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	pause := minPause
	for {
		v, err := ask(ctx)
		var refusal *apiError
		if err == nil || errors.As(err, &refusal) && !refusal.isTemporary() || errors.Is(err, errConnClosed) {
			return v, err
		}
		if sleepContext(ctx, pause) != nil {
			return v, &Unavailable{Cause: err}
		}
		pause = min(2*pause, maxPause)
	}
}

// Limits for a batch request.
const (
	batchMessages = 256
	batchBytes    = 4 << 20
)

// batch returns messages of a subject from a sequence on, all from the same replica: as
// many as fit, or none if there are none.
func (e *engine) batch(ctx context.Context, stream, subject string, seq uint64) ([]*message, error) {
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	if e.clustered() { // a damaged replica may not respond at all, and there are others
		var cancel context.CancelFunc
		once, cancel = context.WithTimeout(ctx, peerWait)
		defer cancel()
	}
	return direct(once, e.nc, stream, batchRequest(subject, seq), "")
}

// batchRequest requests messages of a subject from a sequence on.
func batchRequest(subject string, seq uint64) getRequest {
	return getRequest{Seq: max(seq, 1), NextFor: subject, Batch: batchMessages, MaxBytes: batchBytes}
}

// direct requests messages from one replica, and waits for the first one until ctx is done.
// If trace is not empty, the trace is sent to that subject.
func direct(ctx context.Context, nc *nats.Conn, stream string, req getRequest, trace string) ([]*message, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	msg := &nats.Msg{Subject: "$JS.API.DIRECT.GET." + stream, Data: body}
	if trace != "" {
		msg.Header = nats.Header{headTrace: {trace}}
	}
	if req.Batch > 0 {
		return directBatch(ctx, nc, msg)
	}
	m, err := nc.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return nil, err
	}
	if end, err := endsBatch(m); end {
		return nil, err
	}
	one, err := parseDirect(m)
	if err != nil {
		return nil, nil // damaged messages count as missing
	}
	return []*message{one}, nil
}

// directBatch is direct for many messages.
func directBatch(ctx context.Context, nc *nats.Conn, msg *nats.Msg) ([]*message, error) {
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is closed, which ends the subscription
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	msg.Reply = sub.Subject
	if err := nc.PublishMsg(msg); err != nil {
		return nil, err
	}
	m, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return nil, err
	}
	var all []*message
	for {
		if end, err := endsBatch(m); end {
			return all, err
		}
		one, err := parseDirect(m)
		if err != nil {
			return all, nil // damaged messages count as missing
		}
		all = append(all, one)
		if m, err = sub.NextMsg(attempt); err != nil {
			return all, nil // slow connection: the messages received so far are valid
		}
	}
}

// endsBatch reports whether a message is the end of a batch, and whether the batch failed.
func endsBatch(m *nats.Msg) (bool, error) {
	switch status := m.Header.Get("Status"); status {
	case "":
		return false, nil
	case "204", "404":
		return true, nil
	case "503":
		return true, nats.ErrNoResponders
	default:
		return true, fmt.Errorf("server error: %s (%s)", m.Header.Get("Description"), status)
	}
}

// parseDirect decodes a message from a replica.
func parseDirect(m *nats.Msg) (*message, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the response has no sequence: %w", err)
	}
	return &message{seq: seq, subject: m.Header.Get("Nats-Subject"), header: m.Header, data: m.Data}, nil
}

// nextAny returns the first message of a subject from a sequence on, from any one replica,
// or nil if there is none.
func (e *engine) nextAny(ctx context.Context, stream, subject string, seq uint64) (*message, error) {
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	messages, err := direct(once, e.nc, stream, getRequest{Seq: max(seq, 1), NextFor: subject}, "")
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return messages[0], nil
}

// erase overwrites a message in all replicas if it exists.
func (e *engine) erase(ctx context.Context, stream string, seq uint64) error {
	waitCtx, cancel := e.withWait(ctx)
	defer cancel()
	_, err := askUntilAnswered(waitCtx, func(ctx context.Context) (struct{}, error) {
		var reply struct {
			Error *apiError `json:"error"`
		}
		if err := e.ask(ctx, "$JS.API.STREAM.MSG.DELETE."+stream, getRequest{Seq: seq}, &reply); err != nil {
			return struct{}{}, err
		}
		if reply.Error != nil && reply.Error.ErrCode != codeNoMessage && reply.Error.ErrCode != codeNoSequence {
			return struct{}{}, reply.Error
		}
		return struct{}{}, nil
	})
	return err
}
