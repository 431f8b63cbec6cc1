package webtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// hostileID is a session in which every text is an attack.
const hostileID = firn.ID("hostile")

// corpus returns the attacks, which the HTML tests of the pages use too.
func corpus() ([]string, error) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "render", "richtext", "testdata", "xss.txt"))
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" {
			all = append(all, line)
		}
	}
	if len(all) < 50 {
		return nil, fmt.Errorf("the corpus has only %d attacks", len(all))
	}
	return all, nil
}

// marker is part of each of our own attacks: its image would be requested and its handler
// run if a page treated it as HTML.
const marker = `"><img src=/never.png onerror=alert(1)><script>alert(2)</script>`

// writeHostile writes the corpus to all places where people and models can provide text:
// messages, thinking, tool names, arguments, results, file names, summaries, titles,
// labels, keys, tags, models, errors.
func writeHostile(home string) error {
	attacks, err := corpus()
	if err != nil {
		return err
	}
	s := newScribe(hostileID, longAgo.AddDate(0, 3, 0), firn.Header{CWD: "/tmp/" + marker, Key: "agent:main:cli:" + marker})
	first := s.user("All of these:\n\n" + strings.Join(attacks, "\n\n"))
	for i, x := range attacks {
		if i%20 == 0 {
			s.user(x)
		}
		s.assistant(firn.Thinking{Text: x}, firn.Text{Text: x})
	}
	for i, x := range attacks {
		s.calls++
		call := fmt.Sprintf("call_%d", s.calls)
		arguments, _ := json.Marshal(map[string]string{"path": x, x: "value"}) // cannot fail: strings only
		s.assistant(firn.ToolCall{ID: call, Name: x, Arguments: arguments})
		result := firn.ToolResult{CallID: call, Name: x, IsError: i%3 == 0, Content: []firn.Part{firn.Text{Text: x}}}
		s.add(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result}})
	}
	s.writeOddities(first)
	if err := s.keep(home); err != nil {
		return err
	}
	for i, x := range attacks {
		one := newScribe(sessionID("hostile", i), longAgo.AddDate(0, 3, i%20), firn.Header{})
		one.user(x)
		one.says(x)
		one.title(strings.Join(strings.Fields(x), " "))
		if err := one.keep(home); err != nil {
			return err
		}
	}
	return nil
}

// writeOddities adds one entry of each kind with an attack in every text.
func (s *transcriptWriter) writeOddities(first firn.EntryID) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	s.add(&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{
		firn.Text{Text: "pictures"},
		firn.Image{MimeType: "image/png", Data: png},
		firn.Image{MimeType: "image/svg+xml", Data: "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiLz4="},
		firn.Image{MimeType: `image/png"` + marker, Data: png},
	}})
	s.add(&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: marker, Output: "\x1b[31m" + marker}}})
	s.add(&firn.Message{Role: firn.RoleAssistant, Provider: marker, Model: marker, StopReason: firn.StopError, Error: marker})
	s.add(&firn.ModelChange{Provider: marker, Model: marker})
	s.add(&firn.ThinkingChange{Level: marker})
	s.add(&firn.Custom{Type: marker, Data: json.RawMessage(`{"x":"<script>alert(1)</script>"}`)})
	s.add(&firn.CustomMessage{Type: marker, Parts: []firn.Part{firn.Text{Text: marker}}, Display: true})
	s.add(&firn.BranchSummary{From: first, Summary: marker})
	s.label(first, marker)
	hidden := s.user("to be hidden " + marker)
	s.add(&firn.Tombstone{Target: hidden, Reason: marker})
	s.tags("<img/src=/x/onerror=alert(1)>")
	s.user(marker)
	kept := s.user("kept " + marker)
	s.compaction(marker, kept, 5000)
	s.says(marker)
	s.title("Hostile " + marker)
}

// TestHostileLog reads the whole hostile session with everything unfolded.
func TestHostileLog(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(hostileID))
	b.wait(`webtest.find("article")`)
	for range 40 {
		b.settled()
		b.unfold()
		for _, foul := range get[[]string](b, "webtest.foul()") {
			t.Fatalf("the log has what no page has: %s", foul)
		}
		if get[bool](b, `webtest.text().includes("Start of the session") && webtest.scroller(webtest.find("article")).scrollTop === 0`) {
			return
		}
		get[float64](b, `webtest.scroller(webtest.find("article")).scrollTop = 0`)
	}
	t.Error("the log has no beginning")
}

// unfold opens all folded elements.
func (b *tab) unfold() {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`for (const el of document.querySelectorAll("main button[aria-expanded=false]:not([aria-haspopup]), main details:not([open]) > summary")) el.click()`))
	b.frames()
}

// TestHostileGrowth streams an attack from the model in pieces, so that it is complete only
// on the page.
func TestHostileGrowth(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	attacks, err := corpus()
	if err != nil {
		t.Fatal(err)
	}
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", "Growing attacks")))
	b.send("Please play attack.")
	p := world.model.plays(t, "attack")
	for _, x := range attacks {
		half := len(x) / 2
		for half < len(x) && x[half]&0xC0 == 0x80 {
			half++
		}
		p.thinking(x + "\n\n")
		p.text(x[:half])
		p.text(x[half:] + "\n\n")
	}
	p.text("\n\n```\n```\n\nThe attack is over.")
	b.see("The attack is over.")
	for _, foul := range get[[]string](b, "webtest.foul()") {
		t.Errorf("the growing answer has what no page has: %s", foul)
	}
	p.end()
	b.wait(a("button", "Send"))
	b.settled()
	for _, foul := range get[[]string](b, "webtest.foul()") {
		t.Errorf("the answer has what no page has: %s", foul)
	}
}

// TestHostileExport opens the exported page of the hostile session as a local file,
// protected by its own policy only. It must work without scripts.
func TestHostileExport(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	exported := s.run(t, "export", string(hostileID), "--format", "html")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, exported)
	}))
	t.Cleanup(site.Close)
	b := newTab(t, site.URL)
	b.allow(site.URL + "/favicon.ico")
	b.do(chromedp.Navigate(site.URL + "/"))
	b.wait(`document.readyState === "complete" && webtest.text().includes("All of these:")`)
	b.do(chromedp.Evaluate[chromedp.Void](`for (const d of document.querySelectorAll("details")) d.open = true`))
	b.frames()
	for _, foul := range get[[]string](b, `webtest.foul().filter((f) => !f.startsWith("a style:"))`) {
		t.Errorf("the exported page has what no page has: %s", foul)
	}
	if n := get[int](b, "document.scripts.length"); n > 0 {
		t.Errorf("the exported page has %d scripts", n)
	}
	b.inBothLights()
	b.size(360, 640)
	b.frames()
	if wide := get[[]string](b, "webtest.wide()"); len(wide) > 0 {
		t.Errorf("on a phone the exported page must be moved sideways to read %q", wide)
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(site.URL + "/"))
	text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body")))
	if err != nil || !strings.Contains(text, "All of these:") {
		t.Errorf("without scripts one reads %.100q, %v", text, err)
	}
}
