package client_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev/client"
	"firn.dev/wire"
)

// local calls a handler in this process until the test ends.
func local(t *testing.T, h http.HandlerFunc) *client.Local {
	l := client.InProcess(h)
	t.Cleanup(func() { l.Close() })
	return l
}

func call(ctx context.Context, l *client.Local, method, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost/v1/x%2Fy?q=1", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return l.RoundTrip(r)
}

func TestLocalAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			output, err := io.ReadAll(r.Body)
			if err != nil || r.Host != "localhost" || r.URL.Path != "/v1/x/y" || r.RequestURI != "/v1/x%2Fy?q=1" || r.RemoteAddr != "@" {
				t.Errorf("the handler sees %s %s of %s, %v", r.Host, r.RequestURI, r.RemoteAddr, err)
			}
			w.Header().Set("X-One", "1")
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK) // too late
			w.Header().Set("X-Two", "2") // too late
			fmt.Fprintf(w, "you said %s", output)
		})
		response, err := call(t.Context(), l, http.MethodPost, "hello")
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(response.Body)
		if err != nil || string(data) != "you said hello" || response.StatusCode != http.StatusTeapot {
			t.Errorf("got %q, %v with %s", data, err, response.Status)
		}
		if response.Header.Get("X-One") != "1" || response.Header.Get("X-Two") != "" {
			t.Errorf("the header is %v", response.Header)
		}
		response.Body.Close()
	})
}

func TestLocalEmptyResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for method, h := range map[string]http.HandlerFunc{
			http.MethodGet:    func(http.ResponseWriter, *http.Request) {},
			http.MethodDelete: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
			http.MethodHead: func(w http.ResponseWriter, _ *http.Request) {
				if _, err := io.WriteString(w, "much"); !errors.Is(err, http.ErrBodyNotAllowed) {
					t.Errorf("a body for HEAD: %v", err)
				}
			},
		} {
			response, err := call(t.Context(), local(t, h), method, "")
			if err != nil {
				t.Fatal(err)
			}
			if data, err := io.ReadAll(response.Body); err != nil || len(data) > 0 || response.StatusCode/100 != 2 {
				t.Errorf("%s: got %q, %v, %s", method, data, err, response.Status)
			}
			response.Body.Close()
		}
	})
}

func TestLocalDetectsContentType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		response, err := call(t.Context(), local(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }), http.MethodGet, "")
		if err != nil || response.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("got %v, %v", response, err)
		}
		response.Body.Close()
	})
}

// Written data is available immediately while the handler continues.
func TestLocalStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan string)
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			http.NewResponseController(w).Flush()
			for line := range more {
				fmt.Fprintln(w, line)
			}
		})
		response, err := call(t.Context(), l, http.MethodGet, "") // before anything was written
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(response.Body)
		for i := range 100 {
			want := fmt.Sprint("line ", i)
			more <- want
			if got, err := in.ReadString('\n'); got != want+"\n" || err != nil {
				t.Fatalf("got %q, %v", got, err)
			}
		}
		close(more)
		if _, err := in.ReadByte(); err != io.EOF {
			t.Errorf("the end is %v", err)
		}
		response.Body.Close()
	})
}

// TestLocalCancelsHandlerContext checks that the handler's context is canceled
// however the caller stops reading.
func TestLocalCancelsHandlerContext(t *testing.T) {
	ways := map[string]func(cancel func(), response *http.Response, l *client.Local){
		"the context ends":    func(cancel func(), _ *http.Response, _ *client.Local) { cancel() },
		"the body is closed":  func(_ func(), response *http.Response, _ *client.Local) { response.Body.Close() },
		"the local is closed": func(_ func(), _ *http.Response, l *client.Local) { l.Close() },
	}
	for name, leave := range ways {
		for _, writing := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
				l := local(t, func(w http.ResponseWriter, r *http.Request) {
					http.NewResponseController(w).Flush()
					for writing {
						if _, err := io.WriteString(w, "more"); err != nil {
							break
						}
					}
					<-r.Context().Done()
					ended <- r.Context().Err()
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				response, err := call(ctx, l, http.MethodGet, "")
				if err != nil {
					t.Fatal(err)
				}
				leave(cancel, response, l)
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: the context error of the handler is %v", name, err)
				}
				if _, err := io.Copy(io.Discard, response.Body); err == nil {
					t.Errorf("%s: the body ended as if all were well", name)
				}
				response.Body.Close()
			})
		}
	}
}

func TestLocalReturnsWhenContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l := local(t, func(http.ResponseWriter, *http.Request) { <-release }) // ignores cancellation
		ctx, cancel := context.WithCancel(t.Context())
		context.AfterFunc(t.Context(), func() {})
		go func() {
			synctest.Wait()
			cancel()
		}()
		if _, err := call(ctx, l, http.MethodGet, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		close(release)
	})
}

func TestLocalPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, early := range []bool{true, false} {
			l := local(t, func(w http.ResponseWriter, _ *http.Request) {
				if !early {
					io.WriteString(w, "half")
				}
				panic("out of luck")
			})
			response, err := call(t.Context(), l, http.MethodGet, "")
			var data []byte
			if !early {
				if err != nil {
					t.Fatal(err)
				}
				data, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "out of luck") || !early && string(data) != "half" {
				t.Errorf("early %v: got %q, %v", early, data, err)
			}
		}
	})
}

// TestPanicIsReportedAsProblem checks that a panic is reported as an error of the gateway,
// not of the connection, and is not retried.
func TestPanicIsReportedAsProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := local(t, func(http.ResponseWriter, *http.Request) { calls++; panic("out of luck") })
		c := newClient(t, client.Options{Transport: l})
		_, err := c.Status(t.Context())
		var p *wire.Problem
		if !errors.As(err, &p) || p.Kind != wire.Internal || !strings.Contains(p.Message, "out of luck") || calls != 1 {
			t.Errorf("after %d calls the error is %#v", calls, err)
		}
	})
}

func TestAbortIsReportedAsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		c := newClient(t, client.Options{Transport: l})
		_, err := c.Turn(t.Context(), session, wire.Turn{Text: "hi"})
		var u *client.Unreachable
		if !errors.As(err, &u) || c.Address() != "in-process" {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestLocalChecksContentLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for length, want := range map[string]error{"4": nil, "3": http.ErrContentLength, "5": io.ErrUnexpectedEOF} {
			var wrote error
			l := local(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", length)
				_, wrote = io.WriteString(w, "four")
			})
			response, err := call(t.Context(), l, http.MethodGet, "")
			if err != nil {
				t.Fatal(err)
			}
			_, read := io.ReadAll(response.Body)
			response.Body.Close()
			switch length {
			case "4":
				if wrote != nil || read != nil || response.ContentLength != 4 {
					t.Errorf("wrote %v, read %v", wrote, read)
				}
			case "3":
				if !errors.Is(wrote, want) {
					t.Errorf("wrote %v, want %v", wrote, want)
				}
			default:
				if !errors.Is(read, want) {
					t.Errorf("read %v, want %v", read, want)
				}
			}
		}
	})
}

func TestLocalClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := client.InProcess(http.NotFoundHandler())
		c := newClient(t, client.Options{Transport: l})
		c.Close()
		c.Close()
		body := &closed{Reader: bytes.NewReader(nil)}
		r, _ := http.NewRequest(http.MethodPost, "http://localhost/", body)
		if _, err := l.RoundTrip(r); err == nil || !body.closed {
			t.Errorf("the error is %v, the body is closed: %v", err, body.closed)
		}
		var u *client.Unreachable
		if _, err := c.Status(t.Context()); !errors.As(err, &u) {
			t.Errorf("the error is %v", err)
		}
	})
}

type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error { c.closed = true; return nil }

// TestLocalFollowsEvents repeats one of the network tests without a network; the other tests
// of events and turns run on both.
func TestLocalFollowsEvents(t *testing.T) {
	for _, fault := range allFaults[:6] {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(5, interruption{fault, 3, 0}, interruption{abort, 1, 1})
			l := local(t, f.ServeHTTP)
			log, _ := follow(t, newClient(t, client.Options{Transport: l}), 0, 5)
			if len(log) != 5 {
				t.Errorf("%s: the log arrived as %v", fault, log)
			}
		})
	}
}

func TestLocalCloseWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := false
		l := client.InProcess(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			time.Sleep(time.Second) // simulates cleanup
			done = true
		}))
		go call(t.Context(), l, http.MethodGet, "")
		synctest.Wait()
		if l.Close(); !done {
			t.Error("closed while a handler was at work")
		}
	})
}

func TestLocalRequestEndsWithHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen context.Context
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			seen = r.Context()
			io.WriteString(w, "all")
		})
		sent := &closed{Reader: strings.NewReader("hello")}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", sent)
		if err != nil {
			t.Fatal(err)
		}
		response, err := l.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(response.Body); err != nil || string(data) != "all" {
			t.Errorf("got %q, %v", data, err)
		}
		synctest.Wait()
		if seen.Err() == nil || !sent.closed {
			t.Errorf("the context error of the handler is %v, the body is closed: %v", seen.Err(), sent.closed)
		}
		response.Body.Close()
	})
}
