package card

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/render/richtext"
	"firn.dev/wire"
)

const (
	// cardBytes is the amount of HTML of a truncated card after which further texts are cut
	// to leastCut.
	cardBytes = 24 << 10
	// leastCut is the length of a text that is always shown.
	leastCut = 256
	// mostBlocks is the maximum number of blocks of a truncated card.
	mostBlocks = 64
	// previewRunes is the length of a preview.
	previewRunes = 160
	// markdownBytes is the maximum length of a text that is rendered as Markdown. A longer
	// one is shown as plain text.
	markdownBytes = 1 << 20
	// messageWork is the maximum work for rendering one entry as Markdown, in units of
	// about one byte of ordinary text. Each paragraph counts as work, however short, and so
	// does large HTML output.
	messageWork   = 2 << 20
	paragraphWork = 128
	workPerHTML   = 4
)

// part adds a part of a message.
func (t *builder) part(part firn.Part, role firn.Role) {
	switch p := part.(type) {
	case firn.Text:
		if role == firn.RoleToolResult {
			t.result(wire.Block{Kind: wire.BlockResult}, p.Text, richtext.Terminal)
			return
		}
		t.text(wire.BlockText, p.Text)
	case firn.Thinking:
		t.thinking(p)
	case firn.Image:
		t.image(p)
	case firn.ToolCall:
		t.call(p)
	case firn.ToolResult:
		t.toolResult(p)
	case firn.Shell:
		t.shell(p)
	case firn.OpaquePart:
		block := wire.Block{Kind: wire.BlockOther, Name: t.plain(p.Type), Bytes: int64(len(p.Raw))}
		t.fill(&block, indentJSON(p.Raw), func(s string) string { return richtext.Code("json", s) })
		t.add(block)
	}
}

// text adds a text, rendered as Markdown.
func (t *builder) text(kind, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	block := wire.Block{Kind: kind, Bytes: int64(len(text))}
	t.fill(&block, text, t.prose)
	t.add(block)
}

// prose renders a text as HTML. If that would be too much work, or too much was done
// already, it is rendered as plain text.
func (t *builder) prose(text string) string {
	work := len(text) + paragraphWork*strings.Count(text, "\n\n")
	if t.work+work > messageWork || t.o.Work != nil && *t.o.Work < work {
		return richtext.Plain(text)
	}
	html := Prose(text)
	work = max(work, len(html)/workPerHTML)
	t.work += work
	if t.o.Work != nil {
		*t.o.Work -= work
	}
	return html
}

// Prose renders a text as HTML: as Markdown, unless it is too long.
func Prose(text string) string {
	if len(text) > markdownBytes {
		return richtext.Plain(text)
	}
	return richtext.Markdown(text)
}

func (t *builder) thinking(p firn.Thinking) {
	if p.Redacted || strings.TrimSpace(p.Text) == "" {
		t.add(wire.Block{Kind: wire.BlockThinking, Preview: "redacted by the provider", Bytes: int64(len(p.Signature))})
		return
	}
	block := wire.Block{Kind: wire.BlockThinking, Preview: t.preview(p.Text), Bytes: int64(len(p.Text))}
	t.fill(&block, p.Text, t.prose)
	if t.o.MaskHTML != nil { // masking the HTML has found more
		block.Preview = t.preview(richtext.Text(block.HTML))
	}
	t.add(block)
}

// raster lists the image types that are shown: formats without scripts.
var raster = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// Raster reports whether images of a type are shown.
func Raster(mimeType string) bool { return raster[mimeType] }

func (t *builder) image(p firn.Image) {
	t.images++
	block := wire.Block{Kind: wire.BlockImage, MimeType: t.plain(p.MimeType), Bytes: int64(len(p.Data)) * 3 / 4}
	switch {
	case !Raster(p.MimeType):
		block.Preview = "an image that cannot be shown"
	case t.o.Image != nil:
		block.Src = t.o.Image(t.images, p)
	default:
		block.Src = imageAt(t.o.Session, t.entry, t.images)
	}
	t.add(block)
}

// Sniff returns the type of an image according to its first bytes, or an empty string if it
// is not one that is shown.
func Sniff(data []byte) string {
	switch s := string(data[:min(len(data), 12)]); {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(s, "GIF87a"), strings.HasPrefix(s, "GIF89a"):
		return "image/gif"
	case len(s) == 12 && s[:4] == "RIFF" && s[8:] == "WEBP":
		return "image/webp"
	}
	return ""
}

