package browse

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

// tab is a view of a session.
type tab int

const (
	tabLog tab = iota
	tabTree
	tabWindow
)

// tabNames are the names of the tabs, in the order of the keys 1 to 3.
var tabNames = []string{"Log", "Tree", "Window"}

// model is the state of the screen. Keys and loaded data change it; drawing does not.
type model struct {
	o             Options
	width, height int

	list list
	// log is the conversation, text the tree or the window, of the session shown.
	shown firn.ID
	title string
	// shownHit is the entry of the hit that is shown; empty if none is.
	shownHit firn.EntryID
	tab      tab
	log      log
	text     text
	// right is true if keys go to the conversation.
	right bool
	// opening is the key with which the user opened a session of a list that is being loaded.
	opening string

	// prompt is the kind of input that is typed, and input its text; help shows the keys.
	prompt promptKind
	input  string
	help   bool
	// helpTop is the first visible row of the keys.
	helpTop int
	// begun is the first key of a sequence of two.
	begun string
	// note is shown instead of the keys until the next key.
	note string
	// copied is the text to put on the clipboard.
	copied string
	done   bool
	result Result
}

// promptKind is what typed text is for.
type promptKind int

const (
	promptNone promptKind = iota
	promptFilter
	promptSearch
	promptFind // in the session shown
)

var promptNames = map[promptKind]string{promptFilter: "Filter: ", promptSearch: "Search: ", promptFind: "Search in this session: "}

func newModel(o Options) *model { return &model{o: o, width: 80, height: 24} }

// firstLoads returns the first loads.
func (m *model) firstLoads() []load {
	v := m.o.View
	m.note = prose.OneLine(m.o.Note, 500)
	m.list.filter, m.list.searched, m.list.within = v.Filter, v.Search, v.Within
	if v.Search != "" {
		m.list.goal = v.At
		return nil
	}
	if m.o.Open != "" {
		m.show(m.o.Open, prose.OneLine(m.o.Title, 200), "")
		m.right = !m.o.InList
	}
	return nil
}

// wants returns the loads that the visible part needs.
func (m *model) wants() []load {
	var loads []load
	if l := m.list.wants(m.o, m.bodyHeight()); l != nil {
		loads = append(loads, l)
	}
	if m.shown == "" {
		return loads
	}
	switch m.tab {
	case tabLog:
		if l := m.log.wants(m.o.Source, m.shown, m.logHeight()); l != nil {
			loads = append(loads, l)
		}
	default:
		if l := m.text.wants(m.o, m.shown, m.tab, m.bodyHeight()); l != nil {
			loads = append(loads, l)
		}
	}
	return loads
}

// show shows a session in the right pane, at an entry or at its end.
func (m *model) show(id firn.ID, title string, entry firn.EntryID) {
	m.shown, m.title, m.shownHit = id, title, ""
	m.log = m.newLog()
	m.text = text{run: m.text.run + 1}
	m.log.target = entry
}

// newLog returns an empty log that drops the loads of the one before.
func (m *model) newLog() log {
	return log{run: m.log.run + 1, width: m.rightWidth(), styles: m.o.Styles}
}

// showSelected shows the selected session, unless it is shown already.
func (m *model) showSelected() {
	if hit, ok := m.list.hit(); ok {
		if hit.Session == m.shown && hit.Entry == m.shownHit {
			return
		}
		m.tab = tabLog
		defer func() { m.shownHit = hit.Entry }()
		if slices.Contains(hit.Marks, "other-branch") {
			m.show(hit.Session, hit.Title, "")
			m.log.head = string(hit.Entry)
			return
		}
		m.show(hit.Session, hit.Title, hit.Entry)
		m.log.targetAt = hit.At
		return
	}
	if s, ok := m.list.session(); ok && s.ID != m.shown {
		m.show(s.ID, nameOf(s), "")
	}
}

// press handles a key.
func (m *model) press(in line.Input) {
	m.note, m.o.Note, m.opening = "", "", ""
	switch {
	case m.prompt != promptNone:
		m.typeInput(in)
		return
	case m.help:
		m.pressHelp(in.Key)
		return
	case in.Paste:
		return
	}
	key := in.Key
	if isMouse(key) {
		m.begun = ""
		m.pressMouse(in)
		return
	}
	if m.begun == "g" {
		m.begun = ""
		if m.goTo(key) {
			return
		}
	}
	if m.pressAnywhere(key) {
		return
	}
	if m.right {
		m.pressRight(key)
	} else {
		m.pressLeft(key)
	}
}

// goTo handles the second key after g, as in the navigation of the pages.
func (m *model) goTo(key string) bool {
	switch key {
	case "s":
		m.right = false
		m.list.leaveSearch()
	case "f":
		m.prompt, m.input = promptSearch, ""
	case "g":
		if m.right {
			m.toStart()
		} else {
			m.list.move(-len(m.list.sessions))
			m.showSelected()
		}
	default:
		return false
	}
	return true
}

// pressAnywhere handles keys that do not depend on the pane.
func (m *model) pressAnywhere(key string) bool {
	switch key {
	case "q", "ctrl-c", "ctrl-d":
		m.done = true
	case "?":
		m.help, m.helpTop = true, 0
	case "g":
		m.begun = "g"
	case "tab":
		m.right = !m.right && m.shown != ""
	case "1", "2", "3":
		m.openTab(tab(key[0] - '1'))
	case "o":
		if m.tab == tabTree {
			m.openTab(tabLog)
		} else {
			m.openTab(tabTree)
		}
	case "c":
		m.resume(m.shown)
	case "n":
		m.leave(Result{New: true})
	case "y":
		m.copySelected()
	case "ctrl-f":
		if m.shown != "" {
			m.prompt, m.input = promptFind, ""
		}
	case "r":
		m.list.reload()
		m.show(m.shown, m.title, "")
	default:
		return false
	}
	return true
}

