// Package page writes a session as a single self-contained HTML page. It needs no scripts,
// no network and no firn, and is readable in light and dark mode and on paper.
//
// Pages are meant for sharing: likely secrets are masked, and nothing in the page is
// executed or fetched. It is written entry by entry and needs no more memory than the
// largest entry.
package page

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"iter"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/find/mask"
	"firn.dev/internal/render/card"
	"firn.dev/internal/render/richtext"
	"firn.dev/wire"
)

// About describes the session of a page.
type About struct {
	Session          firn.ID
	Title            string
	Agent, Source    string
	Created, Updated time.Time
	// Branch reports whether the page has only the branch of the head instead of all
	// entries.
	Branch bool
}

// Item is an entry of a page, or a gap of unreadable data.
type Item struct {
	Entry firn.Entry
	Label string
	// Hidden reports whether a tombstone hides it.
	Hidden bool
	// Gap describes unreadable data, Damage a fault of an entry that was read.
	Gap, Damage string
}

// Write writes a page. Items are passed oldest first. An error among them ends the page,
// which is then incomplete.
func Write(w io.Writer, about About, items iter.Seq2[Item, error]) error {
	p := &writer{b: bufio.NewWriterSize(w, 64<<10), about: about, work: pageWork}
	p.head()
	for item, err := range items {
		if err != nil {
			return fmt.Errorf("write the page of session %s: %w", about.Session, err)
		}
		p.item(item)
		if p.err != nil {
			break
		}
	}
	p.text("</main>\n<footer>Written by firn. Secrets are masked where their format is known.</footer>\n</body>\n</html>\n")
	if p.err == nil {
		p.err = p.b.Flush()
	}
	if p.err != nil {
		return fmt.Errorf("write the page of session %s: %w", about.Session, p.err)
	}
	return nil
}

// pageWork is the maximum work for rendering the Markdown of a page, a few seconds at most.
// Text beyond it is rendered as plain text.
const pageWork = 12 << 20

// writer writes one page.
type writer struct {
	b     *bufio.Writer
	about About
	err   error
	// work is the remaining work for Markdown.
	work int
}

// text writes HTML.
func (p *writer) text(s string) {
	if p.err == nil {
		_, p.err = p.b.WriteString(s)
	}
}

