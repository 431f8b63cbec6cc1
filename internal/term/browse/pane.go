package browse

import (
	"strings"

	"firn.dev/internal/render/prose"
)

// narrow is the width below which only one pane is shown.
const narrow = 60

// separator is drawn between the panes.
const separator = "│ "

// bodyHeight returns the number of rows of a pane, excluding its title and the footer.
func (m *model) bodyHeight() int { return max(m.height-2, 1) }

// leftWidth returns the width of the left pane.
func (m *model) leftWidth() int {
	if m.width < narrow {
		return m.width
	}
	return min(max(m.width*2/5, 26), 48)
}

// rightWidth returns the width of the entries in the right pane, without their marker.
func (m *model) rightWidth() int {
	if m.width < narrow {
		return max(m.width-2, 10)
	}
	return max(m.width-m.leftWidth()-prose.Width(separator)-2, 10)
}

// draw returns the rows of the screen and the cursor, whose row is negative if it is hidden.
func (m *model) draw() (rows []string, y, x int) {
	if m.help {
		return m.drawHelp(), -1, 0
	}
	switch {
	case m.width < narrow && m.right:
		rows = m.rightPane(m.width)
	case m.width < narrow:
		rows = m.leftPane(m.width)
	default:
		left, right := m.leftPane(m.leftWidth()), m.rightPane(m.width-m.leftWidth()-prose.Width(separator))
		for i := range left {
			rows = append(rows, padStyled(left[i], m.leftWidth())+dim(separator, m.o.Styles)+right[i])
		}
	}
	if m.prompt != promptNone {
		input := prose.CutWidth(promptNames[m.prompt]+m.input, m.width-1)
		return append(rows, input), len(rows), prose.Width(input)
	}
	return append(rows, m.footer()), -1, 0
}

// footer returns the last row: a note, or the most important keys.
func (m *model) footer() string {
	if m.note != "" {
		return prose.CutWidth(m.note, m.width)
	}
	keys := []prose.Field{
		{Text: "j/k move"}, {Text: "Enter resume", Drop: 1}, {Text: "/ filter", Drop: 3}, {Text: "g f search", Drop: 4},
		{Text: "1 2 3 log tree window", Drop: 5}, {Text: "c chat", Drop: 6}, {Text: "? keys", Drop: 2}, {Text: "q quit", Drop: 2},
	}
	if m.right {
		keys[1], keys[2] = prose.Field{Text: "Enter expand", Drop: 1}, prose.Field{Text: "Esc back", Drop: 2}
	}
	return dim(prose.FitFields(keys, " · ", m.width), m.o.Styles)
}

// leftPane returns the rows of the list.
func (m *model) leftPane(width int) []string {
	height := m.bodyHeight()
	rows := []string{bold(prose.CutWidth(m.list.head(), width), m.o.Styles)}
	items, selected := m.list.rows(width, height, m.o.Now())
	for i, r := range items {
		switch {
		case i == selected && !m.right:
			rows = append(rows, reverse("❯ "+r, m.o.Styles))
		case i == selected:
			rows = append(rows, bold("❯ "+r, m.o.Styles))
		default:
			rows = append(rows, "  "+r)
		}
	}
	if len(items) == 0 && !m.list.loading {
		rows = append(rows, dim("  nothing here", m.o.Styles))
	}
	for len(rows) < height+1 {
		rows = append(rows, "")
	}
	return rows
}

// rightPane returns the rows of the conversation.
func (m *model) rightPane(width int) []string {
	height := m.bodyHeight()
	rows := []string{m.rightHead(width)}
	switch {
	case m.shown == "":
	case m.tab != tabLog:
		rows = append(rows, m.text.visible(width, height)...)
		if m.text.loading && len(rows) == 1 {
			rows = append(rows, dim("…", m.o.Styles))
		}
	default:
		items, selected := m.log.visible(m.rightWidth(), m.logHeight(), m.o.Styles)
		for i, r := range items {
			marker := "  "
			if selected[i] && m.right && r != "" {
				marker = "▌ "
			}
			rows = append(rows, marker+r)
		}
		if len(items) == 0 && m.log.started {
			rows = append(rows, dim("  no entries", m.o.Styles))
		}
		for _, r := range m.growingRows() {
			rows = append(rows, "  "+r)
		}
	}
	for len(rows) < height+1 {
		rows = append(rows, "")
	}
	return rows
}

// rightHead returns the title of the conversation and its tabs.
func (m *model) rightHead(width int) string {
	if m.shown == "" {
		return ""
	}
	var tabs []string
	for i, name := range tabNames {
		if tab(i) == m.tab {
			name = "[" + name + "]"
		}
		tabs = append(tabs, name)
	}
	line := strings.Join(tabs, " ")
	title := m.title
	if title == "" {
		title = prose.Short(m.shown)
	}
	if room := width - prose.Width(line) - 2; room >= 8 {
		line = padTo(title, room) + "  " + line
	}
	return bold(prose.CutWidth(line, width), m.o.Styles)
}

// helpRows returns the rows of the help: all keys and symbols.
func (m *model) helpRows() []string {
	rows := []string{bold("Keys", m.o.Styles)}
	rows = append(rows, prose.Definitions(helpKeys(), m.width)...)
	return append(rows, prose.Wrap("  ● running · ⚠ unreadable places", m.width)...)
}

// drawHelp returns the visible rows of the help.
func (m *model) drawHelp() []string {
	rows := m.helpRows()
	m.helpTop = max(min(m.helpTop, len(rows)-m.bodyHeight()), 0)
	footer := "any key closes this"
	if len(rows) > m.bodyHeight() {
		footer = "j/k scroll · any other key closes this"
	}
	rows = rows[m.helpTop:min(m.helpTop+m.bodyHeight(), len(rows))]
	return append(rows, "", dim(prose.CutWidth(footer, m.width), m.o.Styles))
}

// pressHelp scrolls or closes the help.
func (m *model) pressHelp(key string) {
	steps := map[string]int{"j": 1, "down": 1, "wheeldown": wheelRows, " ": m.bodyHeight(), "pgdn": m.bodyHeight(), "k": -1, "up": -1, "wheelup": -wheelRows, "b": -m.bodyHeight(), "pgup": -m.bodyHeight()}
	n, scrolls := steps[key]
	if m.help = scrolls && len(m.helpRows()) > m.bodyHeight(); m.help {
		m.helpTop += n
	}
}

// padTo cuts an unstyled text to a width, or pads it with spaces.
func padTo(text string, width int) string {
	text = prose.CutWidth(text, max(width, 0))
	return text + strings.Repeat(" ", max(width-prose.Width(text), 0))
}

// padStyled pads a styled text with spaces to a width. It does not cut it.
func padStyled(text string, width int) string {
	return text + strings.Repeat(" ", max(width-prose.Width(text), 0))
}

func bold(text string, styles bool) string    { return styled("1", text, styles) }
func dim(text string, styles bool) string     { return styled("2", text, styles) }
func red(text string, styles bool) string     { return styled("31", text, styles) }
func reverse(text string, styles bool) string { return styled("7", text, styles) }

func styled(code, text string, styles bool) string {
	if !styles || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
