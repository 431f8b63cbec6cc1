package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/term/chat"
)

// addExport enables export and handoff in a chat on this machine.
func (p chatCommands) addExport(o *chat.Options) {
	c := o.Client
	o.Export = func(ctx context.Context, id firn.ID, format, file string) (string, error) {
		name, err := formatName(format)
		if err != nil {
			return "", advised(err)
		}
		report, err := c.Transfer.Fidelity(ctx, id, name)
		if err != nil {
			return "", err
		}
		if err := newFile(file, func(w io.Writer) error { return c.Transfer.Export(ctx, id, name, w) }); err != nil {
			return "", err
		}
		return "wrote " + file + "\n" + fidelityText(report, ""), nil
	}
	o.Handoff = func(ctx context.Context, id firn.ID, tool string) (string, error) {
		return p.handOver(ctx, c, id, tool)
	}
}

// handOver writes a session into the folder of another tool, and returns the command that
// resumes it.
func (p chatCommands) handOver(ctx context.Context, c *client.Client, id firn.ID, name string) (string, error) {
	tool, ok := dialects.Find(name)
	if !ok || tool.Name() == dialect.Native {
		return "", &chat.Problem{Err: fmt.Errorf("unknown tool %q", name), Kind: firn.ErrInvalid, Hint: "tools: " + strings.Join(dialects.Names()[1:], ", ")}
	}
	session, err := c.Session(ctx, string(id))
	if err != nil {
		return "", err
	}
	h, err := exchangeCommands(p).handing(tool, session, "", "")
	if err != nil {
		return "", advised(err)
	}
	if h.fidelity, err = c.Transfer.FidelityAs(ctx, id, h.export()); err != nil {
		return "", err
	}
	if err := h.write(ctx, c); err != nil {
		return "", err
	}
	return h.text(false), nil
}

// advised converts an error with a hint to the form that the chat shows.
func advised(err error) error {
	o := classify(err)
	return &chat.Problem{Err: err, Hint: o.hint}
}
