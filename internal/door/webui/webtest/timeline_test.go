package webtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"firn.dev"

	"github.com/chromedp/chromedp/kb"
)

// after adds an entry at a time after the last.
func (s *transcriptWriter) after(d time.Duration, body firn.Body) firn.EntryID {
	s.now = s.now.Add(d - time.Second)
	return s.add(body)
}

func callOf(id, tool, arguments string) firn.ToolCall {
	return firn.ToolCall{ID: id, Name: tool, Arguments: json.RawMessage(arguments)}
}

func resultOf(id, details string) *firn.Message {
	r := firn.ToolResult{CallID: id, Content: []firn.Part{firn.Text{Text: "done"}}}
	if details != "" {
		r.Details = json.RawMessage(details)
	}
	return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r}}
}

func answerOf(parts ...firn.Part) *firn.Message {
	return &firn.Message{Role: firn.RoleAssistant, Parts: parts, StopReason: firn.StopEnd, Provider: "p", Model: "the-model"}
}

// timelineRows returns the rows of the open timeline: step, start and duration.
const timelineRows = `[...document.querySelectorAll(".timeline tbody tr")].map((r) => [...r.children].slice(0, 3).map((c) => c.textContent.replace(/\s+/g, " ").trim()).join(" | "))`

// sees waits until the timeline has these rows.
func (b *tab) seesSteps(want ...string) {
	b.t.Helper()
	got := await[[]string](b, fmt.Sprintf(`(() => { const r = %s; return r.length === %d ? r : null })()`, timelineRows, len(want)))
	for i, w := range want {
		if got[i] != w {
			b.t.Errorf("step %d is %q, want %q", i, got[i], w)
		}
	}
}

// TestTimeline shows the steps of a turn with parallel calls, an approval and a gap, from
// the menu of an entry and by the keyboard. The turns before and after it are not part of it.
func TestTimeline(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	s := newScribe("timeline", longAgo, firn.Header{})
	s.user("Before.")
	s.says("An earlier answer.")
	s.user("Do it.")
	s.after(4*time.Second, answerOf(callOf("a", "Bash", `{"command":"make a"}`), callOf("b", "Bash", `{"command":"make b"}`)))
	s.after(time.Second, &firn.Custom{Type: "firn.approval.asked", Data: json.RawMessage(`{"call":"b","name":"Bash","digest":"x"}`)})
	s.after(2*time.Second, &firn.Custom{Type: "firn.approval.answered", Data: json.RawMessage(`{"call":"b","digest":"x","allow":true}`)})
	s.after(time.Second, resultOf("a", `{"ms":3000}`))
	s.after(2*time.Second, resultOf("b", `{"ms":6000}`))
	s.after(10*time.Second, answerOf(firn.Text{Text: "Both are made."}))
	s.user("After.")
	s.says("A later answer.")
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/timeline")
	b.see("A later answer.")
	if get[bool](b, `performance.getEntriesByType("resource").some(e => e.name.includes("timeline.js"))`) {
		t.Error("the timeline is loaded before it is opened")
	}
	answer := `[...document.querySelectorAll(".message")].find((e) => e.innerText.includes("Both are made."))`
	b.clickOn(answer + `.querySelector(".entry-menu")`)
	b.click("menuitem", "/^Timeline/")
	b.seesSteps(
		"model: the-model | +0 s | 4.0 s",
		"tool: Bash make a | +4.0 s | 3.0 s",
		"waiting: Approval Bash | +5.0 s | 2.0 s",
		"tool: Bash make b | +7.0 s | 3.0 s",
		"model: the-model answer | +10 s | 10 s",
	)
	if got := get[string](b, `document.querySelector(".timeline-sum").innerText.replace(/\s+/g, " ")`); got != "20 s Model 14 s (70%) Tools 6.0 s (30%)" {
		t.Errorf("the sum is %q", got)
	}
	// The bars lie where the table says.
	if got := get[[]float64](b, `[...document.querySelectorAll(".timeline-bar")].map((e) => { const lane = e.parentElement.getBoundingClientRect(), r = e.getBoundingClientRect(); return [Math.round((r.left - lane.left) / lane.width * 100), Math.round(r.width / lane.width * 100)] }).flat()`); fmt.Sprint(got) != "[0 20 20 15 25 10 35 15 50 50]" {
		t.Errorf("the bars are at %v", got)
	}
	b.inBothLights()
	b.size(360, 640)
	if wide := get[[]string](b, "webtest.wide()"); len(wide) > 0 {
		t.Errorf("on a phone the page must be moved sideways to read %q", wide)
	}
	b.inBothLights()
	b.size(1280, 800)
	// A step leads to its entry.
	b.clickOn(`document.querySelector(".timeline tbody tr:nth-child(5) a")`)
	b.wait(`!document.querySelector("dialog[open]") && document.activeElement?.closest(".message")?.innerText.includes("Both are made.")`)
	// The keyboard opens the turn of the focused entry, and Escape closes it.
	b.key("w")
	b.wait(timelineRows + ".length === 5")
	b.key(kb.Escape)
	b.wait(`!document.querySelector("dialog[open]")`)
}

