package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The sessions of the two homes, and the word of the last entry before one of the homes was
// migrated.
const (
	mainSession  = "s1000000"
	otherSession = "s2000000"
	spareSession = "s3000000"
	lateSession  = "s4000000"
	deskKey      = "agent:main:desk"
	lastWord     = "walruslast"
)

// pair is two homes with the same sessions: one keeps them in its own files, the other
// moved them to an embedded server. Both are written to in the same way since.
type pair struct {
	t *testing.T
	// files and moved are the homes, store where the sessions of the second are.
	files, moved, store string
	// json collects the output of commands, which are run with --json if it is set.
	json jsonOutputs
}

// ran is the result of a command.
type ran struct {
	out, errs string
	code      int
}

// run runs a command on a home.
func (p *pair) run(home, input string, args ...string) ran {
	p.t.Helper()
	cmd := program(home, args...)
	hang := time.AfterFunc(5*time.Minute, func() { cmd.Process.Kill() }) // it only ends a hang
	defer hang.Stop()
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "FIRN_UPDATE=") }) // firn config check reports it
	cmd.Env = append(cmd.Env, "HOME="+home, "EDITOR=true", "VISUAL=", "NO_COLOR=1", "DISPLAY=", "WAYLAND_DISPLAY=")
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return ran{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// must runs a command that has to end well.
func (p *pair) must(home, input string, args ...string) string {
	p.t.Helper()
	r := p.run(home, input, args...)
	if r.code != 0 {
		p.t.Fatalf("firn %v in %s ended with %d: %s%s", args, filepath.Base(home), r.code, r.out, r.errs)
	}
	return r.out
}

// both runs a command on both homes, which has to end well.
func (p *pair) both(input string, args ...string) {
	p.t.Helper()
	p.must(p.files, input, args...)
	p.must(p.moved, input, args...)
}

func header(id string) string {
	return `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w","firn":1,"agent":"main"}` + "\n"
}

func messageLine(id, parent, role, text string) string {
	link := "null"
	if parent != "" {
		link = `"` + parent + `"`
	}
	return `{"type":"message","id":"` + id + `","parentId":` + link + `,"timestamp":"2026-11-15T02:45:47.243Z","message":{"role":"` + role + `","content":[{"type":"text","text":"` + text + `"}],"timestamp":1794710747206}}` + "\n"
}

// newPair makes the two homes.
func newPair(t *testing.T) *pair {
	t.Helper()
	dir := t.TempDir()
	p := &pair{t: t, files: filepath.Join(dir, "files"), moved: filepath.Join(dir, "moved"), store: filepath.Join(dir, "nats")}
	if err := os.MkdirAll(p.files, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{mainSession, otherSession, spareSession} {
		p.must(p.files, header(id)+messageLine("a1", "", "user", "the first of "+id)+messageLine("a2", "a1", "assistant", "an answer"), "import", "-", "--from", "native")
	}
	p.must(p.files, "", "keys", "set", deskKey, mainSession)
	p.must(p.files, "", "token", "create", "phone")
	if err := os.CopyFS(p.moved, os.DirFS(p.files)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(p.moved, func(path string, d fs.DirEntry, err error) error { // a copy has the modes of the umask
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return errors.Join(err, os.Chmod(path, 0o600))
	}); err != nil {
		t.Fatal(err)
	}
	p.must(p.moved, "", "migrate", "--from", "files", "--to", "nats-embedded:"+p.store)
	return p
}

// writeLast writes the last entries, to both in the same way.
func (p *pair) writeLast() {
	p.t.Helper()
	p.both(messageLine("a3", "a2", "user", "and then the "+lastWord), "append", mainSession)
	p.both(header(lateSession)+messageLine("b1", "", "user", "a late "+lastWord)+messageLine("b2", "b1", "assistant", "seen"), "import", "-", "--from", "native")
}

// storeCommand is a command and how it is compared on the two homes.
type storeCommand struct {
	// name is the command as listed in docs/cli.md.
	name string
	// why is why it is not run, or why its output differs.
	why string
	// args are its arguments. Without them and without a check it is not run.
	args  []string
	input string
	// last means that it must print the last entry.
	last bool
	// differs disables the comparison of the output; see why.
	differs bool
	// refused is its error on the moved home, where it cannot run.
	refused string
	// says is its additional output on the migrated home.
	says  string
	check func(t *testing.T, p *pair)
}

// storeCommands lists all commands: first those that only read, then those that write, in a working
// order.
func storeCommands() []storeCommand {
	one := func(name string, args ...string) storeCommand { return storeCommand{name: name, args: args} }
	shows := func(name string, args ...string) storeCommand {
		return storeCommand{name: name, args: args, last: true}
	}
	skip := func(name, why string) storeCommand { return storeCommand{name: name, why: why} }
	reads := []storeCommand{
		shows("cat", "cat", mainSession), shows("cat", "cat", "@"+deskKey), shows("cat", "cat", lateSession, "--raw"),
		one("ls", "ls"), shows("ls", "ls", "--text", lastWord),
		{name: "show", args: []string{"show", mainSession}, differs: true, why: "it names the files, if there are any"}, shows("tail", "tail", mainSession), shows("tree", "tree", mainSession), shows("window", "window", mainSession),
		shows("diff", "diff", mainSession, "a2", "a3"), one("compactions", "compactions", mainSession),
		one("files", "files", mainSession), one("blame", "blame", "storeinuse_test.go"),
		{name: "grep", args: []string{"grep", lastWord}, last: true}, {name: "grep", args: []string{"grep", "-l", lastWord, lateSession}, differs: true, why: "a file is named by its path, a session of another store by the store and its id"},
		shows("search", "search", lastWord), one("recall", "recall", lastWord), shows("sessions", "sessions", "cat", mainSession),
		shows("export", "export", mainSession), shows("export", "export", lateSession, "--format", "claude"), {name: "handoff", args: []string{"handoff", mainSession, "--to", "codex", "--plan"}},
		{name: "status", args: []string{"status"}, differs: true, why: "it names the store and the process"},
		one("keys", "keys"), one("keys ls", "keys", "ls"), one("keys show", "keys", "show", deskKey), one("usage", "usage", "--by", "session"),
		one("approvals", "approvals", mainSession), one("approvals allow", "approvals", "allow", mainSession), one("approvals deny", "approvals", "deny", mainSession), one("approvals rules", "approvals", "rules"),
		one("approvals rules add", "approvals", "rules", "add", "--project", ".", "shell(make *)"), one("approvals rules remove", "approvals", "rules", "remove", "--project", ".", "shell(make *)"),
		one("jobs", "jobs"), one("jobs run", "jobs", "run", "none"), {name: "open", args: []string{"open", "--print"}, differs: true, why: "the code in the address is another each time"},
		one("maintenance", "maintenance", "--dry-run"), one("reindex", "reindex"), one("reindex", "reindex", "--check"),
		one("mcp ls", "mcp", "ls"), one("mcp test", "mcp", "test", "none"), one("mcp approve", "mcp", "approve"), one("mcp revoke", "mcp", "revoke"), {name: "mcp add", args: []string{"mcp", "add", "notes", "--", "cat"}}, {name: "mcp rm", args: []string{"mcp", "rm", "notes"}},
		one("token", "token"), one("token ls", "token", "ls"), one("adopt", "adopt"), one("config", "config"), one("model", "model", "gpt-5"), {name: "model set", args: []string{"model", "set", "firn/offline"}}, {name: "model unset", args: []string{"model", "unset"}}, one("config check", "config", "check"), one("config path", "config", "path"),
		{name: "config get", args: []string{"config", "get", "store.url"}, differs: true, why: "that is what differs"}, {name: "config set", args: []string{"config", "set", "gateway.drain", "1m", "--plan"}}, {name: "config unset", args: []string{"config", "unset", "gateway.drain"}},
		one("memory", "memory"), one("memory ls", "memory", "ls"), one("memory dream", "memory", "dream", "--plan"), one("memory changes", "memory", "changes"),
		one("help", "help", "cat"), one("version", "version"), one("completion", "completion", "bash"), one("backup", "backup"),
		{name: "verify", check: checkVerifyBytes}, {name: "mirror", check: checkMirror}, {name: "backup create", check: checkBackup},
		{name: "doctor", args: []string{"doctor"}, differs: true, why: "for another store it prints something else", check: checkDoctor},
		{name: "repair", args: []string{"repair"}, refused: "not in files", why: "it adds to files"},
		{name: "anchor", args: []string{"anchor", "-"}, refused: "not in files", why: "it reads the ends of files"},
		{name: "mcp", check: checkMCP}, {name: "acp", check: checkACP},
		skip("backup verify", "reads a file that is named; run by the check of backup create"), skip("backup restore", "makes a home of a file; run by the check of backup create"),
		skip("convert", "converts a file that is named; no store"), skip("browse", "needs a terminal; TestBrowse drives it"), skip("demo", "has a home of its own"),
		skip("encrypt", "refuses other stores; the script encrypt.txtar runs it"), skip("encrypt access", "as encrypt"), skip("decrypt", "as encrypt"), skip("unlock", "as encrypt"), skip("lock", "as encrypt"),
		skip("migrate", "is how the homes are made; TestMigrateBack goes back"), skip("serve", "is how the gateways are started; what it refuses is in TestStoreConflicts"),
	}
	writes := []storeCommand{
		shows("chat", "chat", "-p", "say "+lastWord, "-r", mainSession), one("append", "append", mainSession, "--user", "one more"), one("new", "new", "--title", "fresh"),
		one("rename", "rename", mainSession, "a walrus"), one("tag", "tag", mainSession, "+sea"), one("label", "label", mainSession, "a3", "here"),
		one("fork", "fork", mainSession, "--at", "a3"), one("rewind", "rewind", mainSession, "a3"), one("compact", "compact", mainSession, "--keep-recent", "1"), one("uncompact", "uncompact", mainSession),
		one("archive", "archive", otherSession), one("rm", "rm", otherSession, "--bin"), one("bin", "bin"), {name: "bin ls", args: []string{"bin", "ls"}, differs: true, why: "a file in the trash bin has a manifest beside it, which is counted"}, {name: "bin empty", args: []string{"bin", "empty", "--plan"}, differs: true, why: "it counts the bytes that the store has"},
		one("bin restore", "bin", "restore", "the first of "+otherSession), one("rm", "rm", otherSession, "--bin"), one("restore", "restore", otherSession), {name: "purge", args: []string{"purge", spareSession, "--sure", spareSession}, differs: true, why: "it counts the bytes that the store had", says: "were in the home's own files"},
		one("keys set", "keys", "set", "agent:main:new", otherSession), one("keys rm", "keys", "rm", "agent:main:new"), one("keys reset", "keys", "reset", deskKey), one("keys previous", "keys", "previous", deskKey),
		{name: "import", input: header("s5000000") + messageLine("c1", "", "user", "brought"), args: []string{"import", "-", "--from", "native"}},
		one("memory add", "memory", "add", "Walruses are large.", "--name", "walrus"), one("memory show", "memory", "show", "walrus"), one("memory search", "memory", "search", "walruses"),
		one("memory edit", "memory", "edit", "walrus"), one("memory forget", "memory", "forget", "walrus"), one("memory undo", "memory", "undo"), one("memory clear", "memory", "clear", "--yes"),
		{name: "token create", args: []string{"token", "create", "desk"}, differs: true, why: "it prints a secret"}, one("token revoke", "token", "revoke", "phone"),
		one("sync status", "sync", "status"), one("sync log", "sync", "log"), one("sync exclude", "sync", "exclude", "--key", "agent:main:diary"), one("sync include", "sync", "include", "--key", "agent:main:diary"),
		{name: "sync", check: checkSync}, skip("sync add", "run by the check of sync"), skip("sync rm", "run by the check of sync"), skip("sync identity", "run by the check of sync"),
		{name: "verify", check: checkVerify}, {name: "stop", args: []string{"stop"}, differs: true, why: "it names the process"},
	}
	return append(reads, writes...)
}

// TestEveryCommandIsClassified compares the table with the commands listed in docs/cli.md,
// which a test generates from the command tree.
func TestEveryCommandIsClassified(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, d := range storeCommands() {
		known[d.name] = true
		if d.args == nil && d.check == nil && d.why == "" || (d.differs || d.refused != "") && d.why == "" {
			t.Errorf("firn %s: the table has no reason", d.name)
		}
	}
	found := 0
	printed, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	asJSON := readJSONPage(t, string(printed))
	for _, heading := range regexp.MustCompile(`(?m)^##+ firn (.+)$`).FindAllStringSubmatch(string(page), -1) {
		if found++; !known[heading[1]] {
			t.Errorf("firn %s is not in the table of commands: add how it acts on the store in use", heading[1])
		}
		delete(known, heading[1])
		if (notJSON[heading[1]] != "") == (asJSON[heading[1]] != nil) {
			t.Errorf("firn %s must be either in docs/json.md or in the table of commands that do not print JSON", heading[1])
		}
	}
	for name := range known {
		t.Errorf("there is no command firn %s", name)
	}
	if found < 80 {
		t.Errorf("only %d commands were found", found)
	}
}

// TestStoreInUse runs every command on a home whose sessions moved to an embedded server
// and on one with files: both behave the same without gateways, with gateways, and with a
// gateway whose store is set by a flag, on a home migrated before homes recorded their
// store. The last runs all commands with --json, and compares their output with
// docs/json.md.
func TestStoreInUse(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T, p *pair){
		"alone": func(*testing.T, *pair) {},
		"served": func(t *testing.T, p *pair) {
			startServe(t, p.files)
			startServe(t, p.moved)
		},
		"flag": func(t *testing.T, p *pair) {
			if err := os.Remove(filepath.Join(p.moved, "store.json")); err != nil {
				t.Fatal(err)
			}
			startServe(t, p.files)
			startServe(t, p.moved, "--store", "nats-embedded:"+p.store)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			begin(t, p)
			p.writeLast()
			if name == "flag" { // the text of the outputs is compared in the case served
				p.json = make(jsonOutputs)
			}
			skipped := false
			for _, d := range storeCommands() {
				if d.args == nil && d.check == nil {
					continue
				}
				p.t = nil
				t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
					p.t = t
					p.does(&d)
				})
				skipped = skipped || p.t == nil
			}
			if p.json != nil {
				p.t = t
				p.doesJSONOnly()
				if !skipped { // with -run, not all commands ran
					p.json.compare(t)
				}
			}
			if old, err := os.ReadFile(filepath.Join(p.moved, "agents", "main", "sessions", mainSession+".jsonl")); err != nil || bytes.Contains(old, []byte(lastWord)) {
				t.Errorf("the files from before were changed: %v\n%s", err, old)
			}
		})
	}
}

