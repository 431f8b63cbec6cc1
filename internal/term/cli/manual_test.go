package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/chat"
	"firn.dev/internal/term/manual"
)

// cliPreface is the beginning of docs/cli.md.
const cliPreface = `# The command line

This page is generated from the commands in internal/term/cli by a test. ` + "`firn help`" + ` prints
the same text, and so do the manual pages: ` + "`firn help --man ~/.local/share/man/man1 && man firn`" + `.

A command prints only its result on stdout: text for people, or JSON with ` + "`--json`" + `. Progress and
errors go to stderr. An error is a sentence and a hint, or with ` + "`--json`" + ` an object
` + "`{\"error\":{\"kind\":…,\"message\":…,\"hint\":…}}`" + `. Commands that change something print the command that
undoes it; with ` + "`--plan`" + `, many only show what they would do.

While a gateway serves the home, all commands use it; otherwise they open the home themselves,
several at a time if necessary. ` + "`--gateway`" + ` uses a gateway elsewhere.

After [` + "`firn completion`" + `](#firn-completion) is set up, Tab completes commands, flags, sessions, keys,
agents, models, formats and settings.`

// testProgram returns a program for inspecting its commands, with all providers.
func testProgram() *program {
	names := func() ([]string, func(string) string) {
		return []string{"firn", "anthropic", "openai", "…"}, func(string) string { return "" }
	}
	return &program{providers: names, build: Build{Version: "v1.2.3", Time: "2026-01-02T03:04:05Z"}}
}

// TestDocs checks that docs/cli.md matches the commands.
func TestDocs(t *testing.T) {
	page := filepath.Join("..", "..", "..", "docs", "cli.md")
	p := testProgram()
	want := manual.Markdown(helpCommands{p}.manualOf(p.root()), cliPreface)
	if os.Getenv("FIRN_UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("docs/cli.md is out of date; regenerate it with FIRN_UPDATE=1 go test ./internal/term/cli\n%s", diff)
	}
}

