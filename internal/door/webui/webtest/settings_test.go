package webtest

import (
	"testing"

	"firn.dev/wire"
)

// row returns an expression for a row of the settings page.
func row(name string) string {
	return `[...document.querySelectorAll(".settings-table tbody tr")].find((r) => r.querySelector("th").innerText.startsWith(` + quote(name) + `))`
}

// setTo selects a value of a setting.
func (b *tab) setTo(name, value string) {
	b.t.Helper()
	b.wait(a("select", name))
	get[bool](b, `(() => { const s = `+a("select", name)+`; s.value = `+quote(value)+`; s.dispatchEvent(new Event("change", { bubbles: true })); return true })()`)
}

// TestSettings changes the preferences of a browser: they count at once, after a reload and in
// another tab, and can be reset. The gateway's settings say where they are set.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open("/sessions")
	b.settled()
	high := get[float64](b, `document.querySelector(".srow:not(.heads)").getBoundingClientRect().height`)
	b.key("g,")
	b.wait(`location.pathname === "/settings" && ` + row("Density"))
	b.settled()
	b.inBothLights()
	b.size(360, 640)
	if wide := get[[]string](b, "webtest.wide()"); len(wide) > 0 {
		t.Errorf("on a phone the page must be moved sideways to read %q", wide)
	}
	b.size(1280, 800)
	for _, name := range []string{"Theme", "Contrast", "Density", "Dates", "Notices"} {
		b.wait(row(name) + `.cells[2].innerText === "default"`)
	}
	b.setTo("Theme", "dark")
	b.isDark(true)
	b.setTo("Contrast", "more")
	b.setTo("Density", "compact")
	b.setTo("Dates", "iso")
	b.setTo("Notices", "stay")
	b.wait(row("Dates") + `.innerText.includes(new Date().getFullYear() + "-")`)
	other := b.beside(t)
	other.open("/sessions")
	other.wait(`(({ theme, contrast, density }) => theme === "dark" && contrast === "more" && density === "compact")(document.documentElement.dataset)`)
	if got := await[float64](other, `document.querySelector(".srow:not(.heads)")?.getBoundingClientRect().height`); got >= high {
		t.Errorf("a compact row is %v high, a normal one %v", got, high)
	}
	other.wait(`/^\d{4}-\d\d-\d\d /.test(document.querySelector(".srow time").title)`)
	b.reload()
	for _, name := range []string{"Theme", "Contrast", "Density", "Dates", "Notices"} {
		b.wait(row(name) + `.cells[2].innerText === "this browser"`)
		b.click("button", "Reset "+name)
		b.wait(row(name) + `.cells[2].innerText === "default"`)
	}
	if left := get[[]string](b, `Object.keys(localStorage).filter((k) => /^firn\.(dates|notices)$/.test(k))`); len(left) > 0 {
		t.Errorf("still stored: %q", left)
	}
	other.reload()
	other.wait(`document.documentElement.dataset.density === "comfortable"`)
	// The gateway's settings.
	b.wait(row("agents.player.model") + `.cells[1].innerText === "play/slow"`)
	b.wait(row("agents.player.model") + `.cells[2].innerText.startsWith("file\nfirn.toml:")`)
	b.wait(row("agents.player.thinking") + `.cells[2].innerText === "default"`)
}

// TestBoundLogin hides from a limited login what the gateway refuses to it: the settings of
// all agents, and sorted lists, also by an old link.
func TestBoundLogin(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	title := unlike("Of a player")
	s.newSessionFor(t, "player", title)
	made, err := s.client.Access.CreateToken(t.Context(), wire.NewToken{Name: "bound", Scope: wire.ScopeWrite, Agents: []string{"player"}})
	if err != nil {
		t.Fatal(err)
	}
	b := s.loginByToken(t, made.Secret)
	b.open("/sessions?sort=cost&group=day")
	b.see(title)
	b.settled()
	if get[bool](b, `!!document.querySelector(".head-sort, .problem") || !!`+a("button", "/^(Sort|Group)/")) {
		t.Error("a limited login can sort")
	}
	b.inBothLights()
	b.open("/settings")
	b.see("need a login without limits")
	b.settled()
}
