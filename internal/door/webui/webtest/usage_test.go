package webtest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"firn.dev"
)

// writeUsage creates sessions of two projects with answers, tool calls and failures: some of
// today, and some of a year ago.
func writeUsage(home string) error {
	now := time.Now().UTC().Truncate(24 * time.Hour)
	for i, project := range []string{"/home/you/shop", "/home/you/garden"} {
		w := newScribe(sessionID("usage", i), now.Add(-time.Duration(i*200*24)*time.Hour), firn.Header{CWD: project})
		for range 3 - i {
			w.user("A question.")
			w.uses("bash", `{"command":"ls"}`, "a file")
			w.says("An answer.")
		}
		w.calls++
		w.assistant(firn.ToolCall{ID: "call_failed", Name: "read", Arguments: json.RawMessage(`{}`)})
		w.add(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "call_failed", Name: "read", IsError: true}}})
		if err := w.keep(home); err != nil {
			return err
		}
	}
	return nil
}

// TestUsagePage shows the calendar, shares, tools and cache hits, from one request, and
// exports them.
func TestUsagePage(t *testing.T) {
	t.Parallel()
	s, err := serveWith(writeUsage)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	b := s.login(t)
	b.open("/usage?since=all")
	b.see("~/shop")
	b.settled()
	const requests = `performance.getEntriesByType("resource").filter((r) => new URL(r.name).pathname.startsWith("/v1/usage")).length`
	if n := get[int](b, requests); n != 1 {
		t.Errorf("the page asks for usage %d times", n)
	}
	region := func(name string) string {
		return `document.querySelector("section[aria-label='` + name + `']").innerText`
	}
	for name, want := range map[string][]string{
		"By model":   {"anthropic/claude-sonnet-4-5", "$0.07"},
		"By project": {"~/shop", "$0.04", "~/garden", "$0.03"},
		"Tools":      {"bash", "read", "100%", "0%"},
	} {
		text := get[string](b, region(name))
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not in %q", name, w, text)
			}
		}
	}
	b.wait(`[...document.querySelectorAll(".figures div")].some((f) => /Cache hits\s+\d+%/.test(f.innerText))`)
	b.wait(`document.querySelectorAll(".calendar rect.heat").length > 364 && document.querySelectorAll(".calendar rect.heat:not(.heat-0)").length === 2`)
	b.withoutViolation()

	for _, by := range []string{"model", "agent", "project", "session", "day"} {
		b.click("button", "By "+by)
		b.wait(`document.querySelector("section[aria-label=Table] th").textContent.toLowerCase() === ` + quote(by))
		b.wait(`document.querySelectorAll("section[aria-label=Table] tbody tr").length > 0`)
	}
	b.wait(`document.querySelectorAll("section[aria-label=Table] tbody tr").length === 2`)
	// A shorter period has one project, and the calendar still has the year.
	b.click("button", "/^Period/")
	b.click("menuitem", "last 30 days")
	b.wait(`!(` + region("By project") + `).includes("garden")`)
	b.wait(`document.querySelectorAll(".calendar rect.heat:not(.heat-0)").length === 2`)

	get[bool](b, `(window.saved = [], URL.createObjectURL = (blob) => (saved.push(blob), "blob:none"), HTMLAnchorElement.prototype.click = function () { this.download && saved.push(this.download) }, true)`)
	b.click("button", "Download JSON")
	b.wait(`saved.includes("usage.json")`)
	if text := get[string](b, `saved.find((s) => s instanceof Blob).text()`); !strings.Contains(text, `"projects"`) {
		t.Errorf("the JSON is %.200q", text)
	}
	b.click("button", "Download CSV")
	b.wait(`saved.includes("usage.csv")`)
	text := get[string](b, `saved.filter((s) => s instanceof Blob)[1].text()`)
	if !strings.HasPrefix(text, "kind,name,and,answers,") || !strings.Contains(text, "\ntool,bash,,,,,,,,3,0\n") {
		t.Errorf("the CSV is %q", text)
	}
	// By session it has the sessions.
	b.click("button", "By session")
	b.wait(`document.querySelector("section[aria-label=Table] th").textContent === "Session"`)
	b.click("button", "Download CSV")
	b.wait(`saved.filter((s) => s instanceof Blob).length === 3`)
	text = get[string](b, `saved.filter((s) => s instanceof Blob)[2].text()`)
	if !strings.HasPrefix(text, "session,title,") || !strings.Contains(text, string(sessionID("usage", 0))) {
		t.Errorf("the CSV by session is %q", text)
	}
	// There is no command for projects.
	b.wait(`document.querySelectorAll("[aria-label^='Copy as CLI: firn usage']").length === 2`)
	b.click("button", "By project")
	b.wait(`document.querySelectorAll("[aria-label^='Copy as CLI: firn usage']").length === 0`)
}

// TestUsageNames checks that names of models are not cut while there is space.
func TestUsageNames(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open("/usage?since=all")
	b.see("By model")
	b.wait(`document.querySelector(".shares .share-name") && [...document.querySelectorAll(".shares td.share-name")].every((td) => td.offsetWidth > td.closest("table").offsetWidth * 0.4)`)
}
