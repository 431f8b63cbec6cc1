package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/store/jetstream"

	"github.com/anishathalye/porcupine"
)

// The operations of clients of a session, and their results.
type (
	// asked is an operation of a client.
	asked struct {
		session firn.ID
		kind    kind
		// expect and text are the arguments of an append.
		expect store.Pos
		text   string
	}
	// answered is the result of an operation.
	answered struct {
		kind answerKind
		// end is the end returned by an append or a look.
		end store.Pos
		// n and sum are the number of entries read and their hash.
		n   int
		sum uint64
	}
	kind       int
	answerKind int
)

const (
	appends kind = iota
	reads
	looks
)

const (
	done answerKind = iota
	conflict
	unknown
)

// link is the state of a session in the model: the last entry of a chain.
type link struct {
	n    int
	sum  uint64
	prev *link
}

// add returns the session with one more entry.
func (l *link) add(text string) *link {
	return &link{l.n + 1, chained(l.sum, text), l}
}

func chained(sum uint64, text string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, sum, " ", text)
	return h.Sum64()
}

// begun returns a session in its initial state: a header and one entry.
func begun() *link { return (&link{n: 1}).add(firstText) }

const firstText = "begin"

// sessionModel is the sequential model of a session. A read may return an earlier state,
// since any replica may serve it, but never a state that did not exist.
var sessionModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		of := make(map[firn.ID][]porcupine.Operation)
		for _, o := range history {
			id := o.Input.(asked).session
			of[id] = append(of[id], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range of {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return begun() },
	Step: func(state, input, output any) (bool, any) {
		return behaves(state.(*link), input.(asked), output.(answered))
	},
	Equal: func(a, b any) bool { return a.(*link).n == b.(*link).n && a.(*link).sum == b.(*link).sum },
}

// behaves reports whether a session may give this result, and returns its next state.
func behaves(s *link, in asked, out answered) (bool, *link) {
	switch {
	case in.kind == looks:
		return out.end == store.Pos(s.n), s
	case in.kind == reads:
		for l := s; l != nil && l.n >= out.n; l = l.prev {
			if l.n == out.n {
				return l.sum == out.sum, s
			}
		}
		return false, s
	case out.kind == conflict:
		return in.expect != store.Pos(s.n), s
	case in.expect != store.Pos(s.n):
		return out.kind == unknown, s
	case out.kind == done && out.end != store.Pos(s.n+1):
		return false, s
	}
	return true, s.add(in.text)
}

// history records the operations and results of clients, with their times.
type history struct {
	began time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// run runs an operation and records it, unless it had no result.
func (h *history) run(client int, in asked, do func() (answered, bool)) answered {
	call := time.Since(h.began).Nanoseconds()
	out, reported := do()
	back := time.Since(h.began).Nanoseconds()
	if out.kind == unknown {
		back = math.MaxInt64 // it may happen at any time
	}
	if reported {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: back})
	}
	return out
}

// check fails the test if no sequential order of the operations explains the results.
func (h *history) check(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := make(map[string]int)
	for _, o := range h.ops {
		counts[fmt.Sprint([]string{"append", "read", "look"}[o.Input.(asked).kind], " ", []string{"done", "conflict", "unknown"}[o.Output.(answered).kind])]++
	}
	t.Logf("%d operations: %v", len(h.ops), counts)
	if got := porcupine.CheckOperationsTimeout(sessionModel, h.ops, basetest.Limit); got != porcupine.Ok {
		t.Errorf("the history cannot have happened: %s", got)
	}
}

// client uses sessions shared with other clients until it is stopped.
type client struct {
	number  int
	st      *jetstream.Store
	history *history
	known   map[firn.ID]store.Pos
	read    map[firn.ID]int
	made    int
	chance  *rand.Rand
}

func newClient(number int, st *jetstream.Store, h *history, seed uint64) *client {
	return &client{number: number, st: st, history: h, chance: rand.New(rand.NewPCG(seed, uint64(number))), known: make(map[firn.ID]store.Pos), read: make(map[firn.ID]int)}
}

// work uses the sessions; it calls step after each time.
func (c *client) work(ctx context.Context, t *testing.T, sessions []firn.ID, step func() bool) {
	for step() && !t.Failed() {
		id := sessions[c.chance.IntN(len(sessions))]
		switch c.chance.IntN(4) {
		case 0:
			c.reads(ctx, t, id)
		case 1:
			c.looks(ctx, t, id)
		default:
			c.appends(ctx, t, id)
		}
	}
}

