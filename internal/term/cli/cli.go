// Package cli implements firn's command line: one file per command with its subcommands.
// Shared code is in its own files: the command table (cli.go), the gateway connection
// (connect.go), session references (reference.go), errors and exit codes (errors.go), hints
// for empty lists (empty.go), shell completion (complete.go), and generated help and manual
// pages (help.go, manual.go).
//
// Commands print only their result on stdout, as text or, with --json, as JSON. Progress
// and errors are printed on stderr; an error is one sentence and a hint.
//
// The package contains no domain logic. It turns arguments into calls and results into
// text.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"firn.dev/client"
	"firn.dev/internal/base/typo"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/migrate"
	"firn.dev/internal/ops/modelchoice"
)

// Process is the command line's access to its process.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Env returns an environment variable, and Environ all of them.
	Env     func(name string) string
	Environ []string
	// Interrupts takes over Ctrl-C from the context, for a command that continues after it.
	// It returns a channel that receives each press, and a function after which the next
	// press ends the process. It may be nil.
	Interrupts func() (presses <-chan os.Signal, release func())
	// Open starts a gateway in this process, for commands that find none running. The error
	// is [firn.ErrLocked] if another gateway holds the home. If nil, that is not supported.
	Open func(ctx context.Context, o GatewayOptions) (Opened, error)
	// Host returns the tools that this process runs for turns of a gateway in another one.
	// If nil, that is not supported.
	Host func(o GatewayOptions, agentName string) (Host, error)
	// LocalFiles returns the files that tools of this machine changed, by their contents in a
	// home. If nil, that is not supported.
	LocalFiles func(home string) client.LocalFiles
	// Serve runs a gateway for other processes until ctx is canceled. If nil, that is not
	// supported.
	Serve func(ctx context.Context, s Serving) error
	// Migrate moves all sessions from one store to another, and Mirror maintains a copy of
	// them in files. If nil, that is not supported.
	Migrate, Mirror func(ctx context.Context, c CopyOptions) (*migrate.Report, error)
	// Hold locks a home that no other process uses, until release is called. If nil, that is
	// not supported.
	Hold func(home, what string) (release func() error, err error)
	// Providers returns the providers that need no settings, and a function that returns
	// the environment variable with a provider's API key. It may be nil.
	Providers func() (names []string, keyOf func(provider string) string)
	// Models returns the models to choose from. It must not do I/O. It may be nil.
	Models func(s *config.Settings) modelchoice.Table
	// Build describes the program's version.
	Build Build
}

// Main runs the command in args and returns the exit code. It never ends the process.
// Canceling ctx interrupts the command.
func Main(ctx context.Context, args []string, proc Process) int {
	p := &program{
		env: proc.Env, environ: proc.Environ, stdin: proc.Stdin, stdout: proc.Stdout, stderr: proc.Stderr,
		interrupts: proc.Interrupts, open: proc.Open, host: proc.Host, localFiles: proc.LocalFiles, serve: proc.Serve, carry: proc.Migrate, copy: proc.Mirror, hold: proc.Hold, providers: proc.Providers, models: proc.Models, build: proc.Build, now: time.Now,
	}
	p.stdout, p.stderr = p.asciiStream(p.stdout), p.asciiStream(p.stderr)
	sealfs.SetUnlocker(unlocker(p))
	root := p.root()
	root.SetArgs(tagArgs(joinResume(args)))
	root.SetIn(proc.Stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = ctx.Err() // the command was interrupted, regardless of its error
	}
	return p.end(err)
}

