package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/render/progress"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p exchangeCommands) convertCommand() *cobra.Command {
	var from, to, out, cwd string
	var list bool
	cmd := &cobra.Command{
		Use: "convert [FILE|-]", GroupID: "formats",
		Short: "Convert a transcript from one tool's format to another's",
		Long: `Convert a transcript from one tool's format to another's, from a file or stdin
to a file or stdout. It needs no home and no gateway. Input is streamed, so its
size does not matter. A fidelity report goes to stderr.

` + formatHelp,
		Example: "  firn convert session.jsonl --to codex -o rollout.jsonl\n  firn convert - --from pi --to native < session.jsonl\n  firn convert --formats",
		Args:    args(0, 1, "at most one file"),
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "`format` of the input (default: detected)")
	flags.StringVar(&to, "to", "native", "`format` to write; --format is an alias")
	addAlias(cmd, "format", "to")
	flags.StringVarP(&out, "output", "o", "", "write to this `file`, which must not exist")
	flags.StringVar(&cwd, "cwd", "", "working `directory` of the session, if the input has none")
	flags.BoolVar(&list, "formats", false, "list the formats and what each cannot represent")
	completeFormat(cmd, "from")
	completeFormat(cmd, "to")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if list {
			return p.listFormats()
		}
		if len(args) == 0 {
			return usage(cmd, "firn convert needs a file, or - for stdin")
		}
		return p.convert(cmd.Context(), conversion{from: from, to: to, file: args[0], out: out, cwd: cwd})
	}
	return cmd
}

// listFormats lists the formats and their limits.
func (p exchangeCommands) listFormats() error {
	var formats []wire.Format
	for _, t := range dialects.Readable() {
		f := wire.Format{Name: string(t.Name())}
		for _, l := range t.Limits() {
			f.Limits = append(f.Limits, wire.Loss{What: l.Name, Becomes: l.Becomes})
		}
		formats = append(formats, f)
	}
	return p.print(formats, func() string {
		var b strings.Builder
		for _, f := range formats {
			fmt.Fprintf(&b, "%s\n", f.Name)
			if len(f.Limits) == 0 {
				b.WriteString("  represents everything\n")
			}
			for _, l := range f.Limits {
				fmt.Fprintf(&b, "  %s: %s\n", l.What, l.Becomes)
			}
		}
		return b.String()
	})
}

// conversion describes the conversion of a file.
type conversion struct {
	from, to, file, out, cwd string
}

// convert converts a file.
func (p exchangeCommands) convert(ctx context.Context, c conversion) error {
	name, done, err := p.spooled(ctx, c.file)
	if err != nil {
		return err
	}
	defer done()
	from, err := sourceFormat(name, c)
	if err != nil {
		return err
	}
	to, err := targetFormat(c.to)
	if err != nil {
		return err
	}
	src, size := p.fileSource(ctx, from, c, name)
	target, err := targetOf(src, c)
	if err != nil {
		return err
	}
	report := &convert.Report{}
	b := p.newBar("converting")
	write := func(w io.Writer) error {
		defer b.Clear()
		return convert.Write(ctx, &measured{w: w, bar: b, report: report, total: size}, src, to, target, report)
	}
	if c.out == "" || c.out == stdoutName {
		if err := write(p.stdout); err != nil {
			return err
		}
		p.notef("%s", fidelityText(convert.Fidelity(from.Name(), to.Name(), to.Limits(), report), ""))
		return nil
	}
	if err := newFile(c.out, write); err != nil {
		return err
	}
	f := convert.Fidelity(from.Name(), to.Name(), to.Limits(), report)
	return p.print(f, func() string { return "wrote " + c.out + "\n" + fidelityText(f, "") })
}

