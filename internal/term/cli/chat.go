package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/disk/history"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/term/chat"
	"firn.dev/internal/term/line"
)

// chatFlags are the flags of firn chat.
type chatFlags struct {
	chat.Options
	print          bool
	workspace      string
	shell, noTools bool
}

// chatCommands are the commands of a chat in the terminal.
type chatCommands struct{ *program }

func (p chatCommands) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:     "chat [PROMPT]",
		GroupID: "talk",
		Short:   "Talk with an agent; what is said is kept",
		Long: `Talk with an agent, line by line. What is said is on disk before it is answered, so
nothing is lost when the chat is left, interrupted or killed, and the next firn chat
goes on with it. What begins with a slash is a command to the chat: /help lists them.
Ctrl-C stops an answer; twice at an empty prompt it ends the chat, as Ctrl-D does.

At a terminal, lines can be edited as in a shell: the history (arrows, Ctrl-R; kept in
the home, but for what begins with a space), words, Ctrl-A E K U W Y, Tab for commands,
sessions and models. Alt-Enter, or a backslash at the end, begins another line; what is
pasted may have several. Answers are set as they come. NO_COLOR and TERM=dumb are
honoured; in a pipe, answers are as the model gave them.

Without -m the model is the one that was chosen in the session before, or else
$FIRN_MODEL, the agent's in the settings, or firn/offline, which comes with firn and
needs no key and no network: it matches words and says so. Other models are named
PROVIDER/MODEL, with a key in the environment where one is needed: anthropic/…
(ANTHROPIC_API_KEY), openai/… (OPENAI_API_KEY; with OPENAI_BASE_URL, or as
openai-chat/…, over the older API that many servers speak), ollama/… on this
machine. The providers are ` + p.providerNames() + `.

The tools of the agent can read the files of the current directory; they may write
only in a directory that is named with --workspace, and run commands only if
--allow-shell says so. AGENTS.md, CLAUDE.md and FIRN.md in that directory and its
parents, up to the root of the repository, are read as instructions, and so is what they
include with @include PATH; firn window shows them. All of that is for a chat without a
gateway: one that serves the home answers with its own tools, in the workspace that its
settings name.

With --ephemeral the chat is in memory only: nothing of it is written to the home, also if
a gateway serves it, the agent has no memory, and what was typed is not in the history. What
tools write, and what /export writes, are files all the same.

With -p the answer to PROMPT, or to what comes on stdin, is printed, and that is all.`,
		Example: `  firn chat
  firn chat -c "and what about the second part?"
  firn chat -r "a trip to Oslo" --at HEAD~2
  firn chat -m anthropic/claude-sonnet-4-5 --workspace ~/src/thing
  git diff | firn chat -p --no-tools --key agent:main:reviews`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.chat(cmd, f, args)
		},
	}
	f.add(cmd)
	return cmd
}

// add defines the flags on a command.
func (f *chatFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.Continue, "continue", "c", false, "go on with the agent's latest session that no job, hook or other agent began")
	flags.StringVarP(&f.Resume, "resume", "r", "", "go on with this `session`: an id, its first or last 4 or more characters, a title or words of it, @key or a path; without one, the latest")
	flags.Lookup("resume").NoOptDefVal = latestSession
	flags.StringVarP(&f.Agent, "agent", "a", "", "the `name` of the agent (default main); with --resume, who answers there, whoever's session it is")
	flags.StringVarP(&f.Model, "model", "m", "", "who answers from now on: `provider/model`")
	flags.StringVar(&f.Key, "key", "", "go on with the session of this `key` (default agent:<agent>:main)")
	flags.StringVar(&f.At, "at", "", "go on from this `entry` of the session: an id, a label, HEAD~n or #n; what was said behind it stays in the log")
	flags.BoolVarP(&f.print, "print", "p", false, "print the answer and exit")
	flags.StringVar(&f.workspace, "workspace", "", "the `directory` that the tools read and write in (default the current one, only to be read)")
	flags.BoolVar(&f.shell, "allow-shell", false, "let the agent run commands, with all that you may do")
	flags.StringVar(&f.Thinking, "thinking", "", "how hard the model thinks from now on: a `level` from off to xhigh")
	flags.BoolVar(&f.Ephemeral, "ephemeral", false, "keep this chat in memory only: nothing is saved, and it cannot be resumed")
	flags.BoolVar(&f.noTools, "no-tools", false, "let the agent only talk")
}

