package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// A client that got no answer to a request that makes something sends it again,
// under the same Idempotency-Key, and gets the answer that was given. What is
// said to an agent is known by its entry in the log, for ever. Entries, sessions, forks,
// compactions and notes are known by the name of the request, which is in the log or
// in the history of the notes: also the next gateway finds it. Answers that are
// remembered here spare that search, and tell requests apart that run at once.

const (
	// rememberedFor is how long an answer is remembered, mostRemembered how many
	// are at a time, and largestReply how large one may be.
	rememberedFor  = 24 * time.Hour
	mostRemembered = 1000
	largestReply   = 256 << 10
)

// replies are the answers that were given to requests that name themselves.
type replies struct {
	mu    sync.Mutex
	named map[string]*reply
	// order are the names, the oldest first.
	order []string
}

// reply is an answer, or that one is being found.
type reply struct {
	request [sha256.Size]byte
	since   time.Time
	done    chan struct{}
	// status is zero if the request failed, and may be made again.
	status int
	etag   string
	body   []byte
}

// claim returns the answer of a name, and whether it is for the caller to find
// it. The caller must then settle it.
func (r *replies) claim(name string, request [sha256.Size]byte, now time.Time) (*reply, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.order) > 0 && now.Sub(r.named[r.order[0]].since) > rememberedFor {
		r.forget(0)
	}
	if one, ok := r.named[name]; ok {
		return one, false
	}
	if len(r.order) >= mostRemembered {
		if i := slices.IndexFunc(r.order, func(name string) bool { return r.named[name].settled() }); i >= 0 {
			r.forget(i)
		}
	}
	if r.named == nil {
		r.named = make(map[string]*reply)
	}
	one := &reply{request: request, since: now, done: make(chan struct{})}
	r.named[name] = one
	r.order = append(r.order, name)
	return one, true
}

// settle says that an answer was found. One that failed is forgotten, so that
// it can be tried again.
func (r *replies) settle(name string, one *reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.status == 0 && r.named[name] == one {
		r.forget(slices.Index(r.order, name))
	}
	close(one.done)
}

// forget forgets one, by its place in the order.
func (r *replies) forget(i int) {
	delete(r.named, r.order[i])
	r.order = slices.Delete(r.order, i, i+1)
}

// settled reports whether the answer was found: one that is being found is not forgotten.
func (r *reply) settled() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// runOnce runs an operation that makes something, unless the request names
// itself and was answered: then it gets the same answer.
func (c *call) runOnce() error {
	key, err := idempotency(c.r, "")
	if err != nil || key == "" {
		if err != nil {
			return err
		}
		return c.op.run(c)
	}
	body, err := c.whole()
	if err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	c.putBack(body)
	name := c.who.rights() + "\n" + c.r.Method + " " + c.r.URL.EscapedPath() + "\n" + key
	request := sha256.Sum256(append(bytes.Clone(body), c.r.Header.Get("If-Match")...))
	c.r = c.r.WithContext(gateway.WithRequest(c.r.Context(), name, string(request[:])))
	for {
		one, mine := c.h.replies.claim(name, request, time.Now())
		if mine {
			return c.answerOnce(name, one)
		}
		if one.request != request {
			return &wire.Problem{Kind: wire.Invalid, Message: "another request had that Idempotency-Key", Hint: "use a new one for each"}
		}
		select {
		case <-one.done:
		case <-c.r.Context().Done():
			return c.r.Context().Err()
		}
		if one.status != 0 {
			c.repeat(one)
			return nil
		}
	}
}

// rights tells those apart who are called the same: what one was answered is not for
// another who may see less.
func (i identity) rights() string {
	return fmt.Sprintf("%q %t %s %q %q", i.name, i.owner, i.scope, i.agents, i.keys)
}

// answerOnce finds an answer, and remembers it.
func (c *call) answerOnce(name string, one *reply) error {
	defer c.h.replies.settle(name, one) // also if it breaks down
	c.w.copy = new(bytes.Buffer)
	err := c.op.run(c)
	if err == nil && c.w.status >= 200 && c.w.status <= 299 && c.w.copy.Len() <= largestReply {
		one.status, one.etag, one.body = c.w.status, c.w.Header().Get("ETag"), c.w.copy.Bytes()
	}
	return err
}

// repeat gives an answer again.
func (c *call) repeat(one *reply) {
	head := c.w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Idempotent-Replayed", "true")
	if one.etag != "" {
		head.Set("ETag", one.etag)
	}
	c.deadline()
	c.w.WriteHeader(one.status)
	c.w.Write(one.body) // who is gone needs no answer
}