// Images returns the images of an entry, in the order of its card.
func Images(e firn.Entry) []firn.Image {
	switch b := e.Body.(type) {
	case *firn.Message:
		return imagesOf(b.Parts)
	case *firn.CustomMessage:
		return imagesOf(b.Parts)
	}
	return nil
}

func imagesOf(parts []firn.Part) []firn.Image {
	var images []firn.Image
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Image:
			images = append(images, p)
		case firn.ToolResult:
			images = append(images, imagesOf(p.Content)...)
		}
	}
	return images
}

// add adds a block. A truncated card has at most mostBlocks.
func (t *builder) add(b wire.Block) {
	if t.o.Cut > 0 && len(t.card.Blocks) >= mostBlocks {
		t.card.Cut = true
		return
	}
	t.spent += len(b.HTML)
	t.card.Cut = t.card.Cut || b.Cut
	t.card.Blocks = append(t.card.Blocks, b)
}

// escapedColors matches terminal colors as escaped in JSON.
var escapedColors = pattern.New(`\\u001b\[[0-9;]*[A-Za-z]`)

// readable returns the displayed form of a text, masked if configured. Masking applies to
// the displayed form, because color codes may separate the characters of a secret.
func (t *builder) readable(text string) string {
	if t.o.Mask == nil {
		return text
	}
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = richtext.Printed(text)
	}
	if strings.Contains(text, `\u001b[`) {
		text = escapedColors().ReplaceAllString(text, "")
	}
	return t.o.Mask(text)
}

// fill renders a text into a block, or as much of it as fits.
func (t *builder) fill(b *wire.Block, text string, say func(string) string) {
	text = t.readable(text)
	if t.o.MaskHTML != nil {
		set := say
		say = func(s string) string { return t.o.MaskHTML(set(s)) }
	}
	if t.o.Cut <= 0 {
		b.HTML = say(text)
		return
	}
	cut := t.o.Cut
	if t.spent > cardBytes {
		cut = min(cut, leastCut)
	}
	for {
		part := firn.CutText(text, cut)
		b.HTML, b.Cut = say(part), len(part) < len(text)
		// Quotes, brackets and colored code grow in HTML.
		if len(b.HTML) <= 3*t.o.Cut || cut <= leastCut {
			return
		}
		cut /= 2
	}
}

// plain returns a short text that is not HTML.
func (t *builder) plain(s string) string { return t.short(s, noteRunes) }

func (t *builder) preview(s string) string { return t.short(s, previewRunes) }

// short returns the start of a text on one line. It is masked before it is cut and in its
// displayed form, because a part of a secret is not recognized and may reveal too much.
func (t *builder) short(s string, runes int) string {
	if t.o.Mask == nil {
		return Line(firn.CutText(s, 16*runes), runes)
	}
	s = t.readable(s)
	return Line(t.o.Mask(Line(s, len(s))), runes)
}

// Line returns the start of a text on one line, in at most the given number of characters.
// Invisible control characters are removed, and characters that change the reading order
// are replaced.
func Line(text string, runes int) string {
	if len(text) <= runes && isLine(text) {
		return text
	}
	var b strings.Builder
	space, n := false, 0
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = b.Len() > 0
			continue
		}
		if unicode.Is(unicode.Bidi_Control, r) {
			r = unicode.ReplacementChar
		}
		if richtext.Hidden(r) {
			continue
		}
		if n++; n > runes {
			b.WriteRune('…')
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isLine reports whether a text is already a plain single line.
func isLine(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == ' ' && (i == 0 || i == len(text)-1 || text[i-1] == ' ') {
			return false
		}
	}
	return true
}

// argument returns the most informative argument of a call: a command, a path, a question, or
// the only text; otherwise all arguments.
func argument(raw json.RawMessage) string {
	var members map[string]json.RawMessage
	if len(raw) < 1<<20 && json.Unmarshal(raw, &members) == nil {
		for _, name := range []string{"command", "cmd", "file_path", "path", "pattern", "query", "url", "prompt", "description"} {
			if text := textOf(members[name]); text != "" {
				return text
			}
		}
		for _, only := range members {
			if text := textOf(only); text != "" && len(members) == 1 {
				return text
			}
		}
	}
	return string(raw)
}

// indentJSON returns JSON with each member on a line of its own. Other text is unchanged.
func indentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) > markdownBytes || nested(raw) || json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// nested reports whether JSON is nested so deeply that indenting would make it far larger.
func nested(raw []byte) bool {
	depth := 0
	for _, c := range raw {
		switch c {
		case '{', '[':
			if depth++; depth > 64 {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
