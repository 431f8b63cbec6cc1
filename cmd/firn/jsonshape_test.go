package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notJSON are the commands whose output is not JSON with --json, or not compared here, and
// why.
var notJSON = map[string]string{
	"acp":             "speaks the Agent Client Protocol, which is JSON",
	"browse":          "is a full screen for people",
	"completion":      "prints a script for a shell",
	"convert":         "prints the converted transcript",
	"demo":            "prints one object per step, with `title` and `lines`",
	"export":          "prints the exported session; `--format json` is one of the formats",
	"help":            "prints text for people and agents",
	"mcp":             "speaks the Model Context Protocol, which is JSON",
	"sessions":        "is another name for the commands below it",
	"approvals allow": "needs a call that waits: prints `call`, `decision`, `digest` and more",
	"approvals deny":  "needs a call that waits: prints the same as `firn approvals allow`",
	"blame":           "needs a file that a session changed: prints `path` and `lines[]`, each with `n`, `text` and, if known, `session`, `entry`, `call`, `tool`, `time`, `commit`",
	"jobs run":        "needs a job: prints `key`, `session`, `message` and `deliver`",
	"mcp test":        "needs a server: prints `name` and `tools[]`, each with `name` and `description`",
	"mcp approve":     "needs a project with servers: prints `file`, `digest`, `items[]` and `undo`, or with --plan `plan` and `would`",
	"mcp revoke":      "needs a project with servers: prints the same as `firn mcp approve`",
	"unlock":          "prints the members of `firn lock`",
	"migrate":         "prints the members of `firn mirror`, for the store it copies to",
	"backup":          "is a group of commands: prints its help",
	"bin":             "is a group of commands: prints its help",
	"config":          "is a group of commands: prints its help",
	"keys":            "is a group of commands: prints its help",
	"memory":          "is a group of commands: prints its help",
	"token":           "is a group of commands: prints its help",
	"serve":           "prints one object when it is ready: `address`, `socket`, `tcp`, `pid`",
}

// jsonOnly are further commands whose output is collected, on the home with files. DIR is a
// directory of the test.
var jsonOnly = []storeCommand{
	{name: "verify", args: []string{"verify"}},
	{name: "mirror", args: []string{"mirror", "DIR/mirror"}},
	{name: "anchor", args: []string{"anchor", "DIR/anchor.json"}},
	{name: "repair", args: []string{"repair"}},
	{name: "backup create", args: []string{"backup", "create", "DIR/backup.tar.zst"}},
	{name: "backup verify", args: []string{"backup", "verify", "DIR/backup.tar.zst"}},
	{name: "backup restore", args: []string{"backup", "restore", "DIR/backup.tar.zst", "DIR/restored"}},
	{name: "sync add", args: []string{"sync", "add", "share", "DIR/share"}},
	{name: "sync", args: []string{"sync"}},
	{name: "sync status", args: []string{"sync", "status"}},
	{name: "sync log", args: []string{"sync", "log"}},
	{name: "sync identity", args: []string{"sync", "identity"}},
	{name: "sync rm", args: []string{"sync", "rm", "share"}},
	{name: "memory add", args: []string{"memory", "add", "Walruses are large.", "--name", "walrus"}},
	{name: "memory ls", args: []string{"memory", "ls"}},
	{name: "memory search", args: []string{"memory", "search", "walruses"}},
	{name: "memory changes", args: []string{"memory", "changes"}},
	{name: "approvals rules add", args: []string{"approvals", "rules", "add", "--project", ".", "shell(make *)"}},
	{name: "approvals rules", args: []string{"approvals", "rules"}},
	{name: "mcp add", args: []string{"mcp", "add", "notes", "--", "cat"}},
	{name: "mcp ls", args: []string{"mcp", "ls"}},
	{name: "config set", args: []string{"config", "set", "gateway.drain", "1m"}},
	{name: "config unset", args: []string{"config", "unset", "gateway.drain"}},
	{name: "chat", args: []string{"chat", "-p", "what can you do?", "--key", "agent:main:json"}},
	{name: "chat", args: []string{"chat", "-p", "and what else?", "--key", "agent:main:json"}},
	{name: "compact", args: []string{"compact", "@agent:main:json", "--keep-recent", "10"}},
	{name: "compactions", args: []string{"compactions", "@agent:main:json"}},
	{name: "uncompact", args: []string{"uncompact", "@agent:main:json"}},
	{name: "handoff", args: []string{"handoff", mainSession, "--to", "codex"}},
	{name: "adopt", args: []string{"adopt"}},
	{name: "encrypt", args: []string{"encrypt", "--identity", "DIR/keys/firn.txt"}},
	{name: "encrypt access", args: []string{"encrypt", "access", "--identity", "DIR/keys/new.txt", "--create"}},
	{name: "lock", args: []string{"lock"}},
	{name: "decrypt", args: []string{"decrypt"}},
}