// openTab shows another view of the session.
func (m *model) openTab(t tab) {
	if m.shown == "" {
		return
	}
	m.tab, m.right = t, true
	m.text = text{run: m.text.run + 1}
}

// pressLeft handles a key in the list.
func (m *model) pressLeft(key string) {
	page := max(m.bodyHeight()-1, 1)
	switch key {
	case "j", "down", "ctrl-n":
		m.list.move(1)
	case "k", "up", "ctrl-p":
		m.list.move(-1)
	case "pgdn", " ":
		m.list.move(page)
	case "pgup", "b":
		m.list.move(-page)
	case "home":
		m.list.move(-m.list.len())
	case "end", "G":
		m.list.move(m.list.len())
	case "enter", "right", "l":
		m.showSelected()
		m.open(key)
	case "/":
		m.prompt, m.input = promptFilter, ""
		return
	case "esc":
		m.list.leaveSearch()
		m.list.setFilter("")
	default:
		return
	}
	m.showSelected()
}

// pressRight handles a key in the conversation.
func (m *model) pressRight(key string) {
	switch key {
	case "esc", "left", "h", "backspace":
		m.right = false
	case "/":
		m.prompt, m.input = promptFind, ""
	case "home":
		m.toStart()
	default:
		if m.tab == tabLog {
			m.log.press(key, m.logHeight())
		} else {
			m.text.press(key, m.bodyHeight())
		}
	}
}

// open resumes the selected session in the chat, or changes to its conversation. If the list
// is being loaded, it does so later.
func (m *model) open(key string) {
	m.opening = ""
	s, ok := m.list.session()
	switch {
	case m.list.len() == 0 && m.list.loading:
		m.opening = key
	case key == "enter" && ok:
		m.resume(s.ID)
	default:
		m.right = m.list.len() > 0
	}
}

// resume leaves for the chat in a session.
func (m *model) resume(id firn.ID) {
	if id != "" {
		m.leave(Result{Chat: id, View: View{At: m.list.at}})
	}
}

// leave leaves for the chat and records the list.
func (m *model) leave(r Result) {
	r.View.Filter, r.View.Search, r.View.Within = m.list.filter, m.list.searched, m.list.within
	m.result, m.done = r, true
}

// toStart goes to the first entry or line.
func (m *model) toStart() {
	if m.tab != tabLog {
		m.text.top = 0
		return
	}
	head := m.log.head
	m.log = m.newLog()
	m.log.fromStart, m.log.head = true, head
}

// typeInput edits the text of a prompt.
func (m *model) typeInput(in line.Input) {
	switch {
	case in.Key == "enter":
		m.submit()
	case in.Key == "esc", in.Key == "ctrl-c":
		m.prompt = promptNone
	case in.Key == "ctrl-u":
		m.input = ""
	case in.Key == "backspace":
		if r := []rune(m.input); len(r) > 0 {
			m.input = string(r[:len(r)-1])
		}
	case in.Paste, len([]rune(in.Key)) == 1:
		m.input += prose.Clean(in.Key)
	}
}

// submit uses the typed text.
func (m *model) submit() {
	words := strings.TrimSpace(m.input)
	switch m.prompt {
	case promptFilter:
		m.list.leaveSearch()
		m.list.setFilter(words)
	case promptSearch:
		m.list.search(words, "")
	case promptFind:
		m.list.search(words, m.shown)
	}
	m.prompt, m.right = promptNone, false
}

// arrived handles the first page of a list, or the page with the place to select.
func (m *model) arrived(first bool) {
	atStart := m.list.run == 0 && m.o.Open != "" && m.list.searched == "" // keep the session that was asked for
	if first && atStart {
		m.list.goal = m.o.View.At
	}
	for i, s := range m.list.sessions {
		if s.ID != m.shown {
			continue
		}
		m.title = nameOf(s)
		if first && atStart {
			m.list.at, m.list.goal = i, 0
		}
	}
	if m.list.reachGoal() || first && !atStart {
		m.showSelected()
	}
	if m.opening != "" && m.list.len() > 0 {
		m.open(m.opening)
	}
}

// failed notes an error of a load. It does not replace the note of the start, which often
// has the same cause.
func (m *model) failed(err error) {
	if err != nil && m.o.Note == "" && !strings.Contains(err.Error(), context.Canceled.Error()) {
		m.note = prose.OneLine(err.Error(), 500)
	}
}

// nameOf returns the title of a session, its first message, or its ID.
func nameOf(s wire.Session) string {
	if s.Fault != "" {
		return prose.OneLine("cannot be read: "+s.Fault, 200)
	}
	return prose.OneLine(cmp.Or(s.Title, s.Prompt, string(s.ID)), 200)
}

// pageSize is the number of sessions, hits and entries in a page.
const pageSize = 100

// queryOf returns the query of a page of sessions.
func queryOf(q client.Query, filter, cursor string) client.Query {
	q.Limit, q.Cursor = pageSize, cursor
	if filter != "" {
		q.Text = filter
	}
	return q
}
