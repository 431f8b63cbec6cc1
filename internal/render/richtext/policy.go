package richtext

import (
	"regexp"
	"sync"

	"github.com/microcosm-cc/bluemonday"
)

// sanitize removes everything that the renderer does not produce. It is a second line of
// defense and should never change anything.
func sanitize(html string) string { return policy().Sanitize(html) }

// policy lists the allowed HTML elements and attributes.
var policy = sync.OnceValue(func() *bluemonday.Policy {
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
})
