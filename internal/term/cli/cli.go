// Package cli is firn's command line: one file a command, and its subcommands with
// it. What commands share has files of its own: the table of commands (cli.go), the
// gateway they talk to (connect.go), which session is meant (reference.go), what
// goes wrong (errors.go), an empty list (empty.go), what a shell offers
// (complete.go), and the pages that are made of the commands (help.go, manual.go).
//
// What a command prints on stdout is its result and nothing else, for people
// or, with --json, for programs. Talk goes to stderr: progress, and errors,
// each one sentence and a hint. Exit codes are listed in errors.go.
//
// The package decides nothing itself. It turns arguments into calls and
// results into text.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"firn.dev/internal/base/typo"
	"firn.dev/internal/ops/migrate"
)

// Process is what the command line has of the process it runs in.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Env tells the variables of the environment, Environ all of them.
	Env     func(name string) string
	Environ []string
	// Interrupts takes Ctrl-C over from the context, for a command that goes on
	// when it is pressed. It returns where each press is told, and a function
	// after which a press ends the process at once. Nil: nobody can press.
	Interrupts func() (presses <-chan os.Signal, release func())
	// Open puts a gateway together in this process, for commands that find none
	// running. If one holds the home the error is [firn.ErrLocked]. Nil: none can
	// be made.
	Open func(ctx context.Context, o Opening) (Opened, error)
	// Serve runs a gateway for others until the context ends. Nil: it cannot.
	Serve func(ctx context.Context, s Serving) error
	// Migrate carries all sessions from one store to another, Mirror keeps a copy
	// of them in files. Nil: it cannot.
	Migrate, Mirror func(ctx context.Context, c Carrying) (*migrate.Report, error)
	// Providers names the providers that need no settings, and tells the variable
	// with the key of one. Nil: nobody knows.
	Providers func() (names []string, keyOf func(provider string) string)
	// Build is what the program says of itself.
	Build Build
}

// Main runs the command that args ask for and returns the exit code. It never
// ends the process. Cancelling the context interrupts the command.
func Main(ctx context.Context, args []string, proc Process) int {
	p := &program{
		env: proc.Env, environ: proc.Environ, stdin: proc.Stdin, stdout: proc.Stdout, stderr: proc.Stderr,
		interrupts: proc.Interrupts, open: proc.Open, serve: proc.Serve, carry: proc.Migrate, copy: proc.Mirror, providers: proc.Providers, build: proc.Build, now: time.Now,
	}
	root := p.root()
	root.SetArgs(tagArgs(joinResume(args)))
	root.SetIn(proc.Stdin)
	root.SetOut(proc.Stdout)
	root.SetErr(proc.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = ctx.Err() // whatever it looked like, it was interrupted
	}
	return p.end(err)
}

// program is one run of the command line.
type program struct {
	env            func(name string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	interrupts     func() (<-chan os.Signal, func())
	environ        []string
	open           func(ctx context.Context, o Opening) (Opened, error)
	serve          func(ctx context.Context, s Serving) error
	carry, copy    carry
	now            func() time.Time
	providers      func() ([]string, func(string) string)
	build          Build

	// The flags that every command has.
	home     string
	address  string
	store    string
	inPlace  bool
	json     bool
	progress bool
}

// root makes the table of commands.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "firn",
		Short: "Keep the conversations of AI agents, in plain files that are only ever added to",
		Long:  welcome,
		Args:  cobra.ArbitraryArgs,
		RunE:  p.unknown,
		// Errors are printed by end, in one form.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&p.home, "home", "", "the `directory` that sessions are kept in (default $FIRN_HOME or ~/.firn)")
	flags.StringVar(&p.address, "gateway", "", "the `address` of a gateway to talk to: a URL, or unix: and a path (default $FIRN_GATEWAY, or the one that serves the home, or none)")
	flags.StringVar(&p.store, "store", "", "the `store` that sessions are kept in: file:, file:DIR, nats://HOST,… or nats-embedded:DIR (default $FIRN_STORE or store.url)")
	flags.BoolVar(&p.inPlace, "in-place", false, "if --home is another tool's folder, add to its own files instead of only reading them")
	flags.BoolVar(&p.json, "json", false, "print results and errors as JSON")
	flags.BoolVar(&p.progress, "progress", false, "show progress even if stderr is no terminal")
	root.Version = p.build.Version
	root.SetVersionTemplate("firn {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version; firn version says more")
	root.SetFlagErrorFunc(wrongFlag)
	root.AddGroup(groups...)
	root.CompletionOptions.DisableDefaultCmd = true // we have our own
	help := p.helpCommand()
	root.SetHelpCommand(help)
	root.SetUsageFunc(printUsage)
	root.AddCommand(help, p.chatCommand())
	root.AddCommand(p.sessionCommands()...)
	root.AddCommand(p.sessionsCommand())
	root.AddCommand(p.compactCommand(), p.uncompactCommand(), p.compactionsCommand())
	root.AddCommand(p.searchCommand(), p.grepCommand())
	root.AddCommand(p.adoptCommand(), p.importCommand(), p.exportCommand(), p.convertCommand(), p.handoffCommand())
	root.AddCommand(p.serveCommand(), p.statusCommand(), p.stopCommand(), p.openCommand(), p.tokenCommand(), p.mcpCommand(), p.acpCommand(), p.keysCommand(), p.jobsCommand(), p.usageCommand())
	root.AddCommand(p.memoryCommand())
	root.AddCommand(p.verifyCommand(), p.doctorCommand(), p.repairCommand(), p.reindexCommand(), p.maintenanceCommand(), p.migrateCommand(), p.mirrorCommand(), p.backupCommand())
	root.AddCommand(p.demoCommand(), p.demoWriterCommand(), p.configCommand(), p.completionCommand(), p.versionCommand())
	p.completeAll(root)
	return root
}

