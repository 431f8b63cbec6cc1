package jetstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"

	"github.com/nats-io/nats.go"
)

// script is a cluster with scripted responses, one for each publish and each read.
type script struct {
	t       *testing.T
	answers []answer
	// looks are the messages that the leader has after the expected one.
	looks []sight
	sent  []string
}

type answer struct {
	ack ack
	err error
}

type sight struct {
	id  string
	seq uint64
	err error
}

func (s *script) publish(ctx context.Context, m *nats.Msg) (ack, error) {
	s.sent = append(s.sent, m.Header.Get(headID)+" after "+m.Header.Get(headExpect))
	if len(s.answers) == 0 {
		return ack{}, nats.ErrNoResponders
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	if a.err != nil && errors.Is(a.err, context.DeadlineExceeded) {
		if err := sleepContext(ctx, attempt); err != nil {
			return ack{}, err
		}
	}
	return a.ack, a.err
}

func (s *script) stalled(string, uint64) {}

func (s *script) next(_ context.Context, _, subject string, seq uint64) (*message, error) {
	if seq != 8 || subject != "s" {
		s.t.Errorf("searched for %s from %d", subject, seq)
	}
	l := s.looks[0]
	s.looks = s.looks[1:]
	if l.err != nil || l.seq == 0 {
		return nil, l.err
	}
	return &message{seq: l.seq, subject: subject, header: nats.Header{headID: {l.id}}}, nil
}

func no(code int, text string) answer {
	return answer{ack: ack{Error: &apiError{Code: 400, ErrCode: code, Description: text}}}
}

func yes(seq uint64, duplicate bool) answer { return answer{ack: ack{Seq: seq, Duplicate: duplicate}} }

// TestPublishOutcome covers the possible responses to a publish that expects message 7 to be the
// last.
func TestPublishOutcome(t *testing.T) {
	timeout := answer{err: context.DeadlineExceeded}
	away := answer{err: nats.ErrNoResponders}
	unavailable := answer{ack: ack{Error: &apiError{Code: 503, ErrCode: 10008, Description: "JetStream system temporarily unavailable"}}}
	stale := no(10071, "wrong last sequence: 5")
	taken := no(10071, "wrong last sequence: 9")
	cases := map[string]struct {
		answers []answer
		looks   []sight
		want    uint64
		err     error
		sent    int
	}{
		"it is stored":                                     {answers: []answer{yes(9, false)}, want: 9, sent: 1},
		"it was stored by an attempt before":               {answers: []answer{timeout, yes(8, true)}, want: 8, sent: 2},
		"the publish before is not done with":              {answers: []answer{no(10164, "wrong last sequence"), no(10158, "duplicate message id is in process"), yes(9, false)}, want: 9, sent: 3},
		"a stale leader refuses":                           {answers: []answer{stale, stale, yes(9, false)}, want: 9, sent: 3},
		"a stale leader tells our own last":                {answers: []answer{no(10071, "wrong last sequence: 7"), yes(9, false)}, want: 9, sent: 2},
		"a stale leader knows nothing":                     {answers: []answer{no(10071, "wrong last sequence: 0"), yes(9, false)}, want: 9, sent: 2},
		"another writer was first":                         {answers: []answer{taken}, looks: []sight{{"other", 9, nil}}, err: errFenced, sent: 1},
		"the first message is its own":                     {answers: []answer{timeout, taken}, looks: []sight{{"mine", 9, nil}}, want: 9, sent: 2},
		"the server asked for the writer does not know":    {answers: []answer{taken, taken}, looks: []sight{{}, {"other", 9, nil}}, err: errFenced, sent: 2},
		"the server asked for the writer does not respond": {answers: []answer{taken, yes(9, true)}, looks: []sight{{err: nats.ErrTimeout}}, want: 9, sent: 2},
		"no response for a while":                          {answers: []answer{away, away, timeout, unavailable, away, yes(12, false)}, want: 12, sent: 6},
		"no response":                                      {err: firn.ErrNotSaved},
		"it is too large":                                  {answers: []answer{no(10054, "message size exceeds maximum allowed")}, err: firn.ErrNotSaved, sent: 1},
		"it is too large to be sent":                       {answers: []answer{{err: nats.ErrMaxPayload}}, err: firn.ErrNotSaved, sent: 1},
		"a rejection with an invalid number":               {answers: []answer{no(10071, "wrong last sequence: many"), yes(9, false)}, want: 9, sent: 2},
		"the store is closed while waiting":                {answers: []answer{{err: nats.ErrConnectionClosed}}, err: nats.ErrConnectionClosed, sent: 1},
		"another rejection while the outcome is unknown":   {answers: []answer{timeout, no(10077, "maximum messages exceeded")}, err: firn.ErrNotSaved, sent: 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				s := &script{t: t, answers: c.answers, looks: c.looks}
				m := &nats.Msg{Subject: "s", Header: nats.Header{headID: {"mine"}}}
				seq, err := publishFenced(ctx, s, "stream", m, 7)
				if seq != c.want || !errors.Is(err, c.err) {
					t.Errorf("got %d, %v; want %d, %v", seq, err, c.want, c.err)
				}
				if c.sent > 0 && len(s.sent) != c.sent {
					t.Errorf("it was sent %d times, want %d", len(s.sent), c.sent)
				}
				for _, sent := range s.sent {
					if sent != "mine after 7" {
						t.Errorf("sent as %q", sent)
					}
				}
				if len(s.looks) > 0 {
					t.Errorf("%d looks were not made", len(s.looks))
				}
			})
		})
	}
}

