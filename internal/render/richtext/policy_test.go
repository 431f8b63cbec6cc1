package richtext

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/microcosm-cc/bluemonday"
	"pgregory.net/rapid"
)

// sanitizer returns an independent sanitizer with the same list of elements and attributes.
func sanitizer() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "em", "strong", "del", "table", "thead", "tbody", "tr", "kbd", "sub", "sup")
	p.AllowElements("pre", "code", "span", "th", "td", "a")
	p.AllowNoAttrs().OnElements("span", "a")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^h[a-z]$`)).OnElements("span")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(?:language-[a-z0-9+#-]{1,20}|math|math display)$`)).OnElements("code")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(code|plain)$`)).OnElements("pre")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^image$`)).OnElements("a")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^note$`)).OnElements("p")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^note-(ref|label)$`)).OnElements("sup")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("target").Matching(regexp.MustCompile(`^_blank$`)).OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile(`^noopener noreferrer nofollow$`)).OnElements("a")
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
}

// checkRendered checks that a sanitizer leaves rendered text as it is.
func checkRendered(t interface{ Errorf(string, ...any) }, p *bluemonday.Policy, text string) {
	got := Markdown(text)
	if clean := p.Sanitize(got); clean != got {
		t.Errorf("%q is rendered as\n%q\nwhich a sanitizer changes to\n%q", text, got, clean)
	}
}

// TestSanitizerChangesNothing checks with an independent sanitizer that rendered HTML has
// only the allowed elements and attributes: for known attacks, and for random texts.
func TestSanitizerChangesNothing(t *testing.T) {
	p := sanitizer()
	raw, err := os.ReadFile("testdata/xss.txt")
	if err != nil {
		t.Fatal(err)
	}
	for c := range strings.SplitSeq(string(raw), "\n") {
		for _, around := range [][2]string{{"", ""}, {"- ", ""}, {"> ", ""}, {"[a](", ")"}, {"[a](<", ">)"}, {"![", "](https://e.example/i.png)"}, {"```", "\n```"}} {
			checkRendered(t, p, around[0]+c+around[1])
		}
	}
	bits := []string{"word ", "\n", "\n\n", "- item\n", "7. one\n", "```go\n", "```c++ x\n", "```\n", "# head\n", "> ", "| a | b |\n|:-:|---|\n", "**", "`", "[x](https://a.example/?a='b'&c=\"d\")", "[x](<mailto:a b@c.example>)", "<http://a.example/?a b>", "https://a.example/%zz ",
		"<kbd>", "</kbd>", "<sub>", "</sub>", "<b onclick=x>", "&quot;", "&#13;", "&lt;", "&amp;lt;", "'", "\"", "\\", "\r\n", "\t", "é", "😀", "[^1]", "[^1]: note\n", "$x$", "$$\nx\n$$\n", "~~", "![i](https://a.example/i.png)", "![i](x)", "<a@b.example>", "\x00", "\x80"}
	rapid.Check(t, func(t *rapid.T) {
		checkRendered(t, p, strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 40).Draw(t, "text"), ""))
	})
}

// TestUnexpectedHTMLIsRejected checks that HTML that the renderer does not produce fails the
// check, even if it would be harmless.
func TestUnexpectedHTMLIsRejected(t *testing.T) {
	for _, bad := range []string{
		"<script>", "</script>", "<p", "<p/>", "<p >", "<P>", "< p>", "<p class=note>", `<p class='note'>`, `<p class="notes">`, `<p onclick="x">`, `<p class="note"onclick="x">`,
		`<a href="javascript:x">`, `<a href="java&#115;cript:x">`, `<a href=" https://a.example">`, `<a href="//a.example">`, `<a href="https://a.example/ b">`,
		`<a href="https://a.example" style="x">`, `<a target="x">`, `<a rel="opener">`, `<span class="hk hx">`, `<code class="language-a b">`, `<ol start="1234567890">`, `<ol start="-1">`, `<ol start="">`,
		`<a href="https://a.example">`, `<a href="https://a.example" href="https://b.example" target="_blank" rel="noopener noreferrer nofollow">`, "</p></table>", "</blockquote>", "<!-- x -->", "<!doctype html>", "<?x?>", "<svg>", "<img src=x>", `<td align="justify">`, `<p id="x">`, "a < b",
	} {
		if got, ok := checked("<p>" + bad + "</p>"); ok {
			t.Errorf("%s is accepted as %s", bad, got)
		}
	}
	const good = `<p class="note"><sup class="note-ref">1</sup> <a class="image" href="https://a.example/?a=1&amp;b=&#34;" target="_blank" rel="noopener noreferrer nofollow">&lt;</a><br></p>`
	if got, ok := checked(good); !ok || got != good {
		t.Errorf("%s becomes %s, %t", good, got, ok)
	}
}

// FuzzChecked checks that whatever passes the check is not changed by an independent
// sanitizer.
func FuzzChecked(f *testing.F) {
	p := sanitizer()
	for _, seed := range []string{"<p>a</p>", `<a href="https://a.example" target="_blank" rel="noopener noreferrer nofollow">x</a>`, "<p>&amp;&#13;\r\n", "<p <b>", "<p\x00>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := checked(text)
		if ok && p.Sanitize(got) != got {
			t.Errorf("%q passes as %q, and a sanitizer makes %q of it", text, got, p.Sanitize(got))
		}
	})
}
