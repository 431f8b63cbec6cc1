package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"firn.dev/client"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/render/trajectory"
	text "firn.dev/internal/render/transcript"
	"firn.dev/wire"
)

// The formats of an export besides those of tools and pages.
const (
	formatMarkdown   = "markdown"
	formatArray      = "json"
	formatTrajectory = "atif"
)

// exportNames maps other names of formats, and extensions of files.
var exportNames = map[string]string{
	"md": formatMarkdown, "htm": wire.FormatHTML, "html": wire.FormatHTML, "jsonl": string(dialect.Native),
	formatMarkdown: formatMarkdown, formatArray: formatArray, formatTrajectory: formatTrajectory,
}

// exportFormats lists the formats of an export.
func exportFormats() string {
	return strings.Join(append([]string{wire.FormatHTML, formatMarkdown, formatArray, formatTrajectory}, dialects.Names()...), ", ")
}

// namesFormat reports whether a name is that of a format, even of one that is not written.
func namesFormat(name string) bool {
	_, isTool := dialects.Find(name)
	return isTool || exportNames[name] != ""
}

// exportFormat returns the full name of a format of an export.
func exportFormat(name string) (string, error) {
	if full, ok := exportNames[name]; ok {
		return full, nil
	}
	tool, ok := dialects.Find(name)
	if !ok {
		return "", &usageError{message: fmt.Sprintf("unknown format %q", name), hint: "formats: " + exportFormats()}
	}
	if err := dialect.Writable(tool); err != nil {
		return "", &usageError{message: err.Error(), hint: "formats: " + exportFormats()}
	}
	return string(tool.Name()), nil
}

// formatOfFile returns the format that the name of a file stands for; native if none.
func formatOfFile(file string) string {
	if format, ok := exportNames[strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")]; ok {
		return format
	}
	return string(dialect.Native)
}

// exportFile returns a name for a file with a session in a format.
func exportFile(s wire.Session, format string) string {
	extension := map[string]string{wire.FormatHTML: ".html", formatMarkdown: ".md", formatArray: ".json", formatTrajectory: ".json"}[format]
	if extension == "" {
		extension = ".jsonl"
	}
	return text.FileName(nameOf(s)) + "-" + prose.Short(s.ID) + extension
}

// writeMarkdown writes the entries of a view as Markdown, and counts the damage.
func writeMarkdown(ctx context.Context, c *client.Client, s wire.Session, view string, w io.Writer) (d damaged, err error) {
	out := text.New(w, s)
	for e, err := range c.Entries(ctx, s.ID, client.EntryQuery{View: view}) {
		if err != nil {
			return d, err
		}
		d.entry(e)
		if err := out.Entry(e); err != nil {
			return d, err
		}
	}
	return d, nil
}

// writeTrajectory writes the branch of the head as a trajectory, and counts the damage and the
// masked places.
func writeTrajectory(ctx context.Context, c *client.Client, s wire.Session, o trajectory.Options, w io.Writer) (d damaged, masked int, err error) {
	out := trajectory.New(w, s, o)
	for e, err := range c.Entries(ctx, s.ID, client.EntryQuery{View: wire.ViewBranch}) {
		if err != nil {
			return d, 0, err
		}
		d.entry(e)
		if err := out.Entry(e); err != nil {
			return d, 0, err
		}
	}
	return d, out.Masked(), out.Close()
}

// arrayWriter turns lines of JSON into one array.
type arrayWriter struct {
	w     io.Writer
	begun bool
	line  bytes.Buffer
}

// Write implements [io.Writer].
func (a *arrayWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			a.line.Write(rest)
			break
		}
		a.line.Write(rest[:i])
		rest = rest[i+1:]
		if err := a.flush(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// flush writes the line as an element.
func (a *arrayWriter) flush() error {
	line := bytes.TrimSpace(a.line.Bytes())
	defer a.line.Reset()
	if len(line) == 0 {
		return nil
	}
	before := ",\n"
	if !a.begun {
		before, a.begun = "[\n", true
	}
	_, err := fmt.Fprintf(a.w, "%s%s", before, line)
	return err
}

// Close ends the array.
func (a *arrayWriter) Close() error {
	if err := a.flush(); err != nil {
		return err
	}
	end := "\n]\n"
	if !a.begun {
		end = "[]\n"
	}
	_, err := io.WriteString(a.w, end)
	return err
}

// exportTo returns a function that writes an export.
func exportTo(ctx context.Context, c *client.Client, s wire.Session, e wire.Export, array bool) func(io.Writer) error {
	return func(w io.Writer) error {
		if !array {
			return c.Transfer.ExportAs(ctx, s.ID, e, w)
		}
		buffered := bufio.NewWriter(w)
		list := &arrayWriter{w: buffered}
		if err := c.Transfer.ExportAs(ctx, s.ID, e, list); err != nil {
			return err
		}
		return errors.Join(list.Close(), buffered.Flush())
	}
}
