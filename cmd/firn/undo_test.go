package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/term/cli"
	"firn.dev/wire"

	"github.com/google/go-cmp/cmp"
)

// undone is a command that prints how it is undone. Words in capitals are names that
// the state of the test has.
type undone struct {
	name string
	// before are commands that make the state, and run is the command.
	before []string
	run    string
}

// undoable are the commands that print a line "undo: …".
var undoable = []undone{
	{"archive", nil, "archive ONE"},
	{"archive", []string{"archive ONE"}, "archive --undo ONE"},
	{"label", nil, "label ONE #1 first"},
	{"label", []string{"label ONE #1 first"}, "label ONE #1 second"},
	{"label", []string{"label ONE #1 first"}, "label ONE #1 pin"},
	{"label", []string{"label ONE #1 pin"}, "label ONE ANSWER pin"},
	{"label", []string{"label ONE #1 pin", "label ONE ANSWER pin"}, "label ONE #1 --remove"},
	{"label", []string{"label ONE #1 first"}, "label ONE first --remove"},
	{"rename", nil, "rename ONE 'another name'"},
	{"rename", []string{"rename ONE 'a name of mine'"}, "rename ONE 'another name'"},
	{"rename", nil, "rename ONE --remove"},
	{"rename", []string{"rename ONE --remove"}, "rename ONE 'a name'"},
	{"rename", []string{"rename ONE \"it's 50% & $HOME\""}, "rename ONE plain"},
	{"rm", nil, "rm ONE"},
	{"rm", []string{"archive ONE"}, "rm ONE"},
	{"rm", nil, "rm --bin TWO"},
	{"rm", nil, "rm ONE --entry #1"},
	{"rm", nil, "rm ONE --entry ANSWER"},
	{"restore", []string{"rm ONE"}, "restore ONE"},
	{"restore", []string{"rm --bin TWO"}, "restore TWOID"},
	{"restore", []string{"rm ONE --entry #1"}, "restore ONE #1"},
	{"rewind", nil, "rewind ONE"},
	{"rewind", []string{"rewind ONE"}, "rewind ONE ANSWER"},
	{"tag", nil, "tag ONE +red +green"},
	{"tag", []string{"tag ONE +red +green"}, "tag ONE -red +blue"},
	{"tag", []string{"tag ONE +red"}, "tag ONE -red"},
	{"compact", nil, "compact ONE --keep-recent 10"},
	{"bin restore", []string{"rm --bin TWO"}, "bin restore TWOID"},
	{"uncompact", []string{"compact ONE --keep-recent 10"}, "uncompact ONE"},
	{"uncompact", []string{"compact ONE --keep-recent 10", "uncompact ONE"}, "uncompact ONE --redo"},
	{"keys set", []string{"keys set agent:main:other ONE"}, "keys set agent:main:other TWO"},
	{"keys set", nil, "keys set agent:main:new TWO"},
	{"keys rm", []string{"keys set agent:main:other ONE"}, "keys rm agent:main:other"},
	{"keys reset", nil, "keys reset agent:main:main"},
	{"keys reset", []string{"keys set agent:main:other ONE"}, "keys reset agent:main:other"},
	{"keys reset", []string{"keys reset agent:main:main"}, "keys reset agent:main:main"},
	{"keys previous", []string{"keys reset agent:main:main"}, "keys previous agent:main:main"},
	{"memory add", nil, "memory add 'tea is better'"},
	{"memory edit", []string{"memory add --name drinks 'tea is better'"}, "memory edit NOTE"},
	{"memory forget", []string{"memory add 'tea is better'"}, "memory forget NOTE"},
	{"memory clear", []string{"memory add 'tea is better'", "memory add 'the sea is blue'"}, "memory clear --yes"},
	{"config set", nil, "config set gateway.drain 1m"},
	{"config set", []string{"config set gateway.drain 1m"}, "config set gateway.drain 2m"},
	{"config set", []string{`config set defaults.tools.deny '["write"]'`}, `config set defaults.tools.deny []`},
	{"config unset", []string{"config set gateway.drain 1m"}, "config unset gateway.drain"},
	{"model set", nil, "model set gpt-5"},
	{"model set", []string{"model set gpt-5"}, "model set sonnet --all"},
	{"model set", []string{"model set gpt-5"}, "model set sonnet --project"},
	{"model unset", []string{"model set gpt-5"}, "model unset"},
	{"model unset", []string{"model set gpt-5 --project"}, "model unset --project"},
	{"mcp add", nil, "mcp add notes --env A=b --pass-env C --agent main --tool 'read_*' --trust-read-only --shared -- cat -u 'a file'"},
	{"mcp add", nil, "mcp add web --url https://example.org/mcp --token-env T --header-env X-Key=K"},
	{"mcp rm", []string{"mcp add notes --env A=b -- cat -u 'it''s'"}, "mcp rm notes"},
	{"mcp rm", []string{"mcp add notes -- cat", "config set mcp_servers.notes.wait 1m"}, "mcp rm notes"},
	{"memory undo", []string{"memory add 'tea is better'"}, "memory undo"},
}

