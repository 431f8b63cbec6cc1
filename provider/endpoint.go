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
	"regexp"
	"strings"
	"time"

	"firn"
)

// Endpoint is a provider's address and how it is talked to: what all wire
// clients have in common. It must not be changed once used, and may then be
// used from many goroutines.
type Endpoint struct {
	// Provider is what its errors and answers are marked with.
	Provider string
	// URL is the base address. A slash at its end is left out.
	URL string
	// Header is sent with every request, the key among it. A key is never told in
	// an error, even if the provider repeats it.
	Header http.Header
	// Client makes the requests; nil means one that has no limit in time. One
	// that does not say how to follow redirects follows none that would take the
	// key to another host.
	Client *http.Client
	// Stall is how long the provider may say nothing while we listen before the
	// request is given up; zero means 5 minutes.
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
	said, err := io.ReadAll(io.LimitReader(a, maxComplaint))
	if err != nil && ctx.Err() != nil && KindOf(err) == "" {
		return nil, err // the caller ended it
	}
	said = []byte(e.blot(string(said)))
	return nil, Complaint(e.Provider, model, resp.StatusCode, resp.Header, said, time.Now())
}

// send makes the request and waits for the head of the answer.
func (e *Endpoint) send(ctx context.Context, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w address", firn.ErrInvalid) // the cause would tell a key that is in it
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

// client is the one that makes the requests.
func (e *Endpoint) client() *http.Client {
	client := http.Client{}
	if e.Client != nil {
		client = *e.Client
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = stayHere
	}
	return &client
}

// stayHere keeps the key from being sent to another host or in the clear, and
// a question from becoming one without a body.
func stayHere(req *http.Request, via []*http.Request) error {
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

// failure says why a request failed: the caller ended it, or the network did.
func (e *Endpoint) failure(ctx context.Context, model string, began bool, err error) error {
	if cause := context.Cause(ctx); cause == errStalled {
		err = cause
	} else if cause != nil {
		return ended(e.Provider, model, cause)
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // without the address, which may hold a key
	}
	failure := &Error{Kind: Temporary, Provider: e.Provider, Model: model, Began: began, Err: err}
	var certificate *tls.CertificateVerificationError
	if errors.Is(err, firn.ErrInvalid) || errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &certificate) {
		failure.Kind = BadRequest // no time will mend it
	}
	return failure
}

// secretHeader matches the names of headers that hold secrets.
var secretHeader = regexp.MustCompile(`(?i)auth|key|token|secret|cookie`)

// blot takes out of a text the secrets that were sent.
func (e *Endpoint) blot(s string) string {
	for name, values := range e.Header {
		if !secretHeader.MatchString(name) {
			continue
		}
		for _, v := range values {
			if _, after, ok := strings.Cut(v, " "); ok { // Bearer and the like
				v = after
			}
			if len(v) >= 4 {
				s = strings.ReplaceAll(s, v, blotted)
			}
		}
	}
	return s
}

// Blot takes the secrets that were sent out of an error that came with an answer,
// where the provider may repeat them too. Other errors are returned as they are.
func (e *Endpoint) Blot(err error) error {
	var failure *Error
	if !errors.As(err, &failure) {
		return err
	}
	clean := *failure
	clean.Message, clean.Code = e.blot(failure.Message), e.blot(failure.Code)
	told := clean.Message != failure.Message || clean.Code != failure.Code
	if cause := failure.Err; cause != nil {
		if text := cause.Error(); e.blot(text) != text {
			clean.Err, told = errors.New(e.blot(text)), true
		}
	}
	if !told {
		return err
	}
	return &clean
}

// answer is the body of an answer that is watched for stalling while it is
// read: to read slowly is not the provider's fault.
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

// end stops the watch and lets go of the context.
func (a *answer) end() {
	a.watch.Stop()
	a.cancel(nil)
}
