package window_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

// documentOf returns a part with a document and unknown members.
func documentOf(title, source string) firn.OpaquePart {
	return firn.OpaquePart{Type: "document", Raw: json.RawMessage(fmt.Sprintf(`{"type":"document","title":%q,"x":1,"source":%s}`, title, source))}
}

func pdfOf(title string, size int) firn.OpaquePart {
	data := base64.StdEncoding.EncodeToString([]byte("%PDF-1.4\n" + strings.Repeat("x", size)))
	return documentOf(title, `{"type":"base64","media_type":"application/pdf","data":"`+data+`"}`)
}

// TestDocuments checks that each provider receives the documents it supports, others as text,
// and a note with the file name in place of the rest.
func TestDocuments(t *testing.T) {
	const (
		sent    = "document"
		inlined = "[document: a.txt]\nhello"
	)
	for name, c := range map[string]struct {
		part firn.OpaquePart
		role firn.Role
		want map[string]string // by profile; "" stands for all others
	}{
		"a PDF":           {pdfOf("a.pdf", 100), firn.RoleUser, map[string]string{"anthropic": sent, "openai-responses": sent, "": "[document omitted: a.pdf, PDF, 111 bytes; this provider does not accept PDF]"}},
		"text":            {documentOf("a.txt", `{"type":"text","media_type":"text/plain","data":"hello"}`), firn.RoleUser, map[string]string{"anthropic": sent, "": inlined}},
		"blocks":          {documentOf("a.txt", `{"type":"content","content":[{"type":"text","text":"hello"}]}`), firn.RoleUser, map[string]string{"anthropic": sent, "": inlined}},
		"an address":      {documentOf("a.pdf", `{"type":"url","url":"https://example.com/a.pdf"}`), firn.RoleUser, map[string]string{"": "[document omitted: a.pdf; its content is not in the session]"}},
		"damaged":         {documentOf("a.pdf", `{"type":"base64","media_type":"application/pdf","data":"no"}`), firn.RoleUser, map[string]string{"": "[document omitted: a.pdf; its data is damaged]"}},
		"a word document": {documentOf("a.doc", `{"type":"base64","media_type":"application/msword","data":"AAAA"}`), firn.RoleUser, map[string]string{"": "[document omitted: a.doc; not a PDF]"}},
		"nothing":         {firn.OpaquePart{Type: "document", Raw: json.RawMessage(`{`)}, firn.RoleUser, map[string]string{"": "[document omitted: unnamed; it is unreadable]"}},
		"an assistant's":  {pdfOf("a.pdf", 100), firn.RoleAssistant, map[string]string{"": "[document omitted: a.pdf, PDF, 111 bytes; the assistant made it]"}},
	} {
		for _, profile := range window.Profiles() {
			t.Run(name+" "+profile.Name, func(t *testing.T) {
				want, ok := c.want[profile.Name]
				if !ok {
					want = c.want[""]
				}
				items := []window.Item{{Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "look"}}}},
					{Message: firn.Message{Role: c.role, Parts: []firn.Part{c.part}, StopReason: firn.StopEnd}}, {Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "and?"}}}}}
				got, repairs := profile.Apply(items, window.Ask{})
				if what := partsOf(got); !slices.Contains(what, want) {
					t.Errorf("sent parts are %q, want %q (%v)", what, want, repairs)
				}
				if (want == sent) != !slices.ContainsFunc(repairs, func(r window.Repair) bool { return strings.Contains(r.What, "document") }) {
					t.Errorf("reported as %v", repairs)
				}
				if err := windowtest.Check(profile, window.Window{Items: got}); err != nil {
					t.Errorf("rejected: %v", err)
				}
				if again, more := profile.Apply(got, window.Ask{}); len(more) != 0 || !slices.Equal(partsOf(again), partsOf(got)) {
					t.Errorf("applying it again changes %v", more)
				}
			})
		}
	}
}

// partsOf lists the texts of items, and the types of other parts.
func partsOf(items []window.Item) (all []string) {
	for _, it := range items {
		for _, part := range it.Message.Parts {
			switch b := part.(type) {
			case firn.Text:
				all = append(all, b.Text)
			case firn.OpaquePart:
				all = append(all, b.Type)
			}
		}
	}
	return all
}

// TestDocumentsAreBounded checks that only the newest documents are sent if there are too many
// or they are too large.
func TestDocumentsAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ count, size, want int }{"many": {25, 10, 20}, "large": {4, 7 << 20, 2}} {
		var items []window.Item
		for i := range c.count {
			items = append(items, window.Item{Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{pdfOf(fmt.Sprint(i), c.size)}}})
		}
		got, repairs := window.Anthropic().Apply(items, window.Ask{})
		parts := partsOf(got)
		for i, part := range parts {
			if (part == "document") != (i >= c.count-c.want) {
				t.Errorf("%s: document %d is sent as %q", name, i, part)
			}
		}
		if len(parts) != c.count || len(repairs) < c.count-c.want {
			t.Errorf("%s: %d parts are sent; reported: %v", name, len(parts), repairs)
		}
	}
}

// TestDocumentsCount checks that a PDF is counted by its size and a text by its length.
func TestDocumentsCount(t *testing.T) {
	count := func(p firn.Part) int64 {
		return window.Chars{}.CountMessage(&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{p}})
	}
	small, large, huge := count(pdfOf("a", 10)), count(pdfOf("a", 1<<20)), count(pdfOf("a", 20<<20))
	if small != 2000 || large < 20*2000 || large > 25*2000 || huge != 100*2000 {
		t.Errorf("PDFs of 10 bytes, 1 MB and 20 MB count %d, %d and %d tokens", small, large, huge)
	}
	text := count(documentOf("a", `{"type":"text","media_type":"text/plain","data":"`+strings.Repeat("word ", 1000)+`"}`))
	if text < 1250 || text > 1300 {
		t.Errorf("a text of 5,000 characters counts %d tokens", text)
	}
}
