package richtext_test

import (
	"flag"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"firn.dev/internal/render/richtext"
)

var update = flag.Bool("update", false, "write the style of code for the pages")

// TestCSS: the pages have the colors that code is written with.
func TestCSS(t *testing.T) {
	const file = "../../door/webui/src/style/code.css"
	want := richtext.CSS()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("%s does not match the highlighter: %v; run go test ./internal/render/richtext -run CSS -update", file, err)
	}
}

// elements are the allowed elements with their attributes.
var elements = map[string]map[string]string{
	"p": {}, "br": {}, "hr": {}, "h3": {}, "h4": {}, "h5": {}, "h6": {}, "blockquote": {}, "ul": {}, "li": {}, "em": {}, "strong": {}, "del": {},
	"table": {}, "thead": {}, "tbody": {}, "tr": {}, "kbd": {}, "sub": {}, "sup": {}, "th": {"align": "^(left|right|center)$"}, "td": {"align": "^(left|right|center)$"},
	"ol": {"start": "^[0-9]{1,9}$"}, "pre": {"class": "^(code|plain)$"}, "code": {"class": "^(language-[a-z0-9+#-]+|math|math display)$"}, "span": {"class": "^h[a-z]$"},
	"a": {"href": "^(https?://|mailto:)", "target": "^_blank$", "rel": "^noopener noreferrer nofollow$", "class": "^image$"},
}

// unsafe returns the forbidden part of a piece of HTML, or "".
func unsafe(text string) string {
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.CommentToken, html.DoctypeToken:
			return "a comment"
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			token := z.Token()
			attributes, ok := elements[token.Data]
			if !ok {
				return "<" + token.Data + ">"
			}
			for _, a := range token.Attr {
				form, ok := attributes[a.Key]
				if !ok || !regexp.MustCompile(form).MatchString(a.Val) {
					return token.Data + " " + a.Key + "=" + a.Val
				}
				if u, err := url.Parse(a.Val); a.Key == "href" && (err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto") {
					return "a link to " + a.Val
				}
			}
			if token.Data == "a" && token.Type == html.StartTagToken && !strings.Contains(token.String(), `rel="noopener noreferrer nofollow"`) {
				return "a link with a text: " + token.String()
			}
		}
	}
}

// corpus are the cases that the browser is shown too.
func corpus(t testing.TB) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/xss.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if len(cases) < 60 {
		t.Fatalf("the corpus has %d cases", len(cases))
	}
	return cases
}

// TestCorpus checks that known attacks are neutralized: alone, within other text, and all
// together.
func TestCorpus(t *testing.T) {
	cases := corpus(t)
	for _, c := range append(cases, strings.Join(cases, "\n"), strings.Join(cases, "\n\n")) {
		for _, text := range []string{c, "said:\n\n" + c + "\n\nand more", "- " + c, "> " + c, "**" + c + "**", "| a |\n|---|\n| " + c + " |", "```html\n" + c + "\n```", "[a](" + c + ")", "![" + c + "](https://e.example/i.png)"} {
			for name, got := range map[string]string{"Markdown": richtext.Markdown(text), "Plain": richtext.Plain(text), "Code": richtext.Code("html", text), "Inline": richtext.Inline(text)} {
				if bad := unsafe(got); bad != "" {
					t.Errorf("%s of %q allows %s:\n%s", name, text, bad, got)
				}
			}
		}
	}
}

