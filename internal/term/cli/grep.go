package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/find/grep"
	"firn.dev/internal/ops/encryption"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p findCommands) grepCommand() *cobra.Command {
	var fold, fixed, secrets, files bool
	count := bound(listBound)
	cmd := &cobra.Command{
		Use:     "grep EXPRESSION [SESSION|FILE|DIRECTORY]…",
		GroupID: "find",
		Short:   "Search transcripts with a regular expression, without an index",
		Long: `Search the lines of transcripts with a regular expression (RE2), in files or
in another store: those of the home and its mirrors, or of another tool's
directory given by --home. It needs no index, changes nothing, and works on
damaged files.

The most recently written files come first. Lines are matched as displayed: \n
is a line break and \" a quote. Secrets are masked unless --secrets is given.
Sessions that are not in files are read from their store, through the gateway
of the home or the one given by --gateway.`,
		Example: "  firn grep 'panic: .*nil'\n  firn grep -i 'todo' 0198c5a2 --json\n  firn grep --home ~/.claude -F 'go test ./...'",
	}
	flags := cmd.Flags()
	flags.BoolVarP(&fold, "ignore-case", "i", false, "ignore case")
	flags.BoolVarP(&fixed, "fixed", "F", false, "search for the literal text instead of an expression")
	flags.BoolVarP(&files, "files", "l", false, "print only the names of matching files")
	flags.BoolVar(&secrets, "secrets", false, "do not mask secrets")
	flags.VarP(&count, "number", "n", "show at most `N` lines, or all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return usage(cmd, "firn grep needs an expression")
		}
		pattern, err := grepPattern(args[0], fold, fixed)
		if err != nil {
			return usage(cmd, "%q is not a regular expression: %s", args[0], strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		o := grep.Options{Pattern: pattern, MaxMatches: int(count), Secrets: secrets, Expand: expandZstd, MaxLine: p.maxLine()}
		if files {
			return p.grepIn(cmd, args[1:], o, p.grepNames)
		}
		return p.grepIn(cmd, args[1:], o, p.grep)
	}
	return cmd
}

func grepPattern(text string, fold, fixed bool) (*regexp.Regexp, error) {
	if fixed {
		text = regexp.QuoteMeta(text)
	}
	if fold {
		text = "(?i)" + text
	}
	return regexp.Compile(text)
}

func expandZstd(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// grepIn searches transcripts: files, and sessions that are not stored in files.
func (p findCommands) grepIn(cmd *cobra.Command, names []string, o grep.Options, look func(*cobra.Command, []string, grep.Options) error) error {
	if _, dir, ok := p.foreign(); ok {
		found, err := foreignTranscripts(dir)
		return p.grepChosen(cmd, found, names, err, o, look)
	}
	if p.namesFile(names) && len(names) == 1 {
		return p.grepChosen(cmd, nil, names, nil, o, look)
	}
	st, err := p.storeInUse(cmd.Context())
	if err != nil {
		return err
	}
	if _, err := homeFiles(p.program).Stat(st.home); errors.As(err, new(*encryption.Locked)) {
		return err
	}
	found, err := st.transcripts()
	if err != nil || st.files != "" {
		return p.grepChosen(cmd, found, names, err, o, look)
	}
	return p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
		stored, err := storedNames(ctx, c, st.where())
		o.Open = func(ctx context.Context, name string) (io.ReadCloser, bool, error) {
			id, ok := strings.CutPrefix(name, st.where()+"/")
			if !ok {
				return nil, false, nil
			}
			in, err := c.OpenStored(ctx, firn.ID(strings.TrimSuffix(id, ".jsonl")))
			return in, true, err
		}
		return p.grepChosen(cmd, append(stored, found...), names, err, o, look)
	})(cmd, nil)
}

// grepChosen searches the named transcripts of found, or all of them.
func (p findCommands) grepChosen(cmd *cobra.Command, found, names []string, err error, o grep.Options, look func(*cobra.Command, []string, grep.Options) error) error {
	if err == nil && len(names) > 0 {
		found, err = chooseFiles(found, names)
	}
	if err != nil {
		return err
	}
	return look(cmd, found, o)
}

// storedNames returns names for the sessions of a store as if they were files, most
// recently modified first.
func storedNames(ctx context.Context, c *client.Client, store string) ([]string, error) {
	var all []wire.StoredSession
	for line, err := range c.Stored(ctx) {
		if err != nil {
			return nil, err
		}
		if s := line.StoredSession; s != nil && !s.Removed && s.Receipt == nil {
			all = append(all, *s)
		}
	}
	slices.SortFunc(all, func(a, b wire.StoredSession) int {
		return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(a.ID, b.ID))
	})
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = store + "/" + string(s.ID) + ".jsonl"
	}
	return names, nil
}

// grep prints the matching lines.
func (p findCommands) grep(cmd *cobra.Command, files []string, o grep.Options) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	if p.json {
		o.Width = 1024
	}
	s, err := grep.Run(cmd.Context(), homeFiles(p.program), files, o, func(m grep.Match) error {
		if p.json {
			return encoder.Encode(m)
		}
		_, err := fmt.Fprintln(p.stdout, grepLine(m))
		return err
	})
	if err != nil {
		return err
	}
	return p.grepEnd(s)
}

func grepLine(m grep.Match) string {
	where := prose.Clean(m.Session)
	if m.Entry != "" {
		where += " " + prose.Clean(m.Entry)
	}
	if m.Role != "" {
		where += " " + prose.Clean(m.Role)
	}
	return fmt.Sprintf("%s:%d: %s", where, m.Line, prose.OneLine(m.Text, 240))
}

// grepNames prints the files with matches.
func (p findCommands) grepNames(cmd *cobra.Command, files []string, o grep.Options) error {
	most := o.MaxMatches
	o.MaxMatches = 1
	var all grep.Summary
	names := []string{}
	for _, file := range files {
		s, err := grep.Run(cmd.Context(), homeFiles(p.program), []string{file}, o, func(grep.Match) error { return nil })
		if err != nil {
			return err
		}
		all.Files, all.Bytes, all.Failed = all.Files+1, all.Bytes+s.Bytes, append(all.Failed, s.Failed...)
		if s.Matches == 0 {
			continue
		}
		if most > 0 && len(names) == most {
			all.More = true
			break
		}
		names = append(names, file)
	}
	all.Matches = len(names)
	err := p.print(wire.Page[string]{Items: names, Total: len(names)}, func() string {
		if len(names) == 0 {
			return ""
		}
		return strings.Join(names, "\n") + "\n"
	})
	if err != nil {
		return err
	}
	return p.grepEnd(all)
}

// grepEnd prints the summary of a search.
func (p findCommands) grepEnd(s grep.Summary) error {
	for _, failed := range s.Failed {
		fmt.Fprintf(p.stderr, "not read: %s\n", prose.Clean(failed))
	}
	if !p.json {
		more := ""
		if s.More {
			more = "; more not shown (-n all)"
		}
		fmt.Fprintf(p.stderr, "%s in %s, %s%s\n", prose.Count(s.Matches, "match", "matches"), prose.Plural(s.Files, "file"), prose.Size(s.Bytes), more)
	}
	if len(s.Failed) > 0 {
		return errPartial
	}
	return nil
}
