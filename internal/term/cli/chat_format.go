package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/term/chat"
	"firn.dev/wire"
)

// addExport enables export and handoff in a chat on this machine.
func (p chatCommands) addExport(o *chat.Options) {
	c := o.Client
	o.Export = func(ctx context.Context, id firn.ID, format, file string) (string, error) {
		text, err := exportChat(ctx, c, id, format, file)
		var bad *usageError
		var hint *hinted
		if errors.As(err, &bad) || errors.As(err, &hint) {
			return "", advised(err)
		}
		return text, err
	}
	o.Handoff = func(ctx context.Context, id firn.ID, tool string) (string, error) {
		return p.handOver(ctx, c, id, tool)
	}
}

// exportChat writes a session to a new file and returns a report. Without a format, the file
// name stands for it; without a file, the title becomes one in the current directory.
func exportChat(ctx context.Context, c *client.Client, id firn.ID, format, file string) (string, error) {
	if format == "" && namesFormat(file) {
		format, file = file, ""
	}
	if format == "" {
		format = formatOfFile(file)
	}
	name, err := exportFormat(format)
	if err != nil {
		return "", err
	}
	session, err := c.Session(ctx, string(id))
	if err != nil {
		return "", err
	}
	if file == "" {
		file = exportFile(session, name)
	}
	path := file
	if abs, err := filepath.Abs(file); err == nil {
		path = abs
	}
	if name == wire.FormatHTML || name == formatMarkdown {
		err := newFile(file, func(w io.Writer) error {
			_, err := writePage(ctx, c, session, name, "", w) // the chat shows damage itself
			return err
		})
		return "wrote " + path + "\n", err
	}
	e, array := wire.Export{Format: name}, name == formatArray
	if array {
		e.Format = string(dialect.Native)
	}
	report, err := c.Transfer.FidelityAs(ctx, id, e)
	if err != nil {
		return "", err
	}
	if err := newFile(file, exportTo(ctx, c, session, e, array)); err != nil {
		return "", err
	}
	return "wrote " + path + "\n" + fidelityText(report, ""), nil
}

// handOver writes a session into the folder of another tool, and returns the command that
// resumes it.
func (p chatCommands) handOver(ctx context.Context, c *client.Client, id firn.ID, name string) (string, error) {
	tool, err := handoffTool(name)
	if err != nil {
		return "", &chat.Problem{Err: err, Kind: firn.ErrInvalid, Hint: "tools: " + strings.Join(dialects.Names()[1:], ", ")}
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
