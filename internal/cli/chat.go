package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn"
	"firn/internal/chat"
)

// chatFlags are the flags of firn chat.
type chatFlags struct {
	chat.Options
	print bool
}

func (p *program) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:     "chat [PROMPT]",
		GroupID: "talk",
		Short:   "Talk with an agent; what is said is kept",
		Long: `Talk with an agent, line by line. What is said is on disk before it is answered, so
nothing is lost when the chat is left, interrupted or killed, and the next firn chat
goes on with it. What begins with a slash is a command to the chat: /help lists them.
Ctrl-C stops an answer; at the prompt it ends the chat, as Ctrl-D does.

Without -m the model is $FIRN_MODEL, or else firn/offline, which comes with firn and
needs no key and no network: it matches words and says so. Other models are named
PROVIDER/MODEL, with a key in the environment where one is needed: anthropic/…
(ANTHROPIC_API_KEY), openai/… (OPENAI_API_KEY; with OPENAI_BASE_URL, or as
openai-chat/…, over the older API that many servers speak), ollama/… on this
machine. The providers are ` + strings.Join(chat.Providers(), ", ") + `.

The tools of the agent can read the files of the current directory; they may write
only in a directory that is named with --workspace, and run commands only if
--allow-shell says so. AGENTS.md and FIRN.md in that directory are read as
instructions.

With -p the answer to PROMPT, or to what comes on stdin, is printed, and that is all.`,
		Example: `  firn chat
  firn chat -c "and what about the second part?"
  firn chat -m anthropic/claude-sonnet-4-5 --workspace ~/src/thing
  git diff | firn chat -p --no-tools --key agent:main:reviews`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.chat(cmd, f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.Continue, "continue", "c", false, "go on with the agent's latest session")
	flags.StringVarP(&f.Resume, "resume", "r", "", "go on with this `session`: an id, 4 or more characters of one, a title or @key")
	flags.StringVarP(&f.Agent, "agent", "a", "", "the `name` of the agent (default main)")
	flags.StringVarP(&f.Model, "model", "m", "", "who answers from now on: `provider/model`")
	flags.StringVar(&f.Key, "key", "", "go on with the session of this `key` (default agent:<agent>:main)")
	flags.BoolVarP(&f.print, "print", "p", false, "print the answer and exit")
	flags.StringVar(&f.Workspace, "workspace", "", "the `directory` that the tools read and write in (default the current one, only to be read)")
	flags.BoolVar(&f.Shell, "allow-shell", false, "let the agent run commands, with all that you may do")
	flags.StringVar(&f.Thinking, "thinking", "", "how hard the model thinks from now on: a `level` from off to xhigh")
	flags.BoolVar(&f.NoTools, "no-tools", false, "let the agent only talk")
	return cmd
}

// chat turns flags and arguments into a conversation.
func (p *program) chat(cmd *cobra.Command, f chatFlags, args []string) error {
	if err := f.check(cmd, args, p.json); err != nil {
		return err
	}
	o := f.Options
	var err error
	if o.Home, err = p.homeDir(); err != nil {
		return err
	}
	if o.Workspace, err = f.workspace(); err != nil {
		return err
	}
	o.Write = f.Workspace != ""
	o.Env, o.Stdin, o.Stdout, o.Stderr = p.env, p.stdin, p.stdout, p.stderr
	o.Default = p.env("FIRN_MODEL")
	o.Prompt = strings.Join(args, " ")
	o.Terminal = chat.Terminal{
		In: isTerminal(p.stdin), Out: isTerminal(p.stdout), Err: isTerminal(p.stderr),
		Dim: p.env("NO_COLOR") == "" && p.env("TERM") != "dumb",
	}
	if f.print {
		return p.ask(cmd, o)
	}
	if p.interrupts != nil {
		o.Presses, o.Release = p.interrupts()
		defer o.Release()
	}
	return chat.Run(cmd.Context(), o)
}

// check refuses flags that do not go together.
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
	case json && !f.print:
		return usage(cmd, "firn chat prints JSON only with -p")
	case f.Shell && f.NoTools:
		return usage(cmd, "--allow-shell and --no-tools do not go together")
	case cmd.Flags().Changed("resume") && f.Resume == "":
		return usage(cmd, "--resume names no session; --continue goes on with the latest one")
	case f.print && len(args) > 0 && strings.TrimSpace(strings.Join(args, " ")) == "":
		return usage(cmd, "the prompt is empty")
	}
	return nil
}

// workspace is the directory that the tools see, absolute.
func (f *chatFlags) workspace() (string, error) {
	dir := f.Workspace
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

// maxPrompt bounds what is read from stdin as a prompt, in bytes.
const maxPrompt = 10 << 20

// ask answers one prompt.
func (p *program) ask(cmd *cobra.Command, o chat.Options) error {
	if o.Prompt == "" {
		if o.Terminal.In || p.stdin == nil {
			return usage(cmd, "firn chat -p needs a prompt, as an argument or on stdin")
		}
		text, err := io.ReadAll(io.LimitReader(p.stdin, maxPrompt+1))
		if err != nil {
			return fmt.Errorf("read the prompt: %w", err)
		}
		if len(text) > maxPrompt {
			return fmt.Errorf("read the prompt: %w: more than %d bytes", firn.ErrTooLarge, maxPrompt)
		}
		if o.Prompt = strings.TrimSpace(string(text)); o.Prompt == "" {
			return usage(cmd, "the prompt is empty")
		}
	}
	answer, err := chat.Ask(cmd.Context(), o)
	if err != nil {
		return err
	}
	if answer.Silent && !p.json {
		return nil
	}
	return p.print(answer, func() string { return strings.TrimSuffix(answer.Text, "\n") + "\n" })
}
