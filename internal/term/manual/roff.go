package manual

import (
	"fmt"
	"strings"
)

// Page is a manual page in the language of troff, with the macros of man.
type Page struct {
	// Name is the name of its file: the command's words with - between them, a
	// dot and the section of the manual.
	Name string
	Text []byte
}

// section is the part of the manual that commands belong to.
const section = "1"

// Man makes the manual pages: one of the program, and one of each command right
// below it, which also tells of those below that. The same program gives the same
// bytes.
func Man(p Program) []Page {
	pages := []Page{overview(p)}
	for _, c := range p.Pages() {
		pages = append(pages, page(p, c))
	}
	return pages
}

// overview is the page of the program.
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

// page is the page of a command.
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
	r.line(bold(p.Name) + "(" + section + "), which tells of flags that every command has, of variables, files and exit codes.")
	return r.page(c.Path)
}

// roff is a manual page that is being written.
type roff struct{ b strings.Builder }

// newRoff begins a page with what stands at its head and foot.
func newRoff(p Program, path, short string) *roff {
	r := &roff{}
	name := PageName(path)
	r.macro("TH", strings.ToUpper(name), section, p.Date, p.Name+" "+p.Version, p.Name+" Manual")
	r.line(".nh") // words of commands are not broken
	r.line(".ad l")
	r.macro("SH", "NAME")
	r.line(escape(name) + ` \- ` + escape(short))
	return r
}

func (r *roff) page(path string) Page {
	return Page{Name: PageName(path) + "." + section, Text: []byte(r.b.String())}
}

// command tells how a command is used, and what it does, each under a title: of its
// own page, or below the command that it belongs to.
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

func (r *roff) meanings(title string, all []Meaning) {
	if len(all) == 0 {
		return
	}
	r.macro("SH", title)
	for _, m := range all {
		r.term(bold(m.Name), m.What)
	}
}

// term is something in bold, ready to print, and below it what it means.
func (r *roff) term(term, what string) {
	r.macro("TP")
	r.line(term)
	r.text(what)
}

// verbatim shows lines as they are.
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

// line writes a line that is ready.
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

// escape keeps a line from being taken for anything but text. A hyphen is the
// one that can be copied into a shell.
func escape(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line
}