// notUndoable are the other commands, and why they print none.
var notUndoable = map[string]string{
	"chat": "adds to a session; firn rewind goes back", "append": "adds to a session; firn rewind goes back",
	"new": "adds a session; firn rm hides it", "fork": "adds a session; firn rm hides it", "import": "adds sessions; firn rm hides them",
	"handoff": "adds a file to another tool, which that tool removes", "adopt": "copies files of other tools; the copy below sources/ in the home can be removed. TestAdoptInstall runs the undo of --install",
	"purge": "erases for good, which is what it is for", "bin empty": "erases for good, which is what it is for", "memory dream": "prints one for what it changed; it needs a model",
	"acp": "what an editor says is added to a session", "mcp": "what a client calls is what the commands do", "serve": "runs until it is stopped", "stop": "stops a turn, which can be said again",
	"approvals allow": "a call that has run cannot be taken back", "approvals deny": "adds to a session",
	"mcp approve": "prints one, which TestProjectServersNeedApproval runs", "mcp revoke": "prints one, which TestProjectServersNeedApproval runs",
	"approvals rules add": "prints one, which TestApprovalRules runs", "approvals rules remove": "prints one, which TestApprovalRules runs",
	"jobs run": "adds to a session", "token create": "firn token revoke takes it back", "token revoke": "a secret that was taken back must not come back",
	"anchor": "adds a file", "backup create": "adds a file", "backup restore": "refuses to replace existing files", "maintenance": "moves sessions to the trash bin or erases them, as configured",
	"migrate": "the old store stays as it was; firn migrate back is described in docs/operations.md", "mirror": "adds a copy", "reindex": "what is derived can be made again",
	"repair": "adds to a session, and keeps the file that was there", "recall": "--install prints one, which TestRecallInstall runs", "demo": "in a home of its own",
	"sync": "adds entries of other machines, which firn rewind and firn rm hide", "sync add": "prints one, which the script sync.txtar runs", "sync rm": "prints one, which the script sync.txtar runs",
	"encrypt": "prints one, which the script encrypt.txtar runs", "encrypt access": "prints one, which the script encrypt.txtar runs", "decrypt": "prints one, which the script encrypt.txtar runs", "unlock": "prints one, which the script encrypt.txtar runs", "lock": "prints one: firn unlock",
	"sync exclude": "prints one, which the script sync.txtar runs", "sync include": "prints one, which the script sync.txtar runs",
}

// reading are the commands that change nothing.
var reading = strings.Fields(`approvals approvals-rules bin bin-ls blame browse cat diff files ls show tail tree window compactions grep memory memory-changes memory-ls memory-search memory-show
	search convert export jobs keys keys-ls keys-show open status token token-ls usage backup backup-verify doctor verify completion
	config config-check config-get config-path help mcp-ls mcp-test model sessions sync-status sync-log sync-identity version`)

// TestEveryCommandHasUndo compares the tables with the existing commands.
func TestEveryCommandHasUndo(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	tables := make(map[string]int)
	for _, u := range undoable {
		tables[u.name] = 1
	}
	for name := range notUndoable {
		tables[name]++
	}
	for _, name := range reading {
		tables[strings.ReplaceAll(name, "-", " ")]++
	}
	for _, heading := range regexp.MustCompile(`(?m)^##+ firn (.+)$`).FindAllStringSubmatch(string(page), -1) {
		if tables[heading[1]] != 1 {
			t.Errorf("firn %s is in %d of the tables: a command can be undone, or has a reason why not, or only reads", heading[1], tables[heading[1]])
		}
		delete(tables, heading[1])
	}
	for name := range tables {
		t.Errorf("there is no command firn %s", name)
	}
}

