package cli

import (
	"bufio"
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

	"firn.dev"
	"firn.dev/internal/base/approve"
	"firn.dev/internal/disk/history"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/term/chat"
	"firn.dev/internal/term/line"
	"firn.dev/internal/term/local"
)

// chatFlags are the flags of firn chat.
type chatFlags struct {
	chat.Options
	print, main    bool
	output, input  string
	workspace      string
	shell, noTools bool
}

// chatCommands are the commands of a chat in the terminal.
type chatCommands struct{ *program }

// chatHelp is the help of the chat before the names of the providers, and chatHelpMore after
// them.
const (
	chatHelp = `Chat with an agent. Each message is on disk before it is answered, so nothing is
lost when the chat is closed, interrupted or killed. Lines that begin with a
slash are commands; /help lists them. Ctrl-C stops an answer; twice at an empty
prompt, it ends the chat, as Ctrl-D does.

A chat resumes the session of this project: the git repository or worktree of
the current directory (or of --workspace), or else the directory. Its key is
agent:<agent>:project:<directory>. --new starts another session for the
project, with the default model; the previous one is kept. -c resumes the latest
session that was started in the project, whatever its key, or else one that was
continued there; -r resumes any session, and without a name lets you choose one:
type to search titles, first messages, directories and contents; Tab switches
between this project and all sessions. If several clients use a session, each
shows the messages of the others. --main uses the agent's main session, which is
the same in all directories, and --key the session of a key. An archived session
is resumed only if it is named by -r, --key or --main. At a terminal, firn
without a command is firn chat; firn -c and firn -r work too.

At a terminal, lines are edited as in a shell: history (arrows, Ctrl-R; saved in
the home, except lines that begin with a space), word movement, Ctrl-A E K U W Y.
/ opens a menu of commands. @ completes files of the project, and sends the
file with the message. !COMMAND runs a command and keeps it in the session.
Ctrl-J, Shift-Enter, Alt-Enter or a trailing backslash starts a new line; a long
paste is shown as a placeholder. Ctrl-G opens $VISUAL or $EDITOR. Esc stops an
answer, Esc Esc rewinds. docs/keys.md lists all keys.

Answers are formatted as they arrive, with colors for the terminal's background;
NO_COLOR removes colors, TERM=dumb all styles, and LC_ALL=C gets ASCII. In a pipe,
answers are printed as the model wrote them.

Without -m, the model is the one chosen in the session with /model, or else
$FIRN_MODEL, or the model set for the project or the agent (firn model set). If
none is set, it is that of the first API key in the environment, of an Ollama or
LM Studio on this machine, or firn/offline; the chat says which. -m and
--thinking apply to this chat only and are not saved. firn/offline is built in
and needs no API key and no network; it only matches words. Other models are
named PROVIDER/MODEL, or by a unique name (gpt-5, sonnet; firn model
lists them), and read their API key from the environment: anthropic/…
(ANTHROPIC_API_KEY), openai/… (OPENAI_API_KEY; with OPENAI_BASE_URL, or as
openai-chat/…, over the older chat completions API), ollama/… on this machine.
Providers: `
	chatHelpMore = `.

The agent's tools can read files in the current directory, or in that of
--workspace. At a terminal they can also write there and run commands: the chat
asks before each such call. With -p, in a pipe or with the gateway of another
home they write only with --workspace or --approve, and run commands only with
--allow-shell or --approve. --approve read-only offers neither. AGENTS.md,
CLAUDE.md and FIRN.md in that directory and its parents, up to the root of the
repository, are read as instructions, with the files they include by
@include PATH; firn window shows them. With a running gateway the tools act here too: this process runs them, as you, in this
directory. If it ends during a call, the call counts as interrupted.

With --ephemeral the chat exists only in memory: nothing is written to the
home, even if a gateway serves it, the agent has no memory, and input is not
saved to the history. Files written by tools or by /export remain.

With -p, firn prints the answer to PROMPT, or to stdin, and exits. If stdin is a
pipe or a file, its text follows PROMPT. The question gets a session of its own,
unless -c, -r, --new, --main or --key is given.
--output-format json prints the answer with its session and usage, stream-json
one JSON object per line for each event. --input-format stream-json reads
messages from stdin, one JSON object per line: {"type":"user","text":"…"}. Exit
codes: 0 answered, 1 the provider or another step failed, 2 invalid arguments or
input, 3 no such session, 4 ambiguous name, 5 conflict, 6 gateway unreachable,
7 API key rejected or missing, 130 interrupted. docs/scripting.md has the events.`
)

