package richtext

import (
	"html"
	"strings"

	"firn.dev/internal/base/pattern"
	"firn.dev/internal/render/highlight"
)

// Code renders code as HTML, with syntax colors if the language is known by its name or
// file extension.
func Code(language, code string) string { return codeHTML(language, visible(code)) }

// colorBytes is the maximum length of code that is colored.
const colorBytes = 256 << 10

// languageName matches the names of languages that are shown, even if they have no colors.
var languageName = pattern.New(`^[a-z0-9+#-]{1,20}$`)

func codeHTML(language, code string) string {
	g, ok := highlight.Lookup(language)
	if name := strings.ToLower(language); !ok && languageName().MatchString(name) {
		return `<pre class="code"><code class="language-` + name + `">` + html.EscapeString(code) + `</code></pre>`
	}
	if !ok || len(code) > colorBytes {
		return `<pre class="code"><code>` + html.EscapeString(code) + `</code></pre>`
	}
	return `<pre class="code"><code class="language-` + g.Name() + `">` + colorize(g, code) + `</code></pre>`
}

// colorize returns code with CSS classes on the colored tokens.
func colorize(g *highlight.Grammar, code string) string {
	var out strings.Builder
	out.Grow(len(code) + len(code)/2)
	highlight.Tokens(g, code, func(t highlight.Token) {
		text := html.EscapeString(t.Text)
		if t.Class != "" {
			text = `<span class="` + t.Class + `">` + text + `</span>`
		}
		out.WriteString(text)
	})
	return out.String()
}
