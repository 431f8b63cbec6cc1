package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/render/trajectory"
	"firn.dev/wire"
)

const formatHelp = `Formats: native (firn's own, which pi can open), claudecode (or claude), codex,
pi, openclaw, crabtalk, claw0, cersei. firn convert --formats lists what each
cannot represent.`

const exportHelp = `Export a session in another tool's format, as that tool would have written it,
to stdout or a file. Entries that came from that tool are exported byte for
byte. A fidelity report goes to stderr: each entry is unchanged, re-encoded,
changed or omitted.

--format html writes one self-contained page without scripts, and markdown (or
md) Markdown for reading: the branch of the head, or with --view disk all
branches. Text that looks like a secret is masked there; in other formats only
with --mask, which prints how many places were masked. Secrets without a
recognizable form, such as a password in a sentence, are not detected: check the
result before you share it. --format json writes all entries as one JSON array,
and jsonl is native. --format atif writes the branch of the head as a trajectory
for training and evaluation tools (Agent Trajectory Interchange Format 1.6),
with images left out. Without --format, a file named *.html, *.md or *.json gets
that format.

Entries that cannot be read are marked in a page and counted in the report of
other formats; the command then exits with 8, as firn verify does.

`

func (p exchangeCommands) exportCommand() *cobra.Command {
	var format, out, view string
	var plan, mask bool
	cmd := &cobra.Command{
		Use: "export SESSION", GroupID: "formats",
		Short:   "Export a session in another tool's format, or as a page",
		Long:    exportHelp + formatHelp + "\n\n" + sessionHelp,
		Example: "  firn export 0198c5a2 --format html -o session.html\n  firn export 0198c5a2 --format claude -o session.jsonl\n  firn export - --format codex --plan\n  firn export - --mask -o masked.jsonl",
		Args:    args(1, 1, "one session"), ValidArgsFunction: p.completeSession(true),
	}
	cmd.Flags().StringVar(&format, "format", "native", "`format` to write, also html, markdown, json or atif; --to is an alias")
	addAlias(cmd, "to", "format")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to this `file`, which must not exist; - is stdout")
	cmd.Flags().StringVar(&view, "view", "", "entries on a page: `branch` or disk")
	cmd.Flags().BoolVar(&plan, "plan", false, "only print the fidelity report")
	cmd.Flags().BoolVar(&mask, "mask", false, "replace text that looks like a secret with [secret]")
	completeFormat(cmd, "format")
	cmd.RunE = p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
		if out == stdoutName {
			out = ""
		}
		if !cmd.Flags().Changed("format") {
			format = formatOfFile(out)
		}
		name, err := exportFormat(format)
		if err != nil {
			return err
		}
		switch name {
		case wire.FormatHTML, formatMarkdown:
			return p.exportPage(ctx, c, args[0], name, view, out, plan)
		case formatTrajectory:
			return p.exportTrajectory(ctx, c, args[0], view, out, mask, plan)
		}
		if view != "" {
			return &usageError{message: "--view requires --format html or markdown", hint: "add --format html"}
		}
		session, err := p.session(ctx, c, args[0])
		if err != nil {
			return err
		}
		return p.export(ctx, c, session, name, mask, out, plan)
	})
	return cmd
}

// export writes a session and prints the fidelity report.
func (p exchangeCommands) export(ctx context.Context, c *client.Client, s wire.Session, format string, mask bool, out string, plan bool) error {
	id, e, array := s.ID, wire.Export{Format: format, Mask: mask}, format == formatArray
	if array {
		e.Format = string(dialect.Native)
	}
	write := exportTo(ctx, c, s, e, array)
	report, err := c.Transfer.FidelityAs(ctx, id, e)
	if err != nil {
		return err
	}
	damage := damaged{lost: int(report.Damaged)}
	switch {
	case plan:
		err = p.print(report, func() string { return fidelityText(report, "would be ") + maskedText(report, e) })
	case out == "":
		if err = write(p.stdout); err == nil {
			p.notef("%s", fidelityText(report, "")+maskedText(report, e))
		}
	default:
		if err = newFile(out, write); err == nil {
			p.notef("%s", maskedText(report, e))
			err = p.print(report, func() string { return "wrote " + out + "\n" + fidelityText(report, "") })
		}
	}
	if err != nil {
		return err
	}
	return p.reportDamage(s, damage)
}

// maskedText returns the number of masked secrets, if masking was requested.
func maskedText(f wire.Fidelity, e wire.Export) string {
	if !e.Mask || f.Masked == nil {
		return ""
	}
	return fmt.Sprintf("masked %s; check the file before you share it\n", prose.Plural(int(*f.Masked), "place"))
}

// exportPage writes a session as an HTML page or as Markdown.
func (p exchangeCommands) exportPage(ctx context.Context, c *client.Client, ref, format, view, out string, plan bool) error {
	if plan || view != "" && view != wire.ViewBranch && view != wire.ViewDisk {
		return &usageError{message: format + " supports neither --plan nor other views than branch and disk", hint: "omit --plan; use --view branch or --view disk"}
	}
	session, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	return p.writeExport(session, out, func(w io.Writer) (damaged, error) {
		return writePage(ctx, c, session, format, view, w)
	})
}

