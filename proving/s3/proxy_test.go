package s3

import (
	"bytes"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// fault is what a proxy does with a request.
type fault int

const (
	none fault = iota
	delay
	loseRequest
	cutRequest
	repeat
	loseResponse
	cutResponse
	busy
)

// proxy forwards requests to the server.
type proxy struct {
	t   *testing.T
	url string
	// choose returns the fault of a request. It is called once at a time.
	choose func(r *http.Request) fault
	mu     sync.Mutex
	// created counts the successful uploads of each name, faults the faults.
	created map[string]int
	faults  map[fault]int
}

// newProxy starts a proxy. At the end of the test, it checks that no object was replaced.
func newProxy(t *testing.T, choose func(r *http.Request) fault) *proxy {
	p := &proxy{t: t, choose: choose, created: make(map[string]int), faults: make(map[fault]int)}
	s := httptest.NewServer(p)
	p.url = s.URL
	t.Cleanup(func() {
		s.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for name, n := range p.created {
			if n > 1 {
				t.Errorf("%s was uploaded %d times", name, n)
			}
		}
	})
	return p
}

// set changes what the proxy does.
func (p *proxy) set(choose func(r *http.Request) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.choose = choose
}

// atRandom returns a function that draws a fault for one in n requests.
func atRandom(t *testing.T, n int) func(r *http.Request) fault {
	rng := rand.New(rand.NewPCG(seed(t), 0))
	return func(*http.Request) fault {
		if rng.IntN(n) > 0 {
			return none
		}
		return fault(1 + rng.IntN(int(busy)))
	}
}

// seed returns the seed of a random test: FIRN_SEED, or one of the test's name in CI, or a
// different one in each run. It is printed if the test fails.
func seed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if os.Getenv("CI") != "" {
		h := fnv.New64a()
		h.Write([]byte(t.Name())) // cannot fail
		seed = h.Sum64()
	}
	if text := os.Getenv("FIRN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (FIRN_SEED=%d runs it again)", seed, seed)
	return seed
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	p.mu.Lock()
	f := p.choose(r)
	p.faults[f]++
	p.mu.Unlock()
	switch f {
	case delay:
		time.Sleep(20 * time.Millisecond)
	case loseRequest:
		panic(http.ErrAbortHandler)
	case cutRequest:
		if resp, err := p.forward(r, io.MultiReader(bytes.NewReader(body[:len(body)/2]), cut{})); err == nil {
			resp.Body.Close()
		}
		panic(http.ErrAbortHandler)
	case repeat:
		p.answer(r, body)
	case busy:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "<Error><Code>SlowDown</Code><Message>slow down</Message></Error>") // the client may be gone
		return
	}
	resp, data := p.answer(r, body)
	if f == loseResponse || resp == nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if f == cutResponse {
		_, _ = w.Write(data[:len(data)/2]) // it is cut anyway
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(data) // the client may be gone
}

// cut is the end of a request that was cut.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// forward sends a request to the server.
func (p *proxy) forward(r *http.Request, body io.Reader) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", "server", ""
	out.Host, out.Body, out.ContentLength = r.Host, io.NopCloser(body), r.ContentLength
	if r.ContentLength == 0 {
		out.Body = nil
	}
	return toServer.Do(out)
}

// answer sends a request to the server and reads the response; nil if there is none.
func (p *proxy) answer(r *http.Request, body []byte) (*http.Response, []byte) {
	resp, err := p.forward(r, bytes.NewReader(body))
	if err != nil {
		return nil, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil
	}
	if r.Method == http.MethodPut && resp.StatusCode == http.StatusOK {
		p.mu.Lock()
		p.created[r.URL.Path]++
		p.mu.Unlock()
	}
	return resp, data
}