// does runs a command on both homes and compares.
func (p *pair) does(d *storeCommand) {
	p.t.Helper()
	if d.check != nil {
		d.check(p.t, p)
	}
	if d.args == nil {
		return
	}
	if p.json != nil {
		p.doesJSON(d)
		return
	}
	files, moved := p.run(p.files, d.input, d.args...), p.run(p.moved, d.input, d.args...)
	if d.refused != "" {
		if moved.code == 0 || !strings.Contains(moved.errs, d.refused) || !strings.Contains(moved.errs, "hint: ") {
			p.t.Errorf("firn %v ended with %d: %s%s", d.args, moved.code, moved.out, moved.errs)
		}
		return
	}
	if files.code != moved.code {
		p.t.Errorf("firn %v ends with %d on files and %d where they moved\n%s%s\n%s%s", d.args, files.code, moved.code, files.out, files.errs, moved.out, moved.errs)
	}
	if d.last && (!strings.Contains(moved.out, lastWord) || !strings.Contains(files.out, lastWord)) {
		p.t.Errorf("firn %v does not show the last entry\n%s%s\n%s%s", d.args, files.out, files.errs, moved.out, moved.errs)
	}
	if !strings.Contains(moved.errs, d.says) {
		p.t.Errorf("the output of firn %v lacks %q: %s", d.args, d.says, moved.errs)
	}
	if a, b := p.plain(files.out), p.plain(moved.out); a != b && !d.differs {
		p.t.Errorf("firn %v prints on files\n%s\nand where they moved\n%s", d.args, a, b)
	}
}

