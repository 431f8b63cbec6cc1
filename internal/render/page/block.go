package page

import (
	"fmt"
	"html"

	"firn.dev/wire"
)

// blocks writes the blocks of a card. Tool calls, results and thinking are collapsed.
func (p *writer) blocks(c *wire.Card) {
	for i := range c.Blocks {
		b := &c.Blocks[i]
		switch b.Kind {
		case wire.BlockThinking:
			p.folded("thinking", "Thinking", b)
		case wire.BlockCall:
			p.folded("call", "Calls "+b.Name, b)
		case wire.BlockResult:
			name := "Result of " + b.Name
			if b.Name == "" {
				name = "Result"
			}
			if b.Failed {
				name += ", failed"
			}
			p.folded("result", name, b)
		case wire.BlockImage:
			p.image(b)
		case wire.BlockOther:
			p.folded("other", "Other content "+b.Name, b)
		default:
			p.text(b.HTML)
		}
	}
}

func (p *writer) folded(class, name string, b *wire.Block) {
	about := html.EscapeString(name)
	if b.Preview != "" {
		about += ` <span class="preview">` + html.EscapeString(b.Preview) + "</span>"
	}
	if b.Ms > 0 {
		about += fmt.Sprintf(` <span class="size">%d ms</span>`, b.Ms)
	}
	if b.HTML == "" {
		p.text(`<p class="` + class + `">` + about + "</p>\n")
		return
	}
	about += ` <span class="size">` + size(b.Bytes) + "</span>"
	p.text(`<details class="` + class + `"><summary>` + about + "</summary>\n" + b.HTML + "</details>\n")
}

func (p *writer) image(b *wire.Block) {
	if b.Src == "" {
		p.text(`<p class="note">An image that cannot be shown (` + html.EscapeString(b.MimeType) + ", " + size(b.Bytes) + ")</p>\n")
		return
	}
	p.text(`<img alt="image" src="` + html.EscapeString(b.Src) + "\">\n")
}

// size formats a number of bytes.
func size(bytes int64) string {
	switch {
	case bytes < 1000:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1000_000:
		return fmt.Sprintf("%d kB", (bytes+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
