// Package manual generates documentation from the commands of a program: a Markdown page,
// and manual pages for man.
//
// Commands are plain values, so that the documentation always matches the program. The
// package does no I/O.
package manual

import "strings"

// Program is a program with commands.
type Program struct {
	Name, Short string
	// Version and Date are shown in the footer of manual pages.
	Version, Date string
	// Flags are the global flags.
	Flags  []Flag
	Groups []Group
	// Exits are the exit codes, Environment the environment variables and Files the files
	// of the program, each with a description.
	Exits, Environment, Files []Definition
}

// Group is a titled group of commands.
type Group struct {
	Title    string
	Commands []Command
}

// Command is a command of the program.
type Command struct {
	// Path is the full command, starting with the program's name.
	Path  string
	Short string
	// Long is paragraphs separated by empty lines. A paragraph with an indented line is
	// shown verbatim.
	Long string
	// Usage is the path with its arguments.
	Usage   string
	Aliases []string
	// Examples are command lines, indented or not.
	Examples string
	Flags    []Flag
	Commands []Command
}

// Flag is a flag of a command.
type Flag struct {
	// Short is the one-letter name; it may be empty.
	Short, Name string
	// Value is the name of the flag's value; empty for a boolean flag.
	Value       string
	Description string
	// Default is the default value, if it is worth mentioning.
	Default string
}

// Definition is a name and its description.
type Definition struct{ Name, Description string }

// Pages returns the commands with a manual page of their own: the direct subcommands of the
// program. Deeper subcommands are described in these pages.
func (p Program) Pages() []Command {
	var all []Command
	for _, g := range p.Groups {
		all = append(all, g.Commands...)
	}
	return all
}

// PageName returns the name of a command's manual page, without the section.
func PageName(path string) string { return strings.ReplaceAll(path, " ", "-") }

// spelling returns the flag as it is typed.
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

// meaning returns the description of a flag with its default.
func (f Flag) meaning() string {
	if f.Default == "" {
		return f.Description
	}
	return f.Description + " (default " + f.Default + ")"
}

// paragraph is a part of a longer text.
type paragraph struct {
	text string
	// verbatim is true if the lines are shown unchanged.
	verbatim bool
}

// paragraphs splits a text at empty lines, and where indentation begins and ends.
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

// outdent removes the common indentation of a text.
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