// jsonMembers are the members of a command's output by their path, each with its types. The
// count is that of the outputs which had it.
type jsonMembers struct {
	types   map[string]map[string]bool
	seen    map[string]int
	outputs int
}

// deepest is the depth up to which members are listed.
const deepest = 3

// add adds a value to the members at a path.
func (m *jsonMembers) add(path string, depth int, v any, found map[string]bool) {
	name := "string"
	switch v := v.(type) {
	case map[string]any:
		if depth < deepest && len(v) > 0 {
			for member, value := range v {
				m.add(strings.TrimLeft(path+"."+plainMember(member), "."), depth+1, value, found)
			}
			return
		}
		name = "object"
	case []any:
		name = "array"
		if len(v) > 0 {
			for _, item := range v {
				m.add(path+"[]", depth, item, found)
			}
			return
		}
	case bool:
		name = "boolean"
	case float64:
		name = "number"
	case nil:
		name = "null"
	}
	if m.types[path] == nil {
		m.types[path] = make(map[string]bool)
	}
	m.types[path][name] = true
	found[path] = true
}

var memberName = regexp.MustCompile(`^[a-z][A-Za-z]*$`)

// plainMember replaces members whose name is data: a key, an ID, a date, a model.
func plainMember(name string) string {
	if name == "sha256" || memberName.MatchString(name) {
		return name
	}
	return "NAME"
}

// jsonOutputs are the members of all commands' outputs.
type jsonOutputs map[string]*jsonMembers

// add adds the output of a command: one value, or one per line.
func (o jsonOutputs) add(command, out string) error {
	m := o[command]
	if m == nil {
		m = &jsonMembers{types: make(map[string]map[string]bool), seen: make(map[string]int)}
		o[command] = m
	}
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var v any
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the output is not JSON: %w", err)
		}
		found := make(map[string]bool)
		m.add(".", 0, v, found)
		m.outputs++
		for path := range found {
			m.seen[path]++
		}
	}
}

// page is docs/json.md: the lines of each command, by path, and without the mark ? of
// members that may be missing.
type jsonPage map[string]map[string]jsonLine

type jsonLine struct {
	types    string
	optional bool
}

// readJSONPage reads docs/json.md.
func readJSONPage(t *testing.T, text string) jsonPage {
	t.Helper()
	page, command := make(jsonPage), ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## firn "); ok {
			command = name
			page[command] = make(map[string]jsonLine)
		} else if f := strings.SplitN(line, " ", 2); command != "" && len(f) == 2 && !strings.HasPrefix(line, "`") {
			path, optional := strings.CutSuffix(f[0], "?")
			page[command][path] = jsonLine{strings.TrimSpace(f[1]), optional}
		}
	}
	return page
}

// lines returns the documented form of the members of a command. Members that were
// documented before and are missing now are kept as optional.
func (m *jsonMembers) lines(before map[string]jsonLine) map[string]jsonLine {
	lines := maps.Clone(before)
	if lines == nil {
		lines = make(map[string]jsonLine)
	}
	for path, l := range lines {
		l.optional = l.optional || m.seen[path] < m.outputs
		lines[path] = l
	}
	for path, types := range m.types {
		old := lines[path]
		for _, name := range strings.Split(old.types, " or ") {
			if name != "" {
				types[name] = true
			}
		}
		if len(types) > 1 && types["array"] {
			delete(types, "array")
		}
		lines[path] = jsonLine{strings.Join(slices.Sorted(maps.Keys(types)), " or "), old.optional || m.seen[path] < m.outputs}
	}
	for path := range lines { // an empty array or object, whose items were seen elsewhere
		for other := range lines {
			if strings.HasPrefix(other, path+"[") || path != other && (path == "." || strings.HasPrefix(other, path+".")) {
				delete(lines, path)
				break
			}
		}
	}
	return lines
}