// TestHTMLIsShownAsText checks that HTML in the input stays readable as text.
func TestHTMLIsShownAsText(t *testing.T) {
	got := richtext.Markdown("before <b>x</b>\n\n<script>alert(1)</script>\n\nafter")
	for _, want := range []string{"&lt;b&gt;", "&lt;script&gt;alert(1)&lt;/script&gt;", "before", "after"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

func TestMarkdown(t *testing.T) {
	const tail = ` target="_blank" rel="noopener noreferrer nofollow">`
	for text, want := range map[string]string{
		"":                                     "",
		" \n\n ":                               "",
		"# one\n## two\n#### four":             "<h3>one</h3>\n<h4>two</h4>\n<h6>four</h6>\n",
		"a *b* **c** ~~d~~ `e`":                "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code></p>\n",
		"[x](https://a.example/?a=1&b=2)":      `<p><a href="https://a.example/?a=1&amp;b=2"` + tail + "x</a></p>\n",
		"see https://a.example/x.":             `<p>see <a href="https://a.example/x"` + tail + "https://a.example/x</a>.</p>\n",
		"<a@b.example>":                        `<p><a href="mailto:a@b.example"` + tail + "a@b.example</a></p>\n",
		"![cat](https://a.example/c.png)":      `<p><a class="image" href="https://a.example/c.png"` + tail + "cat</a></p>\n",
		"![](https://a.example/c.png)":         `<p><a class="image" href="https://a.example/c.png"` + tail + "https://a.example/c.png</a></p>\n",
		"![](x.png)":                           "<p>image</p>\n",
		"[x](/v1/logout)":                      "<p>x</p>\n",
		"[![c](https://a.example/c.png)](//b)": "<p>c</p>\n",
		"- [x] a\n- [ ] b":                     "<ul>\n<li>☑ a</li>\n<li>☐ b</li>\n</ul>\n",
		"7. a\n8. b":                           "<ol start=\"7\">\n<li>a</li>\n<li>b</li>\n</ol>\n",
		"a\u202eb":                             "<p>a[U+202E]b</p>\n",
		"a\u200bb\u2060c\ufeffd\U000e0041e":    "<p>a[U+200B]b[U+2060]c[U+FEFF]d[U+E0041]e</p>\n",
		"👩\u200d👧 नि\u200dष":                   "<p>👩\u200d👧 नि\u200dष</p>\n",
		"a\x07b":                               "<p>a␇b</p>\n",
		"```go\nfunc f() {}\n```":              "<pre class=\"code\"><code class=\"language-go\"><span class=\"hk\">func </span><span class=\"hf\">f</span>() {}\n</code></pre>\n",
		"```\n<x>\n```":                        "<pre class=\"code\"><code>&lt;x&gt;\n</code></pre>\n",
		"```nosuch\nx\n```":                    "<pre class=\"code\"><code class=\"language-nosuch\">x\n</code></pre>\n",
		"| a | b |\n|:--|--:|\n| c | d |":      "<table>\n<thead>\n<tr>\n<th align=\"left\">a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"left\">c</td>\n<td align=\"right\">d</td>\n</tr>\n</tbody>\n</table>\n",
	} {
		if got := richtext.Markdown(text); got != want {
			t.Errorf("%q is\n%s\nwant\n%s", text, got, want)
		}
	}
}

// TestNarrowRows: rows are not filled up to many more cells than they have bytes.
func TestNarrowRows(t *testing.T) {
	text := "|" + strings.Repeat("a|", 60) + "\n|" + strings.Repeat("-|", 60) + "\n" + strings.Repeat("|x\n", 4000)
	if got := richtext.Markdown(text); len(got) > 4*len(text) {
		t.Errorf("%d bytes became %d", len(text), len(got))
	}
	dense := "|a|b|c|d|e|f|g|h|\n|-|-|-|-|-|-|-|-|\n" + strings.Repeat("|1|0|1|0|1|0|1|0|\n", 300)
	if got := richtext.Markdown(dense); !strings.Contains(got, "<td>1</td>") {
		t.Errorf("a table is none any more: %.200s", got)
	}
}

// TestPlain checks that program output is readable.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[31mred\x1b[0m <b>":        "red &lt;b&gt;",
		"10%\r50%\r100%\ndone\r\n":      "100%\ndone\n",
		"\x1b]0;title\x07x\x1b(By":      "xy",
		"\x1b]8;;http://e\x1b\\l\x1b[K": "l",
		"a\u2066b\xff":                  "a[U+2066]b\ufffd",
	} {
		if got := richtext.Plain(text); got != `<pre class="plain">`+want+"</pre>" {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
