package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
)

// DocumentLimits bounds the documents of one request. The zero value means that the API
// accepts none.
type DocumentLimits struct {
	// Count is the maximum number of documents; the newest are kept. Zero means none.
	Count int
	// TotalBytes bounds the base64 and text of all documents and the base64 of all images
	// together.
	TotalBytes int64
	// Text reports whether plain text is accepted as a document. Otherwise it is sent as
	// text.
	Text bool
}

// DocumentPart is the type of an [firn.OpaquePart] that holds a document in the format of
// Anthropic's API: a source with the base64 of a PDF, or with plain text.
const DocumentPart = "document"

// Document is a document of a request. It has either Data, the base64 of a PDF, or Text.
type Document struct {
	// Title is the file name, or empty if unknown.
	Title string
	Data  string
	Text  string
}

// pdfType is the media type of documents that are sent as data.
const pdfType = "application/pdf"

// documentSource is the JSON source of a document.
type documentSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	// Content is text, or a list of text blocks.
	Content json.RawMessage `json:"content,omitempty"`
}

// documentForm is the JSON form of a document.
type documentForm struct {
	Type   string         `json:"type"`
	Source documentSource `json:"source"`
	Title  string         `json:"title,omitempty"`
}

// DocumentOf decodes a document. The error explains why it cannot be sent to any provider;
// the title is set in that case too.
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
	case !isBase64(s.Data) || !hasPrefix(decodePrefix(s.Data, 5), "%PDF-"):
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

// documentTitle makes a title fit on one line.
func documentTitle(title string) string {
	title, _ = firn.CleanText(title)
	return firn.CutText(strings.Join(strings.Fields(title), " "), 200)
}

// contentText joins the text of a source that consists of blocks.
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

// part encodes a document with the fields that every request has.
func (d Document) part() (firn.OpaquePart, error) {
	form := documentForm{Type: DocumentPart, Title: d.Title, Source: documentSource{Type: "base64", MediaType: pdfType, Data: d.Data}}
	if d.Data == "" {
		form.Source = documentSource{Type: "text", MediaType: "text/plain", Data: d.Text}
	}
	raw, err := json.Marshal(form)
	return firn.OpaquePart{Type: DocumentPart, Raw: raw}, err
}

// omitted returns the placeholder for a document that is not sent.
func (d Document) omitted(why string) firn.Text {
	what := d.Title
	if what == "" {
		what = "unnamed"
	}
	if d.Data != "" {
		what += ", PDF, " + bytesText(int64(len(d.Data))*3/4)
	}
	return firn.Text{Text: fmt.Sprintf("[document omitted: %s; %s]", what, why)}
}

// refitDocument converts a document into a part that the API accepts from a role:
// unchanged, as text, or as a note with its title.
func refitDocument(it *Item, role firn.Role, part firn.OpaquePart, p *Pass) firn.Part {
	doc, err := DocumentOf(part)
	limits, why := p.profile.Documents, ""
	switch {
	case err != nil:
		_, why, _ = strings.Cut(err.Error(), "document: ")
		if why == "" {
			why = "it is unreadable"
		}
	case role != firn.RoleUser:
		why = "the assistant made it"
	case doc.Data == "" && (limits.Count == 0 || !limits.Text):
		p.Note(it, "document sent as text")
		name := doc.Title
		if name == "" {
			name = "unnamed"
		}
		return firn.Text{Text: "[document: " + name + "]\n" + doc.Text}
	case limits.Count == 0:
		why = "this provider does not accept PDF"
	default:
		if sent, err := doc.part(); err == nil {
			return sent
		}
		why = "it is unreadable"
	}
	p.Note(it, "document replaced by a note: %s", why)
	return doc.omitted(why)
}

// documents leaves out the oldest documents if a request has too many, or if documents and
// images are too large together.
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
		why := fmt.Sprintf("only the newest %d, at most %s with all images, are sent", p.profile.Documents.Count, bytesText(p.profile.Documents.TotalBytes))
		p.Note(it, "document left out: %s", why)
		doc, _ := DocumentOf(b)
		return doc.omitted(why), change
	})
}}

// pageBytes is the amount of a PDF's base64 that counts as one page. pageChars is the
// number of characters per page: 2,000 tokens, between the figures of providers for text
// and for images of pages. Providers accept at most 100 pages.
const (
	pageBytes = 64 << 10
	pageChars = 8000
	mostPages = 100
)

// documentChars estimates the size of a document in characters without decoding it: the
// full length of a text, or the pages of a PDF by its size.
func documentChars(b firn.OpaquePart) int {
	if b.Type != DocumentPart {
		return 0
	}
	if !bytes.Contains(b.Raw[:min(len(b.Raw), 1024)], []byte(`"base64"`)) {
		return units([]byte(b.Raw))
	}
	return min(1+len(b.Raw)/pageBytes, mostPages) * pageChars
}