// chat runs a conversation from flags and arguments.
func (p chatCommands) chat(cmd *cobra.Command, f chatFlags, args []string) (err error) {
	if err := f.check(cmd, args, p.json); err != nil {
		return err
	}
	if err := chat.CheckThinking(f.Thinking); err != nil {
		return err
	}
	o := f.Options
	if id, ok := idOfPath(o.Resume); ok {
		o.Resume = string(id)
	}
	o.Prompt = strings.Join(args, " ")
	o.Stdin, o.Stdout, o.Stderr = p.stdin, p.stdout, p.stderr
	o.Terminal = chat.Terminal{
		In: isTerminal(p.stdin), Out: isTerminal(p.stdout), Err: isTerminal(p.stderr),
		Dim: p.env("NO_COLOR") == "" && p.env("TERM") != "dumb",
	}
	if f.print {
		if o.Prompt, err = p.prompt(cmd, o); err != nil {
			return err
		}
	}
	o.Reports = &chat.Reports{}
	release, err := p.chatClient(cmd, f, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if f.print {
		if o.Ephemeral {
			o.Reports.Add(chat.NothingSaved)
		}
		return p.ask(cmd, o)
	}
	if p.interrupts != nil {
		o.Presses, o.Release = p.interrupts()
		defer o.Release()
	}
	defer p.openDevice(&o)()
	o.User, _ = os.UserHomeDir() // may be unknown
	return chat.Run(cmd.Context(), o)
}

// openDevice enables line editing if the streams are a capable terminal. The returned
// function releases the terminal.
func (p chatCommands) openDevice(o *chat.Options) (release func()) {
	in, ok1 := p.stdin.(*os.File)
	talk, ok2 := p.stderr.(*os.File)
	if !ok1 || !ok2 || !line.IsTerminal(in) || !line.IsTerminal(talk) || p.env("TERM") == "dumb" {
		return func() {}
	}
	home, err := p.homeDir()
	if _, _, foreign := p.foreign(); err == nil && !foreign && !o.Ephemeral { // in another tool's folder the history is kept in memory only
		o.History, err = history.Open(vfs.OS{}, history.Path(home))
	}
	if err != nil {
		o.Reports.Add(err.Error())
	}
	dev, release := line.Files(in, talk)
	o.Device = &dev
	return release
}

// chatClient connects to the gateway. A gateway in this process gets the tools that the
// flags allow; a remote one has its own.
func (p chatCommands) chatClient(cmd *cobra.Command, f chatFlags, o *chat.Options) (release func() error, err error) {
	dir, err := f.directory()
	if err != nil {
		return nil, err
	}
	tools := &Tools{Workspace: dir, Write: f.workspace != "", Shell: f.shell, None: f.noTools}
	c, release, err := p.connect(cmd.Context(), GatewayOptions{
		Model: o.Model, Tools: tools, Ephemeral: o.Ephemeral, Watched: o.Terminal.Out, Report: o.Reports.Add,
	})
	if err != nil {
		return nil, err
	}
	o.Client, o.Workspace, o.Files = c, dir, tools.text()
	o.Remember, o.Forget, o.Notes = remembering(c), forgetting(c), noting(c)
	p.addExport(o)
	if p.providers != nil {
		o.Providers, o.KeyOf = p.providers()
	}
	if c.Address() != inProcess {
		o.Files = ""
		if f.workspace != "" || f.shell || f.noTools {
			return nil, errors.Join(usage(cmd, "the gateway at %s has tools of its own; --workspace, --allow-shell and --no-tools are for chats without one", c.Address()), release())
		}
	}
	return release, nil
}

// inProcess is the address of a gateway in this process.
const inProcess = "in-process"

// text describes the files that tools may access.
func (t *Tools) text() string {
	switch {
	case t.None:
		return "no tools"
	case t.Workspace == "":
		return "none"
	case !t.Write:
		return t.Workspace + ", to be read only; --workspace lets the tools write"
	}
	return t.Workspace
}

// check rejects incompatible flags.
func (f *chatFlags) check(cmd *cobra.Command, args []string, json bool) error {
	ways := 0
	for _, set := range []bool{f.Continue, f.Resume != "", f.Key != ""} {
		if set {
			ways++
		}
	}
	switch {
	case ways > 1:
		return usage(cmd, "--continue, --resume and --key each say which session; give one of them")
	case f.Ephemeral && (ways > 0 || f.At != "" || cmd.Flags().Changed("gateway")):
		return usage(cmd, "an ephemeral chat begins a session of its own; leave out --continue, --resume, --key, --at and --gateway")
	case cmd.Flags().Changed("at") && f.At == "":
		return usage(cmd, "--at names no entry")
	case json && !f.print:
		return usage(cmd, "firn chat prints JSON only with -p")
	case f.shell && f.noTools:
		return usage(cmd, "--allow-shell and --no-tools do not go together")
	case cmd.Flags().Changed("resume") && f.Resume == "":
		return usage(cmd, "--resume names an empty session; without a name it is the latest one")
	case f.print && len(args) > 0 && strings.TrimSpace(strings.Join(args, " ")) == "":
		return usage(cmd, "the prompt is empty")
	}
	return nil
}

// latestSession stands for the most recently updated session.
const latestSession = "-"

// joinResume joins --resume and a following session into one argument, because a flag with
// an optional value accepts it only in that form.
func joinResume(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(joined, args[i:]...)
		}
		if (args[i] == "-r" || args[i] == "--resume") && i+1 < len(args) && (args[i+1] == latestSession || !strings.HasPrefix(args[i+1], "-")) {
			joined = append(joined, "--resume="+args[i+1])
			i++
			continue
		}
		joined = append(joined, args[i])
	}
	return joined
}

