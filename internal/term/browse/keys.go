package browse

import (
	"strings"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
)

// Binding is a key of firn browse or of the web pages.
type Binding struct {
	// Keys are those of firn browse; empty if it has none. Pages are those of the pages, as
	// in their sources and separated by commas.
	Keys, Pages string
	// Does is the effect in firn browse, OnPages the one on pages if it is another.
	Does, OnPages string
}

// Bindings returns all keys of firn browse and of the pages that it corresponds to: the list
// of sessions, a session, and the search. docs/keys.md has the same table.
func Bindings() []Binding {
	return []Binding{
		{"j k ↓ ↑", "j, k", "next and previous session, hit or entry", ""},
		{"Enter", "Enter", "in the list: resume the session in the chat, or show the hit; in the conversation: expand or collapse the entry", "open the session; expand or collapse the entry"},
		{"l → Tab", "", "go to the conversation; Tab also goes back", ""},
		{"Esc h ←", "Escape", "back to the list; clear the filter", "clear the selection; stop the turn"},
		{"c", "c", "resume the session in the chat", "write a message"},
		{"n", "n", "start a new session", ""},
		{"y", "", "copy the entry; in the list, the session's ID", ""},
		{"/", "/", "filter the list; search in the session", ""},
		{"Ctrl-F", "mod+f", "search in the session", ""},
		{"g f", "g f", "search all sessions", ""},
		{"g s", "g s", "the list of sessions", ""},
		{"o", "o", "tree, and back to the log", "outline; in the search, open the hit"},
		{"1 2 3", "", "log, tree and window", ""},
		{"Home, g g", "Home", "to the first entry", ""},
		{"End G", "G", "to the latest entry", ""},
		{"Space b", "", "a page down and up", ""},
		{"r", "", "reload", ""},
		{"? q", "?", "these keys; quit", "these keys"},
		{"Ctrl-Z", "", "suspend", ""},
		{"", "x, X, e, d, f, .", "", "select, select a range, archive, hide, fork, actions; firn browse changes nothing"},
		{"", "m, t, w, mod+k", "", "more hits, theme, timeline, command palette"},
		{"", "g l, g m, g u, g k, g c, g o, g ,", "", "live, memory, usage, keys, sources, operation, settings"},
	}
}

// helpKeys returns the keys of firn browse and their effects.
func helpKeys() [][2]string {
	var keys [][2]string
	for _, b := range Bindings() {
		if b.Keys != "" {
			keys = append(keys, [2]string{b.Keys, b.Does})
		}
	}
	return keys
}

// copySelected copies the text of the selected entry, the lines of the tree or the window,
// or in the list the ID of the session.
func (m *model) copySelected() {
	what := "the text"
	switch s, ok := m.list.session(); {
	case !m.right && ok:
		m.copied, what = string(s.ID), "the session's ID"
	case !m.right && m.shown != "":
		m.copied, what = string(m.shown), "the session's ID"
	case m.right && m.tab != tabLog:
		m.copied = strings.Join(m.text.lines, "\n")
	case m.right && m.log.at < len(m.log.entries):
		m.copied = entryText(m.log.entries[m.log.at].entry)
	}
	switch {
	case m.copied == "":
		m.note = "nothing to copy"
	case len(m.copied) > maxCopied:
		m.copied, m.note = "", "the text is too long for the clipboard of a terminal; firn cat prints it"
	default:
		m.note = "copied " + what + " (" + prose.Plural(len([]rune(m.copied)), "character") + ")"
	}
}

// maxCopied is the size of a text that terminals copy: most take about 100 kB, as base64.
const maxCopied = 74 << 10

// wheelRows is the number of rows that a step of the mouse wheel scrolls.
const wheelRows = 3

func isMouse(key string) bool { return key == "click" || key == "wheelup" || key == "wheeldown" }

// pressMouse handles the mouse: the wheel scrolls the conversation, or moves the selection in the list, under the
// pointer; a click selects.
func (m *model) pressMouse(in line.Input) {
	onRight := m.shown != "" && (m.width < narrow && m.right || m.width >= narrow && in.X >= m.leftWidth())
	row := in.Y - 1 // below the title
	if row >= m.bodyHeight() {
		return
	}
	n := wheelRows
	if in.Key == "wheelup" {
		n = -wheelRows
	}
	switch {
	case in.Key == "click":
		m.click(onRight, row)
	case !onRight:
		m.list.move(n)
		m.showSelected()
	case m.tab == tabLog:
		m.log.scroll(n, m.logHeight())
	default:
		m.text.scroll(n, m.bodyHeight())
	}
}

// click selects the session or the entry of a row.
func (m *model) click(onRight bool, row int) {
	switch {
	case !onRight && row >= 0 && m.list.top+row < m.list.len():
		m.right = false
		m.list.move(m.list.top + row - m.list.at)
		m.showSelected()
	case onRight:
		m.right = true
		if at, ok := m.log.entryAt(row); ok && m.tab == tabLog {
			m.log.at, m.log.bottom = at, false
		}
	}
}

// entryAt returns the entry of a visible row.
func (l *log) entryAt(row int) (int, bool) {
	next := 0
	for i := range l.entries {
		next += len(l.entries[i].rows)
		if row >= 0 && l.top+row < next {
			return i, true
		}
	}
	return 0, false
}
