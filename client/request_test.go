package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

func TestProblemRoundTrip(t *testing.T) {
	kinds := map[wire.Kind]error{
		wire.Invalid: firn.ErrInvalid, wire.NotFound: firn.ErrNotFound, wire.Ambiguous: nil, wire.Conflict: firn.ErrConflict,
		wire.Locked: firn.ErrLocked, wire.NotAllowed: nil, wire.NoToken: nil, wire.Corrupt: firn.ErrCorrupt,
		wire.TooLarge: firn.ErrTooLarge, wire.Unsupported: firn.ErrUnsupported, wire.NotSaved: firn.ErrNotSaved,
		wire.Busy: nil, wire.Upstream: nil, wire.Closing: firn.ErrClosed, wire.Internal: nil,
	}
	for kind, sentinel := range kinds {
		synctest.Test(t, func(t *testing.T) {
			want := wire.Problem{Kind: kind, Message: "it is so", Hint: "do this", End: 7, Request: "r1"}
			c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { refuse(w, want) }))
			_, err := c.NewSession(t.Context(), wire.NewSession{})
			var p *wire.Problem
			if !errors.As(err, &p) || *p != want {
				t.Errorf("%s: got %#v", kind, err)
			}
			if sentinel != nil && !errors.Is(err, sentinel) {
				t.Errorf("%s: %v is not %v", kind, err, sentinel)
			}
		})
	}
}

// TestFailuresWithoutProblem checks responses of a proxy, or a program that is not a gateway,
// that are HTML pages.
func TestFailuresWithoutProblem(t *testing.T) {
	lost := wire.Kind("unreachable")
	for code, want := range map[int]wire.Kind{
		400: wire.Invalid, 401: wire.NoToken, 403: wire.NotAllowed, 404: wire.NotFound, 405: wire.Unsupported, 412: wire.Conflict, 413: wire.TooLarge,
		423: wire.Locked, 429: wire.Busy, 500: wire.Internal, 501: wire.Unsupported, 507: wire.NotSaved,
		502: lost, 503: lost, 504: lost, 301: lost, 302: lost, 307: lost, 418: lost,
	} {
		for name, page := range map[string]string{"html": "<html><body>nginx</body></html>", "json": `{"error":"no"}`, "null": "null", "other": `{"error":{"code":5}}`, "empty": ""} {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked++
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(code)
					io.WriteString(w, page)
				}))
				_, err := c.NewSession(t.Context(), wire.NewSession{})
				var u *client.Unreachable
				var p *wire.Problem
				got := lost
				switch {
				case errors.As(err, &p):
					got = p.Kind
				case !errors.As(err, &u) || u.Hint == "":
					t.Errorf("%d, %s: the error is %#v", code, name, err)
				}
				if got != want || asked != 1 {
					t.Errorf("%d, %s: after %d tries %s, want %s: %v", code, name, asked, got, want, err)
				}
				if !strings.Contains(err.Error(), fmt.Sprint(code)) || strings.Contains(err.Error(), "nginx") {
					t.Errorf("%d, %s: the error reads %q", code, name, err)
				}
			})
		}
	}
}

func TestInvalidResponses(t *testing.T) {
	for name, a := range map[string]struct{ kind, body, want string }{
		"a page":       {"text/html", "<html>", `"text/html"`},
		"a stream":     {"text/event-stream", "data: x\n\n", `"text/event-stream"`},
		"a bad type":   {"application/json; =", "{}", `"application/json; ="`},
		"broken JSON":  {"application/json", `{"version":`, "unexpected end"},
		"another type": {"application/json", `[]`, "cannot unmarshal array"},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				w.Header().Set("Content-Type", a.kind)
				io.WriteString(w, a.body)
			}))
			_, err := c.Status(t.Context())
			var u *client.Unreachable
			if !errors.As(err, &u) || !strings.Contains(err.Error(), a.want) || asked != 1 || !strings.Contains(u.Hint, "another program") {
				t.Errorf("%s: after %d tries the error is %v", name, asked, err)
			}
		})
	}
}

func TestTokenIsNotSentToRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/status" {
				t.Errorf("redirected to %s with %q", r.URL, r.Header.Get("Authorization"))
			}
			http.Redirect(w, r, "http://elsewhere.test/", http.StatusTemporaryRedirect)
		})
		c := newClient(t, client.Options{Transport: l, Token: "secret"})
		_, err := c.Status(t.Context())
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []http.Header
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Header)
			responseWriter(w, wire.Status{})
		})
		plain := newClient(t, client.Options{Transport: l})
		named := newClient(t, client.Options{Transport: l, Token: "secret", UserAgent: "firn/1.2"})
		for _, c := range []*client.Client{plain, named} {
			if _, err := c.Status(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got[0].Get("User-Agent") != "firn" || got[0].Get("Authorization") != "" || got[0].Get("Accept") != "application/json" {
			t.Errorf("the first header is %v", got[0])
		}
		if got[1].Get("User-Agent") != "firn/1.2" || got[1].Get("Authorization") != "Bearer secret" {
			t.Errorf("the second header is %v", got[1])
		}
	})
}

func TestReadsAreRetried(t *testing.T) {
	ways := map[string]http.HandlerFunc{
		"broken":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a proxy": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"closing": func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, wire.Problem{Kind: wire.Closing, Message: "going"})
		},
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, wire.Problem{Kind: wire.Busy, Message: "later"})
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"vers`)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	for name, bad := range ways {
		for times := range 5 {
			synctest.Test(t, func(t *testing.T) {
				asked, begun := 0, time.Now()
				l := local(t, func(w http.ResponseWriter, r *http.Request) {
					if asked++; asked <= times {
						bad(w, r)
						return
					}
					responseWriter(w, wire.Status{Version: "1"})
				})
				status, err := newClient(t, client.Options{Transport: l}).Status(t.Context())
				if (err == nil) != (times < 4) || err == nil && status.Version != "1" || asked != min(times+1, 4) {
					t.Errorf("%s, %d times: %+v, %v after %d tries", name, times, status, err, asked)
				}
				if took, want := time.Since(begun), []time.Duration{0, 100, 300, 700, 700}[times]*time.Millisecond; took != want {
					t.Errorf("%s, %d times: it took %v, want %v", name, times, took, want)
				}
			})
		}
	}
}

func TestPermanentErrorsAreNotRetried(t *testing.T) {
	for _, kind := range []wire.Kind{wire.Invalid, wire.NotFound, wire.NoToken, wire.NotAllowed, wire.Corrupt, wire.Internal} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			l := local(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				refuse(w, wire.Problem{Kind: kind, Message: "no"})
			})
			if _, err := newClient(t, client.Options{Transport: l}).Status(t.Context()); wire.KindOf(err) != kind || asked != 1 {
				t.Errorf("%s: after %d tries %v", kind, asked, err)
			}
		})
	}
}

// A write without an ID may have been performed and is not repeated.
func TestWritesAreNotRetried(t *testing.T) {
	ctx := context.Background()
	for name, write := range map[string]func(c *client.Client) error{
		"new":     func(c *client.Client) error { _, err := c.NewSession(ctx, wire.NewSession{}); return err },
		"patch":   func(c *client.Client) error { _, err := c.Patch(ctx, session, wire.Patch{}); return err },
		"fork":    func(c *client.Client) error { _, err := c.Fork(ctx, session, wire.Fork{}); return err },
		"compact": func(c *client.Client) error { _, err := c.Compact(ctx, session, wire.Compact{}); return err },
		"undo":    func(c *client.Client) error { _, err := c.Undo(ctx, session, "e1"); return err },
		"purge":   func(c *client.Client) error { _, err := c.Purge(ctx, session, wire.Erase{Sure: session}); return err },
		"stop":    func(c *client.Client) error { _, err := c.Stop(ctx, session); return err },
		"reset":   func(c *client.Client) error { _, err := c.Keys.Reset(ctx, "agent:main:main"); return err },
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			l := local(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				panic(http.ErrAbortHandler)
			})
			var u *client.Unreachable
			if err := write(newClient(t, client.Options{Transport: l})); !errors.As(err, &u) || asked != 1 {
				t.Errorf("%s: after %d tries %v", name, asked, err)
			}
		})
	}
}

func TestReadEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 3 { // one byte a minute
				io.WriteString(w, " ")
				http.NewResponseController(w).Flush()
				time.Sleep(time.Minute)
			}
			cancel(stopped)
			<-r.Context().Done()
		})
		_, err := newClient(t, client.Options{Transport: l}).Status(ctx)
		var u *client.Unreachable
		if !errors.Is(err, stopped) || errors.As(err, &u) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestRetryDelayEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		l := local(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		begun := time.Now()
		_, err := newClient(t, client.Options{Transport: l}).Status(ctx)
		if err == nil || time.Since(begun) != 150*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

func TestNamesThatChangeThePathAreRejected(t *testing.T) {
	l := local(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("requested %s", r.URL) })
	c := newClient(t, client.Options{Transport: l})
	for _, name := range []string{"", ".", ".."} {
		_, one := c.Session(t.Context(), name)
		_, two := c.Turn(t.Context(), firn.ID(name), wire.Turn{Text: "hi"})
		_, three := c.Keys.Get(t.Context(), name)
		errs := []error{one, two, three}
		for _, err := range c.Events(t.Context(), firn.ID(name), 0) {
			errs = append(errs, err)
		}
		for _, err := range c.StreamTurn(t.Context(), firn.ID(name), wire.Turn{}) {
			errs = append(errs, err)
		}
		for _, err := range errs {
			if !errors.Is(err, firn.ErrInvalid) {
				t.Errorf("%q: %v", name, err)
			}
		}
		if len(errs) != 5 {
			t.Errorf("%q: %d errors", name, len(errs))
		}
	}
}

func TestListReadsAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.RawQuery)
			var from int
			fmt.Sscan(r.URL.Query().Get("cursor"), &from)
			page := wire.Page[wire.Session]{Total: 5}
			for i := from; i < min(from+2, 5); i++ {
				page.Items = append(page.Items, wire.Session{ID: firn.ID(fmt.Sprint("s", i))})
			}
			if from+2 < 5 {
				page.Cursor = fmt.Sprint(from + 2)
			}
			responseWriter(w, page)
		})
		c := newClient(t, client.Options{Transport: l})
		list := func(limit, take int) (ids []firn.ID) {
			for s, err := range c.Sessions(t.Context(), client.Query{Limit: limit}) {
				if err != nil {
					t.Fatal(err)
				}
				if ids = append(ids, s.ID); len(ids) == take {
					break
				}
			}
			return ids
		}
		all := list(0, -1)
		if want := []firn.ID{"s0", "s1", "s2", "s3", "s4"}; !slices.Equal(all, want) || !slices.Equal(asked, []string{"", "cursor=2", "cursor=4"}) {
			t.Errorf("got %q by %q", all, asked)
		}
		asked = nil
		if some := list(3, -1); len(some) != 3 || !slices.Equal(asked, []string{"limit=3", "cursor=2&limit=1"}) {
			t.Errorf("got %q by %q", some, asked)
		}
		asked = nil
		if some := list(0, 2); len(some) != 2 || len(asked) != 1 {
			t.Errorf("got %q by %q", some, asked)
		}
	})
}

func TestListEndsWithError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == 2 {
				refuse(w, wire.Problem{Kind: wire.Corrupt, Message: "damaged"})
				return
			}
			responseWriter(w, wire.Page[wire.Entry]{Items: make([]wire.Entry, 3), Cursor: "more"})
		})
		entries, errs := 0, 0
		for _, err := range newClient(t, client.Options{Transport: l}).Entries(t.Context(), session, client.EntryQuery{}) {
			if err != nil {
				errs++
			} else {
				entries++
			}
		}
		if entries != 3 || errs != 1 {
			t.Errorf("%d entries, %d errors", entries, errs)
		}
	})
}

func TestListWithRepeatedCursorEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			responseWriter(w, wire.Page[wire.Session]{Items: make([]wire.Session, 1), Cursor: "same"})
		})
		n := 0
		for range newClient(t, client.Options{Transport: l}).Sessions(t.Context(), client.Query{}) {
			n++
		}
		if n != 2 {
			t.Errorf("received %d sessions", n)
		}
	})
}

// TestRetryAfter checks that a retry waits for the time requested by the gateway, up to a
// limit.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"3": 3 * time.Second, "999999": 30 * time.Second, "": 100 * time.Millisecond, "-5": 100 * time.Millisecond, "soon": 100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			asked, begun := 0, time.Now()
			l := local(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked++; asked == 1 {
					w.Header().Set("Retry-After", header)
					refuse(w, wire.Problem{Kind: wire.Busy, Message: "later"})
					return
				}
				responseWriter(w, wire.Status{Version: "1"})
			})
			_, err := newClient(t, client.Options{Transport: l}).Status(t.Context())
			if took := time.Since(begun); err != nil || took != want {
				t.Errorf("%q: asked again after %s, want %s (%v)", header, took, want, err)
			}
		})
	}
}
