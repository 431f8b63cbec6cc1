//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/wire"
)

// listSteps is how many changes TestListsMatchTranscripts makes; FIRN_STEPS sets another
// number.
const listSteps = 24

// TestListsMatchTranscripts makes random changes with the program, a gateway and the
// library, and compares lists, details and keys with a full read of the transcripts after
// each. The gateway is started, stopped and killed meanwhile. Occasionally and at the end,
// the same is done in a copy of the home without sessions.json and indexes. FIRN_SEED
// repeats a run.
func TestListsMatchTranscripts(t *testing.T) {
	t.Parallel()
	steps := listSteps
	if text := os.Getenv("FIRN_STEPS"); text != "" {
		var err error
		if steps, err = strconv.Atoi(text); err != nil {
			t.Fatalf("FIRN_STEPS: %v", err)
		}
	}
	l := &lists{t: t, home: filepath.Join(t.TempDir(), "home"), random: basetest.Random(t), done: make(map[string]int)}
	t.Cleanup(l.endGateway)
	names := slices.Sorted(maps.Keys(listChanges))
	for step := range steps {
		name := names[l.random.IntN(len(names))]
		l.step = fmt.Sprintf("step %d: %s", step, name)
		if listChanges[name](l, l.any()) {
			l.done[name]++
		}
		l.check()
		if step%8 == 7 || step == steps-1 {
			l.checkCopy()
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d changes, done: %v", steps, l.done)
}

// lists makes changes to the sessions of a home.
type lists struct {
	t      *testing.T
	home   string
	random *rand.Rand
	step   string
	n      int
	done   map[string]int
	// gateway is the process that serves the home, nil if there is none, c its client.
	gateway *exec.Cmd
	c       *client.Client
}

// name returns a text that was not used before.
func (l *lists) name(of string) string {
	l.n++
	return fmt.Sprintf("%s %d", of, l.n)
}

// key returns one of a few keys.
func (l *lists) key() string { return fmt.Sprintf("agent:main:cli:direct:p%d", l.random.IntN(3)) }

// any returns the ID of an existing session, including hidden and archived ones.
func (l *lists) any() string {
	ids := slices.Sorted(maps.Keys(l.truths()))
	if len(ids) == 0 {
		out, ok := l.firn("", "new", "--title", l.name("first"))
		if !ok {
			l.t.Fatalf("firn new: %s", out)
		}
		return strings.TrimSpace(out)
	}
	return string(ids[l.random.IntN(len(ids))])
}

// entry returns one of the messages of a session, or an id that is none.
func (l *lists) entry(id string) string {
	reported := l.truths()[firn.ID(id)]
	if len(reported.messages) == 0 {
		return "none"
	}
	return string(reported.messages[l.random.IntN(len(reported.messages))])
}

// firn runs the program. It reports whether that did something; to be refused is all right, to
// fail is not.
func (l *lists) firn(stdin string, args ...string) (string, bool) {
	l.t.Helper()
	cmd := firnCommand(l.home, args...)
	cmd.Dir = filepath.Dir(l.home)
	cmd.Stdin = strings.NewReader(stdin)
	var failed *exec.ExitError
	out, err := cmd.Output()
	switch {
	case err == nil:
		return string(out), true
	case !errors.As(err, &failed):
		l.t.Fatal(err)
	case slices.Contains([]int{2, 3, 4, 5}, failed.ExitCode()):
	default:
		l.t.Errorf("%s: firn %s ends with %d: %s%s", l.step, strings.Join(args, " "), failed.ExitCode(), out, failed.Stderr)
	}
	return string(failed.Stderr), false
}

// ok reports whether a request was done. To be refused is all right.
func (l *lists) ok(err error) bool {
	l.t.Helper()
	var p *wire.Problem
	if err != nil && (!errors.As(err, &p) || !slices.Contains([]wire.Kind{wire.NotFound, wire.Invalid, wire.Conflict, wire.Ambiguous, wire.Busy, wire.Unsupported}, p.Kind)) {
		l.t.Errorf("%s: %v", l.step, err)
	}
	return err == nil
}

// serve starts a gateway unless one runs, and returns its client.
func (l *lists) serve() *client.Client {
	l.t.Helper()
	if l.gateway != nil {
		return l.c
	}
	cmd, out := firnCommand(l.home, "serve", "--json"), linetest.NewRecorder(l.t)
	cmd.Stdout, cmd.Stderr = out, linetest.NewRecorder(l.t)
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.gateway = cmd
	out.Await(`"address"`)
	var err error
	if l.c, err = client.New(client.Options{Address: "unix:" + filepath.Join(l.home, "gateway.sock")}); err != nil {
		l.t.Fatal(err)
	}
	return l.c
}

// endGateway kills the gateway, if one runs.
func (l *lists) endGateway() {
	if l.gateway == nil {
		return
	}
	l.c.Close()
	l.gateway.Process.Kill()
	l.gateway.Wait()
	l.gateway, l.c = nil, nil
}

// check compares the reported sessions with the transcripts. If running turns change the
// transcripts meanwhile, it repeats the check.
func (l *lists) check() {
	l.t.Helper()
	for range manyLooks {
		before := l.truths()
		seen := l.seen()
		if l.t.Failed() {
			return
		}
		after := l.truths()
		if fmt.Sprint(before) == fmt.Sprint(after) {
			l.compare(seen, after)
			return
		}
	}
	l.t.Fatalf("%s: the transcripts change all the time", l.step)
}

// manyLooks is the maximum number of attempts.
const manyLooks = 100

// sight is a client's view of the sessions.
type sight struct {
	what     string
	sessions map[firn.ID]wire.Session
	// shown are those that a list without empty sessions has.
	shown map[firn.ID]bool
	// latest is the session that "-" refers to; empty if it was not queried.
	latest firn.ID
	// keys maps keys to sessions; nil if it was not queried.
	keys map[string]firn.ID
}

// seen queries every source.
func (l *lists) seen() []sight {
	l.t.Helper()
	program := sight{what: "firn ls", sessions: make(map[firn.ID]wire.Session), shown: make(map[firn.ID]bool), keys: make(map[string]firn.ID)}
	for _, flags := range [][]string{nil, {"--hidden"}, {"--archived"}, {"--hidden", "--archived"}} {
		var page, shown wire.Page[wire.Session]
		l.decode(&page, append([]string{"ls", "--json", "-n", "all", "--empty"}, flags...)...)
		for _, s := range page.Items {
			program.sessions[s.ID] = s
		}
		l.decode(&shown, append([]string{"ls", "--json"}, flags...)...)
		for _, s := range shown.Items {
			program.shown[s.ID] = true
		}
	}
	var keys wire.Page[wire.Key]
	l.decode(&keys, "keys", "ls", "--json")
	for _, k := range keys.Items {
		program.keys[k.Key] = k.Session
	}
	if out, ok := l.firn("", "show", "-", "--json"); ok {
		var s wire.Session
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			l.t.Fatal(err)
		}
		program.latest = s.ID
	}
	all := []sight{program}
	if l.c != nil {
		all = append(all, l.asked("GET /v1/sessions", l.c))
	}
	return all
}

func (l *lists) decode(into any, args ...string) {
	l.t.Helper()
	out, ok := l.firn("", args...)
	if !ok {
		l.t.Fatalf("%s: firn %s: %s", l.step, strings.Join(args, " "), out)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		l.t.Fatal(err)
	}
}

// asked returns a gateway's view, with the details of each session.
func (l *lists) asked(what string, c *client.Client) sight {
	l.t.Helper()
	s := sight{what: what, sessions: make(map[firn.ID]wire.Session), shown: make(map[firn.ID]bool), keys: make(map[string]firn.ID)}
	for n := range 8 {
		for item, err := range c.Sessions(l.t.Context(), client.Query{Hidden: n&1 != 0, Archived: n&2 != 0, Empty: n&4 != 0, State: true}) {
			if err != nil {
				l.t.Fatalf("%s: %v", l.step, err)
			}
			if n&4 == 0 {
				s.shown[item.ID] = true
				continue
			}
			s.sessions[item.ID] = item
		}
	}
	keys, err := c.Keys.List(l.t.Context(), "")
	if err != nil {
		l.t.Fatalf("%s: %v", l.step, err)
	}
	for _, k := range keys {
		s.keys[k.Key] = k.Session
	}
	return s
}

// compare reports the differences between a view and the transcripts.
func (l *lists) compare(all []sight, want map[firn.ID]listing) {
	l.t.Helper()
	for _, s := range all {
		for id := range s.sessions {
			if _, ok := want[id]; !ok {
				l.t.Errorf("%s: %s: session %s has no transcript", l.step, s.what, id)
			}
		}
		for id, w := range want {
			got, ok := s.sessions[id]
			if !ok {
				l.t.Errorf("%s: %s: session %s is not listed: %s", l.step, s.what, id, w.line)
				continue
			}
			if s.shown != nil && s.shown[id] == w.empty {
				l.t.Errorf("%s: %s: session %s is listed: %t, empty: %t", l.step, s.what, id, s.shown[id], w.empty)
			}
			if g := formatListed(got, w); g != w.line {
				l.t.Errorf("%s: %s has for session %s\n%s\nits transcript has\n%s\n%s", l.step, s.what, id, g, w.line, w.shape)
			}
		}
		if latest := latestOf(want); s.latest != "" && s.latest != latest {
			l.t.Errorf("%s: %s: the latest session is %s, by the transcripts it is %s", l.step, s.what, s.latest, latest)
		}
		if s.keys != nil && all[0].keys != nil && fmt.Sprint(s.keys) != fmt.Sprint(all[0].keys) {
			l.t.Errorf("%s: keys point at\n%v by %s, and at\n%v by %s", l.step, s.keys, s.what, all[0].keys, all[0].what)
		}
	}
	l.compareTable(all[0].keys, want)
}

// compareTable compares the sessions of keys with sessions.json. A key of a session in the
// trash bin has no target until the session is restored; its row stays.
func (l *lists) compareTable(keys map[string]firn.ID, there map[firn.ID]listing) {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.home, "agents", "main", "sessions", "sessions.json"))
	if errors.Is(err, os.ErrNotExist) && len(keys) == 0 {
		return
	}
	var rows map[string]struct{ SessionID firn.ID }
	if err == nil {
		err = json.Unmarshal(data, &rows)
	}
	if err != nil {
		l.t.Fatalf("%s: sessions.json: %v", l.step, err)
	}
	for key, id := range keys {
		row := rows[key].SessionID
		if _, ok := there[row]; row != id && (id != "" || ok) {
			l.t.Errorf("%s: key %s points at %s, in sessions.json at %q", l.step, key, id, row)
		}
	}
}

