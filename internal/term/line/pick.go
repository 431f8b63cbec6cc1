package line

import (
	"fmt"
	"strings"
)

// Choice is a list to choose from. Rows are shown as they are, cut to the width
// of the screen; they have no styles.
type Choice struct {
	// Title says what is chosen, Head is above the rows; it may be empty.
	Title, Head string
	Rows        []string
	// Selected is the row that is chosen at first.
	Selected int
}

// picker is a choice while it is made.
type picker struct {
	Choice
	filter string
	// shown are the rows that the filter lets through, at the chosen one of them.
	shown []int
	at    int
}

func newPicker(c Choice) *picker {
	p := &picker{Choice: c}
	p.sift()
	p.at = min(max(c.Selected, 0), max(len(p.shown)-1, 0))
	return p
}

// sift finds the rows that have all words of the filter.
func (p *picker) sift() {
	words := strings.Fields(strings.ToLower(p.filter))
	p.shown = nil
	for i, r := range p.Rows {
		low, ok := strings.ToLower(r), true
		for _, w := range words {
			ok = ok && strings.Contains(low, w)
		}
		if ok {
			p.shown = append(p.shown, i)
		}
	}
	p.at = 0
}

// press does what a key says. When it is done, row is what was chosen, -1 for
// nothing.
func (p *picker) press(k key) (done bool, row int) {
	switch k.name {
	case keyText, keyPaste:
		p.filter += strings.ReplaceAll(k.text, "\n", " ")
		p.sift()
	case keyBackspace:
		b := buffer{text: p.filter, at: len(p.filter)}
		p.filter = p.filter[:b.before(b.at)]
		p.sift()
	case keyUp, keyBackTab:
		p.step(-1)
	case keyDown, keyTab:
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
		p.sift()
	case "C", "D", "G":
		return true, -1
	}
	return false, 0
}

// step moves the choice.
func (p *picker) step(n int) { p.at = max(min(p.at+n, len(p.shown)-1), 0) }

// draw shows the choice on a screen of some size.
func (p *picker) draw(width, height int, style style) picture {
	most := max(min(height-4, 15), 1)
	from := min(max(p.at-most/2, 0), max(len(p.shown)-most, 0))
	sign := p.Title + ": "
	top := plainRow(sign+p.filter, width-1)
	pic := picture{rows: []row{top}, x: top.width}
	if p.Head != "" {
		head := plainRow("  "+p.Head, width)
		pic = pic.below(row{style.dim(head.text), head.width})
	}
	for i := from; i < min(from+most, len(p.shown)); i++ {
		r := plainRow("  "+p.Rows[p.shown[i]], width)
		if i == p.at {
			r = plainRow("❯ "+p.Rows[p.shown[i]], width)
			r.text = style.bold(r.text)
		}
		pic = pic.below(r)
	}
	note := fmt.Sprintf("  %d of %d · type to filter · ↑↓ · Enter chooses · Esc leaves it", len(p.shown), len(p.Rows))
	foot := plainRow(note, width)
	return pic.below(row{style.dim(foot.text), foot.width})
}
