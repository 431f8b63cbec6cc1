//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// tolerate counts an error that faults explain, and records any other.
func (s *soak) tolerate(doing string, err error) {
	var unreachable *client.Unreachable
	var problem *wire.Problem
	switch {
	case err == nil:
		s.ledger.count("done: " + doing)
	case errors.As(err, &unreachable), errors.Is(err, context.DeadlineExceeded):
		s.ledger.count("not reached")
	case errors.As(err, &problem) && problem.Kind != wire.Internal && problem.Kind != wire.Corrupt && problem.Kind != wire.NotAllowed && problem.Kind != wire.NoToken:
		s.ledger.count("refused: " + string(problem.Kind))
	default:
		s.ledger.complain("%s: %v", doing, err)
	}
}

// requestContext returns a context for one request.
func requestContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// brancher rewinds sessions, sends different messages there, and forks some.
func (s *soak) brancher() {
	for i := 0; s.pause(4); i++ {
		id := s.trees[rand.IntN(len(s.trees))]
		ctx, done := requestContext()
		s.ledger.move(s.ledger.moves, id)
		_, err := s.client.Rewind(ctx, id, wire.Move{Back: 1 + rand.IntN(2), Summary: rand.IntN(4) == 0})
		s.tolerate("rewind", err)
		if err == nil {
			s.ledger.move(s.ledger.moved, id)
			s.sendMessage(spoken{id, firn.NewEntryID(), fmt.Sprintf("brancher says %d: %s", i, phrase()), "brancher"}, wire.Turn{Queue: "followup"})
		}
		if s.mayMake() {
			forked, err := s.client.Fork(ctx, s.plain[rand.IntN(len(s.plain))], wire.Fork{Title: fmt.Sprintf("fork %d", i)})
			if s.tolerate("fork", err); err == nil {
				s.ledger.make(forked.ID)
			}
		}
		done()
	}
}

// compacter compacts sessions, undoes that, and redoes it.
func (s *soak) compacter() {
	for s.pause(6) {
		id := s.plain[rand.IntN(len(s.plain))]
		ctx, done := requestContext()
		c, err := s.client.Compact(ctx, id, wire.Compact{KeepRecent: 500 + rand.Int64N(3000)})
		s.tolerate("compact", err)
		if err == nil && c.ID != "" && rand.IntN(2) == 0 {
			_, err = s.client.Undo(ctx, id, c.ID)
			s.tolerate("undo a compaction", err)
			if err == nil && rand.IntN(2) == 0 {
				_, err = s.client.Redo(ctx, id, c.ID)
				s.tolerate("redo a compaction", err)
			}
		}
		done()
	}
}

// reader lists, searches, and reads windows, trees and statistics.
func (s *soak) reader() {
	for i := 0; s.pause(2); i++ {
		id := s.plain[rand.IntN(len(s.plain))]
		ctx, done := requestContext()
		var err error
		what := []string{"list", "search", "window", "tree", "entries", "usage", "keys", "ops"}[i%8]
		switch what {
		case "list":
			_, err = s.client.SessionsPage(ctx, client.Query{Limit: 50})
		case "search":
			_, err = s.client.Search(ctx, wire.SearchQuery{Query: fmt.Sprintf("number %d harbour", rand.IntN(1e6))})
		case "window":
			_, err = s.client.Window(ctx, id, "")
		case "tree":
			_, err = s.client.Tree(ctx, s.trees[rand.IntN(len(s.trees))], 50, "")
		case "entries":
			_, err = s.client.EntriesPage(ctx, id, client.EntryQuery{View: wire.ViewBranch, Back: true, Limit: 30})
		case "usage":
			_, err = s.client.UsageOf(ctx, client.UsageQuery{By: "day"})
		case "keys":
			_, err = s.client.Keys.List(ctx, "")
		case "ops":
			_, err = s.client.Ops(ctx)
		}
		s.tolerate(what, err)
		done()
	}
}