// TestUndo runs each command that can be undone with --home, then the line that it printed,
// which must have that flag too, and compares all that can be seen: before, changed, and as
// before.
func TestUndo(t *testing.T) {
	t.Parallel()
	for _, u := range undoable {
		t.Run(strings.Join(append(slices.Clone(u.before), u.run), ", "), func(t *testing.T) {
			t.Parallel()
			h := newUndoHome(t)
			for _, line := range u.before {
				h.must(line)
			}
			before := h.visible()
			elsewhere := *h
			elsewhere.env = t.TempDir()
			out := elsewhere.must("--home " + h.dir + " " + u.run)
			if changed := h.visible(); changed == before {
				t.Fatalf("it changed nothing and printed\n%s", out)
			}
			_, undo, ok := strings.Cut(out, "undo: firn ")
			if !ok {
				t.Fatalf("it printed no undo:\n%s", out)
			}
			line, _, _ := strings.Cut(undo, "\n")
			text := elsewhere.must(line)
			if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(h.visible(), "\n")); diff != "" {
				t.Errorf("firn %s printed\n%s\nand its undo %q printed\n%s\nwhat is different afterwards (-before +after):\n%s", u.run, out, line, text, diff)
			}
		})
	}
}

// TestNothingToDo runs commands without anything to change: they report it, and neither
// claim success nor offer an undo.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	for _, u := range []undone{
		{"restore", nil, "restore ONE #1"}, {"restore", nil, "restore ONE"},
		{"rm", []string{"rm ONE --entry #1"}, "rm ONE --entry #1"}, {"rm", []string{"rm ONE"}, "rm ONE"},
		{"archive", []string{"archive ONE"}, "archive ONE"}, {"archive", nil, "archive --undo ONE"},
		{"label", []string{"label ONE #1 first"}, "label ONE #1 first"}, {"label", nil, "label ONE #1 --remove"},
		{"tag", []string{"tag ONE +red"}, "tag ONE +red"}, {"tag", nil, "tag ONE -red"},
		{"keys set", []string{"keys set agent:main:other ONE"}, "keys set agent:main:other ONE"},
		{"rewind", nil, "rewind ONE HEAD"}, {"rename", []string{"rename ONE --remove"}, "rename ONE --remove"},
	} {
		t.Run(strings.Join(append(slices.Clone(u.before), u.run), ", "), func(t *testing.T) {
			t.Parallel()
			h := newUndoHome(t)
			for _, line := range u.before {
				h.must(line)
			}
			before, files := h.visible(), h.transcripts()
			out := h.must(u.run)
			if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(h.visible(), "\n")); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
			if h.transcripts() != files {
				t.Error("something was written")
			}
			if strings.Contains(out, "undo:") || !strings.Contains(out, "no changes made") {
				t.Errorf("it printed\n%s", out)
			}
		})
	}
}

// undoHome is a home with two sessions.
type undoHome struct {
	t     *testing.T
	dir   string
	names map[string]string
	// env is the FIRN_HOME of commands; the home if it is empty.
	env string
}

// firstUndoHome makes the home that all others are copied from.
var firstUndoHome = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "undo")
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"main", "what can you do?"}, {"main", "and what is the time?"}, {"main", "thank you"}, {"second", "a second one"},
	} {
		cmd := exec.Command("firn", "chat", "--key", "agent:main:"+args[0], "-p", args[1])
		cmd.Env = append(os.Environ(), "FIRN_HOME="+dir, "FIRN_MODEL=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	return dir, nil
})

func newUndoHome(t *testing.T) *undoHome {
	t.Helper()
	first, err := firstUndoHome()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := os.MkdirTemp("", "undo") // t.TempDir has the test's name, and so names that are replaced
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	h := &undoHome{t: t, dir: filepath.Join(parent, "home"), names: make(map[string]string)}
	if err := os.CopyFS(h.dir, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`said: (\S+) \{"role":"assistant"`)
	listed := regexp.MustCompile(`listed, [^:]*: (\S+) "[^"]*" of agent:main:(main|second),`)
	for _, part := range strings.SplitAfter(h.visible(), "\nsent: user [firn] Go on.") {
		m := listed.FindStringSubmatch(part)
		switch {
		case m == nil:
		case m[2] == "second":
			h.names["TWO"], h.names["TWOID"] = m[1], m[1]
		default:
			h.names["ONE"] = m[1]
			answers := text.FindAllStringSubmatch(part, -1)
			h.names["ANSWER"] = answers[len(answers)-1][1]
		}
	}
	return h
}

