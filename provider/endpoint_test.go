package provider_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/provider"
)

const key = "topsecretkey"

// endpoint returns an endpoint at url that sends a key.
func endpoint(url string) *provider.Endpoint {
	return &provider.Endpoint{Provider: "p", URL: url, Header: http.Header{"x-api-key": {key}, "Authorization": {"Bearer " + key}}}
}

// serve starts a server for the duration of a test.
func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	server := httptest.NewServer(handle)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// fails checks that err is a provider error of the given kind, and returns it.
func fails(t *testing.T, err error, kind provider.Kind) *provider.Error {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v, want one of kind %s", err, kind)
	}
	if e.Kind != kind || e.Provider != "p" || e.Model != "m" {
		t.Errorf("the error is of kind %s, marked %s/%s; want %s: %v", e.Kind, e.Provider, e.Model, kind, e)
	}
	if strings.Contains(err.Error(), key) {
		t.Errorf("the error contains the key: %v", err)
	}
	return e
}

func TestPost(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.URL, r.Header.Get("X-Api-Key"), r.Header.Get("Content-Type"), body)
	})
	for _, slash := range []string{"", "/"} {
		body, err := endpoint(server.URL+"/v1"+slash).Post(t.Context(), "m", "/messages?beta=true", []byte(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		if want := "POST /v1/messages?beta=true " + key + ` application/json {"a":1}`; err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		if err := body.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
}

func TestPostIsRefused(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "9")
		w.WriteHeader(429)
		io.WriteString(w, `{"error":{"message":"not with `+key+`, wait","code":"slow_`+key+`"}}`)
	})
	_, err := endpoint(server.URL).Post(t.Context(), "m", "/", nil)
	e := fails(t, err, provider.Temporary)
	if e.Status != 429 || e.RetryAfter != 9*time.Second || e.Message != "not with [key], wait" || e.Code != "slow_[key]" {
		t.Errorf("got %+v", e)
	}
}

func TestPostReadsBoundedError(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		for { // until the client disconnects
			if _, err := io.WriteString(w, strings.Repeat("no ", 1000)); err != nil {
				return
			}
		}
	})
	_, err := endpoint(server.URL).Post(t.Context(), "m", "/", nil)
	if e := fails(t, err, provider.Temporary); e.Status != 500 || len(e.Message) > 600 {
		t.Errorf("got status %d and %d bytes", e.Status, len(e.Message))
	}
}

func TestPostConnectionFails(t *testing.T) {
	refused := "http://" + basetest.DeadAddress(t)
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	rude := serve(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // suppresses the expected TLS errors
	secure.StartTLS()
	t.Cleanup(secure.Close)
	tests := []struct {
		name, url string
		kind      provider.Kind
		is        error
	}{
		{"connection refused", refused, provider.Temporary, nil},
		{"hung up", rude.URL, provider.Temporary, io.EOF},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), provider.BadRequest, http.ErrSchemeMismatch},
		{"garbage for TLS", "https://" + garbage(t), provider.Temporary, nil},
		{"unknown certificate", secure.URL, provider.BadRequest, nil},
		{"no scheme", "localhost/" + key, provider.BadRequest, firn.ErrInvalid},
		{"another scheme", "ftp://localhost/" + key, provider.BadRequest, firn.ErrInvalid},
		{"no address", "", provider.BadRequest, firn.ErrInvalid},
		{"a broken address", "http://a b/" + key, provider.BadRequest, firn.ErrInvalid},
		{"a key in the address", refused + "/?key=" + key, provider.Temporary, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := endpoint(tt.url).Post(t.Context(), "m", "/x", []byte("{}"))
			e := fails(t, err, tt.kind)
			if e.Partial || e.Status != 0 || e.Err == nil || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// garbage returns the address of a listener that answers TLS with other bytes.
func garbage(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 100))
			conn.Write([]byte("\x16\x03\x01\x00\x05hello and goodbye"))
			conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return listener.Addr().String()
}

// TestPostIsCutOff checks that a connection that breaks within the body is an error, not an
// end.
func TestPostIsCutOff(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "half an ans")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	body, err := endpoint(server.URL).Post(t.Context(), "m", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	got, err := io.ReadAll(body)
	if e := fails(t, err, provider.Temporary); !e.Partial || string(got) != "half an ans" {
		t.Errorf("got %q, %+v", got, e)
	}
}

func TestPostIsCancelled(t *testing.T) {
	away := errors.New("the user went away")
	arrived := make(chan bool)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.URL.Path != "/head" {
			if r.URL.Path == "/complaint" {
				w.WriteHeader(500)
			}
			io.WriteString(w, "half an ans")
			http.NewResponseController(w).Flush()
		}
		arrived <- true
		<-r.Context().Done()
	})
	for _, path := range []string{"/head", "/body", "/complaint"} {
		t.Run(path, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-arrived
				cancel(away)
			}()
			body, err := endpoint(server.URL).Post(ctx, "m", path, nil)
			if err == nil {
				_, err = io.ReadAll(body)
				body.Close()
			}
			if !errors.Is(err, away) || provider.KindOf(err) != "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPostReleasesConnection(t *testing.T) {
	gone := make(chan bool, 1)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "half an ans")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- true
	})
	before := runtime.NumGoroutine()
	body, err := endpoint(server.URL).Post(t.Context(), "m", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	body.Close()
	<-gone // the provider notices the disconnect
	// The connection of the server may linger.
	basetest.Eventually(t, fmt.Sprintf("at most %d goroutines run", before+1), func() bool {
		return runtime.NumGoroutine() <= before+1
	})
}

