package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Endpoint is a provider's address and how it is talked to: what all wire
// clients have in common. It must not be changed once used.
type Endpoint struct {
	// Provider is what its errors and answers are marked with.
	Provider string
	// URL is the base address, without a slash at its end.
	URL string
	// Header is sent with every request, the key among it. It is never told in
	// an error.
	Header http.Header
	// Client makes the requests; nil means one that follows no redirects to
	// other hosts and has no limit in time.
	Client *http.Client
	// Stall is how long the provider may say nothing before the request is
	// given up; zero means 5 minutes.
	Stall time.Duration
}

// errStalled is the cause when a provider says nothing for too long.
var errStalled = errors.New("no byte came for too long")

// maxComplaint bounds how much of a failure's body is read.
const maxComplaint = 64 << 10

// Post sends a JSON body to a path below the base address and returns the
// body of the answer, to be read and closed. A status that is not 200 is a
// [*Error] of the right kind. Reading fails with a Temporary [*Error] that says
// Began if the connection breaks or stalls; when ctx ends, with its cause.
func (e *Endpoint) Post(ctx context.Context, model, path string, body []byte) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := e.watch(cancel)
	fail := func(err error) (io.ReadCloser, error) {
		watch.Stop()
		err = e.failure(ctx, model, false, err)
		cancel(nil)
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return fail(err)
	}
	for name, values := range e.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client().Do(req)
	if err != nil {
		return fail(err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxComplaint))
		watch.Stop()
		cancel(nil)
		return nil, Complaint(e.Provider, model, resp.StatusCode, resp.Header, said)
	}
	return &answer{endpoint: e, model: model, ctx: ctx, cancel: cancel, watch: watch, body: resp.Body}, nil
}

func (e *Endpoint) client() *http.Client {
	if e.Client != nil {
		return e.Client
	}
	return &http.Client{CheckRedirect: sameHost}
}

// sameHost keeps the key from being sent to another host.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || req.URL.Host != via[0].URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

func (e *Endpoint) stall() time.Duration {
	if e.Stall > 0 {
		return e.Stall
	}
	return 5 * time.Minute
}

// watch gives a request up when nothing is heard for too long.
func (e *Endpoint) watch(cancel context.CancelCauseFunc) *time.Timer {
	return time.AfterFunc(e.stall(), func() { cancel(errStalled) })
}

// failure says why a request failed: the caller ended it, or the network did.
func (e *Endpoint) failure(ctx context.Context, model string, began bool, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errStalled) {
		return fmt.Errorf("ask %s/%s: %w", e.Provider, model, cause)
	} else if cause != nil {
		err = cause
	}
	return &Error{Kind: Temporary, Provider: e.Provider, Model: model, Began: began, Err: err}
}

// answer is the body of an answer that is watched for stalling.
type answer struct {
	endpoint *Endpoint
	model    string
	ctx      context.Context
	cancel   context.CancelCauseFunc
	watch    *time.Timer
	body     io.ReadCloser
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if n > 0 {
		a.watch.Reset(a.endpoint.stall())
	}
	if err != nil && err != io.EOF {
		err = a.endpoint.failure(a.ctx, a.model, true, err)
	}
	return n, err
}

func (a *answer) Close() error {
	a.watch.Stop()
	a.cancel(nil)
	return a.body.Close()
}