// noise matches the parts that must differ between two homes.
var noise = []struct {
	form *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?`), "ID"},
	{regexp.MustCompile(`,"chain":"[^"]*"`), ""},
	{regexp.MustCompile(`\b1[0-9a-hjkmnp-tv-z]{12}\b`), "ENTRY"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?)?`), "TIME"},
	{regexp.MustCompile(`\b\d{13}\b`), "MILLISECONDS"},
	{regexp.MustCompile(`\d\d:\d\d(:\d\d)?`), "CLOCK"},
	{regexp.MustCompile(`\b(just )?now\b|\d+[smhd] ago`), "WHEN"},
	{regexp.MustCompile(`(position|up to|end|at) [0-9,]+`), "POSITION"},
	{regexp.MustCompile(` +`), " "},
}

// plain removes the parts that must differ.
func (p *pair) plain(text string) string {
	for _, home := range []string{p.files, p.moved} {
		text = strings.ReplaceAll(text, home, "HOME")
	}
	for _, n := range noise {
		text = n.form.ReplaceAllString(text, n.word)
	}
	return text
}

// sessionFile reads the file of a session below a directory.
func sessionFile(t *testing.T, dir, id string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "agents", "main", "sessions", id+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// withoutOwnIDs leaves out the ids and times of counters that each home wrote for itself.
func withoutOwnIDs(text string) string {
	text = regexp.MustCompile(`(?m),"chain":"[^"]*"\}$`).ReplaceAllString(text, "}") // its salt is random
	return regexp.MustCompile(`(?m)^(\{"type":"custom","customType":"firn.counters",.*),"id":"[^"]*"(.*),"timestamp":"[^"]*"\}$`).ReplaceAllString(text, "$1$2}")
}