// program is one run of the command line. It has what all commands share: the global flags,
// the connection to a gateway, the home and its store, and how results and errors are
// printed. The commands are in types that embed it, one per group of commands.
type program struct {
	env            func(name string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	interrupts     func() (<-chan os.Signal, func())
	environ        []string
	open           func(ctx context.Context, o GatewayOptions) (Opened, error)
	host           func(o GatewayOptions, agentName string) (Host, error)
	localFiles     func(home string) client.LocalFiles
	serve          func(ctx context.Context, s Serving) error
	carry, copy    migrator
	hold           func(home, what string) (func() error, error)
	now            func() time.Time
	providers      func() ([]string, func(string) string)
	models         func(s *config.Settings) modelchoice.Table
	build          Build

	// The flags of every command.
	location
	json     bool
	progress bool

	// reads is set while a command runs that changes no sessions.
	reads bool
}

// root returns the root command with all others.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "firn",
		Short: "Save the conversations of AI agents in append-only files",
		Long:  welcome,
		Args:  cobra.ArbitraryArgs,
		RunE:  p.bare,
		// Errors are printed by end, in one form.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&p.home, "home", "", "`directory` that holds the sessions (default $FIRN_HOME or ~/.firn)")
	flags.StringVar(&p.address, "gateway", "", "`address` of the gateway: a URL, or unix: and a path (default $FIRN_GATEWAY, or the gateway of the home, or none)")
	flags.StringVar(&p.store, "store", "", "`store` that holds the sessions: file:, file:DIR, nats://HOST,… or nats-embedded:DIR (default $FIRN_STORE or store.url)")
	flags.BoolVar(&p.inPlace, "in-place", false, "if --home is another tool's directory, append to its files instead of only reading them")
	flags.BoolVar(&p.json, "json", false, "print results and errors as JSON")
	flags.BoolVar(&p.progress, "progress", false, "show progress even if stderr is not a terminal")
	root.Version = p.build.Version
	root.SetVersionTemplate("firn {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version; see also firn version")
	addResumeFlags(root.Flags(), new(bool), new(string))
	root.SetFlagErrorFunc(wrongFlag)
	root.AddGroup(groups...)
	root.CompletionOptions.DisableDefaultCmd = true // firn has its own completion command
	about := helpCommands{p}
	help := about.helpCommand()
	root.SetHelpCommand(help)
	root.SetUsageFunc(printUsage)
	p.wrapHelp(root)
	root.AddCommand(help)
	root.AddCommand(chatCommands{p}.chatCommand())
	root.AddCommand(p.sessionCommands()...)
	root.AddCommand(p.sessionsCommand())
	root.AddCommand(p.otherCommands()...)
	root.AddCommand(about.completionCommand(), about.versionCommand())
	p.completeAll(root)
	return root
}

// sessionCommands returns the session commands, which exist both at the top level and below
// firn sessions.
func (p *program) sessionCommands() []*cobra.Command {
	list, transcript, change, remove := overviewCommands{p}, transcriptCommands{p}, changeCommands{p}, removeCommands{p}
	return []*cobra.Command{
		list.lsCommand(), list.browseCommand(), list.showCommand(), transcript.catCommand(), transcript.tailCommand(), list.treeCommand(), transcript.windowCommand(),
		change.newCommand(), change.appendCommand(), change.forkCommand(), change.rewindCommand(), change.labelCommand(), change.renameCommand(), change.tagCommand(), transcript.diffCommand(), filesCommand(p), blameCommand(p),
		remove.archiveCommand(), remove.rmCommand(), remove.restoreCommand(), remove.binCommand(), remove.purgeCommand(),
	}
}

// otherCommands returns the commands that are not about one session.
func (p *program) otherCommands() []*cobra.Command {
	compact, find, exchange := compactCommands{p}, findCommands{p}, exchangeCommands{p}
	gateway, protocol, check, store, demo, secure := gatewayCommands{p}, protocolCommands{p}, checkCommands{p}, storeCommands{p}, demoCommands{p}, encryptCommands{p}
	return []*cobra.Command{
		compact.compactCommand(), compact.uncompactCommand(), compact.compactionsCommand(),
		find.searchCommand(), find.recallCommand(), find.grepCommand(),
		adoptCommands{p}.adoptCommand(), exchange.importCommand(), exchange.exportCommand(), exchange.convertCommand(), exchange.handoffCommand(),
		gateway.serveCommand(), gateway.statusCommand(), gateway.stopCommand(), gateway.openCommand(), tokenCommands{p}.tokenCommand(), protocol.mcpCommand(), protocol.acpCommand(), keyCommands{p}.keysCommand(), gateway.jobsCommand(), gateway.approvalsCommand(), gateway.usageCommand(),
		memoryCommands{p}.memoryCommand(),
		check.verifyCommand(), check.anchorCommand(), check.doctorCommand(), check.repairCommand(), find.reindexCommand(), check.maintenanceCommand(), store.migrateCommand(), store.mirrorCommand(), store.backupCommand(), syncCommands{p}.syncCommand(),
		secure.encryptCommand(), secure.decryptCommand(), secure.unlockCommand(), secure.lockCommand(),
		demo.demoCommand(), demo.demoWriterCommand(), configCommands{p}.configCommand(), modelCommands{p}.modelCommand(),
	}
}