func TestNoRespondersIsRetryable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		_, err := publishFenced(ctx, &script{t: t}, "stream", &nats.Msg{Subject: "s", Header: nats.Header{}}, 0)
		var u *Unavailable
		if !errors.As(err, &u) || !u.Retryable() || !errors.Is(err, firn.ErrNotSaved) || !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("the error is %v", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it gave up after %v", took)
		}
	})
}

func TestTokens(t *testing.T) {
	for _, id := range []firn.ID{"a", "a.b", "a-b_c.d.", "0198c2d4-0000-7000-8000-000000000000"} {
		if got := idOf(token(id)); got != id {
			t.Errorf("%s became %s", id, got)
		}
	}
	if token("a.b") == token("a-b") {
		t.Error("two IDs have the same token")
	}
}

func TestAtLeast(t *testing.T) {
	for version, want := range map[string]bool{"2.12.0": true, "2.15.2": true, "3.0.0-beta": true, "2.11.9": false, "1.99.0": false, "": false, "v2.12": true, "x.y": false} {
		if got := atLeast(version, minMajor, minMinor); got != want {
			t.Errorf("version %q is accepted: %v", version, got)
		}
	}
}

// TestOutages checks that a write after a timed-out one waits only briefly, until one
// succeeds or some time has passed.
func TestOutages(t *testing.T) {
	o := outages{last: make(map[string]time.Time)}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want := func(stream string, d time.Duration) {
		t.Helper()
		if got := o.waitTime(stream, 15*time.Second, now); got != d {
			t.Errorf("%s: the patience is %v, want %v", stream, got, d)
		}
	}
	given, cancel := context.WithCancel(t.Context())
	cancel()
	want("a", 15*time.Second)
	o.record(given, "a", &Unavailable{Write: true}, now)
	want("a", 15*time.Second)
	o.record(t.Context(), "a", &Unavailable{Write: true}, now)
	want("a", shortWait)
	want("b", 15*time.Second)
	now = now.Add(50 * time.Second)
	want("a", shortWait)
	o.record(t.Context(), "a", &Unavailable{Write: true}, now)
	now = now.Add(50 * time.Second)
	want("a", shortWait)
	o.record(t.Context(), "a", nil, now)
	want("a", 15*time.Second)
	o.record(t.Context(), "a", &Unavailable{Write: true}, now)
	now = now.Add(outageMemory)
	want("a", 15*time.Second)
	if got := o.waitTime("a", time.Millisecond, now); got != time.Millisecond {
		t.Errorf("a store that never waits long waits %v", got)
	}
}

// TestMissingStreamIsRetried checks that a server that does not know a stream yet is asked
// again, since no stream is removed while the store is open; other rejections are final.
func TestMissingStreamIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		ask := func(refusals ...*apiError) func(context.Context) (int, error) {
			asked = 0
			return func(context.Context) (int, error) {
				if asked++; asked <= len(refusals) {
					return 0, refusals[asked-1]
				}
				return asked, nil
			}
		}
		noStream := &apiError{Code: 404, ErrCode: codeNoStream, Description: "stream not found"}
		if n, err := askUntilAnswered(t.Context(), ask(noStream, noStream)); n != 3 || err != nil {
			t.Errorf("answer %d, error %v; want the third answer", n, err)
		}
		invalid := &apiError{Code: 400, ErrCode: 10003, Description: "bad request"}
		if _, err := askUntilAnswered(t.Context(), ask(invalid)); !errors.Is(err, invalid) || asked != 1 {
			t.Errorf("called %d times, error %v; want an immediate rejection", asked, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := askUntilAnswered(ctx, func(context.Context) (int, error) { return 0, noStream }); !errors.Is(err, firn.ErrUnavailable) {
			t.Errorf("a stream that is never found: %v, want unavailable", err)
		}
	})
}