// appends appends at the presumed end. If the cluster does not respond, it repeats the same
// append: that is one operation.
func (c *client) appends(ctx context.Context, t *testing.T, id firn.ID) {
	c.made++
	e := message(fmt.Sprint(c.number, " ", c.made))
	e.ID = firn.EntryID(fmt.Sprintf("e%d-%d", c.number, c.made))
	expect := max(c.known[id], 1)
	out := c.history.run(c.number, asked{id, appends, expect, string(e.ID)}, func() (answered, bool) {
		for {
			end, err := c.st.Append(ctx, id, expect, e)
			var other *store.Conflict
			switch {
			case err == nil:
				return answered{kind: done, end: end}, true
			case errors.As(err, &other):
				return answered{kind: conflict, end: other.End}, true
			case !errors.Is(err, firn.ErrUnavailable):
				t.Errorf("append: %v", err)
				return answered{kind: unknown}, true
			case ctx.Err() != nil:
				return answered{kind: unknown}, true
			}
		}
	})
	c.known[id] = out.end
}

// looks asks the leader for the end.
func (c *client) looks(ctx context.Context, t *testing.T, id firn.ID) {
	c.history.run(c.number, asked{session: id, kind: looks}, func() (answered, bool) {
		end, err := c.st.Append(ctx, id, store.Any)
		if err != nil && !errors.Is(err, firn.ErrUnavailable) && ctx.Err() == nil {
			t.Errorf("look for the end: %v", err)
		}
		return answered{kind: done, end: end}, err == nil
	})
}

// reads reads a whole session. The entries seen before must still be there.
func (c *client) reads(ctx context.Context, t *testing.T, id firn.ID) {
	out := c.history.run(c.number, asked{session: id, kind: reads}, func() (answered, bool) {
		out := answered{kind: done}
		for r, err := range c.st.Read(ctx, id, store.Start) {
			if err != nil {
				if !errors.Is(err, firn.ErrUnavailable) && ctx.Err() == nil {
					t.Errorf("read: %v", err)
				}
				return answered{}, false
			}
			if out.n++; out.n == 1 {
				continue // the header
			}
			text := string(r.Glance.ID)
			out.sum = chained(out.sum, text)
		}
		return out, true
	})
	if out.n == 0 {
		return
	}
	if out.n < c.read[id] {
		t.Errorf("client %d has read %d records of %s, and then %d", c.number, c.read[id], id, out.n)
	}
	c.read[id], c.known[id] = out.n, store.Pos(out.n)
}

// TestModel checks that the model accepts and rejects the right histories.
func TestModel(t *testing.T) {
	const id = "s"
	two := begun().add("a")
	type ops = []porcupine.Operation
	at := func(client int, from, to int64, in asked, out answered) porcupine.Operation {
		in.session = id
		return porcupine.Operation{ClientId: client, Input: in, Call: from, Output: out, Return: to}
	}
	add := func(client int, from, to int64, expect store.Pos, text string, out answered) porcupine.Operation {
		return at(client, from, to, asked{kind: appends, expect: expect, text: text}, out)
	}
	readA := func(from, to int64) porcupine.Operation {
		return at(2, from, to, asked{kind: reads}, answered{n: two.n, sum: two.sum})
	}
	lookAt := func(from, to int64, end store.Pos) porcupine.Operation {
		return at(3, from, to, asked{kind: looks}, answered{end: end})
	}
	for name, c := range map[string]struct {
		history ops
		want    porcupine.CheckResult
	}{
		"one after the other":             {ops{add(0, 1, 2, 2, "a", answered{end: 3}), readA(3, 4), lookAt(5, 6, 3)}, porcupine.Ok},
		"one wins":                        {ops{add(0, 1, 9, 2, "a", answered{end: 3}), add(1, 1, 9, 2, "b", answered{kind: conflict})}, porcupine.Ok},
		"two win":                         {ops{add(0, 1, 9, 2, "a", answered{end: 3}), add(1, 1, 9, 2, "b", answered{end: 3})}, porcupine.Illegal},
		"a conflict without a writer":     {ops{add(0, 1, 9, 2, "a", answered{kind: conflict})}, porcupine.Illegal},
		"an entry is lost":                {ops{add(0, 1, 2, 2, "a", answered{end: 3}), lookAt(3, 4, 2)}, porcupine.Illegal},
		"a duplicate entry":               {ops{add(0, 1, 2, 2, "a", answered{end: 3}), lookAt(3, 4, 4)}, porcupine.Illegal},
		"a read is late":                  {ops{add(0, 1, 2, 2, "a", answered{end: 3}), add(0, 3, 4, 3, "b", answered{end: 4}), readA(5, 6)}, porcupine.Ok},
		"a read tells what never was":     {ops{add(0, 1, 2, 2, "b", answered{end: 3}), readA(3, 4)}, porcupine.Illegal},
		"a read returns a later append":   {ops{readA(1, 2), add(0, 3, 4, 2, "a", answered{end: 3})}, porcupine.Illegal},
		"an unknown append took effect":   {ops{add(0, 1, math.MaxInt64, 2, "a", answered{kind: unknown}), readA(3, 4)}, porcupine.Ok},
		"an unknown append had no effect": {ops{add(0, 1, math.MaxInt64, 2, "b", answered{kind: unknown}), add(1, 3, 4, 2, "a", answered{end: 3}), readA(5, 6)}, porcupine.Ok},
	} {
		if got := porcupine.CheckOperationsTimeout(sessionModel, c.history, basetest.Limit); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
