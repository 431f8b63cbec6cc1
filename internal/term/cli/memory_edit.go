package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p memoryCommands) memoryEdit(f *memoryFlags) *cobra.Command {
	return &cobra.Command{
		Use: "edit NOTE", Short: "Edit a note", Args: args(1, 1, "the name of a note"),
		Long: `Edit a note in the editor set by $VISUAL or $EDITOR; the default is vi. The
old version is kept, and firn memory undo restores it. Nothing is written if
the text does not change.`,
		Example: "  firn memory edit house-rules\n  EDITOR='code --wait' firn memory edit user/tea --key agent:main:telegram:direct:7",
		RunE: p.withMemory(f, mayChange, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, args []string) error {
			n, err := c.Memory.Note(ctx, at, args[0])
			if err != nil {
				return err
			}
			text, err := p.edit(ctx, n.Name, n.Body)
			if err != nil {
				return fmt.Errorf("edit note %s: %w", n.Ref, err)
			}
			if text == n.Body {
				return p.print(n, func() string { return prose.Clean(n.Ref) + " is unchanged\n" })
			}
			kept, err := c.Memory.Edit(ctx, at, n.Ref, text)
			if err != nil {
				return err
			}
			return p.print(kept, func() string {
				return "changed " + prose.Clean(n.Ref) + "\nundo: " + undoMemory(at, kept.Change) + "\n"
			})
		}),
	}
}

// edit opens a text in the user's editor and returns the result. The temporary file is
// private and removed afterwards.
func (p memoryCommands) edit(ctx context.Context, name, text string) (string, error) {
	file := filepath.Join(os.TempDir(), "firn-"+string(firn.NewID())+"-"+fileWord(name)+".md")
	if err := newFile(file, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return "", err
	}
	defer func() {
		if err := (vfs.OS{}).Remove(file); err != nil {
			p.notef("note: %s\n", prose.OneLine(err.Error(), 160))
		}
	}()
	words := strings.Fields(cmp.Or(p.env("VISUAL"), p.env("EDITOR"), "vi"))
	editor, err := exec.LookPath(words[0])
	if err != nil {
		return "", &hinted{fmt.Errorf("editor %s not found", prose.Clean(words[0])), "set EDITOR to an installed editor"}
	}
	cmd := exec.CommandContext(ctx, editor, append(words[1:], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin, p.stderr, p.stderr
	if p.environ != nil {
		cmd.Env = p.environ
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("editor %s failed, and nothing was changed: %w", prose.Clean(words[0]), err)
	}
	changed, err := os.ReadFile(file)
	return string(changed), err
}

// fileWord returns a name that is safe as a file name.
func fileWord(name string) string {
	word := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
	return cmp.Or(word, "note")
}