// same compares the sessions below a directory with those of the home in files, byte for
// byte.
func (p *pair) same(what, dir string) {
	p.t.Helper()
	for _, id := range []string{mainSession, otherSession, spareSession, lateSession} {
		want, got := withoutOwnIDs(sessionFile(p.t, p.files, id)), withoutOwnIDs(sessionFile(p.t, dir, id))
		if got != want {
			p.t.Errorf("%s has of session %s\n%s\nwant\n%s", what, id, got, want)
		}
	}
	if !strings.Contains(sessionFile(p.t, dir, mainSession), lastWord) {
		p.t.Errorf("%s lacks the last entry", what)
	}
}

// verified is how much verify read.
type verified struct{ Entries, Bytes int }

// readBy has verify read both homes.
func (p *pair) readBy() (files, moved verified) {
	p.t.Helper()
	for home, r := range map[string]*verified{p.files: &files, p.moved: &moved} {
		out := p.must(home, "", "verify", "--json")
		if err := json.Unmarshal([]byte(out), r); err != nil {
			p.t.Fatalf("%v: %s", err, out)
		}
	}
	return files, moved
}

// checkVerifyBytes has verify read the same bytes on both, of entries that are the same.
func checkVerifyBytes(t *testing.T, p *pair) {
	if files, moved := p.readBy(); files != moved || moved.Entries != 19 {
		t.Errorf("verify read %+v in files and %+v where they moved", files, moved)
	}
	if r := p.run(p.moved, "", "verify", filepath.Join(p.moved, "agents")); r.code != 0 || !strings.Contains(r.errs, "these files are an older copy") {
		t.Errorf("verify of the old files printed %s%s", r.out, r.errs)
	}
}

