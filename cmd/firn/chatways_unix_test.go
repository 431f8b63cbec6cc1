//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// chatWay is a way to reach a session: without a gateway, with one that serves the same home,
// or with one that has another home and is named.
type chatWay struct {
	name, home, dir string
	env             []string
}

// run runs firn in the project of the way and returns its output and exit code. Names that
// differ between runs are replaced.
func (w chatWay) run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := firnCommand(w.home, args...)
	cmd.Dir, cmd.Env = w.dir, append(cmd.Env, w.env...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	text := strings.ReplaceAll(string(out), w.dir, "DIR")
	for _, r := range runNames {
		text = r.pattern.ReplaceAllString(text, r.with)
	}
	if err != nil {
		text += "(" + err.Error() + ")\n"
	}
	return text
}

// runNames are names and figures that differ between runs.
var runNames = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "SESSION"},
	{regexp.MustCompile(`\b01[0-9a-f]{6}(-[0-9a-f]{4})?\b`), "SESSION"},
	{regexp.MustCompile(`SESSION [0-9a-z]{8} `), "SESSION ENTRY "},
	{regexp.MustCompile(`saved in \S+`), "saved in HOME"},
	{regexp.MustCompile(`\d+\.\d s\b`), "TIME"},
	{regexp.MustCompile(`\b1[0-9a-z]{12}\b`), "ENTRY"},
	{regexp.MustCompile(`call_[0-9a-z_]+`), "CALL"},
	{regexp.MustCompile(`,"ms": ?\d+`), ""}, // omitted if it is 0
	{regexp.MustCompile(`"(input|at|next|seq|tokens)": ?\d+`), `"$1": 0`},
	{regexp.MustCompile(`"(time|by|secret)": ?"[^"]*"`), `"$1": ""`},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "DATE"},
}

