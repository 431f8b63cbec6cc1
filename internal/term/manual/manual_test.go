package manual

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tongs is a program with all supported features.
var tongs = Program{
	Name: "tongs", Short: "Hold things that are hot", Version: "v1", Date: "2026-01-02",
	Flags: []Flag{{Name: "hot", Description: "it's hot"}},
	Groups: []Group{{Title: "Hold", Commands: []Command{{
		Path: "tongs hold", Short: "Hold a <thing> | two", Usage: "tongs hold THING", Aliases: []string{"keep"},
		Long:     "Hold a thing.\n.SH is no macro here, nor is \\fB.\n'tis text.\n\nThings:\n  a  \"one\"\n  b  two\n\nThe end.",
		Examples: "  tongs hold -f coal\n    # hot",
		Flags:    []Flag{{Short: "f", Name: "firm", Value: "HOW", Description: "hold it firmly", Default: "2"}},
		Commands: []Command{{Path: "tongs hold off", Short: "Let go", Usage: "tongs hold off"}},
	}}}},
	Exits: []Definition{{"0", "done"}}, Environment: []Definition{{"HEAT", "how hot"}}, Files: []Definition{{"~/.tongs", "all"}},
}

func TestMarkdown(t *testing.T) {
	const want = "# Tongs\n\n## Commands\n\n**Hold**\n\n| | |\n|---|---|\n| [`tongs hold`](#tongs-hold) | Hold a \\<thing> \\| two |\n\n" +
		"## Flags of every command\n\n| Flag | |\n|---|---|\n| `--hot` | it's hot |\n\n## Environment\n\n| | |\n|---|---|\n| `HEAT` | how hot |\n\n" +
		"## Exit codes\n\n| | |\n|---|---|\n| `0` | done |\n\n## Files\n\n| | |\n|---|---|\n| `~/.tongs` | all |\n\n" +
		"## tongs hold\n\nHold a \\<thing> | two.\n\n```\ntongs hold THING\n```\n\nAlso `keep`.\n\n" +
		"Hold a thing.\n.SH is no macro here, nor is \\\\fB.\n'tis text.\n\nThings:\n\n```\na  \"one\"\nb  two\n```\n\nThe end.\n\n" +
		"| Flag | |\n|---|---|\n| `-f, --firm HOW` | hold it firmly (default 2) |\n\n```\ntongs hold -f coal\n  # hot\n```\n\n### tongs hold off\n\nLet go.\n\n```\ntongs hold off\n```\n"
	if diff := cmp.Diff(want, Markdown(tongs, "# Tongs\n")); diff != "" {
		t.Error(diff)
	}
}

func TestMan(t *testing.T) {
	pages := Man(tongs)
	if len(pages) != 2 || pages[0].Name != "tongs.1" || pages[1].Name != "tongs-hold.1" {
		t.Fatalf("the pages are %v", pages)
	}
	const want = `.TH "TONGS\-HOLD" "1" "2026\-01\-02" "tongs v1" "tongs Manual"
.nh
.ad l
.SH "NAME"
tongs\-hold \- Hold a <thing> | two
.SH "SYNOPSIS"
\fBtongs hold THING\fP
.PP
Also keep.
.SH "DESCRIPTION"
Hold a thing.
\&.SH is no macro here, nor is \efB.
\(aqtis text.
.PP
Things:
.PP
.RS 4
.nf
a  "one"
b  two
.fi
.RE
.PP
The end.
.SH "OPTIONS"
.TP
\fB\-f, \-\-firm\fP \fIHOW\fP
hold it firmly (default 2)
.SH "EXAMPLES"
.PP
.RS 4
.nf
tongs hold \-f coal
  # hot
.fi
.RE
.SH "TONGS HOLD OFF"
Let go.
.PP
\fBtongs hold off\fP
.SH "SEE ALSO"
\fBtongs\fP(1), which describes global flags, environment variables, files and exit codes.
`
	if diff := cmp.Diff(want, string(pages[1].Text)); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"HEAT", "tongs\\-hold", "it\\(aqs hot", "\\(ti/.tongs", "EXIT STATUS"} {
		if !strings.Contains(string(pages[0].Text), text) {
			t.Errorf("the page of the program lacks %q:\n%s", text, pages[0].Text)
		}
	}
	macros := []string{"TH", "SH", "SS", "PP", "TP", "RS", "RE", "nf", "fi", "nh", "ad"}
	for _, p := range pages {
		for line := range strings.Lines(string(p.Text)) {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, ".") && !slices.Contains(macros, name[1:]) || strings.HasPrefix(line, "'") {
				t.Errorf("%s has a line that is no macro and no text: %q", p.Name, line)
			}
		}
	}
}
