package webtest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/base/basetest"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience limits each wait of a test. It is long because the machine may be busy; waits
// end as soon as their condition is met.
const patience = basetest.Limit

//go:embed page.js
var pageScript string

// tab is a page in the browser, with methods that simulate the user.
type tab struct {
	t   *testing.T
	ctx context.Context
	// base is the base URL of relative addresses.
	base  string
	watch *watch
	// gated is the script of [tab.gate].
	gated page.ScriptIdentifier
}

// newTab opens a tab in a new profile that is not logged in.
func newTab(t *testing.T, base string) *tab {
	t.Helper()
	return openTab(t, world.browser, base, chromedp.WithNewBrowserContext())
}

// beside opens another tab in the same profile.
func (b *tab) beside(t *testing.T) *tab {
	t.Helper()
	return openTab(t, b.ctx, b.base)
}

func openTab(t *testing.T, parent context.Context, base string, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	b := &tab{t: t, ctx: ctx, base: base}
	b.watch = newWatch(ctx, base)
	// The page has to ask whether it is logged in, and no is a valid answer.
	b.allow("401 (Unauthorized) (" + base + "/v1/me)")
	// Headless tabs count as hidden, but users see theirs.
	focus := emulation.SetFocusEmulationEnabledParams{Enabled: true}
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, focus); err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: pageScript}); err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	b.size(1280, 800)
	t.Cleanup(func() {
		if t.Failed() {
			b.picture()
		}
		violations, _ := chromedp.Run(ctx, chromedp.Evaluate[[]string]("webtest.seen.violations"))
		cancel()
		b.watch.wait()
		for _, v := range violations {
			b.watch.note(v)
		}
		for _, fault := range b.watch.faults() {
			t.Errorf("the page did what no page may: %s", fault)
		}
	})
	return b
}

// login opens a tab that is logged in with a code from firn open.
func (s *server) login(t *testing.T, args ...string) *tab {
	t.Helper()
	b := newTab(t, s.url)
	b.open(s.loginURL(t, args...))
	b.wait(`!location.pathname.startsWith("/login") && webtest.find("main")`)
	return b
}

// open navigates to an address and returns when the page is ready.
func (b *tab) open(path string) {
	b.t.Helper()
	if !strings.Contains(path, "://") {
		path = b.base + path
	}
	b.do(chromedp.Navigate(path))
	b.wait(`document.readyState === "complete" && webtest.find("main")`)
}

// reload reloads the page.
func (b *tab) reload() {
	b.t.Helper()
	b.do(chromedp.Reload())
	b.wait(`document.readyState === "complete" && webtest.find("main")`)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fatalf("%v", err)
	}
}

// settled waits until the page has received and drawn everything it requested.
func (b *tab) settled() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for calm := 0; calm < 2; {
		b.wait(`document.readyState === "complete" && webtest.find("main") && ![...document.querySelectorAll("[aria-busy=true]")].some(webtest.visible)`)
		b.frames()
		if len(b.watch.waiting()) == 0 {
			calm++
		} else {
			calm = 0
		}
		if ctx.Err() != nil {
			b.fatalf("the page waits for %q", b.watch.waiting())
		}
	}
}

// frames waits until the page has drawn twice.
func (b *tab) frames() {
	b.t.Helper()
	get[bool](b, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// size sets the window size.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// wait waits until an expression is true, across navigations.
func (b *tab) wait(expression string) {
	b.t.Helper()
	await[chromedp.Void](b, expression)
}

// await waits until an expression is true and returns its value.
func await[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		// The expression is evaluated on every frame. Polling fails when the document is
		// left, and continues in the next one.
		value, err := chromedp.Run(ctx, chromedp.Poll[T]("(() => { try { return "+expression+" } catch (e) { return null } })()", chromedp.WithPollingInterval(25*time.Millisecond), chromedp.WithPollingTimeout(0)))
		if err == nil {
			return value
		}
		if ctx.Err() != nil {
			b.fatalf("this did not become true: %s", expression)
		}
		<-again.C
	}
}

// get returns the value of an expression.
func get[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fatalf("%s: %v", expression, err)
	}
	return value
}

