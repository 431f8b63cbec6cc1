package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/wire"
)

// watcher notifies the client of changed resources. It follows the gateway's events only
// while the client wants to know of them.
type watcher struct {
	d      *toolServer
	server *sdk.Server
	// ctx ends with the connection, or over HTTP with the request.
	ctx    context.Context
	cancel context.CancelFunc
	// followers are the goroutines that read events.
	followers sync.WaitGroup

	mu sync.Mutex
	// closed is set when close waits for the followers: none may begin after that.
	closed bool
	// listing is set while the list of resources is followed.
	listing bool
	// names are the subscribed URIs with their sessions. A session can have several, such as
	// its ID and its key.
	names map[string]firn.ID
	// sessions are the subscribed sessions.
	sessions map[firn.ID]*subscription
	// listens end the requests that listen.
	listens map[*sdk.SubscriptionsListenRequest]context.CancelFunc
}

// mostSubscriptions is the maximum number of subscribed URIs of a connection. Each session
// takes one of the event streams that all clients of the gateway share.
const mostSubscriptions = 32

// subscription is a session that is followed.
type subscription struct{ cancel context.CancelFunc }

// newWatcher returns a watcher for the time of ctx.
func newWatcher(ctx context.Context, d *toolServer) *watcher {
	w := &watcher{d: d, names: make(map[string]firn.ID), sessions: make(map[firn.ID]*subscription),
		listens: make(map[*sdk.SubscriptionsListenRequest]context.CancelFunc)}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// close ends all followers and waits for them.
func (w *watcher) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.followers.Wait()
}

// listChanged notifies clients that the list of resources has changed.
func (w *watcher) listChanged() { w.d.addSessionsResource(w.server) }

// middleware begins to follow the list of resources when a client listens for its changes
// or, on a connection that lasts, has read it.
func (w *watcher) middleware(o Options) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			switch r := req.(type) {
			case *sdk.SubscriptionsListenRequest:
				var done func()
				ctx, done = w.listen(ctx, r)
				defer done()
				if n := r.Params.Notifications; o.live && n != nil && n.ResourcesListChanged {
					w.followList()
				}
			case *sdk.ListResourcesRequest:
				if o.connected {
					w.followList()
				}
			}
			return next(ctx, method, req)
		}
	}
}

// listen returns a context for a request that listens, which ends when events can no longer
// be followed, and a function to call after the request.
func (w *watcher) listen(ctx context.Context, r *sdk.SubscriptionsListenRequest) (context.Context, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	w.listens[r] = cancel
	return ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		cancel()
		delete(w.listens, r)
	}
}

// lost ends the requests that listen, because events can no longer be followed: the token
// may be revoked. Their clients would wait for notifications that never come.
func (w *watcher) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cancel := range w.listens {
		cancel()
	}
}

// followList notifies clients when sessions are created, renamed, hidden or shown.
func (w *watcher) followList() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listing || w.closed {
		return
	}
	w.listing = true
	w.followers.Go(func() {
		for e, err := range w.d.c.AllEvents(w.ctx) {
			if err != nil {
				w.lost()
				break
			}
			if e.Name == wire.SessionUpdated || e.Name == wire.Gap {
				w.listChanged()
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.listing = false // the next request tries again
	})
}

// subscribe begins to follow a resource. Only sessions change: entries never do, and notes
// have no events.
func (w *watcher) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	uri := req.Params.URI
	name, ok := parseURI(uri)
	if !ok {
		return sdk.ResourceNotFoundError(uri)
	}
	if name.kind != kindSession {
		return invalidParams("only sessions can be subscribed to, as " + sessionTemplate)
	}
	s, err := w.d.c.Session(ctx, name.session)
	if err != nil && unlessAbsent(err) == nil {
		return sdk.ResourceNotFoundError(uri)
	}
	if err != nil {
		return failure(err)
	}
	return w.follow(uri, s)
}

// follow adds a URI of a session, and follows the session if no other URI of it is
// subscribed.
func (w *watcher) follow(uri string, s wire.Session) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return failure(errors.New("the connection is closing"))
	}
	if id, ok := w.names[uri]; ok && id == s.ID {
		return nil
	}
	if _, ok := w.names[uri]; !ok && len(w.names) >= mostSubscriptions {
		return invalidParams(fmt.Sprintf("a connection can subscribe to %d resources; unsubscribe from others first", mostSubscriptions))
	}
	w.drop(uri) // it may have named another session
	w.names[uri] = s.ID
	if w.sessions[s.ID] == nil {
		ctx, cancel := context.WithCancel(w.ctx)
		sub := &subscription{cancel: cancel}
		w.sessions[s.ID] = sub
		w.followers.Go(func() { w.followSession(ctx, sub, s.ID, s.End) })
	}
	return nil
}

// followSession notifies clients of each change of a session after a position. If the
// events end early, so do the subscriptions.
func (w *watcher) followSession(ctx context.Context, sub *subscription, id firn.ID, after firn.Pos) {
	for e, err := range w.d.c.Events(ctx, id, after) {
		if err != nil {
			w.lost()
			break
		}
		switch e.Name {
		case wire.EntryAppended, wire.HeadMoved, wire.Gap:
			for _, uri := range w.namesOf(id) {
				_ = w.server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // the client may be gone
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	sub.cancel()
	if w.sessions[id] == sub {
		delete(w.sessions, id)
		maps.DeleteFunc(w.names, func(_ string, of firn.ID) bool { return of == id })
	}
}

// namesOf returns the subscribed URIs of a session.
func (w *watcher) namesOf(id firn.ID) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var uris []string
	for uri, of := range w.names {
		if of == id {
			uris = append(uris, uri)
		}
	}
	return uris
}

// unsubscribe removes a URI. Requests for the same URI are not counted: the SDK sends no
// notifications about it after the first of them ends.
func (w *watcher) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(req.Params.URI)
	return nil
}

// drop removes a URI, and stops following its session if that has no other. The caller
// holds the lock.
func (w *watcher) drop(uri string) {
	id, ok := w.names[uri]
	if !ok {
		return
	}
	delete(w.names, uri)
	for _, other := range w.names {
		if other == id {
			return
		}
	}
	w.sessions[id].cancel()
	delete(w.sessions, id)
}
