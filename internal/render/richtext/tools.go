package richtext

import (
	"html"
	"path"
	"strings"

	"firn.dev/internal/base/pattern"
	"firn.dev/internal/render/highlight"
)

// FileName renders the name of a file above its content.
func FileName(name string) string {
	return `<p class="file-name">` + html.EscapeString(visible(name)) + "</p>"
}

// Command renders a shell command after a prompt.
func Command(text string) string {
	text = visible(text)
	body := html.EscapeString(text)
	if g, ok := highlight.Lookup("bash"); ok && len(text) <= colorBytes {
		body = colorize(g, text)
	}
	return `<pre class="term command"><span class="prompt">$ </span>` + body + "</pre>"
}

// Arguments renders the further arguments of a call, one on each line.
func Arguments(text string) string {
	return `<pre class="tool-args">` + html.EscapeString(strings.TrimSuffix(visible(text), "\n")) + "</pre>"
}

// numbered matches a line with a number, as tools print files.
var numbered = pattern.New(`^ *([0-9]{1,9})(?:→|\t|\| ?)`)

// File renders the content of a file with the colors of its type. Line numbers that a tool
// has added are set apart.
func File(name, text string) string {
	text = visible(Printed(text))
	ext := strings.TrimPrefix(path.Ext(strings.ReplaceAll(name, `\`, "/")), ".")
	if !numbered().MatchString(text) {
		return codeHTML(ext, text)
	}
	lines := strings.Split(text, "\n")
	numbers := make([]string, len(lines))
	for i, line := range lines {
		if m := numbered().FindStringSubmatch(line); m != nil {
			numbers[i], lines[i] = m[1], line[len(m[0]):]
		}
	}
	code := strings.Join(lines, "\n")
	if g, ok := highlight.Lookup(ext); ok && len(code) <= colorBytes {
		lines = colorLines(g, code)
	} else {
		for i := range lines {
			lines[i] = html.EscapeString(lines[i])
		}
	}
	var b strings.Builder
	b.WriteString(`<pre class="code"><code>`)
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if numbers[i] != "" {
			b.WriteString(`<span class="ln">` + numbers[i] + "</span>")
		}
		b.WriteString(line)
	}
	b.WriteString("</code></pre>")
	return b.String()
}

// colorLines returns code with colors, line by line: no element spans two lines.
func colorLines(g *highlight.Grammar, code string) []string {
	lines := []string{""}
	var b strings.Builder
	highlight.Tokens(g, code, func(t highlight.Token) {
		for i, part := range strings.Split(t.Text, "\n") {
			if i > 0 {
				lines[len(lines)-1] = b.String()
				b.Reset()
				lines = append(lines, "")
			}
			switch part = html.EscapeString(part); {
			case part == "":
			case t.Class == "":
				b.WriteString(part)
			default:
				b.WriteString(`<span class="` + t.Class + `">` + part + "</span>")
			}
		}
	})
	lines[len(lines)-1] = b.String()
	return lines
}

// Marks at the beginning of a line of [Todos].
const (
	TodoDone = "x"
	TodoNow  = "~"
	TodoOpen = "-"
)

// Todos renders a checklist. Each line begins with one of the marks above.
func Todos(text string) string {
	var b strings.Builder
	b.WriteString(`<ul class="todos">`)
	for line := range strings.Lines(visible(text)) {
		class, state := "", "☐"
		switch line[:1] {
		case TodoDone:
			class, state = ` class="done"`, "☑"
		case TodoNow:
			class, state = ` class="now"`, "▸"
		}
		b.WriteString("<li" + class + ` dir="auto">` + state + " " + html.EscapeString(strings.TrimSpace(line[1:])) + "</li>")
	}
	b.WriteString("</ul>")
	return b.String()
}

// hit matches a line of the output of grep, linked one of a list of links in JSON.
var (
	hit    = pattern.New(`^((?:[A-Za-z]:[\\/])?[^:\s][^:]{0,400}):([0-9]{1,9})[:-] ?(.*)$`)
	linked = pattern.New(`\{"title":"((?:[^"\\]|\\.)*)","url":"(https?://[^"\\]+)"`)
)

// mostHits is the largest number of hits that are rendered as a list.
const mostHits = 5000

// Hits renders the output of a search: lines of files, below the name of each file, names
// of files, or links.
func Hits(text string) string {
	text = visible(Printed(text))
	if strings.Count(text, "\n") > mostHits {
		return Plain(text)
	}
	var b strings.Builder
	b.WriteString(`<ul class="hits">`)
	file := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := hit().FindStringSubmatch(line); m != nil {
			if m[1] != file {
				file = m[1]
				b.WriteString(`<li class="hit-file">` + html.EscapeString(file) + "</li>")
			}
			b.WriteString(`<li class="hit"><span class="ln">` + m[2] + "</span><code>" + html.EscapeString(m[3]) + "</code></li>")
			continue
		}
		if all := linked().FindAllStringSubmatch(line, 100); all != nil {
			for _, m := range all {
				b.WriteString(linkItem(m[1], m[2]))
			}
			continue
		}
		if strings.TrimSpace(line) != "" {
			b.WriteString(`<li dir="auto">` + html.EscapeString(line) + "</li>")
		}
	}
	b.WriteString("</ul>")
	return b.String()
}

func linkItem(title, address string) string {
	safe := safeAddress(address)
	if safe == "" {
		return "<li>" + html.EscapeString(title) + "</li>"
	}
	return `<li dir="auto">` + anchor(safe, "") + html.EscapeString(title) + `</a> <span class="hit-site">` + html.EscapeString(site(safe)) + "</span></li>"
}

// site returns the host of an address.
func site(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// WebCard renders the address of a web page, and below it what it was fetched for.
func WebCard(address, about string) string {
	name := html.EscapeString(visible(address))
	if safe := safeAddress(address); safe != "" && site(safe) != "" {
		name = `<strong>` + html.EscapeString(site(safe)) + "</strong> " + anchor(safe, "") + name + "</a>"
	}
	if about != "" {
		about = `<p dir="auto">` + html.EscapeString(visible(about)) + "</p>"
	}
	return `<div class="web-card"><p>` + name + "</p>" + about + "</div>"
}
