package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
)

// DocumentLimits bounds the documents of one request. The zero value says that the API takes
// none.
type DocumentLimits struct {
	// Count is how many documents there may be. The newest stay. Zero: none are taken.
	Count int
	// TotalBytes bounds the base64 and text of all documents and the base64 of all images
	// together.
	TotalBytes int64
	// Text says that plain text is taken as a document. Otherwise it is sent as text.
	Text bool
}

// DocumentPart is the type of an [firn.OpaquePart] that holds a document, in the words of
// Anthropic's API: a source with base64 of a PDF, or with plain text.
const DocumentPart = "document"

// Document is a document as a request holds it: either Data, which is base64 of a PDF, or
// Text.
type Document struct {
	// Title is the name of the file; empty if it is not known.
	Title string
	Data  string
	Text  string
}

// pdfType is the type of documents that are sent as data.
const pdfType = "application/pdf"

// documentSource is the source of a document.
type documentSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	// Content is text, or blocks of text.
	Content json.RawMessage `json:"content,omitempty"`
}

// documentForm is a document as it is spelt.
type documentForm struct {
	Type   string         `json:"type"`
	Source documentSource `json:"source"`
	Title  string         `json:"title,omitempty"`
}

// DocumentOf reads a document. The error says why it cannot be sent to any provider; its
// title is known then too.
func DocumentOf(part firn.OpaquePart) (Document, error) {
	var form documentForm
	if part.Type != DocumentPart || json.Unmarshal(part.Raw, &form) != nil {
		return Document{}, fmt.Errorf("%w document", firn.ErrInvalid)
	}
	doc := Document{Title: documentTitle(form.Title)}
	switch s := form.Source; {
	case s.Type == "text":
		doc.Text, _ = firn.CleanText(s.Data)
	case s.Type == "content":
		doc.Text, _ = firn.CleanText(contentText(s.Content))
	case s.Type != "base64":
		return doc, fmt.Errorf("%w document: its content is not in the session", firn.ErrInvalid)
	case s.MediaType != pdfType:
		return doc, fmt.Errorf("%w document: not a PDF", firn.ErrInvalid)
	case !isBase64(s.Data) || !hasPrefix(beginning(s.Data, 5), "%PDF-"):
		return doc, fmt.Errorf("%w document: its data is damaged", firn.ErrInvalid)
	default:
		doc.Data = s.Data
		return doc, nil
	}
	if blank(doc.Text) {
		return doc, fmt.Errorf("%w document: it is empty", firn.ErrInvalid)
	}
	return doc, nil
}

// documentTitle makes a title fit for a line.
func documentTitle(title string) string {
	title, _ = firn.CleanText(title)
	return firn.CutText(strings.Join(strings.Fields(title), " "), 200)
}

// contentText joins the text of a source that is made of blocks.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	texts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// part spells a document with the members that every request has.
func (d Document) part() (firn.OpaquePart, error) {
	form := documentForm{Type: DocumentPart, Title: d.Title, Source: documentSource{Type: "base64", MediaType: pdfType, Data: d.Data}}
	if d.Data == "" {
		form.Source = documentSource{Type: "text", MediaType: "text/plain", Data: d.Text}
	}
	raw, err := json.Marshal(form)
	return firn.OpaquePart{Type: DocumentPart, Raw: raw}, err
}

// omitted stands for a document that is not sent.
func (d Document) omitted(why string) firn.Text {
	what := d.Title
	if what == "" {
		what = "without a name"
	}
	if d.Data != "" {
		what += ", PDF, " + bytesText(int64(len(d.Data))*3/4)
	}
	return firn.Text{Text: fmt.Sprintf("[document omitted: %s; %s]", what, why)}
}

// refitDocument makes a document fit what the API takes from a role: as it is, as text, or as
// a note that names it.
func refitDocument(it *Item, role firn.Role, part firn.OpaquePart, p *Pass) firn.Part {
	doc, err := DocumentOf(part)
	limits, why := p.profile.Documents, ""
	switch {
	case err != nil:
		_, why, _ = strings.Cut(err.Error(), "document: ")
		if why == "" {
			why = "it cannot be read"
		}
	case role != firn.RoleUser:
		why = "the assistant made it"
	case doc.Data == "" && (limits.Count == 0 || !limits.Text):
		p.Note(it, "document sent as text")
		name := doc.Title
		if name == "" {
			name = "without a name"
		}
		return firn.Text{Text: "[document: " + name + "]\n" + doc.Text}
	case limits.Count == 0:
		why = "this provider takes no PDF"
	default:
		if sent, err := doc.part(); err == nil {
			return sent
		}
		why = "it cannot be read"
	}
	p.Note(it, "document replaced by a note: %s", why)
	return doc.omitted(why)
}

// documents leaves out the oldest documents if there are too many, or too much of them and
// of images, for one request.
var documents = Rule{"documents", func(items []Item, p *Pass) []Item {
	var sizes []int64
	images := int64(0)
	each := func(_ *Item, part firn.Part) (firn.Part, verdict) {
		switch b := part.(type) {
		case firn.Image:
			images += int64(len(b.Data))
		case firn.OpaquePart:
			if b.Type == DocumentPart {
				sizes = append(sizes, int64(len(b.Raw)))
			}
		}
		return part, keep
	}
	items = editAll(items, each)
	first, total := len(sizes), images
	for first > 0 && len(sizes)-first < p.profile.Documents.Count && total+sizes[first-1] <= p.profile.Documents.TotalBytes {
		first--
		total += sizes[first]
	}
	if first == 0 {
		return items
	}
	n := 0
	return editAll(items, func(it *Item, part firn.Part) (firn.Part, verdict) {
		b, ok := part.(firn.OpaquePart)
		if !ok || b.Type != DocumentPart {
			return part, keep
		}
		if n++; n > first {
			return part, keep
		}
		why := fmt.Sprintf("only the newest %d, of %s with all images, are sent", p.profile.Documents.Count, bytesText(p.profile.Documents.TotalBytes))
		p.Note(it, "document left out: %s", why)
		doc, _ := DocumentOf(b)
		return doc.omitted(why), change
	})
}}

// pageBytes is how much of a PDF's base64 counts as a page, pageChars how many characters a
// page counts for: 2,000 tokens, between what providers name for text and for pictures of it.
// Providers take 100 pages at most.
const (
	pageBytes = 64 << 10
	pageChars = 8000
	mostPages = 100
)

// documentChars estimates the characters that a document counts for, without reading it: all
// of a text, and of a PDF its pages by its size.
func documentChars(b firn.OpaquePart) int {
	if b.Type != DocumentPart {
		return 0
	}
	if !bytes.Contains(b.Raw[:min(len(b.Raw), 1024)], []byte(`"base64"`)) {
		return units([]byte(b.Raw))
	}
	return min(1+len(b.Raw)/pageBytes, mostPages) * pageChars
}