// TestTimelineOfSubAgents nests the steps of sub-agents: of one in the same file, and of
// one with a session of its own, to which it leads.
func TestTimelineOfSubAgents(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	child := newScribe("timeline-child", longAgo.Add(3*time.Second), firn.Header{})
	child.user("Look at it.")
	child.after(3*time.Second, answerOf(firn.Text{Text: "It is blue."}))
	srv.keep(t, child)
	s := newScribe("timeline-parent", longAgo, firn.Header{})
	side := func(d time.Duration, role, content string) {
		s.after(d, &firn.Custom{Type: "claudecode:sidechain", Data: json.RawMessage(`{"isSidechain":true,"type":"` + role + `","message":{"role":"` + role + `","content":` + content + `}}`)})
	}
	s.user("Look at all.")
	s.after(2*time.Second, answerOf(callOf("x", "sessions_spawn", `{"task":"Look at it."}`)))
	s.after(time.Second, &firn.Custom{Type: "firn.spawned", Data: json.RawMessage(`{"session":"timeline-child","agent":"main","task":"Look at it."}`)})
	r := resultOf("x", "")
	r.Parts = []firn.Part{firn.ToolResult{CallID: "x", Content: []firn.Part{firn.Text{Text: "session timeline-child answered:\nIt is blue."}}}}
	s.after(5*time.Second, r)
	s.after(time.Second, answerOf(callOf("y", "Task", `{"description":"B","prompt":"Please look at B."}`)))
	side(time.Second, "user", `"Please look at B."`)
	side(2*time.Second, "assistant", `[{"type":"tool_use","id":"inner","name":"Bash","input":{"command":"cat B"}}]`)
	side(time.Second, "user", `[{"type":"tool_result","tool_use_id":"inner","content":"the inside of B"}]`)
	s.after(time.Second, resultOf("y", ""))
	s.after(time.Second, answerOf(firn.Text{Text: "All was seen."}))
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/timeline-parent")
	b.see("All was seen.")
	b.key("w")
	b.seesSteps(
		"model: the-model | +0 s | 2.0 s",
		"tool: sessions_spawn Look at it. | +2.0 s | 6.0 s",
		"in a sub-agent, tool: Sub-agent | +3.0 s | 3.0 s",
		"in a sub-agent, model: the-model answer | +3.0 s | 3.0 s",
		"model: the-model | +8.0 s | 1.0 s",
		"tool: Task B | +9.0 s | 5.0 s",
		"in a sub-agent, model: Model | +10 s | 2.0 s",
		"in a sub-agent, tool: Bash cat B | +12 s | 1.0 s",
		"model: the-model answer | +14 s | 1.0 s",
	)
	b.clickOn(`document.querySelector(".timeline tbody tr:nth-child(3) a")`)
	b.wait(`location.pathname === "/sessions/timeline-child"`)
	b.see("It is blue.")
}

// TestTimelineWithoutTimes shows the steps of an import without times, and invents none.
func TestTimelineWithoutTimes(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	s := newScribe("timeline-none", longAgo, firn.Header{})
	s.user("Do it.")
	s.after(0, answerOf(callOf("a", "Bash", `{"command":"make"}`)))
	s.after(0, resultOf("a", ""))
	s.after(0, answerOf(firn.Text{Text: "It is made."}))
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/timeline-none")
	b.see("It is made.")
	b.key("w")
	b.see("The times of this turn were not recorded")
	b.seesSteps("model: the-model | – | –not recorded", "tool: Bash make | – | –not recorded", "model: the-model answer | – | –not recorded")
	if n := get[int](b, `document.querySelectorAll(".timeline-bar").length`); n != 0 {
		t.Errorf("%d bars without times", n)
	}
	b.inBothLights()
}

// TestTimelineWhileRunning shows the steps of a running turn, and adds those that follow.
func TestTimelineWhileRunning(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	id := srv.newSessionFor(t, "player", unlike("timeline live"))
	b := srv.login(t)
	b.open("/sessions/" + string(id))
	b.send("Please play timeline for me.")
	p := world.model.plays(t, "timeline")
	p.text("So ")
	b.see("So")
	b.clickOn(entry("Please play timeline for me.") + `?.querySelector(".entry-menu")`)
	b.click("menuitem", "/^Timeline/")
	b.wait(timelineRows + `.some((r) => r.startsWith("model: Model answering running"))`)
	p.text("long.")
	p.end()
	b.wait(`(() => { const r = ` + timelineRows + `; return r.length === 1 && !r[0].includes("running") })()`)
	if got := get[[]string](b, timelineRows); !strings.HasPrefix(got[0], "model: slow answer") {
		t.Errorf("the steps are %q", got)
	}
}
