package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/chat"
	"firn.dev/internal/term/manual"
)

// welcome is the introduction of the help.
const welcome = `firn saves the conversations of AI agents in append-only files.

  firn demo                    see what firn does, in seconds
  firn                         open the chat of this project, at a terminal
  firn -c, firn -r             resume the latest session, or choose one
  firn chat -m PROVIDER/MODEL  chat with another model
  firn adopt                   find sessions of Claude Code, Codex and others
  firn browse                  browse sessions in full screen
  firn search WORDS            search all sessions
  firn serve --listen 127.0.0.1:7766
                               run a gateway; firn open shows its web UI`

// groups are the groups of commands in the help.
var groups = []*cobra.Group{
	{ID: "talk", Title: "Chat:"},
	{ID: "look", Title: "Read sessions:"},
	{ID: "sessions", Title: "Change sessions:"},
	{ID: "compact", Title: "Compact sessions:"},
	{ID: "find", Title: "Search and memory:"},
	{ID: "formats", Title: "Other tools:"},
	{ID: "gateway", Title: "Gateway:"},
	{ID: "care", Title: "Maintenance:"},
	{ID: "other", Title: "More:"},
}

// exitMeanings, environment and keptFiles are the additional sections of the manual.
var (
	exitMeanings = []manual.Definition{
		exit(exitOK, "success"),
		exit(exitFailed, "any other failure"),
		exit(exitUsage, "invalid arguments or settings"),
		exit(exitNotFound, "not found"),
		exit(exitAmbiguous, "ambiguous name"),
		exit(exitConflict, "conflict: another writer was faster, or holds a lock"),
		exit(exitUnreachable, "the gateway or the cluster does not respond"),
		exit(exitNotAllowed, "not allowed: a token, API key or permission is missing"),
		exit(exitIntegrity, "faults were found in stored data; reading commands have shown everything readable"),
		exit(exitPartial, "partial success; the failed items were printed"),
		exit(exitInterrupted, "interrupted"),
	}
	environment = []manual.Definition{
		{Name: "FIRN_HOME", Description: "directory that holds the sessions, as --home"},
		{Name: "FIRN_GATEWAY", Description: "gateway to connect to, as --gateway"},
		{Name: "FIRN_TOKEN", Description: "token for a gateway over TCP"},
		{Name: "FIRN_STORE", Description: "store that holds the sessions, as --store"},
		{Name: "FIRN_MODEL", Description: "model to use, as provider/model"},
		{Name: "FIRN_AGENT", Description: "default agent"},
		{Name: "FIRN_CONFIG", Description: "settings file"},
		{Name: "FIRN_…", Description: "any other setting: its path in capitals, with two underscores for each dot"},
		{Name: "ANTHROPIC_API_KEY, OPENAI_API_KEY, …", Description: "API keys of providers"},
		{Name: "VISUAL, EDITOR", Description: "editor for firn memory edit, and for Ctrl-G in a chat"},
		{Name: "NO_COLOR", Description: "if set, output has no colors"},
	}
	keptFiles = []manual.Definition{
		{Name: "~/.firn", Description: "the home: all data of firn, readable by its owner only"},
		{Name: "~/.firn/firn.toml", Description: "the settings (optional)"},
		{Name: "~/.firn/agents/AGENT/sessions", Description: "the sessions, as JSON Lines"},
		{Name: "~/.firn/gateway.sock", Description: "the socket of the running gateway"},
	}
)

func exit(code int, what string) manual.Definition {
	return manual.Definition{Name: fmt.Sprint(code), Description: what}
}

// helpCommands are the commands about firn itself: help, manual pages, completion and version.
type helpCommands struct{ *program }

