package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// appendServer is a gateway that stores lines and breaks connections.
type appendServer struct {
	t     *testing.T
	lines []json.RawMessage
	posts int
	// on is called for each append; calling do performs it. It may break the
	// connection.
	on func(k *appendServer, n int, do func())
	// meanwhile is called before entries are listed.
	meanwhile func()
}

func (k *appendServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		k.list(w, r)
		return
	}
	var n wire.NewEntries
	if err := readJSON(r, &n); err != nil {
		k.t.Error(err)
	}
	k.posts++
	var p *wire.Problem
	do := func() {
		match := r.Header.Get("If-Match")
		if want := fmt.Sprintf("%q", fmt.Sprint(10*len(k.lines))); match != "" && match != want {
			p = &wire.Problem{Kind: wire.Conflict, Message: "moved on", End: firn.Pos(10 * len(k.lines))}
			return
		}
		k.lines = append(k.lines, n.Entries...)
		if n.User != "" {
			k.lines = append(k.lines, mustJSON(map[string]string{"id": fmt.Sprint("u", len(k.lines)), "text": n.User}))
		}
	}
	if k.on != nil {
		k.on(k, k.posts, do)
	}
	if do(); p != nil {
		refuse(w, *p)
		return
	}
	responseWriter(w, wire.Appended{End: firn.Pos(10 * len(k.lines))})
}

func (k *appendServer) list(w http.ResponseWriter, r *http.Request) {
	if k.meanwhile != nil {
		k.meanwhile()
	}
	q := r.URL.Query()
	var after, limit int
	fmt.Sscan(q.Get("after"), &after)
	fmt.Sscan(q.Get("limit"), &limit)
	if q.Get("view") != wire.ViewDisk {
		k.t.Errorf("requested %v", q)
	}
	var page wire.Page[wire.Entry]
	for i, line := range k.lines {
		if 10*i >= after {
			page.Items = append(page.Items, wire.Entry{At: firn.Pos(10 * i), Next: firn.Pos(10 * (i + 1)), Line: line})
		}
	}
	if q.Get("back") == "true" {
		slices.Reverse(page.Items)
	}
	page.Items = page.Items[:min(limit, len(page.Items))]
	responseWriter(w, page)
}

func lines(ids ...string) []json.RawMessage {
	var all []json.RawMessage
	for _, id := range ids {
		all = append(all, json.RawMessage(`{"id":"`+id+`","text":"<b>"}`))
	}
	return all
}

func (k *appendServer) ids() string {
	var all []string
	for _, line := range k.lines {
		var e struct{ ID string }
		json.Unmarshal(line, &e)
		all = append(all, e.ID)
	}
	return strings.Join(all, " ")
}

func cutBefore(_ *appendServer, n int, _ func()) {
	if n == 1 {
		panic(http.ErrAbortHandler)
	}
}

func cutAfter(_ *appendServer, n int, do func()) {
	if n == 1 {
		do()
		panic(http.ErrAbortHandler)
	}
}

