package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/wire"
)

func (p exchangeCommands) handoffCommand() *cobra.Command {
	var to, dir, cwd string
	var plan bool
	cmd := &cobra.Command{
		Use: "handoff SESSION --to TOOL", GroupID: "formats",
		Short: "Continue a session in another tool",
		Long: `Write a session into another tool's directory, as a new file in that tool's
format, and print the command that resumes it there. Existing files are not
changed, except the tool's list of sessions if it has one. The session in firn
does not change; firn import --id NAME, or firn adopt, imports the continued
session as a separate one.

Tools: claude (Claude Code), codex, pi, openclaw, crabtalk, claw0, cersei.

` + sessionHelp,
		Example: "  firn handoff - --to claude\n  firn handoff 0198c5a2 --to codex --cwd ~/src/wal",
		Args:    args(1, 1, "one session"), ValidArgsFunction: p.completeSession(true),
	}
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "", "`tool` to continue in")
	flags.StringVar(&dir, "folder", "", "the tool's `directory` (default: its usual one)")
	flags.StringVar(&cwd, "cwd", "", "working `directory` (default: the session's, or the current one)")
	flags.BoolVar(&plan, "plan", false, "print the plan without changing anything")
	completeFormat(cmd, "to")
	cmd.RunE = p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
		tool, err := handoffTool(to)
		if err != nil {
			return err
		}
		session, err := p.session(ctx, c, args[0])
		if err != nil {
			return err
		}
		h, err := p.handing(tool, session, dir, cwd)
		if err != nil {
			return err
		}
		if h.fidelity, err = c.Transfer.FidelityAs(ctx, session.ID, h.export()); err != nil {
			return err
		}
		if !plan {
			if err := h.write(ctx, c); err != nil {
				return err
			}
		}
		return p.print(h.result(plan), func() string { return h.text(plan) })
	})
	return cmd
}

// handoffTool returns the tool with a name, if its sessions can be written.
func handoffTool(name string) (dialect.Tool, error) {
	wrong := &usageError{message: "--to is required", hint: "use --to with one of " + strings.Join(dialects.Names()[1:], ", ")}
	if name == "" {
		return nil, wrong
	}
	tool, ok := dialects.Find(name)
	if !ok || tool.Name() == dialect.Native {
		wrong.message = fmt.Sprintf("unknown tool %q", name)
		return nil, wrong
	}
	if err := dialect.Writable(tool); err != nil {
		wrong.message = err.Error()
		return nil, wrong
	}
	return tool, nil
}

// handing is the handoff of a session to another tool.
type handing struct {
	tool       dialect.Tool
	home, path string
	target     dialect.Target
	fidelity   wire.Fidelity
	// env holds the environment variables that point the tool to its folder, if that is not
	// the default.
	env map[string]string
}

// handing determines the target of a handoff.
func (p exchangeCommands) handing(tool dialect.Tool, s wire.Session, dir, cwd string) (*handing, error) {
	h := &handing{tool: tool}
	if err := h.findHome(p.program, dir); err != nil {
		return nil, err
	}
	if cwd = firstNot(cwd, s.CWD); cwd == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("hand off session %s: %w", s.ID, err)
		}
	}
	cwd, err := filepath.Abs(cwd)
	if err != nil {
		return nil, fmt.Errorf("hand off session %s: %w", s.ID, err)
	}
	h.target = dialect.Target{Session: s.ID, Title: s.Title, CWD: cwd, Agent: s.Agent, Key: s.Key, Created: s.Created, Updated: s.Updated}
	if s.State != nil {
		h.target.Provider, h.target.Model, h.target.Messages = s.State.Provider, s.State.Model, s.State.Messages
	}
	if h.path, err = tool.Layout().Place(os.DirFS(h.home), h.target); err == nil && !fs.ValidPath(h.path) {
		err = fmt.Errorf("hand off session %s: %w: %q is not a path in the tool's directory", s.ID, firn.ErrInvalid, h.path)
	}
	if n, ok := tool.Layout().(dialect.Namer); ok && err == nil {
		h.target.As = n.NameOf(h.path)
	}
	return h, err
}