const jsonPreface = `# JSON output

What each command prints with ` + "`--json`" + `. A test generates this page: it runs every command and fails if a member has no line here, or
if one that is always printed is missing. ` + "`[]`" + ` is each item of an array, ` + "`NAME`" + ` any name, ` + "`?`" + ` marks members that may be missing, and
deeper objects are not listed. A line ` + "`.`" + ` is the whole result. Commands that print several objects print one per line, all with these members. Entries of sessions are
described in [format.md](format.md), errors and exit codes in [scripting.md](scripting.md#exit-codes).

These commands print something else, or are not run by the test:

| command | |
|---|---|
`

// text returns docs/json.md.
func (p jsonPage) text() string {
	var b strings.Builder
	b.WriteString(jsonPreface)
	for _, name := range slices.Sorted(maps.Keys(notJSON)) {
		fmt.Fprintf(&b, "| `firn %s` | %s |\n", name, notJSON[name])
	}
	for _, command := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "\n## firn %s\n\n```\n", command)
		width := 0
		for path := range p[command] {
			width = max(width, len(path)+1)
		}
		for _, path := range slices.Sorted(maps.Keys(p[command])) {
			l := p[command][path]
			mark := path
			if l.optional {
				mark += "?"
			}
			fmt.Fprintf(&b, "%-*s %s\n", width, mark, l.types)
		}
		b.WriteString("```\n")
	}
	return b.String()
}

// compare compares the outputs with docs/json.md, or updates it.
func (o jsonOutputs) compare(t *testing.T) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "json.md")
	data, err := os.ReadFile(file)
	if err != nil && os.Getenv("FIRN_UPDATE") == "" {
		t.Fatal(err)
	}
	page, now := readJSONPage(t, string(data)), make(jsonPage)
	for command, m := range o {
		now[command] = m.lines(page[command])
	}
	if os.Getenv("FIRN_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(now.text()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for command, lines := range now {
		for path, l := range lines {
			if was, ok := page[command][path]; !ok || was != l {
				t.Errorf("docs/json.md, firn %s: the member %s is %+v, documented as %+v; make docs updates the page", command, path, l, was)
			}
		}
	}
	for command := range page {
		if o[command] == nil {
			t.Errorf("docs/json.md lists firn %s, which was not run", command)
		}
	}
	if string(data) != now.text() && !t.Failed() {
		t.Error("docs/json.md is out of date; make docs updates it")
	}
}

// doesJSON runs a command on both homes with --json and collects the members of its output.
func (p *pair) doesJSON(d *storeCommand) {
	p.t.Helper()
	args := append([]string{"--json"}, d.args...)
	files, moved := p.run(p.files, d.input, args...), p.run(p.moved, d.input, args...)
	p.collect(d, files)
	p.collect(d, moved)
	if d.refused != "" {
		if moved.code == 0 || !strings.Contains(moved.errs, d.refused) {
			p.t.Errorf("firn %v ended with %d: %s%s", args, moved.code, moved.out, moved.errs)
		}
		return
	}
	if files.code != moved.code {
		p.t.Errorf("firn %v ends with %d on files and %d where they moved\n%s%s\n%s%s", args, files.code, moved.code, files.out, files.errs, moved.out, moved.errs)
	}
}

// collect adds the output of a command. A failed command without output must print its error
// as JSON.
func (p *pair) collect(d *storeCommand, r ran) {
	p.t.Helper()
	if r.code != 0 && r.out == "" {
		var failed struct {
			Error struct{ Kind, Message string } `json:"error"`
		}
		last := r.errs[max(0, strings.LastIndex(strings.TrimSuffix(r.errs, "\n"), "\n{")):]
		if err := json.Unmarshal([]byte(last), &failed); err != nil || failed.Error.Kind == "" || failed.Error.Message == "" {
			p.t.Errorf("firn --json %v ended with %d and printed %q, %v", d.args, r.code, r.errs, err)
		}
		return
	}
	if notJSON[d.name] != "" {
		return
	}
	if err := p.json.add(d.name, r.out); err != nil {
		p.t.Errorf("firn --json %v: %v\n%s", d.args, err, r.out)
	}
}

// doesJSONOnly runs the further commands on the home with files.
func (p *pair) doesJSONOnly() {
	p.t.Helper()
	dir := p.t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "share"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	for _, d := range jsonOnly {
		args := []string{"--json"}
		for _, a := range d.args {
			args = append(args, strings.ReplaceAll(a, "DIR", dir))
		}
		r := p.run(p.files, "", args...)
		if r.code != 0 {
			p.t.Errorf("firn %v ended with %d: %s%s", args, r.code, r.out, r.errs)
		}
		p.collect(&d, r)
	}
}
