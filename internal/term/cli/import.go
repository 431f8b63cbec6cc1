package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// exchangeCommands are the commands that convert sessions from and to the formats of other tools.
type exchangeCommands struct{ *program }

func (p exchangeCommands) importCommand() *cobra.Command {
	var from, id, agent string
	var plan, yes bool
	cmd := &cobra.Command{
		Use: "import FILE|DIR|-", GroupID: "formats",
		Short: "Import transcripts of other tools as sessions",
		Long: `Import transcripts of other tools as sessions: a file, all files in a
directory, or stdin. The files are only read. Nothing is lost: unknown data is
carried along, and firn export writes the same bytes.

Entries that exist are not added again. Importing a file that has grown adds
the new entries, and an interrupted import can be run again. A modified copy is
rejected; --id NAME imports it as a separate session. To mirror a tool's
directory, see firn adopt.

` + formatHelp,
		Example: "  firn import ~/.codex/sessions\n  firn import session.jsonl --from claude\n  cat session.jsonl | firn import -",
		Args:    args(1, 1, "one file or directory, or - for stdin"),
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "`format` of the input (default: detected)")
	flags.StringVar(&id, "id", "", "`id` of the new session (default: its own)")
	flags.StringVar(&agent, "agent", "", "`agent` that owns the session")
	flags.BoolVar(&plan, "plan", false, "print the plan without changing anything")
	flags.BoolVar(&yes, "yes", false, "import more than 500 transcripts")
	completeFormat(cmd, "from")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if from != "" {
			name, err := formatName(from)
			if err != nil {
				return err
			}
			from = name
		}
		list, err := p.imports(args[0], from)
		if err != nil {
			return err
		}
		if id != "" && len(list) > 1 {
			return usage(cmd, "--id needs a single session, but there are %d", len(list))
		}
		for i := range list {
			list[i].in.ID, list[i].in.Agent = firn.ID(id), agent
		}
		if plan {
			return p.planImport(list)
		}
		if len(list) > unaskedImports && !yes {
			return &hinted{failure.Of(firn.ErrInvalid, "%s has %s", args[0], prose.Plural(len(list), "transcript")), "--plan lists them; --yes imports them"}
		}
		return p.with(mayChange, func(ctx context.Context, c *client.Client, _ []string) error {
			return p.importAll(ctx, c, list)
		})(cmd, args)
	}
	return cmd
}

// unaskedImports is the number of transcripts that are imported without --yes.
const unaskedImports = 500

// transcript is a transcript to import: its files in order.
type transcript struct {
	in    wire.Import
	files []string
	size  int64
}

