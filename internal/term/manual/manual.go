// Package manual turns the commands of a program into documents: a page in
// Markdown, and manual pages for man.
//
// It is told the commands as plain values and reads nothing else, so that what
// the documents say is what the program does. It is pure: where a document goes
// is for others to say.
package manual

import "strings"

// Program is a program with commands.
type Program struct {
	Name, Short string
	// Version and Date are shown at the foot of manual pages.
	Version, Date string
	// Flags are those that every command has.
	Flags  []Flag
	Groups []Group
	// Exits are the codes that it ends with, Environment the variables that it
	// reads, Files what it keeps: each a name and what it means.
	Exits, Environment, Files []Meaning
}

// Group is commands that are listed under one title.
type Group struct {
	Title    string
	Commands []Command
}

// Command is what can be asked for.
type Command struct {
	// Path is all words of it, the program's name first.
	Path  string
	Short string
	// Long is paragraphs with an empty line between them. One with a line that
	// begins with a space is shown as it is.
	Long string
	// Usage is the path and what follows it.
	Usage   string
	Aliases []string
	// Examples are lines to type, indented or not.
	Examples string
	Flags    []Flag
	Commands []Command
}

// Flag is a flag of a command.
type Flag struct {
	// Short is the name of one letter, or empty.
	Short, Name string
	// Value says what follows it: a name, or nothing.
	Value string
	What  string
	// Default is what holds without it, if that is worth saying.
	Default string
}

// Meaning is a name and what it means.
type Meaning struct{ Name, What string }

// Pages are the commands that have a manual page of their own: those right
// below the program. What is below them stands in their pages.
func (p Program) Pages() []Command {
	var all []Command
	for _, g := range p.Groups {
		all = append(all, g.Commands...)
	}
	return all
}

// PageName is what the manual page of a command is called, without its section.
func PageName(path string) string { return strings.ReplaceAll(path, " ", "-") }

// spelling is how a flag is written.
func (f Flag) spelling() string {
	s := "--" + f.Name
	if f.Short != "" {
		s = "-" + f.Short + ", " + s
	}
	if f.Value != "" {
		s += " " + f.Value
	}
	return s
}

// meaning is what a flag does, with what holds without it.
func (f Flag) meaning() string {
	if f.Default == "" {
		return f.What
	}
	return f.What + " (default " + f.Default + ")"
}

// paragraph is a part of a longer text.
type paragraph struct {
	text string
	// verbatim says that its lines are to be shown as they are.
	verbatim bool
}

// paragraphs takes a text apart at its empty lines, and where what is indented
// begins and ends.
func paragraphs(text string) []paragraph {
	var all []paragraph
	open := false // whether the next line belongs to the last paragraph
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		if strings.TrimSpace(line) == "" {
			open = false
			continue
		}
		indented := line[0] == ' ' || line[0] == '\t'
		if open && all[len(all)-1].verbatim == indented {
			all[len(all)-1].text += "\n" + line
			continue
		}
		all = append(all, paragraph{line, indented})
		open = true
	}
	return all
}

// outdent takes away what all lines of a text are indented by.
func outdent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	least := -1
	for _, line := range lines {
		if in := len(line) - len(strings.TrimLeft(line, " ")); strings.TrimSpace(line) != "" && (least < 0 || in < least) {
			least = in
		}
	}
	for i, line := range lines {
		lines[i] = line[min(max(least, 0), len(line)):]
	}
	return strings.Join(lines, "\n")
}