// sessionsCommand returns firn sessions with the session commands.
func (p *program) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", GroupID: "other", Short: "Alias of firn ls, show, rm and so on",
		Args: cobra.ArbitraryArgs, RunE: p.unknown,
	}
	for _, sub := range p.sessionCommands() {
		sub.GroupID = ""
		cmd.AddCommand(sub)
	}
	return cmd
}

// bare handles firn without a command: at a terminal it opens the chat. -c and -r are those of
// the chat, and then the arguments are the prompt.
func (p *program) bare(cmd *cobra.Command, args []string) error {
	talk, _, err := cmd.Find([]string{"chat"})
	if err != nil {
		return p.unknown(cmd, args)
	}
	resumes := false
	for _, name := range []string{"continue", "resume"} {
		f := cmd.Flags().Lookup(name)
		if !f.Changed {
			continue
		}
		resumes = true
		if err := talk.Flags().Set(name, f.Value.String()); err != nil {
			return usage(cmd, "--%s: %v", name, err)
		}
	}
	onTerminal := !p.json && isTerminal(p.stdin) && isTerminal(p.stdout)
	switch {
	case resumes && !onTerminal:
		return &usageError{message: "firn -c and firn -r open a chat, which needs a terminal", hint: "in a pipe: firn chat -c -p PROMPT, or firn chat -r SESSION -p PROMPT"}
	case !resumes && (len(args) > 0 || !onTerminal):
		return p.unknown(cmd, args)
	}
	talk.SetContext(cmd.Context())
	return talk.RunE(talk, args)
}

// unknown handles an unknown command name.
func (p *program) unknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	failure := &usageError{message: fmt.Sprintf("unknown command %q", args[0]), hint: "run " + cmd.CommandPath() + " --help"}
	if !cmd.HasParent() {
		failure.hint = "to list the commands: firn help"
	}
	if hint := chatHint(args); !cmd.HasParent() && hint != "" {
		failure.hint = hint
		return failure
	}
	if near := nearestCommand(cmd, args[0]); near != "" {
		failure.hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return failure
}

// nearestCommand returns the subcommand whose name is like a word; empty if there is none.
func nearestCommand(cmd *cobra.Command, word string) string {
	for _, sub := range cmd.Commands() {
		if slices.Contains(sub.SuggestFor, word) {
			return sub.Name()
		}
	}
	cmd.SuggestionsMinimumDistance = 2 // prefixes of commands are suggested too
	near := cmd.SuggestionsFor(word)
	if len(near) == 0 {
		return ""
	}
	return cmp.Or(typo.Nearest(word, near, 2), near[0])
}

// chatHint returns the hint for commands that other agents have, and for a prompt in the place
// of a command; empty for anything else.
func chatHint(args []string) string {
	switch args[0] {
	case "resume":
		return "to choose a session: firn chat -r; the latest of this project: firn chat -c"
	case "continue":
		return "to resume the latest session of this project: firn chat -c"
	case "undo":
		return "to take back the last turn with its files: firn rewind SESSION --files, or /undo in the chat"
	case "run", "exec", "ask", "prompt":
		return "to print one answer: firn chat -p PROMPT"
	}
	if strings.ContainsRune(args[0], ' ') {
		return "to send it to the agent: firn chat PROMPT; firn chat -p PROMPT prints the answer and exits"
	}
	return ""
}