// imports lists the transcripts that an argument names.
func (p exchangeCommands) imports(name, from string) ([]transcript, error) {
	if name == "-" {
		return []transcript{{in: wire.Import{From: from}}}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	if !info.IsDir() {
		if raw, ok := (rawFinder{}).find(name); ok {
			return nil, notTranscripts(raw.tool, raw.home)
		}
		return []transcript{{in: wire.Import{From: from, Name: filepath.Base(name), Title: titleFromHome(name, from)}, files: []string{name}, size: info.Size()}}, nil
	}
	if tool, ok := ownerOf(name, from); ok {
		return ofTool(name, tool)
	}
	list, err := ofDir(name, from)
	if err != nil {
		return nil, err
	}
	return p.withoutRaw(list)
}

// homeDepth is the maximum depth of transcripts below a tool's home.
const homeDepth = 6

// titleFromHome returns the title of a transcript from the tool's home that contains it, such
// as from an index; empty if it is in none.
func titleFromHome(name, from string) string {
	file, err := filepath.Abs(name)
	if err != nil {
		return ""
	}
	dir := filepath.Dir(file)
	for range homeDepth {
		tool, ok := ownerOf(dir, from)
		rel, err := filepath.Rel(dir, file)
		if ok && err == nil {
			for t, err := range tool.Layout().Transcripts(os.DirFS(dir)) {
				if err == nil && slices.Contains(t.Parts, filepath.ToSlash(rel)) {
					return t.Title
				}
			}
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// ownerOf returns the tool that a home directory belongs to.
func ownerOf(dir, from string) (dialect.Tool, bool) {
	if from != "" {
		tool, _ := dialects.Find(from)
		return tool, tool.Layout().Owns(os.DirFS(dir))
	}
	return dialects.OwnerOf(dir)
}

// ofTool lists the transcripts in a tool's home.
func ofTool(dir string, tool dialect.Tool) ([]transcript, error) {
	var list []transcript
	tree := os.DirFS(dir)
	if err := dialect.Writable(tool); err != nil && dialect.Tree(tool, tree) != tree {
		return nil, notTranscripts(tool, dir)
	}
	for t, err := range tool.Layout().Transcripts(tree) {
		if err != nil {
			continue
		}
		b := transcript{in: wire.Import{From: string(tool.Name()), ID: t.ID, Title: t.Title, Name: filepath.Base(t.Parts[0])}}
		for _, part := range t.Parts {
			b.files = append(b.files, filepath.Join(dir, filepath.FromSlash(part)))
			if info, err := fs.Stat(tree, part); err == nil {
				b.size += info.Size()
			}
		}
		list = append(list, b)
	}
	if len(list) == 0 {
		return nil, failure.Of(firn.ErrNotFound, "no transcript of %[2]s in %[1]s", dir, tool.Name())
	}
	return list, nil
}

// ofDir lists the files in a directory that look like transcripts.
func ofDir(dir, from string) ([]transcript, error) {
	var list []transcript
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && isInternal(name) {
			return fs.SkipDir
		}
		if err != nil || e.IsDir() || filepath.Ext(name) != ".jsonl" {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		list = append(list, transcript{in: wire.Import{From: from, Name: filepath.Base(name)}, files: []string{name}, size: info.Size()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", dir, err)
	}
	if len(list) == 0 {
		err := failure.Of(firn.ErrNotFound, "no transcripts (*.jsonl) in %s", dir)
		return nil, &hinted{err, "name a file, or a directory with transcripts; to find other tools' directories: firn adopt"}
	}
	return list, nil
}

// isInternal reports whether a directory is one of a firn home that has no transcripts: its
// index, syncs, mirrors and contents of files.
func isInternal(dir string) bool {
	if !slices.Contains([]string{"index", "sync", "sources", "files", "bin"}, filepath.Base(dir)) {
		return false
	}
	info, err := os.Stat(filepath.Join(filepath.Dir(dir), "agents"))
	return err == nil && info.IsDir()
}

// planImport prints the transcripts that would be imported.
func (p exchangeCommands) planImport(list []transcript) error {
	type planned struct {
		File   string `json:"file"`
		Format string `json:"format"`
		Bytes  int64  `json:"bytes"`
		// Fault is the reason why it cannot be imported.
		Fault string `json:"fault,omitempty"`
	}
	var all []planned
	for _, b := range list {
		plan := planned{File: "-", Format: b.in.From, Bytes: b.size}
		if len(b.files) > 0 {
			plan.File = b.files[0]
			if tool, err := dialects.OfFile(b.files[0]); err == nil && plan.Format == "" {
				plan.Format = string(tool.Name())
			} else if err != nil {
				plan.Format, plan.Fault = "", prose.OneLine(err.Error(), 120)
			}
		}
		all = append(all, plan)
	}
	return p.print(all, func() string {
		var rows [][]string
		can := 0
		for _, a := range all {
			rows = append(rows, []string{cmp.Or(a.Format, "cannot be read"), prose.Size(a.Bytes), a.File, a.Fault})
			if a.Fault == "" {
				can++
			}
		}
		lines := append(prose.Table(rows), fmt.Sprintf("%s would be imported", prose.Plural(can, "transcript")))
		return strings.Join(lines, "\n") + "\n"
	})
}

// importAll imports transcripts in order. It continues after errors.
func (p exchangeCommands) importAll(ctx context.Context, c *client.Client, list []transcript) error {
	var done, total int64
	for _, b := range list {
		total += b.size
	}
	show := p.newBar("importing")
	var results []wire.Imported
	failed := 0
	for _, b := range list {
		result, err := p.importOne(ctx, c, b, func(n int64) { show.Set(min(done+n, total), total) })
		done += b.size
		if ctx.Err() != nil {
			show.Clear()
			return ctx.Err()
		}
		if err != nil && len(list) == 1 {
			show.Clear()
			return fmt.Errorf("import %s: %w", firstOf(b.files, "stdin"), err)
		}
		if notBegun(err) {
			show.Clear()
			p.notef("%s: skipped, %s\n", firstOf(b.files, "stdin"), wire.NoMessageYet)
			continue
		}
		if err != nil {
			failed++
			show.Clear()
			p.notef("%s: %s\n", firstOf(b.files, "stdin"), prose.OneLine(err.Error(), 200))
			if hint := classify(err).hint; hint != "" {
				p.notef("  hint: %s\n", hint)
			}
			continue
		}
		results = append(results, result)
	}
	show.Clear()
	if err := p.print(results, func() string { return importedText(results, failed) }); err != nil || failed == 0 {
		return err
	}
	return errPartial
}

// notBegun reports whether a transcript was rejected because it has no messages yet.
func notBegun(err error) bool {
	var problem *wire.Problem
	return errors.As(err, &problem) && problem.Message == wire.NoMessageYet
}

func firstOf(list []string, other string) string {
	if len(list) > 0 {
		return list[0]
	}
	return other
}

// importOne uploads a transcript.
func (p exchangeCommands) importOne(ctx context.Context, c *client.Client, b transcript, progress func(int64)) (wire.Imported, error) {
	if len(b.files) == 0 {
		return c.Transfer.Import(ctx, b.in, p.input(ctx))
	}
	all := &files{names: b.files, progress: progress}
	result, err := c.Transfer.Import(ctx, b.in, all)
	return result, errors.Join(err, all.Close())
}

// files reads files in sequence, and ends each with a line break.
type files struct {
	names    []string
	file     io.ReadCloser
	last     byte
	read     int64
	progress func(int64)
}

// Read implements io.Reader.
func (f *files) Read(b []byte) (int, error) {
	for {
		if f.file == nil {
			if len(f.names) == 0 {
				return 0, io.EOF
			}
			file, err := openPlain(f.names[0])
			if err != nil {
				return 0, err
			}
			f.file, f.names = file, f.names[1:]
		}
		n, err := f.file.Read(b)
		if n > 0 {
			f.last, f.read = b[n-1], f.read+int64(n)
			f.progress(f.read)
			return n, nil
		}
		if !errors.Is(err, io.EOF) {
			return 0, err
		}
		if err := f.Close(); err != nil {
			return 0, err
		}
		if f.last != '\n' && len(f.names) > 0 {
			f.last = '\n'
			return copy(b, "\n"), nil
		}
	}
}

// openPlain opens a file, and decompresses it if needed.
func openPlain(name string) (io.ReadCloser, error) {
	file, err := os.Open(name)
	if err != nil || !strings.HasSuffix(name, ".zst") {
		return file, err
	}
	plain, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return zstdFile{plain.IOReadCloser(), file}, nil
}

// zstdFile is a compressed file and its decompressed content.
type zstdFile struct {
	io.ReadCloser
	file io.Closer
}

// Close closes both.
func (e zstdFile) Close() error { return errors.Join(e.ReadCloser.Close(), e.file.Close()) }

// Close closes the open file.
func (f *files) Close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// importedText formats the imported sessions.
func importedText(results []wire.Imported, failed int) string {
	var b strings.Builder
	if len(results) == 1 && failed == 0 {
		r := results[0]
		fmt.Fprintf(&b, "%s %s · %s\n", prose.Short(r.Session.ID), title(r.Session), addedText(r.Added))
		if f := r.Fidelity; f.From != f.To || f.Changed+f.Left+f.Damaged > 0 {
			b.WriteString(fidelityText(f, ""))
		} else {
			fmt.Fprintf(&b, "%s in firn's own format, none changed or omitted\n", prose.Count(int(f.Entries), "entry", "entries"))
		}
		b.WriteString(branchText(r))
		fmt.Fprintf(&b, "to resume it: firn chat --resume %s\n", prose.Short(r.Session.ID))
		return b.String()
	}
	var added int64
	sum := wire.Fidelity{}
	for _, r := range results {
		added += r.Added
		sum.Entries += r.Fidelity.Entries
		sum.UnknownLines += r.Fidelity.UnknownLines
		sum.UnknownFields += r.Fidelity.UnknownFields
		sum.Damaged += r.Fidelity.Damaged
	}
	fmt.Fprintf(&b, "%s · %s of %s\n", prose.Plural(len(results), "session"), addedText(added), prose.Count(int(sum.Entries), "entry", "entries"))
	if sum.UnknownLines+sum.UnknownFields > 0 {
		fmt.Fprintf(&b, "  unknown and kept: %s and %s\n", prose.Plural(int(sum.UnknownLines), "line"), prose.Plural(int(sum.UnknownFields), "field"))
	}
	if sum.Damaged > 0 {
		fmt.Fprintf(&b, "  not read: %s\n", prose.Plural(int(sum.Damaged), "place"))
	}
	for _, r := range results {
		b.WriteString(branchText(r))
	}
	if failed > 0 {
		fmt.Fprintf(&b, "  failed: %s\n", prose.Plural(failed, "transcript"))
	}
	return b.String()
}

// branchText describes entries that are on another branch than the head.
func branchText(r wire.Imported) string {
	if r.Branch == "" {
		return ""
	}
	return fmt.Sprintf("  %s was continued in firn too: the new entries are on another branch\n    to continue there: firn rewind %s %s\n", prose.Short(r.Session.ID), prose.Short(r.Session.ID), r.Branch)
}

func addedText(n int64) string {
	if n == 0 {
		return "nothing new"
	}
	return prose.Count(int(n), "entry", "entries") + " added"
}

// title returns the title of a session, or the beginning of its first message.
func title(s wire.Session) string {
	if s.Title != "" {
		return fmt.Sprintf("%q", prose.OneLine(s.Title, 60))
	}
	return fmt.Sprintf("%q", prose.OneLine(s.Prompt, 60))
}