// spooled returns the path of the input file. Stdin is copied to a temporary file first,
// because it can be read only once.
func (p exchangeCommands) spooled(ctx context.Context, name string) (string, func(), error) {
	if name != "-" {
		info, err := os.Stat(name)
		if err != nil {
			return "", nil, fmt.Errorf("convert %s: %w", name, err)
		}
		if !info.Mode().IsRegular() {
			return "", nil, &usageError{message: name + " is not a regular file", hint: "convert reads a file, or - for stdin; for a directory: firn import"}
		}
		return name, func() {}, nil
	}
	spool := filepath.Join(os.TempDir(), "firn-"+string(firn.NewID())+".jsonl")
	if err := newFile(spool, func(w io.Writer) error { _, err := io.Copy(w, p.input(ctx)); return err }); err != nil {
		return "", nil, err
	}
	return spool, func() {
		if err := (vfs.OS{}).Remove(spool); err != nil {
			p.notef("note: %s\n", prose.OneLine(err.Error(), 160))
		}
	}, nil
}

// targetFormat returns the format with a name, if it can be written.
func targetFormat(name string) (dialect.Tool, error) {
	full, err := formatName(name)
	if err != nil {
		return nil, err
	}
	to, _ := dialects.Find(full)
	if err := dialect.Writable(to); err != nil {
		return nil, &usageError{message: err.Error(), hint: "formats: " + strings.Join(dialects.Names(), ", ")}
	}
	return to, nil
}

// sourceFormat returns the named format, or the detected format of the file.
func sourceFormat(name string, c conversion) (dialect.Tool, error) {
	if c.from != "" {
		full, err := formatName(c.from)
		if err != nil {
			return nil, err
		}
		tool, _ := dialects.Find(full)
		return tool, nil
	}
	tool, err := dialects.OfFile(name)
	if info, gone := os.Stat(name); gone == nil && info.Size() == 0 {
		return nil, &usageError{message: c.file + " is empty", hint: "there is nothing to convert"}
	}
	if err != nil {
		return nil, &hinted{fmt.Errorf("read %s: %w", c.file, err), "set the format with --from"}
	}
	return tool, nil
}

// fileSource returns a file as a source, and its size.
func (p exchangeCommands) fileSource(ctx context.Context, from dialect.Tool, c conversion, name string) (convert.Source, int64) {
	origin := dialect.Origin{Transcript: dialect.Transcript{CWD: c.cwd, Parts: []string{filepath.Base(c.file)}}}
	var size int64
	if info, err := os.Stat(name); err == nil {
		size = info.Size()
	}
	return convert.Transcript(from, origin, func() iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			f, err := openPlain(name)
			if err != nil {
				yield(nil, err)
				return
			}
			defer f.Close() // opened for reading
			convert.Lines(&cancelableReader{ctx, f}, 0)(yield)
		}
	}), size
}

// cancelableReader is a reader that fails after ctx is canceled.
type cancelableReader struct {
	ctx context.Context
	r   io.Reader
}

func (w *cancelableReader) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if gone := w.ctx.Err(); gone != nil {
		return 0, gone
	}
	return n, err
}

// targetOf returns the target's header data from the source's header.
func targetOf(src convert.Source, c conversion) (dialect.Target, error) {
	target := dialect.Target{CWD: c.cwd}
	for t, err := range src.Entries(&convert.Report{}) {
		if err != nil {
			return target, err
		}
		if h, ok := t.Entry.Body.(*firn.Header); ok {
			target.Session, target.Agent, target.Key = h.Session, h.Agent, h.Key
			if target.CWD == "" {
				target.CWD = h.CWD
			}
		}
		target.Created = t.Entry.Time
		break
	}
	if stem := firn.ID(strings.TrimSuffix(filepath.Base(c.file), ".jsonl")); target.Session == "" && c.file != "-" && stem.Check() == nil {
		target.Session = stem
	}
	if target.Session == "" {
		target.Session = firn.NewID()
	}
	if target.CWD == "" {
		target.CWD, _ = os.Getwd()
	}
	return target, nil
}

// measured is a writer that shows the progress of a conversion.
type measured struct {
	w      io.Writer
	bar    *progress.Bar
	report *convert.Report
	total  int64
}

// Write writes to the underlying writer and updates the progress.
func (m *measured) Write(b []byte) (int, error) {
	m.bar.Set(min(m.report.BytesRead, m.total), m.total)
	return m.w.Write(b)
}