func TestAppendAfterLostResponse(t *testing.T) {
	for name, c := range map[string]struct {
		on        func(k *appendServer, n int, do func())
		expect    firn.Pos
		meanwhile func(k *appendServer)
		want      string // expected log
		posts     int
		err       error
	}{
		"no failure":                          {nil, 20, nil, "a b x y", 1, nil},
		"a conflict":                          {nil, 10, nil, "a b", 1, firn.ErrConflict},
		"lost before":                         {cutBefore, 20, nil, "a b x y", 2, nil},
		"lost after":                          {cutAfter, 20, nil, "a b x y", 1, nil},
		"lost before, anywhere":               {cutBefore, client.Any, nil, "a b x y", 2, nil},
		"lost after, anywhere":                {cutAfter, client.Any, nil, "a b x y", 1, nil},
		"lost after, others follow":           {cutAfter, 20, func(k *appendServer) { k.lines = append(k.lines, lines("z")...) }, "a b x y z", 1, nil},
		"lost after, others follow, anywhere": {cutAfter, client.Any, func(k *appendServer) { k.lines = append(k.lines, lines("z")...) }, "a b x y z", 1, nil},
		"lost before, others were first":      {cutBefore, 20, func(k *appendServer) { k.lines = append(k.lines, lines("z")...) }, "a b z", 2, firn.ErrConflict},
		"lost before, others, anywhere":       {cutBefore, client.Any, func(k *appendServer) { k.lines = append(k.lines, lines("z")...) }, "a b z x y", 2, nil},
		"still pending":                       {late(), 20, nil, "a b x y", 2, nil},
		"still pending, anywhere":             {late(), client.Any, nil, "a b x y", 2, nil},
		"lost before, then after":             {cutBoth, 20, nil, "a b x y", 2, errLost},
		"lost before, and others, anywhere":   {othersThen, client.Any, nil, "a b z", 2, errLost},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &appendServer{t: t, lines: lines("a", "b"), on: c.on}
			if c.meanwhile != nil {
				done := false
				k.meanwhile = func() {
					if !done {
						done = true
						c.meanwhile(k)
					}
				}
			}
			l := local(t, k.ServeHTTP)
			done, err := newClient(t, client.Options{Transport: l}).Append(t.Context(), session, c.expect, wire.NewEntries{Entries: lines("x", "y")})
			var u *client.Unreachable
			switch {
			case c.err == errLost && !errors.As(err, &u), c.err != errLost && !errors.Is(err, c.err):
				t.Errorf("%s: the error is %v, want %v", name, err, c.err)
			case err == nil && done.End != firn.Pos(10*(1+slices.IndexFunc(k.lines, func(l json.RawMessage) bool { return strings.Contains(string(l), `"y"`) }))):
				t.Errorf("%s: it ends at %d", name, done.End)
			}
			if k.ids() != c.want || k.posts != c.posts {
				t.Errorf("%s: after %d requests the log is %q, want %q after %d", name, k.posts, k.ids(), c.want, c.posts)
			}
		})
	}
}

// errLost stands for an Unreachable.
var errLost = errors.New("lost")

// late loses the connection of the first append, which is done just before the
// second one.
func late() func(k *appendServer, n int, do func()) {
	var first func()
	return func(_ *appendServer, n int, do func()) {
		if n == 1 {
			first = do
			panic(http.ErrAbortHandler)
		}
		first()
	}
}

func cutBoth(_ *appendServer, n int, do func()) {
	if n == 2 {
		do()
	}
	panic(http.ErrAbortHandler)
}

func othersThen(k *appendServer, n int, _ func()) {
	if n == 1 {
		panic(http.ErrAbortHandler)
	}
	k.lines = append(k.lines, lines("z")...)
}

// Without IDs the outcome cannot be determined, so the append is not repeated.
func TestAppendWithoutIDsIsNotRetried(t *testing.T) {
	for name, entries := range map[string]wire.NewEntries{
		"text": {User: "hi"}, "a line without": {Entries: []json.RawMessage{[]byte(`{"id":"x"}`), []byte(`{}`)}}, "no object": {Entries: []json.RawMessage{[]byte(`7`)}},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &appendServer{t: t, on: cutBefore}
			l := local(t, k.ServeHTTP)
			_, err := newClient(t, client.Options{Transport: l}).Append(t.Context(), session, client.Any, entries)
			var u *client.Unreachable
			if !errors.As(err, &u) || k.posts != 1 || len(k.lines) != 0 {
				t.Errorf("%s: after %d requests %v", name, k.posts, err)
			}
		})
	}
}

func TestAppendSendsLinesUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &appendServer{t: t}
		l := local(t, k.ServeHTTP)
		c := newClient(t, client.Options{Transport: l})
		line := `{"id":"x","text":"<a> & b\u2028 1e400 \ud800","n":1.0e400,"é":"` + "\u2028" + `"}`
		if _, err := c.Append(t.Context(), session, client.Any, wire.NewEntries{Entries: []json.RawMessage{[]byte(line)}}); err != nil {
			t.Fatal(err)
		}
		if string(k.lines[0]) != line {
			t.Errorf("got %s, sent %s", k.lines[0], line)
		}
	})
}

// A server that is not a gateway did not append anything, and the append is not repeated.
func TestAppendIsNotRetriedWithUnknownServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		l := local(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			w.Header().Set("Content-Type", "text/html")
		})
		_, err := newClient(t, client.Options{Transport: l}).Append(t.Context(), session, client.Any, wire.NewEntries{Entries: lines("x")})
		if err == nil || asked != 1 {
			t.Errorf("after %d requests %v", asked, err)
		}
	})
}