// typist runs commands as users do.
func (s *soak) typist() {
	for i := 0; s.pause(8); i++ {
		id := string(s.plain[rand.IntN(len(s.plain))])
		args := [][]string{
			{"ls", "--json"}, {"show", id, "--json"}, {"cat", id, "--json"}, {"search", "lantern", "--json"}, {"grep", "seven ships and the old mill, number 77"},
			{"status", "--json"}, {"tree", id}, {"usage", "--json"}, {"append", id, "--user", "typed: " + phrase()},
		}[i%9]
		out, err := s.gateway.command(args...)
		switch {
		case err == nil:
			s.ledger.count("commands")
		case strings.Contains(out, "panic") || strings.Contains(out, "goroutine "):
			s.ledger.complain("firn %s: %v: %.1000s", strings.Join(args, " "), err, out)
		default:
			s.ledger.count("commands that failed")
		}
	}
}

// browser logs in like a browser and loads pages.
func (s *soak) browser() {
	life, jar := 0, (*cookiejar.Jar)(nil)
	for i := 0; s.pause(4); i++ {
		if _, now := s.gateway.now(); jar == nil || now != life || i%50 == 49 {
			life = now
			if jar != nil {
				s.page(jar, http.MethodPost, "/v1/logout")
			}
			jar = s.login()
		}
		if jar == nil {
			continue
		}
		id := s.plain[rand.IntN(len(s.plain))]
		for _, path := range []string{"/", "/v1/me", "/v1/sessions?limit=20&count=true", "/v1/sessions/" + string(id) + "/entries?as=html&view=branch&back=true&limit=20", "/v1/ops"} {
			s.page(jar, http.MethodGet, path)
		}
	}
}

// login logs in with a code.
func (s *soak) login() *cookiejar.Jar {
	ctx, done := requestContext()
	defer done()
	order, err := s.client.Access.OrderLogin(ctx, wire.LoginOrder{})
	if s.tolerate("order a login", err); err != nil {
		return nil
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.ledger.complain("%v", err)
		return nil
	}
	c, err := client.New(client.Options{Address: s.gateway.address(), Transport: cookies{jar, s.http.Transport}})
	if err != nil {
		s.ledger.complain("%v", err)
		return nil
	}
	if _, err = c.Access.Login(ctx, wire.Login{Code: order.Code}); err != nil {
		var problem *wire.Problem
		if !errors.As(err, &problem) || problem.Kind != wire.NoToken { // a code of a gateway that was killed
			s.tolerate("log in", err)
		}
		return nil
	}
	s.ledger.count("done: log in")
	return jar
}

// cookies is a transport with the cookies of a browser.
type cookies struct {
	jar  *cookiejar.Jar
	next http.RoundTripper
}

// RoundTrip sends a request with its cookies, and stores those of the response.
func (c cookies) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, cookie := range c.jar.Cookies(r.URL) {
		r.AddCookie(cookie)
	}
	resp, err := c.next.RoundTrip(r)
	if err == nil {
		c.jar.SetCookies(r.URL, resp.Cookies())
	}
	return resp, err
}

// page fetches a page or a resource of one.
func (s *soak) page(jar *cookiejar.Jar, method, path string) {
	ctx, done := requestContext()
	defer done()
	r, err := http.NewRequestWithContext(ctx, method, s.gateway.address()+path, nil)
	if err != nil {
		s.ledger.complain("%v", err)
		return
	}
	r.Header.Set("X-Firn", "web")
	r.Header.Set("Origin", s.gateway.address())
	resp, err := (&http.Client{Transport: cookies{jar, s.http.Transport}}).Do(r)
	if err != nil {
		s.ledger.count("not reached")
		return
	}
	resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
		s.ledger.count("pages")
	case isRetryable(resp.StatusCode), resp.StatusCode == http.StatusUnauthorized: // the clock has jumped past the end of the login
		s.ledger.count("pages refused")
	default:
		s.ledger.complain("%s %s: %s", method, path, resp.Status)
	}
}
