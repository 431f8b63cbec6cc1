package manual

import (
	"fmt"
	"strings"
)

// Page is a manual page in troff with the man macros.
type Page struct {
	// Name is the file name: the words of the command joined by hyphens, a dot and the
	// section.
	Name string
	Text []byte
}

// section is the manual section of commands.
const section = "1"

// Man returns the manual pages: one for the program, and one for each direct subcommand
// with its own subcommands. The output is deterministic.
func Man(p Program) []Page {
	pages := []Page{overview(p)}
	for _, c := range p.Pages() {
		pages = append(pages, page(p, c))
	}
	return pages
}

// overview returns the page of the program.
func overview(p Program) Page {
	r := newRoff(p, p.Name, p.Short)
	r.macro("SH", "SYNOPSIS")
	r.line(bold(p.Name) + ` \fICOMMAND\fP [\fIFLAGS\fP]`)
	for _, g := range p.Groups {
		r.macro("SH", strings.ToUpper(g.Title))
		for _, c := range g.Commands {
			r.term(bold(PageName(c.Path))+"("+section+")", c.Short)
		}
	}
	r.flags("OPTIONS OF EVERY COMMAND", p.Flags)
	r.meanings("ENVIRONMENT", p.Environment)
	r.meanings("FILES", p.Files)
	r.meanings("EXIT STATUS", p.Exits)
	return r.page(p.Name)
}

// page returns the page of a command.
func page(p Program, c Command) Page {
	r := newRoff(p, c.Path, c.Short)
	r.macro("SH", "SYNOPSIS")
	r.command(c, func(title string) { r.macro("SH", strings.ToUpper(title)) })
	for _, sub := range c.Commands {
		r.macro("SH", strings.ToUpper(sub.Path))
		r.line(escape(sub.Short) + ".")
		r.macro("PP")
		r.command(sub, func(title string) { r.macro("SS", title) })
	}
	r.macro("SH", "SEE ALSO")
	r.line(bold(p.Name) + "(" + section + "), which describes global flags, environment variables, files and exit codes.")
	return r.page(c.Path)
}

// roff builds a manual page.
type roff struct{ b strings.Builder }

// newRoff starts a page with its header and footer.
func newRoff(p Program, path, short string) *roff {
	r := &roff{}
	name := PageName(path)
	r.macro("TH", strings.ToUpper(name), section, p.Date, p.Name+" "+p.Version, p.Name+" Manual")
	r.line(".nh") // no hyphenation
	r.line(".ad l")
	r.macro("SH", "NAME")
	r.line(escape(name) + ` \- ` + escape(short))
	return r
}

func (r *roff) page(path string) Page {
	return Page{Name: PageName(path) + "." + section, Text: []byte(r.b.String())}
}

// command writes the usage and description of a command, each under a title. The title
// function selects the heading level.
func (r *roff) command(c Command, title func(string)) {
	r.line(bold(c.Usage))
	if len(c.Aliases) > 0 {
		r.macro("PP")
		r.line("Also " + escape(strings.Join(c.Aliases, ", ")) + ".")
	}
	if c.Long != "" && c.Long != c.Short {
		title("Description")
		for i, p := range paragraphs(c.Long) {
			if p.verbatim {
				r.verbatim(p.text)
				continue
			}
			if i > 0 {
				r.macro("PP")
			}
			r.text(p.text)
		}
	}
	if len(c.Flags) > 0 {
		title("Options")
		for _, f := range c.Flags {
			r.flag(f)
		}
	}
	if c.Examples != "" {
		title("Examples")
		r.verbatim(c.Examples)
	}
}

func (r *roff) flags(title string, flags []Flag) {
	r.macro("SH", title)
	for _, f := range flags {
		r.flag(f)
	}
}

func (r *roff) flag(f Flag) {
	value := ""
	if f.Value != "" {
		value = ` \fI` + escape(f.Value) + `\fP`
	}
	f.Value = ""
	r.term(bold(f.spelling())+value, f.meaning())
}

func (r *roff) meanings(title string, all []Definition) {
	if len(all) == 0 {
		return
	}
	r.macro("SH", title)
	for _, m := range all {
		r.term(bold(m.Name), m.Description)
	}
}

// term writes a bold, already escaped term and its description.
func (r *roff) term(term, what string) {
	r.macro("TP")
	r.line(term)
	r.text(what)
}

// verbatim writes lines unchanged.
func (r *roff) verbatim(text string) {
	r.line(".PP\n.RS 4\n.nf")
	r.text(outdent(text))
	r.line(".fi\n.RE")
}

// text writes lines of plain text.
func (r *roff) text(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		r.line(escape(line))
	}
}

// line writes an already escaped line.
func (r *roff) line(line string) { r.b.WriteString(line + "\n") }

// macro writes a macro with its arguments.
func (r *roff) macro(name string, args ...string) {
	r.b.WriteString("." + name)
	for _, a := range args {
		fmt.Fprintf(&r.b, ` "%s"`, strings.ReplaceAll(escape(a), `"`, `\(dq`))
	}
	r.b.WriteByte('\n')
}

func bold(text string) string { return `\fB` + escape(text) + `\fP` }

// escape escapes a line of text. Hyphens are written so that they can be copied into a
// shell.
func escape(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line
}
