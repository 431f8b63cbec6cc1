package manual

import (
	"fmt"
	"strings"
)

// Markdown returns a page about all commands. It starts with the preface, which contains
// the title.
func Markdown(p Program, preface string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(preface) + "\n\n## Commands\n")
	for _, g := range p.Groups {
		fmt.Fprintf(&b, "\n**%s**\n\n| | |\n|---|---|\n", g.Title)
		for _, c := range g.Commands {
			fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", c.Path, anchor(c.Path), cell(c.Short))
		}
	}
	b.WriteString("\n## Flags of every command\n\n")
	writeFlags(&b, p.Flags)
	for _, s := range []struct {
		title string
		what  []Definition
	}{{"Environment", p.Environment}, {"Exit codes", p.Exits}, {"Files", p.Files}} {
		if len(s.what) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n| | |\n|---|---|\n", s.title)
		}
		for _, m := range s.what {
			fmt.Fprintf(&b, "| `%s` | %s |\n", m.Name, cell(m.Description))
		}
	}
	for _, c := range p.Pages() {
		writeCommand(&b, c, 2)
	}
	return b.String()
}

// writeCommand writes the section of a command and those of its subcommands.
func writeCommand(b *strings.Builder, c Command, depth int) {
	fmt.Fprintf(b, "\n%s %s\n\n%s.\n\n```\n%s\n```\n", strings.Repeat("#", depth), c.Path, plain(c.Short), c.Usage)
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, "\nAlso `%s`.\n", strings.Join(c.Aliases, "`, `"))
	}
	if c.Long != c.Short {
		for _, p := range paragraphs(c.Long) {
			if p.verbatim {
				fmt.Fprintf(b, "\n```\n%s\n```\n", outdent(p.text))
			} else {
				fmt.Fprintf(b, "\n%s\n", plain(p.text))
			}
		}
	}
	if len(c.Flags) > 0 {
		b.WriteByte('\n')
		writeFlags(b, c.Flags)
	}
	if c.Examples != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", outdent(c.Examples))
	}
	for _, sub := range c.Commands {
		writeCommand(b, sub, depth+1)
	}
}

func writeFlags(b *strings.Builder, flags []Flag) {
	b.WriteString("| Flag | |\n|---|---|\n")
	for _, f := range flags {
		fmt.Fprintf(b, "| `%s` | %s |\n", f.spelling(), cell(f.meaning()))
	}
}

// anchor returns the link anchor of a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}

// plain escapes markup in a text.
func plain(text string) string {
	return strings.NewReplacer("\\", "\\\\", "<", "\\<", "*", "\\*", "`", "\\`", "[", "\\[").Replace(text)
}

// cell escapes a text for a table cell.
func cell(text string) string { return strings.ReplaceAll(plain(text), "|", `\|`) }
