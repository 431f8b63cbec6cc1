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

// A client that received no response to a creating request sends it again with the same
// Idempotency-Key and receives the original response. Messages to an agent are identified
// by their entry in the log, without a time limit. Entries, sessions, forks, compactions
// and notes are identified by the key of the request, which is stored in the log or in the
// history of the notes, so another gateway finds it too. The responses cached here avoid
// that search and serialize concurrent requests with the same key.

const (
	// rememberedFor is how long a response is cached, mostRemembered the maximum number of
	// responses, and largestReply the maximum size of one in bytes.
	rememberedFor  = 24 * time.Hour
	mostRemembered = 1000
	largestReply   = 256 << 10
)

// replies caches the responses to requests with an idempotency key.
type replies struct {
	mu    sync.Mutex
	named map[string]*reply
	// order lists the names, oldest first.
	order []string
}

// reply is a response that is complete or in progress.
type reply struct {
	request [sha256.Size]byte
	since   time.Time
	done    chan struct{}
	// status is zero if the request failed and may be repeated.
	status int
	etag   string
	body   []byte
}

// claim returns the reply of a name and reports whether the caller must produce it. If so,
// the caller must call finish.
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
		if i := slices.IndexFunc(r.order, func(name string) bool { return r.named[name].finished() }); i >= 0 {
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

// finish marks a reply as complete. A failed one is removed so that the request can be
// repeated.
func (r *replies) finish(name string, one *reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.status == 0 && r.named[name] == one {
		r.forget(slices.Index(r.order, name))
	}
	close(one.done)
}

// forget removes a reply by its index in order.
func (r *replies) forget(i int) {
	delete(r.named, r.order[i])
	r.order = slices.Delete(r.order, i, i+1)
}

// finished reports whether a reply is complete. Replies in progress are never removed.
func (r *reply) finished() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// runOnce runs a creating operation. If the request has an idempotency key that was used
// before, it repeats the earlier response.
func (c *call) runOnce() error {
	key, err := idempotency(c.r, "")
	if err != nil || key == "" {
		if err != nil {
			return err
		}
		return c.op.run(c)
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	c.putBack(body)
	name := c.who.rightsKey() + "\n" + c.r.Method + " " + c.r.URL.EscapedPath() + "\n" + key
	request := sha256.Sum256(append(bytes.Clone(body), c.r.Header.Get("If-Match")...))
	c.r = c.r.WithContext(gateway.WithRequest(c.r.Context(), name, string(request[:])))
	for {
		one, mine := c.h.replies.claim(name, request, time.Now())
		if mine {
			return c.answerOnce(name, one)
		}
		if one.request != request {
			return &wire.Problem{Kind: wire.Invalid, Message: "the Idempotency-Key was used by another request", Hint: "use a new key for each request"}
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

// rightsKey distinguishes callers of the same name: a response must not be repeated to a
// caller with fewer rights.
func (i identity) rightsKey() string {
	return fmt.Sprintf("%q %t %s %q %q", i.name, i.owner, i.scope, i.agents, i.keys)
}

// answerOnce runs the operation and caches the response.
func (c *call) answerOnce(name string, one *reply) error {
	defer c.h.replies.finish(name, one) // also after a panic
	c.w.copy = new(bytes.Buffer)
	err := c.op.run(c)
	if err == nil && c.w.status >= 200 && c.w.status <= 299 && c.w.copy.Len() <= largestReply {
		one.status, one.etag, one.body = c.w.status, c.w.Header().Get("ETag"), c.w.copy.Bytes()
	}
	return err
}

// repeat sends a cached response.
func (c *call) repeat(one *reply) {
	head := c.w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Idempotent-Replayed", "true")
	if one.etag != "" {
		head.Set("ETag", one.etag)
	}
	c.deadline()
	c.w.WriteHeader(one.status)
	c.w.Write(one.body) // errors mean the client disconnected
}
