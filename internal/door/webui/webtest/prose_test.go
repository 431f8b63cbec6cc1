package webtest

import (
	"strings"
	"testing"

	"firn.dev"
)

// TestProse checks tables, directions, formulas, keys and code on the page of a session.
func TestProse(t *testing.T) {
	srv := plainServer(t)
	s := newScribe("prose-forms", longAgo, firn.Header{})
	s.title("Forms of prose")
	s.tags("prose")
	s.user("Show it.")
	s.says("| name | amount |\n|---|---:|\n| " + strings.Repeat("internationalization ", 3) + "| 12 |\n\n" +
		"| " + strings.Repeat("column | ", 30) + "\n|" + strings.Repeat("---|", 30) + "\n| " + strings.Repeat("unbreakableword | ", 30) + "\n\n" +
		"שלום עולם\n\n- مرحبا\n\n> quoted\n\nEnergy is $E = mc^2$ and\n\n\\[\n\\frac{a}{b}\n- \\sqrt{2}\n\\]\n\nbut $5 and \\(open.\n\n" +
		"Press <kbd>Ctrl</kbd>, see[^1].\n\n[^1]: Note.\n\n- [x] done\n\n```go\n" + strings.Repeat("\tfmt.Println(\"a rather long line of code that does not fit into the column of the text at all\")\n", 60) + "```\n\n```mermaid\ngraph TD\n```\n")
	s.says("The end.")
	s.line(firn.Entry{ID: firn.NewEntryID(), Parent: s.head, Time: s.now, Extra: firn.Fields{{Name: "masked", Value: []byte("2")}}, Body: userMessage("The keys are [secret] and [secret].")})
	srv.keep(t, s)
	b := srv.login(t)
	if get[bool](b, `performance.getEntriesByType("resource").some(e => e.name.includes("maths"))`) {
		t.Error("maths is loaded without a formula")
	}
	b.open("/sessions/prose-forms")
	b.see("The end.")
	b.see("2 secrets replaced")
	b.wait(`document.querySelectorAll(".prose math").length === 2`)
	b.wait(`!!document.querySelector(".prose math mfrac") && !!document.querySelector(".prose math msqrt")`)
	if got := get[string](b, `document.querySelector(".message.assistant .prose").textContent`); !strings.Contains(got, `but $5 and \(open.`) {
		t.Error("a backslash was lost")
	}
	for what, is := range map[string]string{
		"a title and tags are no notes":   `!webtest.find("button", "Show notes") && !webtest.text().includes("titled:") && !webtest.text().includes("tags changed")`,
		"a wide table scrolls by itself":  `(() => { const t = document.querySelectorAll(".table-box")[1]; return t.scrollWidth > t.clientWidth && t.tabIndex === 0 && document.documentElement.scrollWidth <= innerWidth })()`,
		"columns keep their alignment":    `getComputedStyle(document.querySelector(".prose td[align=right]")).textAlign === "right"`,
		"words are not broken":            `getComputedStyle(document.querySelector(".prose td")).overflowWrap === "normal"`,
		"Hebrew runs from the right":      `[...document.querySelectorAll(".prose p")].some(p => p.textContent.includes("שלום") && getComputedStyle(p).direction === "rtl")`,
		"Arabic lists run from the right": `[...document.querySelectorAll(".prose ul")].some(p => p.textContent.includes("مرحبا") && getComputedStyle(p).direction === "rtl")`,
		"English runs from the left":      `[...document.querySelectorAll(".prose p")].some(p => p.textContent.includes("Energy") && getComputedStyle(p).direction === "ltr")`,
		"a quote has margins":             `parseFloat(getComputedStyle(document.querySelector(".prose blockquote")).marginTop) > 4`,
		"keys":                            `document.querySelector(".prose kbd").textContent === "Ctrl"`,
		"footnotes":                       `[...document.querySelectorAll(".prose sup")].map(e => e.textContent).join() === "1,1"`,
		"a task has no bullet":            `getComputedStyle(document.querySelector(".prose li.task")).listStyleType === "none"`,
		"tabs are four wide":              `getComputedStyle(document.querySelector(".prose pre.code")).tabSize === "4"`,
		"code has its language":           `document.querySelector(".code-bar span").textContent === "go"`,
		"a diagram has its name":          `[...document.querySelectorAll(".code-bar span")].some(e => e.textContent.startsWith("mermaid"))`,
		"long code is cut":                `document.querySelector(".code-box.capped pre").clientHeight < 500`,
	} {
		if !get[bool](b, is) {
			t.Errorf("not so: %s", what)
		}
	}
	get[bool](b, `(document.querySelector(".code-box").scrollIntoView({ block: "center" }), true)`)
	b.clickOn(`document.querySelector("[data-code=wrap]")`)
	b.wait(`getComputedStyle(document.querySelector(".prose pre.code")).whiteSpace.includes("wrap") && document.querySelector("[data-code=wrap]").getAttribute("aria-pressed") === "true"`)
	b.clickOn(`document.querySelector("[data-code=copy]")`)
	b.see("Copied the code")
	b.clickOn(`document.querySelector("[data-code=all]")`)
	b.wait(`!document.querySelector(".code-box.capped")`)
	b.wait(`document.querySelector(".outline")`)
	b.size(800, 800)
	b.wait(`!document.querySelector(".outline")`) // it would cover the text
}

// TestHostileMaths checks that formulas that are wrong, recursive, huge or full of links and
// styles break nothing: the watchdog of the tab reports violations of the policy.
func TestHostileMaths(t *testing.T) {
	srv := plainServer(t)
	s := newScribe("maths-hostile", longAgo, firn.Header{})
	s.user("Attack.")
	s.says(`$\frac{$ and $\nosuch{a}$ and $\href{javascript:alert(1)}{x}$ and $\includegraphics{/never.png}$ and $\def\a{\a\a}\a$ and ` +
		`$\style{color:red}{x}$ and $\color{red} x$ and $\rule{9999em}{9999em}$ and $<img src=/never.png onerror=alert(1)>$ and $\class{a}{b}$` + "\n\n" +
		"$$" + strings.Repeat(`\sqrt{`, 300) + strings.Repeat("}", 300) + "$$\n\n" + strings.Repeat("$x$ ", 700) + "\n\n$y^2$")
	s.says("After the attack.")
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/maths-hostile")
	b.see("After the attack.")
	b.wait(`document.querySelectorAll(".prose math").length > 400`)
	if n := get[int](b, `document.querySelectorAll(".log-column :is(img, script, [onerror]), .log-column a[href^=javascript]").length`); n != 0 {
		t.Errorf("%d hostile elements", n)
	}
	if !get[bool](b, `[...document.querySelectorAll(".math-error")].some(e => e.textContent.includes("\\frac{"))`) {
		t.Error("the source of a wrong formula is lost")
	}
	if get[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("a formula is wider than the page")
	}
}
