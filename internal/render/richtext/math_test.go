package richtext_test

import (
	"strings"
	"testing"

	"firn.dev/internal/render/richtext"
)

// TestMath checks what is recognized as a formula, and that backslashes are kept elsewhere.
func TestMath(t *testing.T) {
	m := func(tex string) string { return `<code class="math">` + tex + "</code>" }
	d := func(tex string) string { return `<code class="math display">` + tex + "</code>" }
	for in, want := range map[string]string{
		`so $x_1 * y_2$.`:                    "<p>so " + m("x_1 * y_2") + ".</p>\n",
		`\(a\_b\) and \[c\]`:                 "<p>" + m(`a\_b`) + " and " + d("c") + "</p>\n",
		"$$\na\n- b\n+ c\n$$":                "<p>" + d("a\n- b\n+ c") + "</p>\n",
		"text\n\\[\nx < y\n\\]\nmore":        "<p>text</p>\n<p>" + d("x &lt; y") + "</p>\n<p>more</p>\n",
		`令$x$为实数，$y$。`:                       "<p>令" + m("x") + "为实数，" + m("y") + "。</p>\n",
		`ค่า$x$ и“$y$” café$5$`:              "<p>ค่า" + m("x") + " и“" + m("y") + "” café$5$</p>\n",
		`수식은$x+1$입니다 カナ$z$`:                  "<p>수식은" + m("x+1") + "입니다 カナ" + m("z") + "</p>\n",
		`see $$a$$ here`:                     "<p>see " + d("a") + " here</p>\n",
		`from $5 to $10`:                     "<p>from $5 to $10</p>\n",
		`it costs $5-$10`:                    "<p>it costs $5-$10</p>\n",
		`echo $HOME/$USER`:                   "<p>echo $HOME/$USER</p>\n",
		`a $ b $ c`:                          "<p>a $ b $ c</p>\n",
		`the \(open`:                         "<p>the \\(open</p>\n",
		`C:\[x`:                              "<p>C:\\[x</p>\n",
		`\{1\}, \%d`:                         "<p>\\{1\\}, \\%d</p>\n",
		`\*not\* \_this\_`:                   "<p>*not* _this_</p>\n",
		"`\\(code\\)` $":                     "<p><code>\\(code\\)</code> $</p>\n",
		`\[link\](http://a.b)`:               "<p>\\[link\\](<a href=",
		`$$`:                                 "<p>$$</p>\n",
		`$a<b>c$`:                            "<p>" + m("a&lt;b&gt;c") + "</p>\n",
		"```\n$x$\n```":                      "<pre class=\"code\"><code>$x$\n</code></pre>\n",
		`press <kbd>Ctrl</kbd>+<kbd>C</kbd>`: "<p>press <kbd>Ctrl</kbd>+<kbd>C</kbd></p>\n",
		`open <kbd> only`:                    "<p>open &lt;kbd&gt; only</p>\n",
		`<kbd><b></kbd>`:                     "<p>&lt;kbd&gt;&lt;b&gt;&lt;/kbd&gt;</p>\n",
		`it is[^1] so`:                       "<p>it is<sup class=\"note-ref\">1</sup> so</p>\n",
		`[^1]: word`:                         "<p class=\"note\"><sup class=\"note-label\">1</sup> word</p>\n",
		"[^a]: See *it*.\n[^b]: More.":       "<p class=\"note\"><sup class=\"note-label\">a</sup> See <em>it</em>.</p>\n<p class=\"note\"><sup class=\"note-label\">b</sup> More.</p>\n",
		"```mermaid\ngraph TD\n```":          "<pre class=\"code\"><code class=\"language-mermaid\">graph TD\n</code></pre>\n",
	} {
		if got := richtext.Markdown(in); got != want && (!strings.HasSuffix(want, "=") || !strings.HasPrefix(got, want)) {
			t.Errorf("%q is\n%s want\n%s", in, got, want)
		}
	}
}

// TestHostileMath checks that unclosed and nested delimiters take no long time and lose no
// text.
func TestHostileMath(t *testing.T) {
	for _, in := range []string{strings.Repeat("$a ", 20_000), strings.Repeat(`\(`, 20_000), strings.Repeat("$$\n", 20_000), strings.Repeat(`\[ $`, 20_000), strings.Repeat("- $$\n", 300), "> $$\n> a\n> $$", "1. $$\n   a\n   $$\n"} {
		got := richtext.Markdown(in)
		if strings.Count(got, "$") > strings.Count(in, "$") || got == "" {
			t.Errorf("%.40q is %.200q", in, got)
		}
	}
	if got := richtext.Markdown("> $$\n> a\n> $$"); !strings.Contains(got, `<code class="math display">a</code>`) {
		t.Errorf("in a quote: %s", got)
	}
}
