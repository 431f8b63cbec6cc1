package line

import "strings"

// pressAll handles keys in order.
func (t *Terminal) pressAll(keys []key) {
	for _, k := range keys {
		t.press(k)
	}
}

// press handles a key and sends the resulting event, if any.
func (t *Terminal) press(k key) {
	if k.name == keyPaste && t.o.Paste != nil { // it may read a file, so it runs without the lock
		if label := t.o.Paste(k.text); label != "" {
			t.Insert(label)
			return
		}
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	if k.name == keyReply {
		t.reply(k.text)
		t.mu.Unlock()
		return
	}
	t.hint = ""
	if t.picker != nil {
		t.pick(k)
		t.draw()
		t.mu.Unlock()
		return
	}
	if t.pager != nil {
		if t.pager.press(k) {
			t.closePager()
		} else {
			t.draw()
		}
		t.mu.Unlock()
		return
	}
	if k.name == keyControl && k.text == "O" && t.o.Unfold != nil {
		t.mu.Unlock()
		t.o.Unfold()
		return
	}
	how := t.editor.press(k)
	event, report := t.handleOutcome(how)
	t.mu.Unlock()
	if report {
		t.sendEvent(event)
	}
}

// pick passes a key to the open picker.
func (t *Terminal) pick(k key) {
	done, row := t.picker.press(k)
	if !done {
		return
	}
	t.picked <- row
	t.picker, t.picked = nil, nil
}

// handleOutcome performs the outcome of a key and redraws. It returns the event to send,
// and whether there is one.
func (t *Terminal) handleOutcome(how outcome) (Event, bool) {
	text, shown := t.editor.expanded(), t.editor.text
	switch how {
	case entered:
		t.enter(text)
		return Event{Kind: Entered, Text: text, Shown: shown}, true
	case interrupted:
		t.draw()
		return Event{Kind: Interrupt, Text: text}, true
	case escaped:
		t.draw()
		return Event{Kind: Escape, Text: text, Again: t.editor.escapes > 1}, true
	case editOutside:
		t.draw()
		return Event{Kind: OpenEditor, Text: text}, true
	case pasteImage:
		t.draw()
		return Event{Kind: PasteImage, Text: text}, true
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

// enter removes the submitted input from the screen and adds it to the history. The
// receiver of the event decides when to show it, with Echo.
func (t *Terminal) enter(text string) {
	if err := t.editor.history.Add(text); err != nil && t.o.Report != nil {
		t.o.Report(err.Error())
	}
	t.editor.reset()
	t.draw()
}

// suspend releases the terminal until the process is continued.
func (t *Terminal) suspend() {
	if t.dev.Suspend == nil {
		return
	}
	t.release()
	t.dev.Suspend()
	t.takeOver()
}

// draw prints lines and redraws the transient rows below them. On a closed terminal it only
// prints.
func (t *Terminal) draw(lines ...string) {
	if t.closed {
		for _, l := range lines {
			t.painter.write(l + "\n")
		}
		return
	}
	if t.paused {
		t.kept = append(t.kept, lines...)
		return
	}
	if t.pager != nil {
		t.drawPager(lines)
		return
	}
	width, height := t.size()
	t.painter.paint(lines, t.picture(width, height), width)
}

// picture returns the transient rows below the printed lines.
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

// line returns the input line with its search note or completions.
func (t *Terminal) line(width, most int) picture {
	e := t.editor
	sign, more := t.o.Prompt, t.o.More
	if s := e.search; s != nil {
		p := layOut(sign, more, e.text, e.at, width).fit(most - 1)
		note := "search: " + s.query
		if s.failed {
			note += "  (not found)"
		}
		r := plainRow(note, width)
		return p.below(row{t.style.dim(r.text), r.width})
	}
	p := layOut(sign, more, e.text, e.at, width)
	if e.menu != nil {
		rows := e.menu.draw(width, most/2, t.style)
		return p.fit(most - len(rows)).below(rows...)
	}
	if e.choice == nil {
		return t.withHint(p, width, most)
	}
	words := t.words(e.choice, width)
	words = words[:min(len(words), max(most/2, 1))]
	return p.fit(most - len(words)).below(words...)
}

// withHint adds the hint below the input line, if there is one.
func (t *Terminal) withHint(p picture, width, most int) picture {
	hint := t.hint
	if v := t.editor.vim; v != nil && v.normal && hint == "" {
		hint = "normal mode"
	}
	if hint == "" || most < 2 {
		return p.fit(most)
	}
	r := plainRow(hint, width)
	return p.fit(most - 1).below(row{t.style.dim(r.text), r.width})
}

// words lays out completions in as many rows as needed.
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

// style reports whether text may have styles.
type style bool

func (s style) dim(text string) string { return s.with("2", text) }

func (s style) bold(text string) string { return s.with("1", text) }

func (s style) with(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