// sessionCommands are the commands about sessions, which go by two names.
func (p *program) sessionCommands() []*cobra.Command {
	return []*cobra.Command{
		p.lsCommand(), p.showCommand(), p.catCommand(), p.tailCommand(), p.treeCommand(), p.windowCommand(),
		p.newCommand(), p.appendCommand(), p.forkCommand(), p.rewindCommand(), p.labelCommand(), p.renameCommand(), p.tagCommand(), p.diffCommand(),
		p.archiveCommand(), p.rmCommand(), p.restoreCommand(), p.binCommand(), p.purgeCommand(),
	}
}

// sessionsCommand has the same commands under firn sessions.
func (p *program) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", GroupID: "other", Short: "The same commands as firn ls, show, rm and so on",
		Args: cobra.ArbitraryArgs, RunE: p.unknown,
	}
	for _, sub := range p.sessionCommands() {
		sub.GroupID = ""
		cmd.AddCommand(sub)
	}
	return cmd
}

// unknown runs if no command has the name that was given.
func (p *program) unknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	failure := &usageError{message: fmt.Sprintf("there is no command %q", args[0]), hint: cmd.CommandPath() + " --help lists the commands"}
	if !cmd.HasParent() {
		failure.hint = "firn help lists the commands"
	}
	cmd.SuggestionsMinimumDistance = 2 // it also knows which commands begin so
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		failure.hint = "did you mean " + cmd.CommandPath() + " " + cmp.Or(typo.Nearest(args[0], near, 2), near[0]) + "?"
	}
	return failure
}

// wrongFlag says what is wrong with a flag, and which one was probably meant.
func wrongFlag(cmd *cobra.Command, err error) error {
	failure := &usageError{message: err.Error(), hint: cmd.CommandPath() + " --help tells how it is used"}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
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

// homeDir is the home that is meant.
func (p *program) homeDir() (string, error) {
	if p.home != "" {
		return p.home, nil
	}
	if home := p.env("FIRN_HOME"); home != "" {
		return home, nil
	}
	return p.usualHome()
}

// usualHome is the home if none is named.
func (p *program) usualHome() (string, error) {
	if user := p.env("HOME"); user != "" {
		return filepath.Join(user, ".firn"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", &usageError{message: "where sessions are kept is not known: there is no home directory", hint: "say it with --home or FIRN_HOME"}
	}
	return filepath.Join(user, ".firn"), nil
}

// maxLine is the limit of a line that the settings name. What is damaged must be
// looked at even if the settings are too: then it is the default, zero.
func (p *program) maxLine() int64 {
	s, err := p.settings()
	if err != nil {
		return 0
	}
	return int64(s.Store.MaxLine)
}

// atMostOne refuses more than one argument.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage(cmd, "firn %s takes one session or file, not %d", cmd.Name(), len(args))
	}
	return nil
}

// none refuses arguments.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, "firn %s takes no arguments", cmd.Name())
	}
	return nil
}

// print writes a result: as JSON if asked, else as the text says.
func (p *program) print(result any, text func() string) error {
	var err error
	if p.json {
		err = writeJSON(p.stdout, "  ", result)
	} else {
		_, err = io.WriteString(p.stdout, text())
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// providerNames lists the providers for the help.
func (p *program) providerNames() string {
	if p.providers == nil {
		return "not known"
	}
	names, _ := p.providers()
	return strings.Join(names, ", ")
}
