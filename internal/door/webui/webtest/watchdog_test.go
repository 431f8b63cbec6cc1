package webtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// watch observes a page: its log, exceptions, failures and requests.
type watch struct {
	host string
	wg   sync.WaitGroup

	mu       sync.Mutex
	found    []string
	allowed  []string
	requests map[network.RequestID]*request
	order    []network.RequestID
	document cdp.LoaderID
}

// request is a request of the page.
type request struct {
	method, url, kind string
	// bytes is the transferred size, header and compressed body.
	bytes float64
	done  bool
	// document is the document that made the request. Requests of a document that was left
	// never end.
	document cdp.LoaderID
}

// newWatch starts watching a tab until its context ends.
func newWatch(ctx context.Context, base string) *watch {
	w := &watch{requests: make(map[network.RequestID]*request)}
	if u, err := url.Parse(base); err == nil {
		w.host = u.Host
	}
	messages := chromedp.Console(ctx)
	sent, finished := chromedp.Events(ctx, network.RequestWillBeSent), chromedp.Events(ctx, network.LoadingFinished)
	failed, asked := chromedp.Events(ctx, network.LoadingFailed), chromedp.Events(ctx, page.JavascriptDialogOpening)
	w.wg.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning {
				w.note(fmt.Sprintf("%s: %s (%s)", m.Type, m.Text, m.URL))
			}
		}
	})
	w.wg.Go(func() {
		for e, err := range sent {
			if err != nil {
				return
			}
			w.asked(e)
		}
	})
	w.wg.Go(func() {
		for e, err := range finished {
			if err != nil {
				return
			}
			w.ended(e.RequestID, e.EncodedDataLength)
		}
	})
	w.wg.Go(func() {
		for e, err := range failed {
			if err != nil {
				return
			}
			w.ended(e.RequestID, 0)
		}
	})
	w.wg.Go(func() {
		for e, err := range asked {
			if err != nil {
				return
			}
			w.note(fmt.Sprintf("a dialog: %s", e.Message))
			chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}
	})
	return w
}

// ended records the end and the size of a request.
func (w *watch) ended(id network.RequestID, bytes float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.known(id)
	r.bytes += bytes
	r.done = true
}

// waiting returns the pending requests, except event streams, which do not end.
func (w *watch) waiting() []string {
	var under []string
	all := w.all()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range all {
		if !r.done && r.document == w.document && r.kind != "EventSource" && !strings.Contains(r.url, "/events") && !strings.HasPrefix(r.url, "data:") {
			under = append(under, r.method+" "+r.url)
		}
	}
	return under
}

// listens reports whether the page has an open event stream.
func (w *watch) listens() bool {
	all := w.all()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(all, func(r request) bool { return !r.done && r.document == w.document && strings.Contains(r.url, "/events") })
}

// wait waits until the watch has ended.
func (w *watch) wait() { w.wg.Wait() }

func (w *watch) note(fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = append(w.found, fault)
}

// asked records a request, and a fault if it is to another host.
func (w *watch) asked(e network.EventRequestWillBeSent) {
	if e.Request == nil {
		return
	}
	if u, err := url.Parse(e.Request.URL); err != nil || (u.Scheme != "data" && u.Scheme != "blob" && u.Host != w.host) {
		w.note(fmt.Sprintf("a request to %s", e.Request.URL))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.known(e.RequestID)
	r.method, r.url, r.kind, r.document = e.Request.Method, e.Request.URL, string(e.Type), e.LoaderID
	if e.Type == network.ResourceTypeDocument {
		w.document = e.LoaderID
	}
	w.order = append(w.order, e.RequestID)
}

// known returns the record of a request. The events of its end and start may arrive in
// either order.
func (w *watch) known(id network.RequestID) *request {
	if w.requests[id] == nil {
		w.requests[id] = &request{}
	}
	return w.requests[id]
}

func (w *watch) allow(words string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.allowed = append(w.allowed, words)
}

// faults returns the faults that were not allowed.
func (w *watch) faults() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.found), func(fault string) bool {
		return slices.ContainsFunc(w.allowed, func(words string) bool { return strings.Contains(fault, words) })
	})
}

// all returns all requests so far, in order.
func (w *watch) all() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []request
	for _, id := range w.order {
		all = append(all, *w.requests[id])
	}
	return all
}

// forget clears the list of requests.
func (w *watch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.order = nil
	clear(w.requests)
}

// TestWatchdogWorks checks that each forbidden action of a page is detected.
func TestWatchdogWorks(t *testing.T) {
	t.Parallel()
	const policy = "default-src 'none'; script-src 'self'"
	cases := map[string]struct{ policy, body, script, want string }{
		"an inline script":     {policy, `<script>document.title = "run"</script>`, "", "inline script violates"},
		"a handler":            {policy, `<img src="/none" onerror="document.title = 'run'">`, "", "violates"},
		"a picture from afar":  {policy, `<img src="http://other.invalid/a.png">`, "", "http://other.invalid/a.png"},
		"a request elsewhere":  {"", "", `fetch("http://other.invalid/")`, "a request to http://other.invalid/"},
		"an error":             {"", "", `console.error("oh no")`, "oh no"},
		"an exception":         {"", "", `throw new Error("thrown")`, "thrown"},
		"an unhandled promise": {"", "", `Promise.reject(new Error("unhandled"))`, "unhandled"},
		"a question":           {"", "", `setTimeout(() => alert("asked"))`, "a dialog: asked"},
		"a file that is gone":  {"", `<img src="/gone">`, "", "404"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/":
					if c.policy != "" {
						w.Header().Set("Content-Security-Policy", c.policy)
					}
					fmt.Fprintf(w, `<!doctype html><link rel=icon href="data:,"><main>here</main>%s<script src=/script.js></script>`, c.body)
				case "/script.js":
					w.Header().Set("Content-Type", "text/javascript")
					fmt.Fprint(w, c.script)
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(s.Close)
			b := newTab(t, s.URL)
			b.allow("") // all of them are expected
			b.open("/")
			b.awaitFault(c.want)
			if got := get[string](b, "document.title"); got != "" {
				t.Error("a script ran that must not")
			}
		})
	}
}

// awaitFault waits until a fault is detected.
func (b *tab) awaitFault(words string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		b.watch.mu.Lock()
		found := slices.ContainsFunc(b.watch.found, func(s string) bool { return strings.Contains(s, words) })
		b.watch.mu.Unlock()
		if found {
			return
		}
		// Faults send no notification; a page that responds has processed its events.
		get[int](b, "1")
	}
	b.t.Fatalf("%q was not reported, only %q", words, b.watch.found)
}
