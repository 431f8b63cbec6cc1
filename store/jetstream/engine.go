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

// engine is the connection to the cluster and the few requests we make. Those
// that must know the latest go to the stream's leader; those that read much go
// to some replica, the server chooses which and does not tell.
type engine struct {
	nc *nats.Conn
	js jetstream.JetStream
	// wait is how long a request tries to get through.
	wait    time.Duration
	outages outages
}

// attempt is how long one attempt waits for its answer. A server that was
// stopped does not answer at all, and another one may lead meanwhile.
const attempt = 3 * time.Second

// errConnClosed says that we hung up.
var errConnClosed = nats.ErrConnectionClosed

func (e *engine) close() { e.nc.Close() }

// patient bounds how long something tries to get through.
func (e *engine) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.wait)
}

// publish sends a message once and waits for the answer.
func (e *engine) publish(ctx context.Context, msg *nats.Msg) (ack, error) {
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	reply, err := e.nc.RequestMsgWithContext(once, msg)
	if err != nil {
		return ack{}, err
	}
	var a ack
	if err := json.Unmarshal(reply.Data, &a); err != nil {
		return ack{}, fmt.Errorf("the answer to a publish is not one: %w", err)
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

// getRequest asks for a message, or for several.
type getRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// last returns the last message of a subject as the leader has it; nil if there
// is none.
func (e *engine) last(ctx context.Context, stream, subject string) (*message, error) {
	return e.fromLeader(ctx, stream, getRequest{LastFor: subject})
}

// next returns the first message of a subject from a sequence on as the leader
// has it; nil if there is none.
func (e *engine) next(ctx context.Context, stream, subject string, seq uint64) (*message, error) {
	return e.fromLeader(ctx, stream, getRequest{Seq: seq, NextFor: subject})
}

// at returns a message as the leader has it; nil if there is none.
func (e *engine) at(ctx context.Context, stream string, seq uint64) (*message, error) {
	return e.fromLeader(ctx, stream, getRequest{Seq: seq})
}

// fromLeader asks the leader, once.
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
		return nil, errors.New("the answer has neither a message nor an error")
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

// ask makes a request of JetStream's API.
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

// insist asks the leader until it answers or the context is done.
func insist[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	pause := minPause
	for {
		v, err := ask(ctx)
		var refusal *apiError
		if err == nil || errors.As(err, &refusal) && refusal.Code != 503 && refusal.Code != 500 || errors.Is(err, errConnClosed) {
			return v, err
		}
		if rest(ctx, pause) != nil {
			return v, &Unavailable{Cause: err}
		}
		pause = min(2*pause, maxPause)
	}
}

// The size of what is asked for at once.
const (
	batchMessages = 256
	batchBytes    = 4 << 20
)

// batch returns messages of a subject from a sequence on, as some replica has
// them, the same for all: as many as fit, none if there are none.
func (e *engine) batch(ctx context.Context, stream, subject string, seq uint64) ([]*message, error) {
	body, err := json.Marshal(getRequest{Seq: max(seq, 1), NextFor: subject, Batch: batchMessages, MaxBytes: batchBytes})
	if err != nil {
		return nil, err
	}
	inbox := e.nc.NewRespInbox()
	sub, err := e.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is gone, and with it the subscription
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	if err := e.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, body); err != nil {
		return nil, err
	}
	var all []*message
	for {
		m, err := soonFrom(ctx, sub)
		if err != nil && len(all) > 0 {
			return all, nil // a slow line: what has come is good
		}
		if err != nil {
			return nil, err
		}
		if end, err := ends(m); end {
			return all, err
		}
		one, err := direct(m)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}

// soonFrom waits for the next message of a subscription for as long as an attempt
// may take.
func soonFrom(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return sub.NextMsgWithContext(once)
}

// ends reports whether a message is the end of a batch, and if so whether the
// batch failed.
func ends(m *nats.Msg) (bool, error) {
	switch status := m.Header.Get("Status"); status {
	case "":
		return false, nil
	case "204", "404":
		return true, nil
	case "503":
		return true, nats.ErrNoResponders
	default:
		return true, fmt.Errorf("the server says: %s (%s)", m.Header.Get("Description"), status)
	}
}

// direct reads a message that a replica has sent.
func direct(m *nats.Msg) (*message, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the answer has no sequence: %w", err)
	}
	return &message{seq: seq, subject: m.Header.Get("Nats-Subject"), header: m.Header, data: m.Data}, nil
}

// lastAny returns the last message of a subject as some replica has it;
// nil if there is none.
func (e *engine) lastAny(ctx context.Context, stream, subject string) (*message, error) {
	return e.any(ctx, stream, getRequest{LastFor: subject})
}

// nextAny returns the first message of a subject from a sequence on as some
// replica has it; nil if there is none.
func (e *engine) nextAny(ctx context.Context, stream, subject string, seq uint64) (*message, error) {
	return e.any(ctx, stream, getRequest{Seq: max(seq, 1), NextFor: subject})
}

func (e *engine) any(ctx context.Context, stream string, req getRequest) (*message, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	m, err := e.nc.RequestWithContext(once, "$JS.API.DIRECT.GET."+stream, body)
	if err != nil {
		return nil, err
	}
	if end, err := ends(m); end {
		return nil, err
	}
	return direct(m)
}

// lastSeq returns the sequence of the last message that a stream was given, as
// its leader has it.
func (e *engine) lastSeq(ctx context.Context, stream string) (uint64, error) {
	patient, cancel := e.patient(ctx)
	defer cancel()
	return insist(patient, func(ctx context.Context) (uint64, error) {
		var info struct {
			Error *apiError `json:"error"`
			State struct {
				LastSeq uint64 `json:"last_seq"`
			} `json:"state"`
		}
		if err := e.ask(ctx, "$JS.API.STREAM.INFO."+stream, struct{}{}, &info); err != nil {
			return 0, err
		}
		if info.Error != nil {
			return 0, info.Error
		}
		return info.State.LastSeq, nil
	})
}

// leader names the server that leads a stream, as far as it can be told.
func (e *engine) leader(ctx context.Context, stream string) string {
	var info struct {
		Cluster struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	if err := e.ask(ctx, "$JS.API.STREAM.INFO."+stream, struct{}{}, &info); err != nil || info.Cluster.Leader == "" {
		return e.nc.ConnectedServerName() // it stands alone
	}
	return info.Cluster.Leader
}

// scan passes on the messages of a subject from a sequence on up to last, which
// the leader has told. It waits for a replica that lags, and returns the sequence
// behind the last message that was passed on.
func (e *engine) scan(ctx context.Context, stream, subject string, from, last uint64, pass func(*message) error) (uint64, error) {
	pause := minPause
	for from <= last {
		patient, cancel := e.patient(ctx)
		messages, err := insist(patient, func(ctx context.Context) ([]*message, error) { return e.batch(ctx, stream, subject, from) })
		cancel()
		if err != nil {
			return from, err
		}
		for _, m := range messages {
			if m.seq > last { // who has it has all before it
				return last + 1, nil
			}
			if err := pass(m); err != nil {
				return from, err
			}
			from = m.seq + 1
		}
		if len(messages) > 0 {
			continue
		}
		// Either the replica lags, or what was last is not there any more.
		m, err := e.next(ctx, stream, subject, from)
		if err == nil && (m == nil || m.seq > last) {
			return last + 1, nil
		}
		if err := rest(ctx, pause); err != nil {
			return from, err
		}
		pause = min(2*pause, maxPause)
	}
	return from, nil
}

// erase overwrites a message in all replicas, if it is there.
func (e *engine) erase(ctx context.Context, stream string, seq uint64) error {
	patient, cancel := e.patient(ctx)
	defer cancel()
	_, err := insist(patient, func(ctx context.Context) (struct{}, error) {
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