// newChatWays returns the ways, each with a project of the same content.
func newChatWays(t *testing.T) []chatWay {
	t.Helper()
	ways := []chatWay{{name: "in-process"}, {name: "gateway"}, {name: "remote"}}
	for i := range ways {
		w := &ways[i]
		w.home, w.dir = t.TempDir(), realDir(t)
		for name, text := range map[string]string{"notes.txt": "the glacier is old\nand blue\n", "AGENTS.md": "Be brief.\n", ".git/HEAD": "ref: refs/heads/main\n"} {
			path := filepath.Join(w.dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	serveIn(t, ways[1].home, t.TempDir())
	there := t.TempDir()
	address := "http://" + startServe(t, there).TCP
	token := firnIn(t, there, "token", "create", "me", "--scope", "admin")
	ways[2].env = []string{"FIRN_CLIENT__GATEWAY=" + address, "FIRN_TOKEN=" + token}
	return ways
}

// TestChatOptions runs every tool and flag of firn chat, and the commands about files, without a
// gateway, with one of the same home, and with one of another home. The outputs are the same.
func TestChatOptions(t *testing.T) {
	ways := newChatWays(t)
	key := []string{"--key", "agent:main:ways"}
	for _, x := range []struct {
		stdin string
		args  []string
		want  string
	}{
		// Tools, each as the flags allow.
		{"", []string{"-p", "read notes.txt"}, "the glacier is old"},
		{"", []string{"-p", "which files are here"}, "notes.txt"},
		{"", []string{"-p", "search for glacier in the files"}, "glacier"},
		{"", []string{"-p", "what is 6*7?"}, "42"},
		{"", []string{"-p", "write two to a.txt"}, "--workspace"},
		{"", []string{"--approve", "everything", "-p", "write two to a.txt"}, "created a.txt"},
		{"", []string{"--approve", "accept-edits", "-p", "write three to b.txt"}, "created b.txt"},
		{"", []string{"--approve", "read-only", "-p", "write two to c.txt"}, "not offered"},
		{"", []string{"--approve", "ask", "-p", "write two to c.txt"}, "no terminal to ask"},
		{"", []string{"--approve", "never", "-p", "hi"}, "exit status 2"},
		{"", []string{"--workspace", ".", "-p", "write sub to sub/d.txt"}, "created sub/d.txt"},
		{"", []string{"--workspace", "sub", "-p", "write deep to e.txt"}, "created e.txt"},
		{"", []string{"--workspace", ".", "-p", "replace sub with rib in sub/d.txt"}, "sub/d.txt"},
		{"", []string{"--allow-shell", "-p", "run `cat notes.txt; echo ran`"}, "ran"},
		{"", []string{"--approve", "everything", "-p", "run `pwd`"}, "DIR"},
		{"", []string{"-p", "run `pwd`"}, "--allow-shell"},
		{"", []string{"--no-tools", "-p", "read notes.txt"}, "not offered"},
		// Sessions.
		{"", append(key, "-p", "--workspace", ".", "write first to f.txt"), "created f.txt"},
		{"", append(key, "-p", "--workspace", ".", "write second to f.txt"), "f.txt"},
		{"", append(key, "-p", "what did I say?"), "first"},
		{"", []string{"-c", "-p", "what did I say?"}, "first"},
		{"", []string{"-r", "@agent:main:ways", "-p", "what did I say?"}, "first"},
		{"", []string{"-r", "@agent:main:ways", "--at", "#2", "-p", "hello"}, ""},
		{"", []string{"-r", "nothing such", "-p", "hello"}, "exit status 3"},
		{"", []string{"--main", "-p", "my name is Ada"}, ""},
		{"", []string{"--main", "-p", "what is my name?"}, "Ada"},
		{"", []string{"--new", "-p", "what is my name?"}, ""},
		{"", []string{"-a", "mian", "-p", "hi"}, "main"},
		{"", []string{"-m", "firn/offline", "--thinking", "off", "-p", "hello"}, ""},
		{"", []string{"-m", "firn/nothing", "-p", "hello"}, "exit status"},
		{"", []string{"--ephemeral", "-p", "what is 6*7?"}, "42"},
		// Input and output.
		{"what is 6*7?\n", []string{"-p"}, "42"},
		{"", []string{"--json", "-p", "what is 6*7?"}, `"answer"`},
		{"", []string{"--output-format", "stream-json", "--workspace", ".", "-p", "write x to g.txt"}, `"tool`},
		{`{"type":"user","text":"what is 6*7?"}` + "\n" + `{"type":"user","text":"what is 7*7?"}` + "\n", []string{"-p", "--input-format", "stream-json"}, "49"},
		{"write piped to h.txt\n/diff\n/undo\n/diff\n", []string{"--workspace", "."}, "h.txt"},
	} {
		args := append([]string{"chat"}, x.args...)
		same(t, ways, x.stdin, x.want, args...)
	}
	// The files of the session with a key, from the terminal that changed them.
	at := "@agent:main:files"
	for _, text := range []string{"write first to r.txt", "write second to r.txt", "run `echo third > s.txt`"} {
		same(t, ways, "", "", "chat", "--key", at[1:], "--approve", "everything", "-p", text)
	}
	for _, x := range []struct {
		want string
		args []string
	}{
		{"A s.txt", []string{"files", at}},
		{"+third", []string{"files", at, "--diff"}},
		{"second", []string{"blame", "r.txt"}},
		{"-second", []string{"rewind", at, "-n", "2", "--files", "--plan"}},
		{"2 files were restored", []string{"rewind", at, "-n", "2", "--files-only"}},
		{"first", []string{"blame", "r.txt:1"}},
		{"no files", []string{"rewind", at, "-n", "2", "--files-only"}},
	} {
		same(t, ways, "", x.want, x.args...)
	}
	for _, w := range ways {
		if data, err := os.ReadFile(filepath.Join(w.dir, "r.txt")); string(data) != "first" {
			t.Errorf("%s: r.txt has %q, %v", w.name, data, err)
		}
		if _, err := os.Stat(filepath.Join(w.dir, "s.txt")); err == nil {
			t.Errorf("%s: s.txt was not removed", w.name)
		}
	}
	// A terminal with another home cannot restore them, and says so.
	other := ways[2]
	other.home = t.TempDir()
	for _, args := range [][]string{{"rewind", at, "-n", "3", "--files-only"}, {"rewind", at, "-n", "3", "--files"}} {
		if got := other.run(t, "", args...); !strings.Contains(got, "another home") || !strings.Contains(got, "--skip-changed") {
			t.Errorf("firn %v from another home says %s", args, got)
		}
	}
}

// same runs a command in each way and checks that the outputs are the same.
func same(t *testing.T, ways []chatWay, stdin, want string, args ...string) {
	t.Helper()
	first := ""
	for i, w := range ways {
		got := w.run(t, stdin, args...)
		if i == 0 {
			first = got
			if !strings.Contains(got, want) {
				t.Errorf("firn %q prints\n%s\nwant %q", args, got, want)
			}
			continue
		}
		if got != first {
			t.Errorf("firn %q (%s) prints\n%s\nand (%s)\n%s", args, w.name, got, ways[0].name, first)
		}
	}
}
