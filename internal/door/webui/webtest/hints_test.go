package webtest

import (
	"cmp"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// hints are the commands that pages offer, one of each form: the words before its arguments,
// and its options.
type hints struct {
	mu     sync.Mutex
	byForm map[string]string
}

// collect adds the commands that the page shows.
func (h *hints) collect(b *tab) {
	b.t.Helper()
	const shown = `[...document.querySelectorAll("[aria-label^='Copy as CLI: ']")].map((e) => e.ariaLabel.slice(13))`
	for _, label := range get[[]string](b, shown) {
		for command := range strings.Lines(label) {
			h.add(strings.TrimSpace(command))
		}
	}
}

func (h *hints) add(command string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strings.Contains(command, " VALUE") {
		return // a setting without a value, of which any other one is an example
	}
	// The smallest is kept, so that the order of parallel tests does not matter.
	if form := formOf(command); h.byForm[form] == "" || command < h.byForm[form] {
		h.byForm[form] = command
	}
}

// formOf returns the form of a command.
func formOf(command string) string {
	words := strings.Fields(command)
	form := words[:min(2, len(words))]
	if len(words) > 2 && regexp.MustCompile(`^(config|keys|memory|token|jobs|bin)$`).MatchString(words[1]) {
		form = words[:3]
	}
	for _, word := range words[len(form):] {
		if strings.HasPrefix(word, "-") {
			form = append(slices.Clone(form), word)
		}
	}
	return strings.Join(form, " ")
}

// menus adds the commands in the menus of the page, one menu of each kind.
func (h *hints) menus(b *tab) {
	b.t.Helper()
	kinds := get[[]string](b, `[...new Set(webtest.all("button[aria-haspopup=menu]").map((el) => el.className))]`)
	for _, kind := range kinds {
		b.press(`webtest.all("button[aria-haspopup=menu]").find((el) => el.className === ` + quote(kind) + `)`)
		b.wait(`document.querySelector(".menu-list")`)
		h.collect(b)
		b.key("\x1b")
		b.wait(`!document.querySelector(".menu-list")`)
	}
}

// late are commands that take away what others need.
var late = regexp.MustCompile(`^firn (rm|restore|rewind|reset|stop|archive|maintenance|keys reset|keys previous|memory (forget|clear|undo)|token revoke)\b`)

// run runs every command in a shell, as if it was pasted.
func (h *hints) run(t *testing.T, s *server) {
	t.Helper()
	program, err := world.firn()
	if err != nil {
		t.Fatal(err)
	}
	rank := func(command string) int {
		if late.MatchString(command) {
			return 1 + strings.Count(late.FindString(command), "clear")
		}
		return 0
	}
	commands := slices.SortedFunc(maps.Values(h.byForm), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	placeholder := regexp.MustCompile(`\b(TITLE|NAME|TAG|SESSION)\b`)
	for _, command := range commands {
		line := placeholder.ReplaceAllStringFunc(command, func(word string) string {
			if word == "SESSION" {
				return string(overlayID)
			}
			return "word"
		})
		if strings.HasPrefix(line, "firn compact") {
			line += " --keep-recent 1" // the session is shorter than what is kept otherwise
		}
		cmd := exec.Command("sh", "-c", `firn() { "$PROGRAM" "$@"; }; `+line)
		cmd.Dir = s.home
		cmd.Env = append(environment(s.home), "PROGRAM="+program, "EDITOR=true")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("a page offers %s: %v\n%s", command, err, out)
		}
	}
	t.Logf("ran %q", commands)
	if len(commands) < 40 {
		t.Errorf("the pages offer only %d commands", len(commands))
	}
}