// findHome sets the folder of the tool: dir, or else the default.
func (h *handing) findHome(p *program, dir string) (err error) {
	usual := ""
	if homes := h.tool.Layout().Homes(); len(homes) > 0 {
		usual, err = exchangeCommands{p}.toolHome(h.tool.Name(), homes[0])
	}
	if h.home = dir; dir == "" {
		if usual == "" && err == nil {
			err = &usageError{message: fmt.Sprintf("%s has no default directory", h.tool.Name()), hint: "set it with --folder"}
		}
		h.home = usual
		return err
	}
	if h.home, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("find directory %s: %w", dir, err)
	}
	if variable := homeVariables[h.tool.Name()]; variable != "" && h.home != filepath.Clean(usual) {
		h.env = map[string]string{variable: h.home}
	}
	return nil
}

// command returns the shell command that resumes the session.
func (h *handing) command() string {
	set := ""
	for name, value := range h.env {
		set += name + "=" + quote(value) + " "
	}
	return "cd " + quote(h.target.CWD) + " && " + set + quoteAll(h.tool.Layout().Resume(h.file(), h.target))
}

// export returns the export options.
func (h *handing) export() wire.Export {
	return wire.Export{Format: string(h.tool.Name()), CWD: h.target.CWD, As: h.target.As}
}

// toolHome returns the folder of a tool's sessions.
func (p exchangeCommands) toolHome(tool dialect.Name, usual string) (string, error) {
	user, others, err := adoptCommands(p).toolHomes()
	if dir := others[tool]; dir != "" {
		return dir, nil
	}
	if err != nil {
		return "", &usageError{message: fmt.Sprintf("cannot find the directory of %s: there is no home directory", tool), hint: "set --folder or HOME"}
	}
	return filepath.Join(user, filepath.FromSlash(usual)), nil
}

func firstNot(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// write writes the file, and then adds it to the tool's list of sessions.
func (h *handing) write(ctx context.Context, c *client.Client) error {
	fsys := vfs.OS{}
	name := h.file()
	if err := fsys.MkdirAll(filepath.Dir(name)); err != nil {
		return fmt.Errorf("hand off session %s: %w", h.target.Session, err)
	}
	if err := newFile(name, func(w io.Writer) error {
		return c.Transfer.ExportAs(ctx, h.target.Session, h.export(), w)
	}); err != nil {
		return err
	}
	files, err := h.tool.Layout().Index(os.DirFS(h.home), h.path, h.target)
	for _, f := range files {
		err = errors.Join(err, vfs.WriteFile(fsys, filepath.Join(h.home, filepath.FromSlash(f.Path)), f.Data))
	}
	if err != nil {
		return fmt.Errorf("hand off session %s: the transcript is written, but the tool's list is not: %w", h.target.Session, err)
	}
	return nil
}

func (h *handing) file() string { return filepath.Join(h.home, filepath.FromSlash(h.path)) }

// handed is the JSON form of the result.
type handed struct {
	Tool   dialect.Name `json:"tool"`
	File   string       `json:"file"`
	CWD    string       `json:"cwd"`
	Resume []string     `json:"resume"`
	// Env holds the environment variables that the command needs.
	Env      map[string]string `json:"env,omitempty"`
	Planned  bool              `json:"planned,omitempty"`
	Fidelity wire.Fidelity     `json:"fidelity"`
}

func (h *handing) result(plan bool) handed {
	return handed{Tool: h.tool.Name(), File: h.file(), CWD: h.target.CWD, Resume: h.tool.Layout().Resume(h.file(), h.target), Env: h.env, Planned: plan, Fidelity: h.fidelity}
}

func (h *handing) text(plan bool) string {
	word, would := "wrote ", ""
	if plan {
		word, would = "would write ", "would be "
	}
	note := ""
	if info, err := os.Stat(h.target.CWD); err != nil || !info.IsDir() {
		note = "note: the directory " + h.target.CWD + " does not exist here; choose another with --cwd\n"
	}
	return word + h.file() + "\n" + fidelityText(h.fidelity, would) + note +
		"Resume: " + h.command() + "\n"
}

// quoteAll quotes a command for a shell.
func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// quote quotes a word for a shell.
func quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