// see waits until a text is visible on the page.
func (b *tab) see(text string) {
	b.t.Helper()
	b.wait("webtest.text().includes(" + quote(text) + ")")
}

// gone waits until a text is no longer visible.
func (b *tab) gone(text string) {
	b.t.Helper()
	b.wait("!webtest.text().includes(" + quote(text) + ")")
}

// a returns an expression for the element with a role and a name: a text matches the whole
// name, one between slashes is a pattern.
func a(role, name string) string {
	if strings.HasPrefix(name, "/") {
		return fmt.Sprintf("webtest.find(%s, %s)", quote(role), name)
	}
	return fmt.Sprintf("webtest.find(%s, %s)", quote(role), quote(name))
}

// click clicks an element with the mouse as soon as it exists and nothing covers it.
func (b *tab) click(role, name string) {
	b.t.Helper()
	b.clickOn(a(role, name))
}

// clickOn clicks the element that an expression returns.
func (b *tab) clickOn(element string) {
	b.t.Helper()
	await[struct{ X, Y float64 }](b, "webtest.aim("+element+")")
	b.frames() // the scrolled content has been drawn and its observers have run
	at := await[struct{ X, Y float64 }](b, "webtest.aim("+element+")")
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X, at.Y), chromedp.MouseClickXY(at.X, at.Y))
}

// fill sets the text of an input.
func (b *tab) fill(role, name, text string) {
	b.t.Helper()
	b.clickOn(a(role, name))
	b.wait("document.activeElement === " + a(role, name))
	b.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.insert(text)
}

// insert inserts a text at the cursor.
func (b *tab) insert(text string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		b.fatalf("typing %q: %v", text, err)
	}
}

// key presses keys one after the other. A key and its character are sent in one message, as
// by a keyboard: a page that handles the key must not receive the character in an input
// that it has just focused.
func (b *tab) key(keys string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		down, up := *events[0], *events[len(events)-1]
		if len(events) == 3 {
			down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		}
		for _, m := range modifiers {
			down.Modifiers |= int64(m)
			up.Modifiers |= int64(m)
			down.Text, down.UnmodifiedText = "", ""
		}
		for _, e := range []input.DispatchKeyEventParams{down, up} {
			if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, e); err != nil {
				b.fatalf("pressing %q: %v", keys, err)
			}
		}
	}
}

// dark sets the preferred color scheme of the system.
func (b *tab) dark(on bool) {
	b.t.Helper()
	b.prefer(on, false)
}

// prefer sets the preferred color scheme and contrast of the system.
func (b *tab) prefer(dark, high bool) {
	b.t.Helper()
	scheme, contrast := "light", "no-preference"
	if dark {
		scheme = "dark"
	}
	if high {
		contrast = "more"
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-contrast", Value: contrast}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.fatalf("asking for a %s page: %v", scheme, err)
	}
}

// allow expects a fault that is part of the test: one that contains words.
func (b *tab) allow(words string) { b.watch.allow(words) }

// allowLostConnection allows the errors that a browser reports when a gateway is killed.
func (b *tab) allowLostConnection() {
	for _, words := range []string{"ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_SOCKET_NOT_CONNECTED"} {
		b.allow(words)
	}
}

// fatalf fails the test and reports the visible state.
func (b *tab) fatalf(format string, args ...any) {
	b.t.Helper()
	var state struct{ URL, Text string }
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`JSON.stringify({URL: location.href, Text: document.body?.innerText?.slice(0, 2000)})`))
	if err == nil {
		err = json.Unmarshal([]byte(text), &state)
	}
	b.t.Fatalf("%s\nat %s (%v)\n--- the page says:\n%s", fmt.Sprintf(format, args...), state.URL, err, state.Text)
}

// picture saves a screenshot when a test fails (go test -artifacts).
func (b *tab) picture() {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(b.t.ArtifactDir(), "failed.png"), png, 0o600)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		b.t.Logf("no picture of the page: %v", err)
	}
}
