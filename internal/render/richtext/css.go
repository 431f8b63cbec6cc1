package richtext

import "strings"

// color is the style of a class of code in light and dark mode.
type color struct{ class, what, light, dark, more string }

// colors have a contrast of at least 4.5:1 against the backgrounds #f6f8fa and #161b22.
var colors = []color{
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

// CSS returns the style of code for a page whose root element has light or dark in
// data-theme. Without that attribute it follows the system.
func CSS() string {
	var b strings.Builder
	b.WriteString("/* Made by go test ./internal/richtext -run CSS -update: the colours of code. */\n")
	b.WriteString(":root {\n" + variables(func(c color) string { return c.light }, "#ffebe9", "#dafbe1") + "}\n")
	dark := variables(func(c color) string { return c.dark }, "#67060c", "#033a16")
	b.WriteString("@media (prefers-color-scheme: dark) {\n:root:not([data-theme=\"light\"]) {\n" + dark + "}\n}\n")
	b.WriteString(":root[data-theme=\"dark\"] {\n" + dark + "}\n")
	for _, c := range colors {
		b.WriteString("." + c.class + " { color: var(--code-" + c.class + ");")
		if c.more != "" {
			b.WriteString(" " + c.more + ";")
		}
		b.WriteString(" } /* " + c.what + " */\n")
	}
	return b.String()
}

func variables(of func(color) string, gone, new string) string {
	var b strings.Builder
	b.WriteString("--code-gone: " + gone + "; --code-new: " + new + ";\n")
	for _, c := range colors {
		b.WriteString("--code-" + c.class + ": " + of(c) + ";\n")
	}
	return b.String()
}