// checkCopy compares a copy of the home, as a killed process leaves it, without
// sessions.json and the indexes, with the home: nothing else may be known there.
func (l *lists) checkCopy() {
	l.t.Helper()
	for range manyLooks {
		if l.t.Failed() {
			return
		}
		before := l.truths()
		here := l.seen()
		home := filepath.Join(l.t.TempDir(), "copy")
		if err := copyTranscripts(home, l.home); errors.Is(err, os.ErrNotExist) {
			continue // a file was moved meanwhile
		} else if err != nil {
			l.t.Fatal(err)
		}
		if fmt.Sprint(before) != fmt.Sprint(l.truths()) {
			continue
		}
		copied := l.inCopy(home)
		l.compare([]sight{here[0], copied}, before)
		if len(here) > 1 {
			compareStates(l, here[1], copied)
		}
		return
	}
}

// copyTranscripts copies a home without its socket, the tables of keys and the indexes.
func copyTranscripts(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case name == "index" || name == "gateway":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular() || d.Name() == "sessions.json":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	})
}

// inCopy queries a gateway of this process that has only the transcripts.
func (l *lists) inCopy(home string) sight {
	l.t.Helper()
	c, end := lookInto(l.t, home)
	defer end()
	return l.asked("the copy", c)
}

// compareStates compares how full windows are.
func compareStates(l *lists, a, b sight) {
	l.t.Helper()
	for id, s := range a.sessions {
		there, ok := b.sessions[id]
		if !ok || s.State == nil || there.State == nil {
			continue
		}
		s.State.Interrupted, there.State.Interrupted = false, false // which depends on the user who runs it
		if x, y := fmt.Sprintf("%+v", *s.State), fmt.Sprintf("%+v", *there.State); x != y {
			l.t.Errorf("%s: the state of session %s is\n%s, in the copy\n%s", l.step, id, x, y)
		}
	}
}

