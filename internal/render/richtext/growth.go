package richtext

// Growth renders a text that is being streamed. Finished pieces are rendered once; only the
// last piece is rendered again when text is added. After all of the text was added, the
// blocks equal those of [Blocks].
//
// The zero value has no text. It is not safe for concurrent use.
type Growth struct {
	c    cutter
	tail string
	// finished are pieces that were not returned yet; returned is the number of blocks that
	// were returned and are final.
	finished []piece
	returned int
	changed  bool
}

// Add appends to the text.
func (g *Growth) Add(text string) {
	if text == "" {
		return
	}
	g.tail += text
	g.changed = true
	g.finished = append(g.finished, g.c.cut(g.tail, false)...)
	if g.c.start > 0 {
		g.tail = g.tail[g.c.start:]
		g.c.dropFinished()
	}
}

// Grown returns the blocks from index from on in their current state, if text was added
// since the last call; earlier blocks are final.
func (g *Growth) Grown() (from int, blocks []string, changed bool) {
	if !g.changed {
		return g.returned, nil, false
	}
	g.changed = false
	from = g.returned
	blocks = renderPieces(g.finished)
	g.returned += len(blocks)
	g.finished = nil
	c := g.c // a copy, because the end of the text may still change
	return from, append(blocks, renderPieces(append(c.cut(g.tail, true), c.rest(g.tail)))...), true
}
