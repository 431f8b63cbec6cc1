package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/term/manual"
)

// manualOf describes all commands for the manual.
func (p helpCommands) manualOf(root *cobra.Command) manual.Program {
	date, _, _ := strings.Cut(p.build.Time, "T")
	m := manual.Program{
		Name: root.Name(), Short: root.Short, Version: p.build.Version, Date: date,
		Flags: flagsOf(root.PersistentFlags()), Exits: exitMeanings, Environment: environment, Files: keptFiles,
	}
	for _, g := range root.Groups() {
		group := manual.Group{Title: strings.TrimSuffix(g.Title, ":")}
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && !c.Hidden {
				group.Commands = append(group.Commands, commandOf(c))
			}
		}
		m.Groups = append(m.Groups, group)
	}
	return m
}

// commandOf describes a command. The commands of firn sessions are described at the top
// level only.
func commandOf(c *cobra.Command) manual.Command {
	m := manual.Command{
		Path: c.CommandPath(), Short: c.Short, Long: c.Long, Usage: strings.TrimSuffix(c.UseLine(), " [flags]"),
		Aliases: c.Aliases, Examples: c.Example, Flags: flagsOf(c.LocalNonPersistentFlags()),
	}
	if !c.HasParent() || c.Name() == "sessions" {
		return m
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.AddFlagSet(c.PersistentFlags()) // flags that its subcommands inherit
	m.Flags = append(m.Flags, flagsOf(own)...)
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			m.Commands = append(m.Commands, commandOf(sub))
		}
	}
	return m
}

// flagsOf describes flags by name. It omits --help.
func flagsOf(set *pflag.FlagSet) []manual.Flag {
	var all []manual.Flag
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, what := pflag.UnquoteUsage(f)
		flag := manual.Flag{Short: f.Shorthand, Name: f.Name, Value: value, Description: what}
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			flag.Default = f.DefValue
		}
		if strings.Contains(what, "(default ") || strings.Contains(what, "(without it") {
			flag.Default = "" // the usage text contains the default
		}
		all = append(all, flag)
	})
	slices.SortFunc(all, func(a, b manual.Flag) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// writeManual writes the manual pages into a directory.
func (p helpCommands) writeManual(root *cobra.Command, dir string) error {
	fsys := vfs.OS{}
	if err := fsys.MkdirAll(dir); err != nil {
		return fmt.Errorf("create directory %s for manual pages: %w", dir, err)
	}
	pages := manual.Man(p.manualOf(root))
	names := make([]string, len(pages))
	for i, page := range pages {
		names[i] = page.Name
		if err := vfs.WriteFile(fsys, filepath.Join(dir, page.Name), page.Text); err != nil {
			return fmt.Errorf("write manual page %s: %w", page.Name, err)
		}
	}
	return p.print(map[string]any{"directory": dir, "pages": names}, func() string {
		return fmt.Sprintf("wrote %d manual pages to %s; to read one: man -l %s\n", len(pages), dir, quote(filepath.Join(dir, names[0])))
	})
}
