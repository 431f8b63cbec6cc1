package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"firn.dev/internal/term/manual"
)

// welcome is the introduction of the help.
const welcome = `firn keeps the conversations of AI agents, in plain files that are only ever added to.

  firn demo                            see all of it in seconds, in a home of its own
  firn chat                            talk, with a model that comes with firn; what is said is kept
  firn chat -m PROVIDER/MODEL          talk with a real one
  firn adopt                           find the sessions of Claude Code, Codex, pi and others
  firn search WORDS                    find what was said, in all of them
  firn serve --listen 127.0.0.1:7766   run a gateway; firn open shows it in a browser`

// groups are the groups of commands in the help.
var groups = []*cobra.Group{
	{ID: "talk", Title: "Talk:"},
	{ID: "look", Title: "Look at sessions:"},
	{ID: "sessions", Title: "Change sessions:"},
	{ID: "compact", Title: "Make room in the window:"},
	{ID: "find", Title: "Find and remember:"},
	{ID: "formats", Title: "Other tools:"},
	{ID: "gateway", Title: "Gateway:"},
	{ID: "care", Title: "Care:"},
	{ID: "other", Title: "More:"},
}

// exitMeanings, environment and keptFiles are the additional sections of the manual.
var (
	exitMeanings = []manual.Definition{
		exit(exitOK, "it is done"),
		exit(exitFailed, "it failed, for a reason that no other code tells"),
		exit(exitUsage, "the arguments or the settings are wrong"),
		exit(exitNotFound, "what is named is not there"),
		exit(exitAmbiguous, "what is named could be several things"),
		exit(exitConflict, "somebody else was faster, or holds it"),
		exit(exitUnreachable, "the gateway or the cluster does not answer"),
		exit(exitNotAllowed, "it is not allowed: a token, a key or a permission is missing"),
		exit(exitIntegrity, "faults were found in what is kept; reading commands have shown all that can be read"),
		exit(exitPartial, "some of it was done, some not; which is told"),
		exit(exitInterrupted, "it was interrupted"),
	}
	environment = []manual.Definition{
		{Name: "FIRN_HOME", Description: "the directory that sessions are kept in, as --home"},
		{Name: "FIRN_GATEWAY", Description: "the gateway to talk to, as --gateway"},
		{Name: "FIRN_TOKEN", Description: "the token for a gateway over TCP"},
		{Name: "FIRN_STORE", Description: "the store that sessions are kept in, as --store"},
		{Name: "FIRN_MODEL", Description: "the model that answers, as provider/model"},
		{Name: "FIRN_AGENT", Description: "the agent that is meant if none is named"},
		{Name: "FIRN_CONFIG", Description: "the file of settings"},
		{Name: "FIRN_…", Description: "any other setting: its path in capitals, with two underscores for each dot"},
		{Name: "ANTHROPIC_API_KEY, OPENAI_API_KEY, …", Description: "the keys of providers"},
		{Name: "VISUAL, EDITOR", Description: "the editor of firn memory edit"},
		{Name: "NO_COLOR", Description: "if it is set, nothing is coloured"},
	}
	keptFiles = []manual.Definition{
		{Name: "~/.firn", Description: "the home: all that firn keeps, for its owner alone"},
		{Name: "~/.firn/firn.toml", Description: "the settings; it may be missing"},
		{Name: "~/.firn/agents/AGENT/sessions", Description: "the sessions, a file of JSON lines each"},
		{Name: "~/.firn/gateway.sock", Description: "where the gateway listens while it runs"},
	}
)

func exit(code int, what string) manual.Definition {
	return manual.Definition{Name: fmt.Sprint(code), Description: what}
}

// helpCommands are the commands about firn itself: help, manual pages, completion and version.
type helpCommands struct{ *program }

func (p helpCommands) helpCommand() *cobra.Command {
	var man string
	cmd := &cobra.Command{
		Use: "help [COMMAND]", GroupID: "other", Short: "Tell how a command is used",
		Long: `Tell how a command is used, with examples. Without one, list the commands.

With --man the manual pages are written into a directory: firn.1, and one for each command.`,
		Example: "  firn help\n  firn help keys reset\n  firn help --man ~/.local/share/man/man1 && man firn-chat",
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
		case err != nil || len(rest) > 0:
			return p.unknown(about, rest)
		default:
			about.InitDefaultHelpFlag()
			return about.Help()
		}
	}
	cmd.Flags().StringVar(&man, "man", "", "write the manual pages into this `directory`")
	_ = cmd.MarkFlagDirname("man")
	return cmd
}

// helpWidth is the width of the help in columns.
const helpWidth = 100

// printUsage prints the usage of a command.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	switch {
	case !cmd.HasParent():
		b.WriteString("Usage:\n  firn COMMAND [flags]\n")
	case cmd.HasAvailableSubCommands():
		fmt.Fprintf(&b, "Usage:\n  %s COMMAND [flags]\n", cmd.CommandPath())
	default:
		fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAlso called:\n  %s\n", strings.Join(cmd.Aliases, ", "))
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
		fmt.Fprintf(b, "\n%s COMMAND --help tells all about a command, with examples.\n", cmd.CommandPath())
	}
}

// listFlags lists the flags of a command. Global flags are listed by name only; firn help
// describes them.
func listFlags(b *strings.Builder, cmd *cobra.Command) {
	everywhere := cmd.Root().PersistentFlags()
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if cmd == cmd.Root() || everywhere.Lookup(f.Name) == nil {
			own.AddFlag(f)
		}
	})
	if text := own.FlagUsagesWrapped(helpWidth); text != "" {
		title := "Flags"
		if cmd == cmd.Root() {
			title = "Flags of every command"
		}
		fmt.Fprintf(b, "\n%s:\n%s", title, text)
	}
	if cmd == cmd.Root() {
		return
	}
	var names []string
	everywhere.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	fmt.Fprintf(b, "\nEvery command also has %s; see firn help.\n", strings.Join(names, ", "))
}