// exportTrajectory writes the branch of a session's head as a trajectory.
func (p exchangeCommands) exportTrajectory(ctx context.Context, c *client.Client, ref, view, out string, mask, plan bool) error {
	if plan || view != "" {
		return &usageError{message: formatTrajectory + " supports neither --plan nor --view", hint: "it has the branch of the head; omit the flag"}
	}
	session, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	return p.writeExport(session, out, func(w io.Writer) (damaged, error) {
		damage, masked, err := writeTrajectory(ctx, c, session, trajectory.Options{Program: p.build.Version, Mask: mask}, w)
		if err == nil && mask {
			places := int64(masked)
			p.notef("%s", maskedText(wire.Fidelity{Masked: &places}, wire.Export{Mask: true}))
		}
		return damage, err
	})
}

// writeExport writes a session to stdout or a new file, and reports entries that could not
// be read.
func (p exchangeCommands) writeExport(s wire.Session, out string, write func(io.Writer) (damaged, error)) error {
	var damage damaged
	run := func(w io.Writer) (err error) {
		damage, err = write(w)
		return err
	}
	var err error
	if out == "" {
		err = run(p.stdout)
	} else if err = newFile(out, run); err == nil {
		err = p.print(map[string]string{"file": out}, func() string { return "wrote " + out + "\n" })
	}
	if err != nil {
		return err
	}
	return p.reportDamage(s, damage)
}

// writePage writes a session as an HTML page or as Markdown, and counts the damage.
func writePage(ctx context.Context, c *client.Client, s wire.Session, format, view string, w io.Writer) (damaged, error) {
	if format == formatMarkdown {
		return writeMarkdown(ctx, c, s, cmp.Or(view, wire.ViewBranch), w)
	}
	report, err := c.Transfer.FidelityAs(ctx, s.ID, wire.Export{Format: wire.FormatHTML, View: view})
	if err != nil {
		return damaged{}, err
	}
	return damaged{lost: int(report.Damaged)}, c.Transfer.ExportPage(ctx, s.ID, view, w)
}

// stdoutName stands for stdout as the name of a file.
const stdoutName = "-"

// newFile creates a file with the output of write. It removes the file on errors.
func newFile(name string, write func(io.Writer) error) error {
	if name == stdoutName {
		return fmt.Errorf("write a file named %s: %w: use ./%s", name, firn.ErrInvalid, name)
	}
	fsys := vfs.OS{}
	file, err := fsys.Open(name, vfs.Create)
	if errors.Is(err, fs.ErrExist) {
		return &hinted{fmt.Errorf("create %s: file exists", name), "choose another file name"}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	if err = write(buffered); err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), fsys.Remove(name))
	}
	return nil
}

// formatName returns the full name of a format.
func formatName(name string) (string, error) {
	tool, ok := dialects.Find(name)
	if !ok {
		return "", &usageError{message: fmt.Sprintf("unknown format %q", name), hint: "formats: " + strings.Join(dialects.Names(), ", ")}
	}
	return string(tool.Name()), nil
}

// addAlias adds another name for a flag, so that users can use its name from other
// commands.
func addAlias(cmd *cobra.Command, other, name string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

// completeFormat completes the value of a flag that takes a format.
func completeFormat(cmd *cobra.Command, flag string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(dialects.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// notef prints a message to stderr, unless --json is set.
func (p *program) notef(format string, args ...any) {
	if !p.json {
		fmt.Fprintf(p.stderr, format, args...)
	}
}

// fidelityText formats a fidelity report.
func fidelityText(f wire.Fidelity, would string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s from %s to %s: %s%s unchanged, %s re-encoded, %s changed, %s omitted\n",
		prose.Count(int(f.Entries), "entry", "entries"), f.From, f.To, would, number(f.Same), number(f.Reencoded), number(f.Changed), number(f.Left))
	if len(f.Kinds) > 0 {
		fmt.Fprintf(&b, "  read: %s\n", kindsText(f.Kinds))
	}
	for _, l := range f.Losses {
		fmt.Fprintf(&b, "  %s × %s", number(l.Count), l.What)
		if l.Becomes != "" {
			fmt.Fprintf(&b, ": %s", l.Becomes)
		}
		b.WriteByte('\n')
	}
	if f.UnknownLines+f.UnknownFields > 0 {
		fmt.Fprintf(&b, "  unknown and kept: %s and %s\n", prose.Plural(int(f.UnknownLines), "line"), prose.Plural(int(f.UnknownFields), "field"))
	}
	if f.LostLines+f.LostFields > 0 {
		fmt.Fprintf(&b, "  unknown and omitted: %s and %s\n", prose.Plural(int(f.LostLines), "line"), prose.Plural(int(f.LostFields), "field"))
	}
	if f.Damaged > 0 {
		fmt.Fprintf(&b, "  not read: %s\n", prose.Plural(int(f.Damaged), "place"))
		for _, fault := range f.Faults {
			fmt.Fprintf(&b, "    %s\n", prose.OneLine(fault, 160))
		}
	}
	return b.String()
}

// kindsText lists the number of entries of each kind, most frequent first.
func kindsText(kinds map[firn.Kind]int64) string {
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b firn.Kind) int {
		return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b))
	})
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = number(kinds[name]) + " " + prose.KindName(string(name))
	}
	return strings.Join(words, ", ")
}

func number(n int64) string { return prose.Grouped(n) }