// Policy returns the content security policy of a page: its own style and embedded images.
func Policy() string {
	sum := sha256.Sum256([]byte(style()))
	return "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

func (p *writer) head() {
	title := inlineText(p.about.Title)
	if title == "" {
		title = html.EscapeString(string(p.about.Session))
	}
	p.text("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	p.text(`<meta http-equiv="Content-Security-Policy" content="` + Policy() + "\">\n")
	p.text("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n")
	p.text("<title>" + title + "</title>\n<style>" + style() + "</style>\n</head>\n<body>\n<header>\n<h1>" + title + "</h1>\n<p>")
	facts := []string{"Session " + html.EscapeString(string(p.about.Session))}
	for _, f := range []struct{ name, value string }{{"agent", p.about.Agent}, {"from", p.about.Source}} {
		if f.value != "" {
			facts = append(facts, f.name+" "+inlineText(f.value))
		}
	}
	if span := between(p.about.Created, p.about.Updated); span != "" {
		facts = append(facts, span)
	}
	if !p.about.Branch {
		facts = append(facts, "all branches, in file order")
	}
	p.text(strings.Join(facts, " · ") + "</p>\n</header>\n<main>\n")
}

// between formats a time range.
func between(from, to time.Time) string {
	switch {
	case from.IsZero() && to.IsZero():
		return ""
	case from.IsZero():
		return clock(to)
	case to.IsZero() || to.Sub(from) < time.Minute:
		return clock(from)
	}
	return clock(from) + " to " + clock(to)
}

// clock formats a time.
func clock(t time.Time) string {
	return `<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + t.UTC().Format("2006-01-02 15:04") + " UTC</time>"
}

// inlineText renders a short untrusted text, masked.
func inlineText(s string) string { return richtext.Inline(mask.Text(richtext.Printed(s))) }

func (p *writer) item(item Item) {
	if item.Gap != "" {
		p.damage(item.Gap)
		return
	}
	c := card.Render(item.Entry, card.Options{Mask: mask.Text, MaskHTML: mask.HTML, Image: inline, Work: &p.work})
	if !p.shows(&item, &c) {
		return
	}
	if item.Damage != "" {
		p.damage(item.Damage)
	}
	switch {
	case c.Compaction != nil:
		p.compaction(&c)
	case c.Role == "":
		p.note(&c)
	default:
		p.message(&item, &c)
	}
}

// damage writes a notice about unreadable data at its place.
func (p *writer) damage(what string) {
	p.text(`<p class="note damage" role="note">⚠ ` + inlineText(what) + ". The owner of the session can run: <code>firn verify " + html.EscapeString(string(p.about.Session)) + "</code></p>\n")
}

// shows reports whether an entry is on the page. A branch does not include hidden entries,
// and entries without content for the user are left out.
func (p *writer) shows(item *Item, c *wire.Card) bool {
	switch b := item.Entry.Body.(type) {
	case *firn.Custom:
		return !p.about.Branch && !strings.HasPrefix(b.Type, "firn.")
	case *firn.Label, *firn.Tombstone:
		return !p.about.Branch
	case *firn.Header:
		return false
	case *firn.CustomMessage:
		if p.about.Branch && !b.Display {
			return false
		}
	}
	return !p.about.Branch || !item.Hidden
}

func (p *writer) note(c *wire.Card) {
	p.text(`<p class="note" id="` + anchor(c.ID) + `">` + html.EscapeString(c.Note) + stamp(c) + "</p>\n")
	p.blocks(c)
}

func (p *writer) compaction(c *wire.Card) {
	about := "Compacted"
	if c.Compaction.Before > 0 {
		about += fmt.Sprintf(": about %d tokens", c.Compaction.Before)
		if c.Compaction.After > 0 {
			about += fmt.Sprintf(" became %d", c.Compaction.After)
		}
	}
	p.text(`<details class="compaction" id="` + anchor(c.ID) + `"><summary>` + html.EscapeString(about) + stamp(c) + "</summary>\n")
	p.blocks(c)
	p.text("</details>\n")
}

func (p *writer) message(item *Item, c *wire.Card) {
	class := c.Role
	if item.Hidden {
		class += " hidden"
	}
	p.text(`<article class="` + class + `" id="` + anchor(c.ID) + `"><h2>`)
	p.text(html.EscapeString(speaker(c)))
	if item.Label != "" {
		p.text(` <span class="label">` + inlineText(item.Label) + "</span>")
	}
	if item.Hidden {
		p.text(` <span class="label">hidden</span>`)
	}
	p.text(stamp(c) + "</h2>\n")
	if c.Note != "" {
		p.text(`<p class="note">` + html.EscapeString(c.Note) + "</p>\n")
	}
	p.blocks(c)
	if c.Error != "" {
		p.text(`<p class="error">` + html.EscapeString(c.Error) + "</p>\n")
	}
	p.text("</article>\n")
}

// anchor returns the HTML ID of an entry.
func anchor(id firn.EntryID) string { return "e-" + html.EscapeString(string(id)) }

// stamp formats the time of a card.
func stamp(c *wire.Card) string {
	if c.Time.IsZero() {
		return ""
	}
	return " " + clock(c.Time)
}

// speaker returns the name of the card's author.
func speaker(c *wire.Card) string {
	switch {
	case c.Sender != "":
		return c.Sender
	case c.Role == "assistant" && c.Model != "":
		return "assistant (" + c.Model + ")"
	}
	return c.Role
}

// inline returns an image as a data URL, or an empty string if it is not an image that may
// be shown.
func inline(_ int, image firn.Image) string {
	data, err := base64.StdEncoding.DecodeString(image.Data)
	kind := card.Sniff(data)
	if err != nil || kind == "" {
		return ""
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}
