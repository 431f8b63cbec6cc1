package line

import (
	"fmt"
	"strings"

	"firn.dev/internal/base/fuzzy"
)

// Choice is a list to choose from. Rows contain no styles and are cut to the width of the
// screen.
type Choice struct {
	// Title describes the choice; Head is shown above the rows and may be empty.
	Title, Head string
	Rows        []string
	// Fit returns the head and the rows for a width, with columns that fit it; nil means Head
	// and Rows. The filter matches Rows.
	Fit func(width int) (head string, rows []string)
	// Selected is the initially selected row.
	Selected int
}

// picker is an open picker.
type picker struct {
	Choice
	filter string
	// shown holds the rows that match the filter, best first, and at the selected one of them.
	shown []int
	at    int
	// search is set if a finder supplies the rows.
	search *finding
	// fitted is the result of Fit for the width fittedTo.
	fitted   Choice
	fittedTo int
}

func newPicker(c Choice) *picker {
	p := &picker{Choice: c}
	p.filterRows()
	p.at = min(max(c.Selected, 0), max(len(p.shown)-1, 0))
	return p
}

// filterRows finds the rows that match the filter, best first.
func (p *picker) filterRows() {
	if p.search != nil {
		return
	}
	all := make([]int, len(p.Rows))
	for i := range all {
		all[i] = i
	}
	p.shown = fuzzy.Rank(all, p.filter, func(i int) []fuzzy.Field { return []fuzzy.Field{{Text: p.Rows[i], Weight: 100}} })
	p.at = 0
}

// press handles a key. If done is true, row is the chosen row, or -1.
func (p *picker) press(k key) (done bool, row int) {
	if p.search != nil {
		defer p.search.changed()
	}
	switch k.name {
	case keyText, keyPaste:
		p.filter += strings.ReplaceAll(k.text, "\n", " ")
		p.filterRows()
	case keyBackspace:
		b := buffer{text: p.filter, at: len(p.filter)}
		p.filter = p.filter[:b.before(b.at)]
		p.filterRows()
	case keyUp, keyBackTab:
		p.step(-1)
	case keyTab:
		if p.search == nil {
			p.step(1)
		} else if p.search.narrow != "" {
			p.search.wide = !p.search.wide
		}
	case keyDown:
		p.step(1)
	case keyPageUp:
		p.step(-10)
	case keyPageDown:
		p.step(10)
	case keyHome:
		p.at = 0
	case keyEnd:
		p.at = max(len(p.shown)-1, 0)
	case keyEnter:
		if len(p.shown) > 0 {
			return true, p.shown[p.at]
		}
	case keyEscape:
		return true, -1
	case keyControl:
		return p.control(k.text)
	}
	return false, 0
}

func (p *picker) control(letter string) (done bool, row int) {
	switch letter {
	case "P":
		p.step(-1)
	case "N":
		p.step(1)
	case "U":
		p.filter = ""
		p.filterRows()
	case "C", "D", "G":
		return true, -1
	}
	return false, 0
}

// step moves the selection.
func (p *picker) step(n int) { p.at = max(min(p.at+n, len(p.shown)-1), 0) }

// fit returns the head and the rows for a width.
func (p *picker) fit(width int) Choice {
	if p.Fit == nil {
		return p.Choice
	}
	if p.fittedTo != width {
		p.fittedTo = width
		p.fitted.Head, p.fitted.Rows = p.Fit(width)
	}
	return p.fitted
}

// draw renders the picker for a screen size.
func (p *picker) draw(width, height int, style style) picture {
	var preview []string
	count := fmt.Sprintf("  %d of %d", len(p.shown), len(p.Rows))
	foot := count + " · type to filter · ↑↓ · Enter selects · Esc cancels"
	if plainRow(foot, 1<<10).width > width {
		foot = count + " · type · Enter · Esc"
	}
	if p.search != nil {
		preview, foot = p.search.preview, p.search.foot()
	}
	most := max(min(height-4-len(preview), 15), 1)
	from := min(max(p.at-most/2, 0), max(len(p.shown)-most, 0))
	sign := p.Title + ": "
	top := plainRow(sign+p.filter, width-1)
	pic := picture{rows: []row{top}, x: top.width}
	list := p.fit(width - 2)
	if list.Head != "" {
		head := plainRow("  "+list.Head, width)
		pic = pic.below(row{style.dim(head.text), head.width})
	}
	for i := from; i < min(from+most, len(p.shown)); i++ {
		r := plainRow("  "+list.Rows[p.shown[i]], width)
		if i == p.at {
			r = plainRow("❯ "+list.Rows[p.shown[i]], width)
			r.text = style.bold(r.text)
		}
		pic = pic.below(r)
	}
	for _, text := range append(preview, foot) {
		r := plainRow(text, width)
		pic = pic.below(row{style.dim(r.text), r.width})
	}
	return pic
}
