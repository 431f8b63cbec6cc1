package richtext

import "strings"

// colour is what a class of code looks like, in the light and in the dark.
type colour struct{ class, what, light, dark, more string }

// colours can be told from #f6f8fa and from #161b22, behind which they stand, by
// people who see contrasts of 4.5 to 1.
var colours = []colour{
	{"hc", "comments", "#57606a", "#9198a1", "font-style: italic"},
	{"hk", "keywords", "#a40e26", "#ff7b72", ""},
	{"ht", "types and what is built in", "#8a4600", "#ffa657", ""},
	{"hf", "names of functions and classes", "#6639ba", "#d2a8ff", ""},
	{"hs", "strings", "#0a3069", "#a5d6ff", ""},
	{"hn", "numbers", "#0550ae", "#79c0ff", ""},
	{"ha", "tags and attributes", "#116329", "#7ee787", ""},
	{"hp", "orders to the compiler", "#7d4e00", "#e3b341", ""},
	{"hd", "what was taken away", "#82071e", "#ffdcd7", "background: var(--code-gone)"},
	{"hi", "what was added", "#0f5323", "#aff5b4", "background: var(--code-new)"},
	{"hh", "headings", "#0550ae", "#79c0ff", "font-weight: 600"},
}

// CSS is the style of code for a page whose root element says light or dark in
// data-theme, or nothing and follows the system.
func CSS() string {
	var b strings.Builder
	b.WriteString("/* Made by go test ./internal/richtext -run CSS -update: the colours of code. */\n")
	b.WriteString(":root {\n" + variables(func(c colour) string { return c.light }, "#ffebe9", "#dafbe1") + "}\n")
	dark := variables(func(c colour) string { return c.dark }, "#67060c", "#033a16")
	b.WriteString("@media (prefers-color-scheme: dark) {\n:root:not([data-theme=\"light\"]) {\n" + dark + "}\n}\n")
	b.WriteString(":root[data-theme=\"dark\"] {\n" + dark + "}\n")
	for _, c := range colours {
		b.WriteString("." + c.class + " { color: var(--code-" + c.class + ");")
		if c.more != "" {
			b.WriteString(" " + c.more + ";")
		}
		b.WriteString(" } /* " + c.what + " */\n")
	}
	return b.String()
}

func variables(of func(colour) string, gone, new string) string {
	var b strings.Builder
	b.WriteString("--code-gone: " + gone + "; --code-new: " + new + ";\n")
	for _, c := range colours {
		b.WriteString("--code-" + c.class + ": " + of(c) + ";\n")
	}
	return b.String()
}