// checkVerify has verify read as many entries on both. Bytes differ where a command wrote
// a time or a position of its own.
func checkVerify(t *testing.T, p *pair) {
	if files, moved := p.readBy(); files.Entries <= 14 || files.Entries != moved.Entries {
		t.Errorf("verify read %+v in files and %+v where they moved", files, moved)
	}
}

// checkSync syncs both homes through a folder: afterwards each has the entries of both.
func checkSync(t *testing.T, p *pair) {
	dir := t.TempDir()
	p.must(p.files, "", "sync", "add", "share", dir, "--machine", "files")
	identity := p.must(p.files, "", "sync", "identity")
	p.must(p.moved, identity, "sync", "add", "share", dir, "--machine", "moved", "--identity", "-")
	p.must(p.files, "", "append", otherSession, "--user", "only in files")
	p.must(p.moved, "", "append", otherSession, "--user", "only in moved")
	for _, home := range []string{p.files, p.moved, p.files, p.moved} {
		if r := p.run(home, "", "sync"); r.code != 0 && r.code != 9 {
			t.Fatalf("firn sync in %s ended with %d: %s%s", home, r.code, r.out, r.errs)
		}
	}
	for _, home := range []string{p.files, p.moved} {
		all := p.must(home, "", "cat", otherSession, "--view", "disk")
		for _, text := range []string{"only in files", "only in moved"} {
			if !strings.Contains(all, text) {
				t.Errorf("after the sync %s lacks %q:\n%s", home, text, all)
			}
		}
		p.must(home, "", "sync", "rm", "share")
	}
}