// TestPostIsRedirected checks that a redirect does not send the key to another host.
func TestPostIsRedirected(t *testing.T) {
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was called, with %v", r.Header)
	})
	var server *httptest.Server
	server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/down":
			http.Redirect(w, r, strings.Replace(server.URL, "http:", "https:", 1), http.StatusPermanentRedirect)
		case "/get":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		case "/there":
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
		default:
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Api-Key"), body)
		}
	})
	for _, client := range []*http.Client{nil, {}} {
		e := endpoint(server.URL)
		e.Client = client
		for _, path := range []string{"/away", "/down", "/get", "/loop"} {
			_, err := e.Post(t.Context(), "m", path, []byte("{}"))
			if f := fails(t, err, provider.BadRequest); f.Status < 300 || f.Status > 399 {
				t.Errorf("%s: %v", path, err)
			}
		}
		body, err := e.Post(t.Context(), "m", "/there", []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		body.Close()
		if err != nil || string(got) != "POST "+key+" {}" {
			t.Errorf("redirected on the same host: %q, %v", got, err)
		}
		if client != nil && client.CheckRedirect != nil {
			t.Error("the caller's client was changed")
		}
	}
}

// piped returns an endpoint over an in-memory connection. play handles the other end once
// the request was read.
func piped(t *testing.T, stall time.Duration, play func(conn net.Conn)) *provider.Endpoint {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			buf := make([]byte, 64<<10)
			for head := ""; !strings.Contains(head, "\r\n\r\n{}"); {
				n, err := theirs.Read(buf)
				if err != nil {
					return
				}
				head += string(buf[:n])
			}
			play(theirs)
		}()
		return ours, nil
	}}
	t.Cleanup(transport.CloseIdleConnections)
	e := endpoint("http://memory")
	e.Stall, e.Client = stall, &http.Client{Transport: transport}
	return e
}

// readUntilClosed reads until the peer closes the connection.
func readUntilClosed(conn net.Conn) { io.Copy(io.Discard, conn) }

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 5\r\n\r\n"

func TestPostStalls(t *testing.T) {
	tests := []struct {
		name  string
		sends string
		began bool
		kind  provider.Kind
	}{
		{"before the head", "", false, provider.Temporary},
		{"in the head", "HTTP/1.1 200", false, provider.Temporary},
		{"before the body", head, true, provider.Temporary},
		{"in the body", head + "abc", true, provider.Temporary},
		{"in an error response", "HTTP/1.1 401 No\r\nContent-Length: 50\r\n\r\ngo away", false, provider.Auth},
	}
	for _, stall := range []time.Duration{0, 10 * time.Second} {
		for _, tt := range tests {
			t.Run(fmt.Sprint(tt.name, stall), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := piped(t, stall, func(conn net.Conn) {
						io.WriteString(conn, tt.sends)
						readUntilClosed(conn)
					})
					start := time.Now()
					body, err := e.Post(t.Context(), "m", "/", []byte("{}"))
					if err == nil {
						_, err = io.ReadAll(body)
						body.Close()
					}
					f := fails(t, err, tt.kind)
					want := stall
					if want == 0 {
						want = 5 * time.Minute
					}
					if f.Partial != tt.began || time.Since(start) != want {
						t.Errorf("began %v after %v: %v", f.Partial, time.Since(start), f)
					}
				})
			})
		}
	}
}

// TestPostIsSlow checks that neither a slow but steady provider nor a slow reader counts as
// a stall.
func TestPostIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := piped(t, 10*time.Second, func(conn net.Conn) {
			wait := func() { <-time.After(9 * time.Second) }
			wait()
			io.WriteString(conn, head)
			for _, c := range "hello" {
				wait()
				io.WriteString(conn, string(c))
			}
			readUntilClosed(conn)
		})
		body, err := e.Post(t.Context(), "m", "/", []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		got := make([]byte, 0, 5)
		for len(got) < 5 {
			n, err := body.Read(got[len(got) : len(got)+1])
			if err != nil && err != io.EOF {
				t.Fatalf("after %q: %v", got, err)
			}
			got = got[:len(got)+n]
			<-time.After(time.Hour)
		}
		if string(got) != "hello" {
			t.Errorf("got %q", got)
		}
	})
}

// TestPostOverTLS checks truncation and cancellation over TLS and HTTP/2.
func TestPostOverTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	e := endpoint(server.URL)
	e.Client = server.Client()
	e.Client.Transport.(*http.Transport).TLSClientConfig.MinVersion = tls.VersionTLS13
	body, err := e.Post(t.Context(), "m", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	got, err := io.ReadAll(body)
	if f := fails(t, err, provider.Temporary); !f.Partial || string(got) != "HTTP/2.0" {
		t.Errorf("got %q, %v", got, f)
	}
}

// TestAPIKeyIsRemovedFromErrors checks that the API key is removed from errors.
func TestAPIKeyIsRemovedFromErrors(t *testing.T) {
	e := endpoint("")
	for _, err := range []error{
		&provider.Error{Message: "not with " + key}, &provider.Error{Code: key}, &provider.Error{Err: errors.New("odd: " + key)},
		fmt.Errorf("ask: %w", &provider.Error{Kind: provider.Auth, Message: key}),
	} {
		clean := e.Redact(err)
		if text := clean.Error(); strings.Contains(text, key) || provider.KindOf(clean) != provider.KindOf(err) {
			t.Errorf("%q became %q", err, text)
		}
	}
	for _, err := range []error{nil, io.EOF, &provider.Error{Message: "no", Err: io.ErrUnexpectedEOF}} {
		if e.Redact(err) != err {
			t.Errorf("%v became something else", err)
		}
	}
}