// directory returns the absolute workspace directory of the tools.
func (f *chatFlags) directory() (string, error) {
	dir := f.workspace
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the workspace %s: %w", dir, err)
	}
	info, err := os.Stat(abs)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w workspace: it is not a directory", firn.ErrInvalid)
	}
	if err != nil {
		return "", fmt.Errorf("open the workspace %s: %w", dir, err)
	}
	return abs, nil
}

// maxPrompt is the maximum size of a prompt from stdin in bytes.
const maxPrompt = 10 << 20

// prompt returns the prompt from the arguments, or else from stdin.
func (p chatCommands) prompt(cmd *cobra.Command, o chat.Options) (string, error) {
	if o.Prompt != "" {
		return o.Prompt, nil
	}
	if o.Terminal.In || p.stdin == nil {
		return "", usage(cmd, "firn chat -p needs a prompt, as an argument or on stdin")
	}
	text, err := io.ReadAll(io.LimitReader(p.input(cmd.Context()), maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	if len(text) > maxPrompt {
		return "", fmt.Errorf("read the prompt: %w: more than %d bytes", firn.ErrTooLarge, maxPrompt)
	}
	prompt := strings.TrimSpace(string(text))
	if prompt == "" {
		return "", usage(cmd, "the prompt is empty")
	}
	return prompt, nil
}

// ask answers one prompt.
func (p chatCommands) ask(cmd *cobra.Command, o chat.Options) error {
	answer, err := chat.Ask(cmd.Context(), o)
	if err != nil {
		return err
	}
	if answer.Silent && !p.json {
		return nil
	}
	return p.print(answer, func() string { return strings.TrimSuffix(answer.Text, "\n") + "\n" })
}