func (p helpCommands) helpCommand() *cobra.Command {
	var man string
	var skill, agents bool
	cmd := &cobra.Command{
		Use: "help [COMMAND]", GroupID: "other", Short: "Show help for a command",
		Long: `Show help for a command, with examples. Without a command, list all commands.

--man writes the manual pages into a directory: firn.1, and one for each command.

--skill prints instructions that teach an agent these commands, as a SKILL.md.
--agents prints a short form of them to append to the AGENTS.md of a project.`,
		Example: "  firn help\n  firn help keys reset\n  firn help --man ~/.local/share/man/man1 && man firn-chat\n" +
			"  mkdir -p ~/.claude/skills/firn && firn help --skill > ~/.claude/skills/firn/SKILL.md\n  firn help --agents >> AGENTS.md",
		ValidArgsFunction: func(cmd *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			above, _, err := cmd.Root().Find(given)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var words []cobra.Completion
			for _, c := range above.Commands() {
				if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
					words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch about, rest, err := cmd.Root().Find(args); {
		case man != "":
			return p.writeManual(cmd.Root(), man)
		case skill || agents:
			return p.printSkill(!skill)
		case err != nil || len(rest) > 0:
			return p.unknown(about, rest)
		default:
			about.InitDefaultHelpFlag()
			return about.Help()
		}
	}
	cmd.Flags().StringVar(&man, "man", "", "write the manual pages into this `directory`")
	_ = cmd.MarkFlagDirname("man")
	cmd.Flags().BoolVar(&skill, "skill", false, "print instructions for agents, as a SKILL.md")
	cmd.Flags().BoolVar(&agents, "agents", false, "print short instructions for agents, for an AGENTS.md")
	return cmd
}

// printUsage prints the usage of a command.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	switch {
	case !cmd.HasParent():
		b.WriteString("Usage:\n  firn COMMAND [flags]\n")
	case cmd.HasAvailableSubCommands():
		b.WriteString("Usage:\n")
		if cmd.Runnable() && strings.Contains(cmd.Use, " ") {
			fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
		}
		fmt.Fprintf(&b, "  %s COMMAND [flags]\n", cmd.CommandPath())
	default:
		fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases:\n  %s\n", strings.Join(cmd.Aliases, ", "))
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	listCommands(&b, cmd)
	listFlags(&b, cmd)
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// listCommands lists the subcommands of a command by group.
func listCommands(b *strings.Builder, cmd *cobra.Command) {
	list := func(title, group string) {
		begun := false
		for _, c := range cmd.Commands() {
			if c.GroupID != group || !c.IsAvailableCommand() && c.Name() != "help" {
				continue
			}
			if !begun {
				fmt.Fprintf(b, "\n%s\n", title)
				begun = true
			}
			fmt.Fprintf(b, "  %-*s %s\n", cmd.NamePadding(), c.Name(), c.Short)
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, g.ID)
	}
	list("Commands:", "")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(b, "\nFor help and examples: %s COMMAND --help\n", cmd.CommandPath())
	}
}

// listFlags lists the flags of a command. Global flags are listed by name only; firn help
// describes them.
func listFlags(b *strings.Builder, cmd *cobra.Command) {
	everywhere := cmd.Root().PersistentFlags()
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if everywhere.Lookup(f.Name) == nil {
			own.AddFlag(f)
		}
	})
	if text := own.FlagUsagesWrapped(helpColumns); text != "" {
		optional := `session[="` + chat.Pick + `"]` // pflag's form of an optional value
		fmt.Fprintf(b, "\nFlags:\n%s", strings.ReplaceAll(text, optional, fmt.Sprintf("%-*s", len(optional), "[session]")))
	}
	if cmd == cmd.Root() {
		fmt.Fprintf(b, "\nGlobal flags:\n%s", everywhere.FlagUsagesWrapped(helpColumns))
		return
	}
	var names []string
	everywhere.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	fmt.Fprintf(b, "\n%s", wrapText(fmt.Sprintf("Global flags: %s; see firn help.\n", strings.Join(names, ", ")), helpColumns))
}

// wrapHelp fills the paragraphs of the help to 80 columns, and wraps it at a narrower terminal,
// where the second column moves to the left.
func (p *program) wrapHelp(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		width := columnsOf(p.stdout)
		long := cmd.Long
		defer func() { cmd.Long = long }()
		cmd.Long = fillParagraphs(long, helpColumns)
		if width == 0 {
			show(cmd, args)
			return
		}
		var b strings.Builder
		cmd.SetOut(&b)
		show(cmd, args)
		cmd.SetOut(p.stdout)
		lines := strings.Split(b.String(), "\n")
		for i, l := range lines {
			if text := strings.TrimLeft(l, " "); width < helpColumns && len(l)-len(text) > width/3 {
				lines[i] = strings.Repeat(" ", helpIndent) + text
			}
		}
		fmt.Fprint(p.stdout, wrapText(strings.Join(lines, "\n"), width))
	})
}

// fillParagraphs joins the lines of each paragraph and breaks them again at a width. Indented
// lines and the lines of their paragraphs are kept, because they are commands and tables.
func fillParagraphs(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, paragraph := range paragraphs {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			continue
		}
		paragraphs[i] = strings.Join(prose.Wrap(strings.ReplaceAll(paragraph, "\n", " "), width), "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

const (
	// helpColumns is the width that the help is written for.
	helpColumns = 80
	// helpIndent is the indentation of the second column on a narrow terminal.
	helpIndent = 6
)