// TestEveryChangeIsTried compares the changes with the existing commands.
func TestEveryChangeIsTried(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	tried := make(map[string]bool)
	for name := range listChanges {
		if _, command, ok := strings.Cut(name, "firn "); ok {
			command, _, _ = strings.Cut(command, " -")
			tried[command] = true
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^##+ firn (.+)$`).FindAllStringSubmatch(string(page), -1) {
		name := m[1]
		if !slices.Contains(reading, strings.ReplaceAll(name, " ", "-")) && !tried[name] && listsUntouched[name] == "" {
			t.Errorf("firn %s changes something: it needs a change in TestListsMatchTranscripts, or a reason why not", name)
		}
	}
}

// listsUntouched are the commands that change something else than sessions, and why
// they are not tried.
var listsUntouched = map[string]string{
	"memory add": "notes", "memory edit": "notes", "memory forget": "notes", "memory clear": "notes", "memory undo": "notes", "memory dream": "notes",
	"token create": "tokens", "token revoke": "tokens", "config set": "settings", "config unset": "settings", "handoff": "writes for another tool", "adopt": "mirrors folders of other tools",
	"demo": "in a home of its own", "acp": "calls what the gateway has", "mcp": "calls what the gateway has", "serve": "runs throughout", "stop": "nothing runs for long",
	"anchor": "adds a file", "backup restore": "makes another home", "recall": "installs a hook in another tool", "migrate": "makes another store", "bin empty": "removes what is in no list",
	"jobs run": "a job is a turn", "approvals allow": "nothing waits for approval", "approvals deny": "nothing waits for approval",
	"mcp add": "settings", "mcp rm": "settings", "mcp approve": "servers of a project", "mcp revoke": "servers of a project",
	"approvals rules add": "rules", "approvals rules remove": "rules", "model set": "settings", "model unset": "settings", "sync": "adds entries of other homes; TestMachinesConverge compares lists", "sync add": "settings", "sync rm": "settings", "sync exclude": "settings", "sync include": "settings",
	"encrypt": "changes no session", "encrypt access": "changes no session", "decrypt": "changes no session", "unlock": "changes no session", "lock": "changes no session",
}
