package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/pattern"
)

// Endpoint is the HTTP client that all wire clients share: a provider's address and how to
// send requests to it. It must not be changed after first use and is then safe for
// concurrent use.
type Endpoint struct {
	// Provider is the provider name in errors and answers.
	Provider string
	// URL is the base URL. A trailing slash is ignored.
	URL string
	// Header is sent with every request and includes the API key. Keys are never included
	// in an error, even if the provider repeats them.
	Header http.Header
	// Client makes the requests; nil means a client without a timeout. A client without its
	// own redirect policy does not follow redirects that would send the key to another
	// host.
	Client *http.Client
	// Stall is the maximum time without data from the provider while the answer is being
	// read; zero means 5 minutes.
	Stall time.Duration
}

// errStalled is the cause when a provider sends no data for too long.
var errStalled = errors.New("the stream stalled")

// maxComplaint limits how much of an error response is read.
const maxComplaint = 64 << 10

// Post sends a JSON body to a path below the base URL and returns the response body, which
// the caller must close. A status other than 200 is returned as an [*Error] of the matching
// kind. If the connection breaks or stalls, Read fails with a Temporary [*Error] that has
// Partial set. If ctx is done, Read fails with its cause. A provider
// yields errors of Read unchanged.
func (e *Endpoint) Post(ctx context.Context, model, path string, body []byte) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &answer{endpoint: e, model: model, ctx: ctx, cancel: cancel}
	a.watch = time.AfterFunc(e.stall(), func() { cancel(errStalled) })
	resp, err := e.send(ctx, path, body)
	if err != nil {
		err = e.failure(ctx, model, false, err)
		a.end()
		return nil, err
	}
	a.watch.Stop()
	a.body = resp.Body
	if resp.StatusCode == http.StatusOK {
		return a, nil
	}
	defer a.Close()
	reply, err := io.ReadAll(io.LimitReader(a, maxComplaint))
	if err != nil && ctx.Err() != nil && KindOf(err) == "" {
		return nil, err // canceled by the caller
	}
	reply = []byte(e.redact(string(reply)))
	return nil, responseError(e.Provider, model, resp.StatusCode, resp.Header, reply, time.Now())
}

// send sends the request and waits for the response header.
func (e *Endpoint) send(ctx context.Context, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w address", firn.ErrInvalid) // the underlying error would include a key in the URL
	}
	if req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, fmt.Errorf("%w address: want one that begins with https:// or http://", firn.ErrInvalid)
	}
	for name, values := range e.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Content-Type", "application/json")
	return e.client().Do(req)
}

// client returns the HTTP client.
func (e *Endpoint) client() *http.Client {
	client := http.Client{}
	if e.Client != nil {
		client = *e.Client
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = checkRedirect
	}
	return &client
}

// checkRedirect rejects redirects that would send the key to another host or unencrypted,
// or that would drop the request body.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 5 || req.Method != first.Method || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme {
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

// failure converts an error of a request: to the context's cause if the caller canceled it,
// otherwise to an [*Error].
func (e *Endpoint) failure(ctx context.Context, model string, began bool, err error) error {
	if cause := context.Cause(ctx); cause == errStalled {
		err = cause
	} else if cause != nil {
		return canceledError(e.Provider, model, cause)
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // without the URL, which may contain a key
	}
	failure := &Error{Kind: Temporary, Provider: e.Provider, Model: model, Partial: began, Err: err}
	var certificate *tls.CertificateVerificationError
	if errors.Is(err, firn.ErrInvalid) || errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &certificate) {
		failure.Kind = BadRequest // a retry cannot help
	}
	return failure
}

// secretHeader matches the names of headers that contain secrets.
var secretHeader = pattern.New(`(?i)auth|key|token|secret|cookie`)

// redact removes the secrets of the request headers from a text.
func (e *Endpoint) redact(s string) string {
	for name, values := range e.Header {
		if !secretHeader().MatchString(name) {
			continue
		}
		for _, v := range values {
			if _, after, ok := strings.Cut(v, " "); ok { // the token of a "Bearer" or similar value
				v = after
			}
			if len(v) >= 4 {
				s = strings.ReplaceAll(s, v, redacted)
			}
		}
	}
	return s
}

// Redact removes the secrets that were sent from an error that was part of an answer, since
// the provider may repeat them there. Other errors are returned unchanged.
func (e *Endpoint) Redact(err error) error {
	var failure *Error
	if !errors.As(err, &failure) {
		return err
	}
	clean := *failure
	clean.Message, clean.Code = e.redact(failure.Message), e.redact(failure.Code)
	reported := clean.Message != failure.Message || clean.Code != failure.Code
	if cause := failure.Err; cause != nil {
		if text := cause.Error(); e.redact(text) != text {
			clean.Err, reported = errors.New(e.redact(text)), true
		}
	}
	if !reported {
		return err
	}
	return &clean
}

// answer is a response body with stall detection. The timer runs only during Read, so that
// a slow reader does not count as a stall.
type answer struct {
	endpoint *Endpoint
	model    string
	ctx      context.Context
	cancel   context.CancelCauseFunc
	watch    *time.Timer
	body     io.ReadCloser
}

func (a *answer) Read(p []byte) (int, error) {
	a.watch.Reset(a.endpoint.stall())
	n, err := a.body.Read(p)
	a.watch.Stop()
	if err != nil && err != io.EOF {
		err = a.endpoint.failure(a.ctx, a.model, true, err)
	}
	return n, err
}

func (a *answer) Close() error {
	a.end()
	return a.body.Close()
}

// end stops the timer and releases the context.
func (a *answer) end() {
	a.watch.Stop()
	a.cancel(nil)
}