// checkMirror compares a mirror with the files.
func checkMirror(t *testing.T, p *pair) {
	dir := filepath.Join(t.TempDir(), "copy")
	p.must(p.moved, "", "mirror", dir)
	p.same("the mirror", dir)
	if out := p.must(p.moved, "", "--home", dir, "keys", "show", deskKey); !strings.Contains(out, mainSession) {
		t.Errorf("in the mirror the key is\n%s", out)
	}
}

// checkBackup compares a home that is made of a backup with the files.
func checkBackup(t *testing.T, p *pair) {
	dir := t.TempDir()
	file, home := filepath.Join(dir, "b.tar.zst"), filepath.Join(dir, "restored")
	var sums [2]struct{ Sessions int }
	for i, from := range []string{p.files, p.moved} {
		os.Remove(file)
		out := p.must(from, "", "backup", "create", file, "--json")
		if err := json.Unmarshal([]byte(out), &sums[i]); err != nil {
			t.Fatal(err)
		}
	}
	if sums[0] != sums[1] || sums[1].Sessions != 4 {
		t.Errorf("a backup has %+v of files and %+v of where they moved", sums[0], sums[1])
	}
	p.must(p.moved, "", "backup", "verify", file)
	p.must(p.moved, "", "backup", "restore", file, home)
	p.same("the backup", home)
	if out := p.must(home, "", "cat", "@"+deskKey); !strings.Contains(out, lastWord) {
		t.Errorf("in the restored home:\n%s", out)
	}
	p.must(home, "", "append", mainSession, "--user", "and it goes on") // in its own files
	if !strings.Contains(sessionFile(t, home, mainSession), "and it goes on") {
		t.Error("the restored home does not keep its sessions in files")
	}
	if entries, err := filepath.Glob(filepath.Join(p.moved, ".tmp-*")); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

// checkDoctor checks that doctor names the store it examined, and the copy.
func checkDoctor(t *testing.T, p *pair) {
	out := p.must(p.moved, "", "doctor")
	for _, want := range []string{"nats-embedded:" + p.store + ": 4 sessions", "3 sessions in the home's own files, an unused copy"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor's output lacks %q:\n%s", want, out)
		}
	}
}

// checkMCP reads the last entry by that protocol.
func checkMCP(t *testing.T, p *pair) {
	s := mcpClient(t, &mcp.CommandTransport{Command: program(p.moved, "mcp", "--read-only")})
	defer s.Close()
	if text, _ := well(t, s, "read_session", map[string]any{"session": mainSession}); !strings.Contains(text, lastWord) {
		t.Errorf("it reads\n%s", text)
	}
}

// checkACP loads the session in an editor.
func checkACP(t *testing.T, p *pair) {
	e := startACP(t, p.moved, nil)
	if _, err := e.conn.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: mainSession, Cwd: "/w", McpServers: []acp.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	if output := e.take(); !strings.Contains(output, lastWord) {
		t.Errorf("the output is\n%s", output)
	}
	e.quit()
}
