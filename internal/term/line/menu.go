package line

import "strings"

// Item is a row of the menu: text that may replace the typed word.
type Item struct {
	// Text replaces the word.
	Text string
	// Name is shown instead of Text if it is not empty, and Help next to it.
	Name, Help string
	// Stay is true if Enter inserts the item and does not submit the line.
	Stay bool
}

// Suggester returns the items of the menu for the text before the cursor. They replace the
// text from offset from on, which is negative if no word can be completed there. It is
// called for each key, so it must return immediately; [Terminal.Refresh] asks again.
type Suggester func(before string) (from int, items []Item)

// menu is the open menu.
type menu struct {
	from  int
	items []Item
	at    int
}

// refreshMenu opens, changes or closes the menu after the text has changed. A menu that the
// user has closed stays closed for the same word.
func (e *editor) refreshMenu() {
	last := e.menu
	e.menu = nil
	if e.suggest == nil || e.search != nil {
		return
	}
	from, items := e.suggest(e.text[:e.at])
	if from < 0 || from > e.at {
		e.dismissed = -1
		return
	}
	if len(items) == 0 || from == e.dismissed {
		return
	}
	e.dismissed = -1
	e.menu = &menu{from: from, items: items}
	if last == nil || last.from != from || last.at == 0 {
		return
	}
	for i, item := range items {
		if item.Text == last.items[last.at].Text {
			e.menu.at = i
		}
	}
}

// pressInMenu handles a key while the menu is open. If done is false, the key must be
// handled by the line.
func (e *editor) pressInMenu(k key) (done bool, how outcome) {
	m := e.menu
	switch {
	case k.name == keyUp, k.name == keyBackTab, k.name == keyControl && k.text == "P":
		m.at = (m.at + len(m.items) - 1) % len(m.items)
	case k.name == keyDown, k.name == keyControl && k.text == "N":
		m.at = (m.at + 1) % len(m.items)
	case k.name == keyEscape, k.name == keyControl && k.text == "G":
		e.dismissed, e.menu = m.from, nil
	case k.name == keyTab:
		e.takeItem(m)
	case k.name == keyEnter:
		if item := m.items[m.at]; e.text[m.from:e.at] == item.Text {
			e.menu = nil
			return true, entered
		} else if e.takeItem(m); !item.Stay {
			e.menu, e.text = nil, strings.TrimRight(e.text, " ")
			e.at = min(e.at, len(e.text))
			return true, entered
		}
	default:
		return false, editing
	}
	return true, editing
}

// takeItem replaces the word with the selected item. The menu stays open if the item is a
// directory, to choose in it.
func (e *editor) takeItem(m *menu) {
	text := m.items[m.at].Text
	if !strings.HasSuffix(text, "/") && !strings.HasPrefix(e.text[e.at:], " ") {
		text += " "
	}
	e.replace(m.from, text)
	e.refreshMenu()
}

// maxMenu is the number of rows of the menu, and widestName the width of its names.
const (
	maxMenu    = 8
	widestName = 40
)

// draw returns the rows of the menu around the selected item.
func (m *menu) draw(width, most int, s style) []row {
	most = max(min(most, maxMenu), 1)
	from := min(max(m.at-most/2, 0), max(len(m.items)-most, 0))
	part := m.items[from:min(from+most, len(m.items))]
	column := 0
	for _, item := range part {
		column = max(column, min(Width(item.name()), widestName))
	}
	var rows []row
	for i, item := range part {
		mark, name := "  ", item.name()
		if from+i == m.at {
			mark = "❯ "
		}
		if item.Help != "" {
			name = Cut(name, widestName)
			name += strings.Repeat(" ", max(column-Width(name), 0)) + "  " + item.Help
		}
		r := plainRow(mark+name, width)
		if from+i == m.at {
			r.text = s.bold(r.text)
		} else {
			r.text = s.dim(r.text)
		}
		rows = append(rows, r)
	}
	return rows
}

// name returns the shown name of an item on one line.
func (i Item) name() string {
	if i.Name != "" {
		return i.Name
	}
	return i.Text
}

// Refresh asks for the items of the open menu again, after more have been found.
func (t *Terminal) Refresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.editor
	if e.menu == nil && e.dismissed < 0 && e.past < len(e.history.Items()) { // a recalled line has no menu
		return
	}
	e.refreshMenu()
	t.draw()
}