// wrongFlag describes an invalid flag, and suggests the intended one.
func wrongFlag(cmd *cobra.Command, err error) error {
	failure := &usageError{message: err.Error(), hint: "run " + cmd.CommandPath() + " --help"}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return failure
	}
	if flag := chatFlag(cmd, unknown); flag != "" {
		failure.hint = "did you mean firn chat " + flag + "?"
		return failure
	}
	if unknown.GetSpecifiedShortnames() != "" {
		return failure
	}
	if hint := otherFlag(cmd, unknown.GetSpecifiedName()); hint != "" {
		failure.hint = hint
		return failure
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := typo.Nearest(unknown.GetSpecifiedName(), names, 2); near != "" {
		failure.hint = "did you mean --" + near + "? " + failure.hint
	}
	return failure
}

// otherFlag returns the hint for a flag that has another name here; empty if there is none.
func otherFlag(cmd *cobra.Command, name string) string {
	if cmd.Name() == "tag" && (name == "remove" || name == "rm" || name == "delete") {
		return "to remove a tag: " + cmd.CommandPath() + " SESSION -TAG"
	}
	for _, other := range []struct{ name, flag, usage string }{
		{"limit", "number", "-n N"}, {"max", "number", "-n N"}, {"count", "number", "-n N"},
		{"here", "cwd", "--cwd ."}, {"after", "since", "--since TIME"}, {"before", "until", "--until TIME"},
	} {
		if name == other.name && cmd.Flags().Lookup(other.flag) != nil {
			return "did you mean " + other.usage + "?"
		}
	}
	return ""
}

// chatFlag returns a flag of firn chat that was given to firn without a command; empty if it is
// another one.
func chatFlag(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	talk, _, err := cmd.Find([]string{"chat"})
	if err != nil || cmd.HasParent() {
		return ""
	}
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		if len(name) == 1 && talk.Flags().ShorthandLookup(name) != nil {
			return "-" + name
		}
		return ""
	}
	if talk.Flags().Lookup(name) != nil {
		return "--" + name
	}
	return ""
}

// homeDir returns the home in use.
func (p *program) homeDir() (string, error) {
	if p.home != "" {
		return p.home, nil
	}
	if home := p.env("FIRN_HOME"); home != "" {
		return home, nil
	}
	return p.usualHome()
}

// usualHome returns the default home.
func (p *program) usualHome() (string, error) {
	if user := p.env("HOME"); user != "" {
		return filepath.Join(user, ".firn"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", &usageError{message: "cannot find the sessions: there is no home directory", hint: "set --home or FIRN_HOME"}
	}
	return filepath.Join(user, ".firn"), nil
}

// maxLine returns the maximum line length from the settings. If the settings are invalid it
// returns 0, the default, so that damaged homes can still be examined.
func (p *program) maxLine() int64 {
	s, err := p.settings()
	if err != nil {
		return 0
	}
	return int64(s.Store.MaxLine)
}

// atMostOne rejects more than one argument.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage(cmd, "firn %s takes one session or file, not %d", cmd.Name(), len(args))
	}
	return nil
}

// none rejects arguments.
func none(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := nearestCommand(cmd, args[0]); near != "" && len(args[0]) > 2 { // two changes make any name of a short word
		return &usageError{message: fmt.Sprintf("unknown command %q", args[0]), hint: "did you mean " + cmd.CommandPath() + " " + near + "?"}
	}
	return usage(cmd, "firn %s takes no arguments", cmd.Name())
}

// print prints a result, as JSON with --json and else as text. The text of a command that
// reads may quote lines of others; that of the others gets the global flags in the line that
// undoes them.
func (p *program) print(result any, text func() string) error {
	var err error
	if p.json {
		err = writeJSON(p.stdout, "  ", result)
	} else {
		out := text()
		if !p.reads {
			out = p.repeatFlags(out)
		}
		_, err = io.WriteString(p.stdout, out)
	}
	if err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

// providerNames lists the providers for the help.
func (p *program) providerNames() string {
	if p.providers == nil {
		return "unknown"
	}
	names, _ := p.providers()
	return strings.Join(names, ", ")
}