func (p chatCommands) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:     "chat [PROMPT]",
		GroupID: "talk",
		Short:   "Chat with an agent; every message is saved",
		Long:    chatHelp + p.providerNames() + chatHelpMore,
		Example: `  firn chat
  firn chat --new
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
	addResumeFlags(flags, &f.Continue, &f.Resume)
	flags.BoolVar(&f.New, "new", false, "start a new session; the previous one is kept")
	flags.BoolVar(&f.main, "main", false, "use the agent's main session, the same in all directories")
	flags.StringVarP(&f.Agent, "agent", "a", "", "`name` of the agent (default main); with --resume, the agent that answers from now on")
	flags.StringVarP(&f.Model, "model", "m", "", "model of this chat, as `provider/model`; not saved in the session")
	flags.StringVar(&f.Key, "key", "", "use the session of this `key` (default agent:<agent>:project:<directory>)")
	flags.StringVar(&f.At, "at", "", "continue from this `entry`: an id, a label, HEAD~n or #n; later entries stay in the log")
	flags.BoolVarP(&f.print, "print", "p", false, "print the answer and exit")
	flags.StringVar(&f.output, "output-format", formatText, "with -p, how answers are printed: `format` text, json or stream-json")
	flags.StringVar(&f.input, "input-format", formatText, "with -p, what stdin contains: `format` text, or stream-json for one message per line")
	flags.StringVar(&f.workspace, "workspace", "", "`directory` the tools may read and write (default the current one; with -p or in a pipe, and without --approve, read-only)")
	flags.BoolVar(&f.shell, "allow-shell", false, "allow the agent to run commands with your permissions (default at a terminal, where each is asked about, and with --approve)")
	flags.StringVar(&f.Thinking, "thinking", "", "thinking `level` of this chat, off to xhigh; not saved in the session")
	flags.BoolVar(&f.Ephemeral, "ephemeral", false, "keep this chat in memory only; it is not saved and cannot be resumed")
	flags.StringVar(&f.Approve, "approve", "", "which tool calls run without asking, as a `mode`: read-only, ask, accept-edits or everything (default ask at a terminal, everything with -p and in a pipe, unless defaults.approvals.mode is set)")
	flags.BoolVar(&f.noTools, "no-tools", false, "run the agent without tools")
}

// addResumeFlags defines the flags that select an earlier session. firn itself has them too.
func addResumeFlags(flags *pflag.FlagSet, latest *bool, session *string) {
	flags.BoolVarP(latest, "continue", "c", false, "resume the latest session of this project that was not started by a job, hook or another agent")
	flags.StringVarP(session, "resume", "r", "", "resume this `session`: an id, its first or last 4 or more characters, a title or words of it, @key, a path, or - for the latest of all")
	flags.Lookup("resume").NoOptDefVal = chat.Pick
}

// chat runs a conversation from flags and arguments.
func (p chatCommands) chat(cmd *cobra.Command, f chatFlags, args []string) (err error) {
	if err := f.check(cmd, args, p.json, p.stdin); err != nil {
		return err
	}
	if err := f.checkValues(cmd); err != nil {
		return err
	}
	if f.print && len(args) > 0 && chat.IsCommand(args[0]) {
		p.notef("%s is sent as a message; commands work in the chat: firn chat -c\n", args[0])
	}
	o := f.Options
	if id, ok := idOfPath(o.Resume); ok {
		o.Resume = string(id)
	}
	o.Prompt = strings.Join(args, " ")
	o.Stdin, o.Stdout, o.Stderr = p.stdin, plainStream(p.stdout), plainStream(p.stderr)
	o.Terminal = chat.Terminal{
		In: isTerminal(p.stdin), Out: isTerminal(p.stdout), Err: isTerminal(p.stderr),
		Dim: p.env("TERM") != "dumb", Columns: columnsOf(p.stderr),
	}
	if f.output == formatJSON {
		p.json = true
	}
	if f.print && f.input == formatText {
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
		return p.ask(cmd, f, o)
	}
	if p.interrupts != nil {
		o.Presses, o.Release = p.interrupts()
		defer o.Release()
	}
	defer p.openDevice(&o)()
	p.applyLook(&o)
	o.User, _ = os.UserHomeDir() // may be unknown
	return chat.Run(cmd.Context(), o)
}

// openDevice enables line editing if the streams are a capable terminal. The returned
// function releases the terminal.
func (p chatCommands) openDevice(o *chat.Options) (release func()) {
	in, ok1 := fileOf(p.stdin)
	talk, ok2 := fileOf(p.stderr)
	if !ok1 || !ok2 || !line.IsTerminal(in) || !line.IsTerminal(talk) || p.env("TERM") == "dumb" {
		return func() {}
	}
	home, err := p.homeDir()
	if _, _, foreign := p.foreign(); err == nil && !foreign && !o.Ephemeral { // in another tool's folder the history is kept in memory only
		o.History, err = history.Open(sealfs.Home(home), history.Path(home))
	}
	if err != nil {
		o.Reports.Add(err.Error())
	}
	dev, release := line.Files(in, talk)
	o.Device, o.Extended = &dev, p.env("TERM") != "linux" // the console shows sequences that it does not know
	return release
}

// chatClient connects to the gateway, with the tools that the flags allow.
func (p chatCommands) chatClient(cmd *cobra.Command, f chatFlags, o *chat.Options) (release func() error, err error) {
	dir, err := f.directory()
	if err != nil {
		return nil, err
	}
	settings, err := p.settings()
	if err != nil {
		return nil, err
	}
	tools := f.tools(dir, o.Terminal.In && settings.Client.Gateway == "")
	if o.Model != "" {
		if o.Model, err = p.resolveModel(cmd.Context(), settings, o.Model); err != nil {
			return nil, err
		}
	}
	chosen := p.startChoice(cmd.Context(), settings, f.Agent, projectRoot(dir))
	c, release, err := p.connect(cmd.Context(), GatewayOptions{
		Choose: chosen.apply, Model: o.Model, Tools: tools, Ephemeral: o.Ephemeral, Watched: o.Terminal.Out, Report: o.Reports.Add,
	})
	if err != nil {
		return nil, err
	}
	o.Client, o.Workspace, o.Files = c, dir, tools.text()
	if !f.main {
		o.Project = projectRoot(dir)
	}
	o.Home = p.knownHome()
	if o.Project != "" && f.Key == "" {
		o.Repository = syncedRepository(o.Home, o.Project)
	}
	o.Own = f.print && !f.New && !f.main && f.Key == ""
	o.Local = local.Machine{Dir: dir, Env: p.env}
	o.Remember, o.Forget, o.Notes = p.remembering(c), p.forgetting(c), noting(c)
	p.addExport(o)
	chosen.addModels(o, projectRoot(dir))
	if f.print {
		chosen.announce(*o)
	}
	if p.providers != nil {
		o.Providers, o.KeyOf = p.providers()
	}
	if c.Address() != inProcess {
		return p.hostTools(tools, o, release)
	}
	return release, nil
}

// knownHome returns the home of the sessions if it is known without asking the gateway.
func (p chatCommands) knownHome() string {
	s, err := p.settings()
	if _, _, foreign := p.foreign(); err != nil || foreign || s.Client.Gateway != "" {
		return ""
	}
	return s.Home
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
		return t.Workspace + ", read-only; --workspace or --approve allows the tools to write"
	}
	return t.Workspace
}

// tools returns the tools of a chat in a directory. Where calls are subject to approval, by
// --approve or because a user can be asked, tools may write and run commands. asks is false
// if it is not this home's gateway that decides which calls need approval.
func (f *chatFlags) tools(dir string, asks bool) *Tools {
	approved := f.Approve != "" && f.Approve != string(approve.ReadOnly) || f.Approve == "" && asks && !f.print
	return &Tools{Workspace: dir, Write: f.workspace != "" || approved, Shell: f.shell || approved && !f.noTools, None: f.noTools}
}

// check rejects incompatible flags.
func (f *chatFlags) check(cmd *cobra.Command, args []string, json bool, terminal io.Reader) error {
	ways := 0
	for _, set := range []bool{f.Continue, f.Resume != "", f.Key != "", f.main} {
		if set {
			ways++
		}
	}
	switch {
	case ways > 1:
		return usage(cmd, "--continue, --resume, --main and --key cannot be combined")
	case f.New && (f.Continue || f.Resume != "" || f.At != ""):
		return usage(cmd, "--new cannot be combined with --continue, --resume or --at")
	case f.Resume == chat.Pick && (f.print || !isTerminal(terminal)):
		return usage(cmd, "-r without a session needs a terminal; name a session, or use -c or -r -")
	case f.Ephemeral && (ways > 0 || f.At != "" || cmd.Flags().Changed("gateway")):
		return usage(cmd, "--ephemeral cannot be combined with --continue, --resume, --main, --key, --at or --gateway")
	case cmd.Flags().Changed("at") && f.At == "":
		return usage(cmd, "--at is empty")
	case !slices.Contains([]string{formatText, formatJSON, formatStream}, f.output):
		return usage(cmd, "unknown output format %q: expected text, json or stream-json", f.output)
	case f.input != formatText && f.input != formatStream:
		return usage(cmd, "unknown input format %q: expected text or stream-json", f.input)
	case !f.print && (f.output != formatText || f.input != formatText):
		return usage(cmd, "--output-format and --input-format require -p")
	case json && cmd.Flags().Changed("output-format") && f.output != formatJSON:
		return usage(cmd, "--json and --output-format %s cannot be combined", f.output)
	case f.input == formatStream && len(args) > 0:
		return usage(cmd, "with --input-format stream-json the messages are read from stdin, not from arguments")
	case json && !f.print:
		return usage(cmd, "--json requires -p")
	case f.shell && f.noTools:
		return usage(cmd, "--allow-shell and --no-tools cannot be combined")
	case cmd.Flags().Changed("resume") && f.Resume == "":
		return usage(cmd, "--resume is empty; without a value it lets you choose")
	case f.print && len(args) > 0 && strings.TrimSpace(strings.Join(args, " ")) == "":
		return usage(cmd, "the prompt is empty")
	}
	return nil
}

// checkValues rejects unknown thinking levels and approval modes.
func (f *chatFlags) checkValues(cmd *cobra.Command) error {
	if err := chat.CheckThinking(f.Thinking); err != nil {
		return err
	}
	if !cmd.Flags().Changed("approve") {
		return nil
	}
	if _, err := approve.ParseMode(f.Approve); err != nil {
		return &usageError{message: err.Error(), hint: "run " + cmd.CommandPath() + " --help"}
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
		return "", fmt.Errorf("find workspace %s: %w", dir, err)
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		abs = resolved
	}
	info, err := os.Stat(abs)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w workspace: not a directory", firn.ErrInvalid)
	}
	if err != nil {
		return "", fmt.Errorf("open workspace %s: %w", dir, err)
	}
	return abs, nil
}

// maxPrompt is the maximum size of a prompt from stdin in bytes.
const maxPrompt = 10 << 20

// prompt returns the prompt from the arguments, followed by the text on stdin if that is a
// pipe or a file.
func (p chatCommands) prompt(cmd *cobra.Command, o chat.Options) (string, error) {
	if o.Prompt != "" && !isPiped(p.stdin) {
		return o.Prompt, nil
	}
	if o.Terminal.In || p.stdin == nil {
		return "", usage(cmd, "firn chat -p needs a prompt, as an argument or on stdin")
	}
	text, err := p.readPrompt(cmd.Context(), o.Prompt != "")
	if err != nil {
		return "", fmt.Errorf("read prompt: %w", err)
	}
	if len(text) > maxPrompt {
		return "", fmt.Errorf("read prompt: %w: more than %d bytes", firn.ErrTooLarge, maxPrompt)
	}
	prompt := strings.TrimSpace(o.Prompt + "\n\n" + strings.TrimSpace(string(text)))
	if prompt == "" {
		return "", usage(cmd, "the prompt is empty")
	}
	return prompt, nil
}

// stdinPatience is how long a prompt with arguments waits for text on stdin. Some programs start
// others with a pipe that they neither use nor close.
const stdinPatience = 3 * time.Second

// readPrompt reads the text on stdin. If it is optional and does not begin within
// stdinPatience, the prompt is used without it, with a note.
func (p chatCommands) readPrompt(ctx context.Context, optional bool) ([]byte, error) {
	in := bufio.NewReader(p.input(ctx))
	if optional {
		arrived := make(chan struct{})
		go func() { // ends with the input, or with the process
			_, _ = in.Peek(1) // an error is returned by the next read
			close(arrived)
		}()
		select {
		case <-arrived:
		case <-time.After(stdinPatience):
			p.notef("no text on stdin within %d seconds: continuing without it; use </dev/null if there is none\n", int(stdinPatience.Seconds()))
			return nil, nil
		}
	}
	return io.ReadAll(io.LimitReader(in, maxPrompt+1))
}

// isPiped reports whether a stream is a pipe or a file, and not a device such as /dev/null.
func isPiped(stream any) bool {
	f, ok := fileOf(stream)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}