// TestEveryCommandIsExplained finds commands and flags without sufficient descriptions.
func TestEveryCommandIsExplained(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 90 {
			t.Errorf("%s is explained in short as %q", c.CommandPath(), c.Short)
		}
		if c.Example == "" && !c.HasSubCommands() {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			if line != "" && (!strings.HasPrefix(line, "  ") || !strings.Contains(line, c.Root().Name())) {
				t.Errorf("%s has the example %q", c.CommandPath(), line)
			}
		}
		for _, f := range flagsOf(c.Flags()) {
			if f.Description == "" || strings.HasSuffix(f.Description, ".") {
				t.Errorf("%s --%s is explained as %q", c.CommandPath(), f.Name, f.Description)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	root := testProgram().root()
	walk(root)
	for _, c := range root.Commands() {
		if c.GroupID == "" && !c.Hidden {
			t.Errorf("%s is in no group", c.CommandPath())
		}
	}
	for _, page := range (helpCommands{testProgram()}).manualOf(root).Pages() {
		if page.Path == "" {
			t.Error("a page has no name")
		}
	}
}

// TestManualPages checks that there is a page for every listed command.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	var help, stdout, stderr bytes.Buffer
	env := func(string) string { return "" }
	build := Build{Version: "v1.2.3", Time: "2026-01-02T03:04:05Z"}
	if code := Main(context.Background(), []string{"help", "--man", dir}, Process{Stdout: &stdout, Stderr: &stderr, Env: env, Build: build}); code != 0 {
		t.Fatalf("it ends with %d: %s", code, stderr.String())
	}
	if code := Main(context.Background(), []string{"help"}, Process{Stdout: &help, Stderr: &stderr, Env: env}); code != 0 {
		t.Fatalf("it ends with %d: %s", code, stderr.String())
	}
	overview, err := os.ReadFile(filepath.Join(dir, "firn.1"))
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, c := range testProgram().root().Commands() {
		if c.Hidden {
			continue
		}
		commands++
		page, err := os.ReadFile(filepath.Join(dir, "firn-"+c.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.HasPrefix(page, []byte(`.TH "FIRN\-`+strings.ToUpper(c.Name())+`" "1" "2026\-01\-02" "firn v1.2.3" "firn Manual"`)) {
			t.Errorf("the page of %s begins with %.80q", c.Name(), page)
		}
		for _, sub := range c.Commands() {
			if c.Name() != "sessions" && !sub.Hidden && !bytes.Contains(page, []byte(strings.ToUpper(sub.CommandPath()))) {
				t.Errorf("the page of %s does not mention %s", c.Name(), sub.Name())
			}
		}
		if !bytes.Contains(overview, []byte(`firn\-`+c.Name())) || !strings.Contains(help.String(), "\n  "+c.Name()+" ") {
			t.Errorf("firn.1 or firn help does not mention %s", c.Name())
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != commands+1 {
		t.Errorf("there are %d pages of %d commands, %v", len(files), commands, err)
	}
}

// TestExitCodesAreDocumented checks that the documents list every exit code.
func TestExitCodesAreDocumented(t *testing.T) {
	want := map[string]bool{"0": true}
	for _, o := range outcomes {
		want[exit(o.code, "").Name] = true
	}
	for _, code := range answers {
		want[exit(code, "").Name] = true
	}
	for _, err := range []error{errIntegrity, errPartial, errWrong} {
		want[exit((&program{stderr: &bytes.Buffer{}}).end(err), "").Name] = true
	}
	for _, m := range exitMeanings {
		delete(want, m.Name)
	}
	if len(want) > 0 {
		t.Errorf("the exit codes %v are not documented", want)
	}
}

// errorKinds returns the kinds of errors by exit code, from all tables of them.
func errorKinds() map[int][]string {
	kinds := make(map[int][]string)
	add := func(code int, kind string) {
		if !slices.Contains(kinds[code], kind) {
			kinds[code] = append(kinds[code], kind)
			slices.Sort(kinds[code])
		}
	}
	for _, o := range outcomes {
		add(o.code, o.kind)
	}
	for kind, code := range answers {
		add(code, string(kind))
	}
	for _, err := range []error{&usageError{}, &doctor.Ambiguous{}, chat.ErrKeyRejected, &client.Unreachable{}, errors.New("any other")} {
		o := judgeKind(err)
		add(o.code, o.kind)
	}
	return kinds
}

// TestDocsExitCodes checks that the table of exit codes in docs/scripting.md matches the code.
func TestDocsExitCodes(t *testing.T) {
	page := filepath.Join("..", "..", "..", "docs", "scripting.md")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	kinds := errorKinds()
	var want strings.Builder
	want.WriteString("| code | meaning | `error.kind` |\n|---|---|---|\n")
	for _, m := range exitMeanings {
		code, err := strconv.Atoi(m.Name)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, kind := range kinds[code] {
			names = append(names, "`"+kind+"`")
		}
		fmt.Fprintf(&want, "| %s | %s | %s |\n", m.Name, m.Description, strings.Join(names, ", "))
		delete(kinds, code)
	}
	if len(kinds) > 0 {
		t.Errorf("no meaning is documented of the exit codes of %v", kinds)
	}
	table := regexp.MustCompile(`(?m)^\| code \| meaning \|.*\n(?:\|.*\n)+`)
	if os.Getenv("FIRN_UPDATE") != "" {
		data = table.ReplaceAllLiteral(data, []byte(want.String()))
		if err := os.WriteFile(page, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(table.Find(data)), want.String()); diff != "" {
		t.Errorf("docs/scripting.md is out of date; regenerate it with make docs\n%s", diff)
	}
}

// TestHelpFits renders the help of every command and checks that no line is wider than 80
// columns. Examples and commands in tables are not wrapped.
func TestHelpFits(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		var b bytes.Buffer
		c.InitDefaultHelpFlag()
		c.SetOut(&b)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if prose.Width(line) > helpColumns && !strings.Contains(c.Example, line) && !(strings.HasPrefix(line, "   ") && strings.Contains(c.Long, line)) {
				t.Errorf("the help of %s has a line of %d columns: %s", c.CommandPath(), prose.Width(line), line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(testProgram().root())
}
