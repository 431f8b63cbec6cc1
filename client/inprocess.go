package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Local is a transport to a handler in this process. It does not buffer: every write of the
// handler is immediately available to the reader and returns when it was read.
//
// The handler sees a request as from a Unix socket: its RemoteAddr is "@". Its context ends
// when the caller's does, when the caller closes the response body, and when Local is
// closed.
type Local struct {
	handler http.Handler
	ctx     context.Context
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// InProcess returns a transport to a handler.
func InProcess(h http.Handler) *Local {
	l := &Local{handler: h}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// errLocalClosed is the cause of canceled requests when Local is closed.
var errLocalClosed = errors.New("the gateway in this process is closed")

// Close cancels all requests and waits until their handlers have returned.
func (l *Local) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel(errLocalClosed)
	l.work.Wait()
	return nil
}

// RoundTrip calls the handler. It returns when the handler starts to respond; the handler
// continues while the body is read. A panic of the handler becomes an error, either here or
// from the body.
func (l *Local) RoundTrip(r *http.Request) (*http.Response, error) {
	if !l.startRequest() {
		closeBody(r)
		return nil, errLocalClosed
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	unlink := context.AfterFunc(l.ctx, func() { cancel(errLocalClosed) })
	a := newAnswer(r, cancel)
	// The end of the context must unblock both the reader and the writer of the pipe.
	stop := context.AfterFunc(ctx, func() { a.out.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer l.work.Done()
		defer closeBody(r)
		defer unlink()
		err := serve(l.handler, a, serverRequest(ctx, r))
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx) // the handler may have omitted half of it
		}
		a.finish(err)
		if stop() {
			cancel(nil) // as servers do; written data can still be read
		}
	}()
	select {
	case <-a.begun:
		return a.response, a.early
	case <-ctx.Done():
	}
	// The context also ends when the handler is done, and select may choose that case
	// first.
	select {
	case <-a.begun:
		return a.response, a.early
	default:
		return nil, context.Cause(ctx)
	}
}

// startRequest counts a request. It returns false if Local is closed.
func (l *Local) startRequest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.work.Add(1)
	}
	return !l.closed
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// serverRequest returns a copy of the request as a server sees it.
func serverRequest(ctx context.Context, r *http.Request) *http.Request {
	in := r.Clone(ctx)
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	in.URL.Scheme, in.URL.Host = "", ""
	in.RequestURI = in.URL.RequestURI()
	in.RemoteAddr = "@"
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// serve calls the handler and turns a panic into an error.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch fell := recover(); fell {
		case nil:
		case http.ErrAbortHandler: // intentional: the connection breaks
			err = io.ErrUnexpectedEOF
		default:
			err = &panicError{value: fell}
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// panicError is the error of a handler that panicked.
type panicError struct{ value any }

// Error includes the panic value.
func (p *panicError) Error() string { return fmt.Sprintf("internal error in the gateway: %v", p.value) }

// responseWriter passes the response of a handler to the caller.
type responseWriter struct {
	request *http.Request
	header  http.Header // written by the handler
	in      *io.PipeReader
	out     *io.PipeWriter

	begun    chan struct{} // closed when response or early is set
	started  bool
	response *http.Response
	early    error // error of a handler that failed before it responded
	// left is the number of bytes that may still be written according to the Content-Length
	// header; -1 if there is none.
	left int64
}

func newAnswer(r *http.Request, cancel context.CancelCauseFunc) *responseWriter {
	a := &responseWriter{request: r, header: make(http.Header), begun: make(chan struct{}), left: -1}
	a.in, a.out = io.Pipe()
	a.response = &http.Response{Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1}
	a.response.Body = &responseBody{PipeReader: a.in, cancel: cancel}
	return a
}

// responseBody is the body of a response; closing it ends the request.
type responseBody struct {
	*io.PipeReader
	cancel context.CancelCauseFunc
}

// Close cancels the handler's context.
func (b *responseBody) Close() error {
	b.cancel(context.Canceled)
	return b.PipeReader.Close()
}

// Header returns the header that will be sent.
func (a *responseWriter) Header() http.Header { return a.header }

// WriteHeader starts the response. Only the first call has an effect.
func (a *responseWriter) WriteHeader(code int) {
	if a.started || code < 200 {
		return // early hints are for browsers
	}
	a.started = true
	a.response.StatusCode = code
	a.response.Status = strconv.Itoa(code) + " " + http.StatusText(code)
	a.response.Header = a.header.Clone()
	if n, err := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		a.response.ContentLength, a.left = n, n
	}
	if a.bodiless() {
		a.left = 0
	}
	close(a.begun)
}

// bodiless reports whether this kind of response has no body.
func (a *responseWriter) bodiless() bool {
	code := a.response.StatusCode
	return a.request.Method == http.MethodHead || code == http.StatusNoContent || code == http.StatusNotModified
}

// Write passes b to the reader of the body. It returns when all of it was read, or with an
// error if it will not be read.
func (a *responseWriter) Write(b []byte) (int, error) {
	if !a.started {
		if a.header.Get("Content-Type") == "" {
			a.header.Set("Content-Type", http.DetectContentType(b))
		}
		a.WriteHeader(http.StatusOK)
	}
	switch {
	case a.bodiless():
		return 0, http.ErrBodyNotAllowed
	case a.left < 0:
		return a.out.Write(b)
	case int64(len(b)) > a.left:
		return 0, http.ErrContentLength
	}
	n, err := a.out.Write(b)
	a.left -= int64(n)
	return n, err
}

// Flush starts the response. Data is never buffered.
func (a *responseWriter) Flush() { a.WriteHeader(http.StatusOK) }

// finish ends the response, with an error if err is not nil.
func (a *responseWriter) finish(err error) {
	if err != nil && !a.started {
		a.early, a.response = err, nil
		a.started = true
		close(a.begun)
	}
	a.WriteHeader(http.StatusOK)
	if err == nil && a.left > 0 && !a.bodiless() {
		err = io.ErrUnexpectedEOF // less than Content-Length
	}
	a.out.CloseWithError(err)
}
