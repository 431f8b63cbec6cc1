package mcpclient

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/tool"
)

// Limits of a result. The caller shortens texts further for the model.
const (
	mostResultText = 1 << 20
	mostImages     = 8
	mostImage      = 5 << 20
	mostStructured = 256 << 10
)

// imageTypes are the image types that models accept.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// resultOf converts the result of a call.
func resultOf(r *sdk.CallToolResult) tool.Result {
	m := &mapping{}
	for _, c := range r.Content {
		m.content(c)
	}
	out := tool.Result{IsError: r.IsError}
	structured, err := json.Marshal(r.StructuredContent)
	if r.StructuredContent != nil && err == nil {
		if len(m.texts) == 0 {
			m.text(string(structured))
		}
		if len(structured) <= mostStructured {
			out.Details, _ = json.Marshal(map[string]json.RawMessage{"structured": structured}) // valid JSON
		}
	}
	if text := strings.Join(m.texts, "\n"); text != "" {
		out.Parts = append(out.Parts, firn.Text{Text: text})
	}
	out.Parts = append(out.Parts, m.images...)
	if len(out.Parts) == 0 {
		out.Parts = []firn.Part{firn.Text{Text: "(no output)"}}
	}
	return out
}

// mapping collects the parts of a result.
type mapping struct {
	texts  []string
	size   int
	images []firn.Part
}

// content adds one block of content.
func (m *mapping) content(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		m.text(c.Text)
	case *sdk.ImageContent:
		m.image(c.MIMEType, c.Data)
	case *sdk.AudioContent:
		m.text(fmt.Sprintf("[audio %s, %d bytes, left out]", oneWord(c.MIMEType), len(c.Data)))
	case *sdk.ResourceLink:
		m.text(strings.TrimSpace(fmt.Sprintf("[%s](%s) %s", c.Name, c.URI, c.Description)))
	case *sdk.EmbeddedResource:
		if c.Resource != nil {
			m.resource(c.Resource)
		}
	default:
		m.text(fmt.Sprintf("[content of an unknown kind %T, left out]", c))
	}
}

// resource adds an embedded resource.
func (m *mapping) resource(r *sdk.ResourceContents) {
	switch {
	case r.Text != "" || len(r.Blob) == 0:
		m.text(fmt.Sprintf("<resource uri=%q>\n%s\n</resource>", r.URI, r.Text))
	case slices.Contains(imageTypes, r.MIMEType):
		m.image(r.MIMEType, r.Blob)
	default:
		m.text(fmt.Sprintf("[resource %s, %s, %d bytes, left out]", r.URI, oneWord(r.MIMEType), len(r.Blob)))
	}
}

// text adds a text, up to the limit of all texts.
func (m *mapping) text(text string) {
	if text = clean(text); text == "" || m.size >= mostResultText {
		return
	}
	if left := mostResultText - m.size; len(text) > left {
		m.size = mostResultText
		text = firn.CutText(text, left) + fmt.Sprintf("\n[firn] the result was cut at %d bytes", mostResultText)
	}
	m.size += len(text)
	m.texts = append(m.texts, text)
}

// image adds an image that models accept; another one is named in the text.
func (m *mapping) image(kind string, data []byte) {
	if !slices.Contains(imageTypes, kind) || len(data) == 0 || len(data) > mostImage || len(m.images) >= mostImages {
		m.text(fmt.Sprintf("[image %s, %d bytes, left out]", oneWord(kind), len(data)))
		return
	}
	m.images = append(m.images, firn.Image{MimeType: kind, Data: base64.StdEncoding.EncodeToString(data)})
}

// oneWord returns a type for display.
func oneWord(kind string) string {
	if kind = firn.CutText(clean(strings.Join(strings.Fields(kind), " ")), 80); kind == "" {
		return "of an unknown type"
	}
	return kind
}