// must runs firn with a command line and returns its output.
func (h *undoHome) must(line string) string {
	h.t.Helper()
	if strings.Contains(line, "NOTE") {
		h.names["NOTE"] = regexp.MustCompile(`agent/\S+`).FindString(h.must("--home " + h.dir + " memory ls"))
	}
	line = regexp.MustCompile(`\b(ONEID|TWOID|ONE|TWO|ANSWER|NOTE)\b`).ReplaceAllStringFunc(line, func(name string) string { return h.names[name] })
	line = regexp.MustCompile(` (#\d+)`).ReplaceAllString(line, " '$1'")
	cmd := exec.Command("sh", "-c", "firn "+line)
	home := h.env
	if home == "" {
		home = h.dir
	}
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "EDITOR=sed -i s/tea/coffee/", "VISUAL=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("firn %s: %v\n%s", line, err, out)
	}
	return string(out)
}

// visible returns everything that a user sees: lists, sessions, messages, windows, labels,
// keys and notes.
func (h *undoHome) visible() string {
	h.t.Helper()
	c, done := lookInto(h.t, h.dir)
	defer done()
	l := &looker{t: h.t, c: c}
	for n := range 4 {
		l.list(n&1 != 0, n&2 != 0)
	}
	keys, err := c.Keys.List(h.t.Context(), "")
	l.check(err)
	slices.SortFunc(keys, func(a, b wire.Key) int { return strings.Compare(a.Key, b.Key) })
	for _, k := range keys {
		l.printf("key %s points at %s", k.Key, k.Session)
	}
	toml, _ := os.ReadFile(filepath.Join(h.dir, config.FileName)) // there may be none
	l.printf("settings %s", toml)
	notes, err := c.Memory.Notes(h.t.Context(), wire.MemoryPlace{})
	l.check(err)
	for _, n := range notes {
		whole, err := c.Memory.Note(h.t.Context(), wire.MemoryPlace{}, n.Ref)
		l.check(err)
		l.printf("note %+v", whole)
	}
	return l.seen.String()
}

// lookInto opens a home in this process to inspect it.
func lookInto(t *testing.T, home string) (*client.Client, func()) {
	t.Helper()
	settings, err := config.Open(filepath.Join(home, "firn.toml"), []string{"FIRN_HOME=" + home}, nil)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := open(t.Context(), cli.GatewayOptions{Home: home, Settings: settings, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Transport: opened.Transport})
	if err != nil {
		t.Fatal(err)
	}
	return c, func() { _ = opened.Close(context.Background()) }
}

// looker records a client's view.
type looker struct {
	t    *testing.T
	c    *client.Client
	seen strings.Builder
}

func (l *looker) printf(format string, args ...any) { fmt.Fprintf(&l.seen, format+"\n", args...) }

func (l *looker) check(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *looker) list(archived, hidden bool) {
	l.t.Helper()
	var all []wire.Session
	for s, err := range l.c.Sessions(l.t.Context(), client.Query{Archived: archived, Hidden: hidden}) {
		l.check(err)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b wire.Session) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for _, s := range all {
		l.printf("listed, archived %v, hidden %v: %s %q of %s, current %v, tags %v", archived, hidden, s.ID, s.Title, s.Key, s.Current, s.Tags)
		l.session(s.ID)
	}
}

// session records the view of one session, without its size and times.
func (l *looker) session(id firn.ID) {
	l.t.Helper()
	ctx := l.t.Context()
	s, err := l.c.Session(ctx, string(id))
	l.check(err)
	l.printf("shown: %s %q of %s, current %v, archived %v, hidden %v, tags %v, %s/%s thinking %s", id, s.Title, s.Key, s.Current, s.Archived, s.Hidden, s.Tags, s.State.Provider, s.State.Model, s.State.Thinking)
	for e, err := range l.c.Entries(ctx, id, client.EntryQuery{View: wire.ViewBranch}) {
		l.check(err)
		var line struct {
			ID      string
			Message json.RawMessage
		}
		if json.Unmarshal(e.Line, &line) == nil && line.Message != nil {
			l.printf("said: %s %s", line.ID, line.Message)
		}
	}
	w, err := l.c.Window(ctx, id, "")
	l.check(err)
	for _, item := range w.Items {
		l.printf("sent: %s %s", item.Role, item.Preview)
	}
	tree, err := l.c.Tree(ctx, id, 1000, "")
	l.check(err)
	for _, n := range tree.Nodes {
		if n.Label != "" {
			l.printf("%s has the label %s", n.ID, n.Label)
		}
	}
}

// transcripts is every byte of the sessions' files.
func (h *undoHome) transcripts() string {
	h.t.Helper()
	var b strings.Builder
	files, err := filepath.Glob(filepath.Join(h.dir, "agents", "*", "sessions", "*.jsonl"))
	if err != nil || len(files) == 0 {
		h.t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			h.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n%s\n", name, text)
	}
	return b.String()
}
