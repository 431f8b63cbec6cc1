package line

import "strings"

// The functions of this file say what keys do to a terminal.

// pressAll does what keys say, one after the other.
func (t *Terminal) pressAll(keys []key) {
	for _, k := range keys {
		t.press(k)
	}
}

// press does what a key says, and tells of it.
func (t *Terminal) press(k key) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	if t.picker != nil {
		t.pick(k)
		t.draw()
		t.mu.Unlock()
		return
	}
	how := t.editor.press(k)
	event, tell := t.follow(how)
	t.mu.Unlock()
	if tell {
		t.tell(event)
	}
}

// pick does what a key says to a choice.
func (t *Terminal) pick(k key) {
	done, row := t.picker.press(k)
	if !done {
		return
	}
	t.picked <- row
	t.picker, t.picked = nil, nil
}

// follow does what came of a key, draws, and says what is to be told.
func (t *Terminal) follow(how outcome) (Event, bool) {
	text := t.editor.text
	switch how {
	case entered:
		t.enter(text)
		return Event{Entered, text}, true
	case interrupted:
		t.draw()
		return Event{Interrupt, text}, true
	case ended:
		t.draw()
		return Event{Kind: End}, true
	case suspended:
		t.suspend()
	case redraw:
		t.painter.wipe()
	}
	t.draw()
	return Event{}, false
}

// enter takes a line off the screen and into the history. Who takes the event
// decides when it is shown, with Echo.
func (t *Terminal) enter(text string) {
	if err := t.editor.history.Add(text); err != nil && t.o.Report != nil {
		t.o.Report(err.Error())
	}
	t.editor.reset()
	t.draw()
}

// suspend gives the terminal back until the program is told to go on.
func (t *Terminal) suspend() {
	if t.dev.Suspend == nil {
		return
	}
	t.painter.clear(t.width())
	t.painter.write(pasteOff)
	if err := t.restore(); err != nil && t.o.Report != nil {
		t.o.Report(err.Error())
	}
	t.dev.Suspend()
	restore, err := t.dev.Raw()
	if err != nil { // it goes on line by line
		if t.o.Report != nil {
			t.o.Report(err.Error())
		}
		return
	}
	t.restore = restore
	t.painter.write(pasteOn)
}

// draw prints lines, and draws all that stands below them. On a terminal that
// was given back it only prints.
func (t *Terminal) draw(lines ...string) {
	if t.closed {
		for _, l := range lines {
			t.painter.write(l + "\n")
		}
		return
	}
	width, height := t.size()
	t.painter.paint(lines, t.picture(width, height), width)
}

// picture is what stands below all that was printed.
func (t *Terminal) picture(width, height int) picture {
	if t.picker != nil {
		return t.picker.draw(width, height, t.style)
	}
	var p picture
	if t.asking {
		p = t.line(width, max(height-1-min(len(t.live), height/2), 1))
	}
	live := t.live
	if room := max(height-1-len(p.rows), 0); len(live) > room {
		live = live[len(live)-room:]
	}
	if !t.asking {
		if len(live) == 0 {
			return picture{}
		}
		last := live[len(live)-1]
		return picture{rows: live, y: len(live) - 1, x: min(last.width, width-1)}
	}
	return p.above(live...)
}

// line is the line that is typed, and what belongs to it.
func (t *Terminal) line(width, most int) picture {
	e := t.editor
	sign, more := t.o.Prompt, t.o.More
	if s := e.search; s != nil {
		p := lay(sign, more, e.text, e.at, width).fit(most - 1)
		note := "search: " + s.query
		if s.failed {
			note += "  (not found)"
		}
		r := plainRow(note, width)
		return p.below(row{t.style.dim(r.text), r.width})
	}
	p := lay(sign, more, e.text, e.at, width)
	if e.choice == nil {
		return p.fit(most)
	}
	words := t.words(e.choice, width)
	words = words[:min(len(words), max(most/2, 1))]
	return p.fit(most - len(words)).below(words...)
}

// words are the words to choose from, in as many rows as they need.
func (t *Terminal) words(c *choice, width int) []row {
	var rows []row
	var b strings.Builder
	used := 0
	flush := func() {
		rows = append(rows, row{b.String(), used})
		b.Reset()
		used = 0
	}
	for i, w := range c.words {
		w = Cut(shown(w), max(width-2, 1))
		n := Width(w) + 2
		if used > 0 && used+n > width {
			flush()
		}
		text := t.style.dim(w)
		if i == c.picked {
			text = t.style.bold(w)
		}
		b.WriteString("  " + text)
		used += n
	}
	flush()
	return rows
}

// style says whether text may have styles.
type style bool

func (s style) dim(text string) string { return s.with("2", text) }

func (s style) bold(text string) string { return s.with("1", text) }

func (s style) with(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
