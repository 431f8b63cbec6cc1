package mcp

import (
	"context"
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
	// listing is set while the list of resources is followed.
	listing bool
	// subscriptions are those of single resources, by URI.
	subscriptions map[string]*subscription
}

// subscription is a resource that is followed.
type subscription struct {
	// count is the number of requests for it.
	count  int
	cancel context.CancelFunc
}

// newWatcher returns a watcher for the time of ctx.
func newWatcher(ctx context.Context, d *toolServer) *watcher {
	w := &watcher{d: d, subscriptions: make(map[string]*subscription)}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// close ends all followers and waits for them.
func (w *watcher) close() {
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

// followList notifies clients when sessions are created, renamed, hidden or shown.
func (w *watcher) followList() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listing {
		return
	}
	w.listing = true
	w.followers.Go(func() {
		for e, err := range w.d.c.AllEvents(w.ctx) {
			if err != nil {
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
		return sentence(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	sub := w.subscriptions[uri]
	if sub == nil {
		sub = &subscription{}
		w.subscriptions[uri] = sub
		var follow context.Context
		follow, sub.cancel = context.WithCancel(w.ctx)
		w.followers.Go(func() { w.followSession(follow, uri, s.ID, s.End) })
	}
	sub.count++
	return nil
}

// followSession notifies clients of each change of a session after a position.
func (w *watcher) followSession(ctx context.Context, uri string, id firn.ID, after firn.Pos) {
	for e, err := range w.d.c.Events(ctx, id, after) {
		if err != nil {
			return
		}
		switch e.Name {
		case wire.EntryAppended, wire.HeadMoved, wire.Gap:
			_ = w.server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // the client may be gone
		}
	}
}

// unsubscribe stops following a resource.
func (w *watcher) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	sub := w.subscriptions[req.Params.URI]
	if sub == nil {
		return nil
	}
	if sub.count--; sub.count == 0 {
		sub.cancel()
		delete(w.subscriptions, req.Params.URI)
	}
	return nil
}
