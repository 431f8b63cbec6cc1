package webtest

import (
	"net/url"
	"strings"
	"testing"

	"firn.dev/internal/base/basetest"
	"firn.dev/wire"
)

// TestPlainSnippets searches for words in Markdown: the snippets are plain text, with the
// words marked.
func TestPlainSnippets(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	word := "quince" + unlike("")[1:]
	s.newSession(t, "**Bold** title "+word, "## A heading\n\nThe **"+word+"** and `__init__` of [the page](https://example.com/a_b), *soft* but 2 * 3 * 4 and snake_case_name.\n\n- [x] one thing\n> quoted\n\n| a | b |\n|---|---|\n| c | d |\n\n```go\nx := **p // "+word+"\n```\n")
	basetest.Eventually(t, "the session can be searched", func() bool {
		found, err := s.client.Search(t.Context(), wire.SearchQuery{Query: word})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Items) > 0
	})
	b := s.login(t)
	b.open("/search?q=" + url.QueryEscape(word))
	b.wait(`document.querySelector(".hit-item.itself mark")`)
	text := get[string](b, `[...document.querySelectorAll(".hit-item.itself .hit-text")].map((e) => e.textContent).find((t) => t.includes("heading"))`)
	for _, want := range []string{"A heading", "The " + word + " and __init__ of the page, soft but 2 * 3 * 4 and snake_case_name.", "one thing", "quoted", "x := **p // " + word} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	for _, raw := range []string{"##", "](", "```", "|", "[x]", "*soft*", "> quoted", "**" + word} {
		if strings.Contains(text, raw) {
			t.Errorf("%q is in %q", raw, text)
		}
	}
	if n := get[int](b, `document.querySelectorAll(".hit-item.itself mark").length`); n < 2 {
		t.Errorf("%d words are marked", n)
	}
	b.wait(`[...document.querySelectorAll(".hit-title")].every((e) => !e.textContent.includes("**"))`)
	b.withoutViolation()
}
