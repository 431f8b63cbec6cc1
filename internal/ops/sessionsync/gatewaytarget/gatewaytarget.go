// Package gatewaytarget keeps the files of a sync at a gateway, which stores them as a folder does and cannot
// read them. It implements the interface Remote of package sessionsync.
package gatewaytarget

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/wire"
)

// Options describe a gateway.
type Options struct {
	// Client is connected to the gateway.
	Client *client.Client
	// Reader wraps what is read and sent, to limit the bandwidth. It may be nil.
	Reader func(ctx context.Context, from io.Reader) io.Reader
	// Pause is the time before the first retry of a request; each further one takes twice as
	// long. 0 means 200 ms.
	Pause time.Duration
	// MaxFile is the size of the largest file that is read.
	MaxFile int64
}

// Gateway is the files of syncs at a gateway.
type Gateway struct{ o Options }

// New returns the files at a gateway. It sends no request.
func New(o Options) *Gateway {
	if o.Pause == 0 {
		o.Pause = 200 * time.Millisecond
	}
	if o.Reader == nil {
		o.Reader = func(_ context.Context, from io.Reader) io.Reader { return from }
	}
	return &Gateway{o}
}

// All returns the names of all files.
func (g *Gateway) All(ctx context.Context) (names []string, err error) {
	err = g.try(ctx, func() error {
		names, err = g.o.Client.Transfer.SyncFiles(ctx)
		return err
	})
	if errors.Is(err, firn.ErrNotFound) { // the route
		err = failure.WithHint(failure.Of(firn.ErrUnavailable, "%s is too old to keep files of syncs", g.o.Client.Address()), "upgrade firn there")
	}
	return names, g.explain(err)
}

// Get returns the content of a file, or ErrNotFound.
func (g *Gateway) Get(ctx context.Context, name string) (data []byte, err error) {
	err = g.try(ctx, func() error {
		body, err := g.o.Client.Transfer.OpenSyncFile(ctx, name)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }() // everything was read
		if data, err = io.ReadAll(io.LimitReader(g.o.Reader(ctx, body), g.o.MaxFile+1)); err != nil {
			return brokenBody{err}
		}
		return nil
	})
	if err == nil && int64(len(data)) > g.o.MaxFile {
		return nil, failure.Of(firn.ErrTooLarge, "read %s: it is too large", name)
	}
	return data, g.explain(err)
}

// Put creates a file. It does nothing if the file exists.
func (g *Gateway) Put(ctx context.Context, name string, data []byte) error {
	return g.explain(g.try(ctx, func() error {
		_, err := g.o.Client.Transfer.PutSyncFile(ctx, name, g.o.Reader(ctx, bytes.NewReader(data)))
		return err
	}))
}

// brokenBody is the error of a response that was cut off.
type brokenBody struct{ error }

// Unwrap returns the cause.
func (b brokenBody) Unwrap() error { return b.error }

// tries is how often a request is sent.
const tries = 4

// try calls do until it succeeds or fails for good. Every request may be repeated.
func (g *Gateway) try(ctx context.Context, do func() error) error {
	pause := g.o.Pause
	for n := 1; ; n++ {
		err := do()
		if err == nil || n == tries || ctx.Err() != nil || !isTransient(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		pause *= 2
	}
}

// isTransient reports whether a request may succeed if it is sent again.
func isTransient(err error) bool {
	var lost *client.Unreachable
	var broken brokenBody
	if errors.As(err, &lost) || errors.As(err, &broken) {
		return true
	}
	switch wire.KindOf(err) {
	case wire.Busy, wire.Closing, wire.Unavailable:
		return true
	}
	return false
}

// rejected is an error about the token, which every other request would have too.
type rejected struct{ error }

// ConcernsAll reports that it ends a sync.
func (rejected) ConcernsAll() bool { return true }

// Unwrap returns the error.
func (r rejected) Unwrap() error { return r.error }

// explain returns an error with its kind and a hint.
func (g *Gateway) explain(err error) error {
	var lost *client.Unreachable
	var broken brokenBody
	host := g.o.Client.Address()
	switch kind := wire.KindOf(err); {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case kind == wire.NoToken:
		return failure.WithHint(rejected{failure.Of(fs.ErrPermission, "%s rejected the token", host)}, "create one there: firn token create NAME --scope sync, and put it into the token file")
	case kind == wire.NotAllowed:
		return failure.WithHint(rejected{failure.Of(fs.ErrPermission, "the token is not permitted to sync at %s", host)}, "create one there: firn token create NAME --scope sync, and put it into the token file")
	case kind == wire.Unsupported:
		return rejected{err}
	case errors.As(err, &lost), errors.As(err, &broken):
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "%s cannot be reached: %v", host, err), "check the network and the address; the next sync continues")
	case isTransient(err):
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "%s has a problem: %v", host, err), "try again later; the next sync continues")
	}
	return err
}
