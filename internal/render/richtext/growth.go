package richtext

// Growth is a text that is still being said. What is finished of it is said in
// HTML once; only its last piece is said again when more comes. When all of the
// text was added, the blocks together are those that [Blocks] makes of it.
//
// The zero value has no text. It is for one goroutine at a time.
type Growth struct {
	c    cutter
	tail string
	// finished are pieces that were not told yet; told is how many blocks were
	// told that stay as they are.
	finished []piece
	told     int
	changed  bool
}

// Add adds to the text.
func (g *Growth) Add(text string) {
	if text == "" {
		return
	}
	g.tail += text
	g.changed = true
	g.finished = append(g.finished, g.c.cut(g.tail, false)...)
	if g.c.start > 0 {
		g.tail = g.tail[g.c.start:]
		g.c.forget()
	}
}

// Grown returns the blocks from number from on, as they are now, if anything was
// added since the last time; those before it stay as they are.
func (g *Growth) Grown() (from int, blocks []string, changed bool) {
	if !g.changed {
		return g.told, nil, false
	}
	g.changed = false
	from = g.told
	blocks = said(g.finished)
	g.told += len(blocks)
	g.finished = nil
	c := g.c // the end of the text may turn out to be another
	return from, append(blocks, said(append(c.cut(g.tail, true), c.rest(g.tail)))...), true
}
