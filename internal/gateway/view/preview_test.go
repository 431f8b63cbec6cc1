package view

import (
	"firn.dev"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPreview(t *testing.T) {
	tests := []struct {
		text  string
		runes int
		want  string
	}{
		{"", 5, ""}, {"  \n\t ", 5, ""}, {"hello", 5, "hello"}, {"hello!", 5, "hell…"}, {" a \n\n b\x00c ", 9, "a b c"},
		{"ééééé", 5, "ééééé"}, {"éééééé", 5, "éééé…"}, {"日本語です", 3, "日本…"}, {"ab cd", 3, "ab…"}, {"a\xffb", 9, "a\ufffdb"}, {"abc", 0, "…"},
	}
	for _, test := range tests {
		if got := Preview(test.text, test.runes); got != test.want {
			t.Errorf("%q in %d is %q, want %q", test.text, test.runes, got, test.want)
		}
	}
}

func FuzzPreview(f *testing.F) {
	f.Add("hello world", 4)
	f.Add("\xff\x00 \u2028", 80)
	f.Fuzz(func(t *testing.T, text string, runes int) {
		runes = max(runes%200, 1)
		got := Preview(text, runes)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > runes || strings.ContainsAny(got, "\n\r\t\x00") {
			t.Errorf("%q in %d is %q", text, runes, got)
		}
	})
}

func TestPreviewsOfEntries(t *testing.T) {
	text := func(s string) []firn.Part { return []firn.Part{firn.Text{Text: s}} }
	for want, b := range map[string]firn.Body{
		"a summary":                   &firn.Compaction{Summary: "a\nsummary"},
		"a branch":                    &firn.BranchSummary{Summary: "a branch"},
		"hides x wrong":               &firn.Tombstone{Target: "x", Reason: "wrong"},
		"hides y":                     &firn.Tombstone{Target: "y"},
		"a label":                     &firn.Label{Name: "a label"},
		"a title":                     &firn.Title{Name: "a title"},
		"p/m":                         &firn.ModelChange{Provider: "p", Model: "m"},
		"high":                        &firn.ThinkingChange{Level: "high"},
		"my.type":                     &firn.Custom{Type: "my.type"},
		"custom text":                 &firn.CustomMessage{Parts: text("custom text")},
		"rewind":                      &firn.Head{Reason: "rewind"},
		"":                            &firn.Opaque{Type: "x"},
		"said":                        &firn.Message{Parts: text("said")},
		`read {"a":1} · write {}`:     &firn.Message{Parts: []firn.Part{firn.ToolCall{Name: "read", Arguments: []byte(`{"a":1}`)}, firn.ToolCall{Name: "write", Arguments: []byte(`{}`)}}},
		"read: content":               &firn.Message{Parts: []firn.Part{firn.ToolResult{Name: "read", Content: text("content")}}},
		"$ ls -l":                     &firn.Message{Parts: []firn.Part{firn.Shell{Command: "ls -l"}}},
		"[image image/png] · no luck": &firn.Message{Parts: []firn.Part{firn.Image{MimeType: "image/png"}}, Error: "no luck"},
	} {
		if got := previewOf(&firn.Entry{Body: b}); got != want {
			t.Errorf("the preview is %q, want %q", got, want)
		}
	}
}
