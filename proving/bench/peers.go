package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/gateway"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// The compared tools.
const (
	byFirn   = "firn"
	byPi     = "pi"
	byClaude = "Claude Code / its SDK"
	byCodex  = "Codex"
)

var allTools = []string{byFirn, byPi, byClaude, byCodex}

// peerBench runs the same tasks with firn and other tools, each in a new process,
// alternating, on this machine. No tool syncs, since not all of them can.
type peerBench struct {
	*bench
	// modules is the npm installation directory of the tools, node the Node.js binary, and
	// firn the firn binary.
	modules, node, firn string
	// large is the size of the large session in MB, many the number of listed sessions, and
	// tries the number of runs per task, of which the best counts.
	large, many, tries int
	rows               []compared
	// apart lists the tasks that cannot be compared, with reasons.
	apart []string
}

// compared is the result of one task.
type compared struct {
	what string
	by   map[string]listed
}

// peers runs the comparison and prints the results.
func (b *bench) peers(modules string, large, many, tries int) error {
	modules, err := filepath.Abs(modules)
	if err != nil {
		return err
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	n := &peerBench{bench: b, modules: modules, large: large, many: many, tries: tries}
	n.node = filepath.Join(modules, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(n.node); err != nil {
		if n.node, err = exec.LookPath("node"); err != nil {
			return err
		}
	}
	n.firn = filepath.Join(b.dir, "firn")
	if out, err := exec.Command("go", "build", "-o", n.firn, "firn.dev/cmd/firn").CombinedOutput(); err != nil {
		return fmt.Errorf("build firn: %w\n%s", err, out)
	}
	for _, part := range []func() error{n.starts, n.appends, n.resumes, n.lists, n.forks, n.asks} {
		if err := part(); err != nil {
			return err
		}
	}
	n.apart = append(n.apart,
		"search in all sessions: pi, Claude Code and Codex have none that works without a model or a terminal",
		"compaction, turns, a gateway: they need a model, or the neighbours have no such thing",
		"list and fork of Codex: only within its terminal and its app server",
		"durable appends: pi and Claude Code do not sync; firn does by default, and did not here")
	n.print()
	return nil
}

// compare runs a task with all tools, alternating. The best run of each counts.
func (n *peerBench) compare(what string, by map[string]func() (listed, error)) error {
	fmt.Fprintf(os.Stderr, "%s ...\n", what)
	row := compared{what: what, by: make(map[string]listed)}
	for range n.tries {
		for _, name := range allTools {
			run, ok := by[name]
			if !ok {
				continue
			}
			got, err := run()
			if err != nil {
				n.apart = append(n.apart, fmt.Sprintf("%s by %s: %v", what, name, err))
				delete(by, name)
				delete(row.by, name)
				continue
			}
			if before, ok := row.by[name]; !ok || got.Time < before.Time {
				row.by[name] = got
			}
		}
	}
	n.rows = append(n.rows, row)
	if _, ok := row.by[byFirn]; !ok {
		return errors.New(n.apart[len(n.apart)-1])
	}
	return nil
}

// script returns a function that runs a task with another tool, in a home of its own.
func (n *peerBench) script(args ...string) func() (listed, error) {
	return func() (r listed, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, n.node, append([]string{"--max-old-space-size=8192", "proving/bench/peers.mjs", n.modules}, args...)...)
		cmd.Env = n.env()
		out, err := cmd.Output()
		if err != nil {
			var failed *exec.ExitError
			if errors.As(err, &failed) {
				err = fmt.Errorf("%w: %.300s", err, failed.Stderr)
			}
			return r, err
		}
		err = json.Unmarshal(out, &r)
		return r, err
	}
}

// child returns a function that runs a task with firn, in a separate process.
func (n *peerBench) child(args ...string) func() (listed, error) {
	return func() (r listed, err error) {
		err = spawn(&r, args[0], args[1:]...)
		return r, err
	}
}

// user is an otherwise empty user home directory.
func (n *peerBench) user() string { return filepath.Join(n.dir, "user") }

func (n *peerBench) env() []string {
	return []string{"HOME=" + n.user(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + n.dir, "NO_COLOR=1", "TERM=dumb", "CLAUDE_CONFIG_DIR=" + filepath.Join(n.user(), ".claude"), "CODEX_HOME=" + filepath.Join(n.user(), ".codex")}
}

// commands returns the commands of all tools.
func (n *peerBench) commands() map[string][]string {
	claude, _ := filepath.Glob(filepath.Join(n.modules, "@anthropic-ai", "claude-agent-sdk-"+runtime.GOOS+"-*", "claude")) // the pattern is valid
	codex, _ := filepath.Glob(filepath.Join(n.modules, "codex-*", "vendor", "*", "bin", "codex"))
	return map[string][]string{
		byFirn: {n.firn}, byPi: {n.node, filepath.Join(n.modules, "pi", "dist", "cli.js")},
		byClaude: claude[:min(1, len(claude))], byCodex: codex[:min(1, len(codex))],
	}
}

// starts measures the shortest possible command.
func (n *peerBench) starts() error {
	if err := errors.Join(os.MkdirAll(n.user(), 0o700), os.MkdirAll(n.place(), 0o700)); err != nil {
		return err
	}
	by := make(map[string]func() (listed, error))
	for name, command := range n.commands() {
		if len(command) == 0 {
			n.apart = append(n.apart, name+": not installed")
			continue
		}
		flag := "--version"
		if name == byFirn {
			flag = "version"
		}
		by[name] = func() (listed, error) {
			cmd := exec.Command(command[0], append(command[1:], flag)...)
			cmd.Env = n.env()
			start := time.Now()
			err := cmd.Run()
			return listed{Time: time.Since(start)}, err
		}
	}
	return n.compare("start the command, tell the version", by)
}

func (n *peerBench) appends() error {
	const entries = 20_000
	return n.compare(fmt.Sprintf("append %d entries of 300 bytes, not synced", entries), map[string]func() (listed, error){
		byFirn: n.child("append", fmt.Sprint(entries)), byPi: n.script("pi-append", fmt.Sprint(entries)),
	})
}

// appendChild appends entries one by one.
func appendChild(args []string) (r any, err error) {
	count := 0
	if _, err := fmt.Sscan(args[0], &count); err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "firn-append-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for range count {
		if _, err := st.Append(context.Background(), "s", store.Any, small()); err != nil {
			return nil, err
		}
	}
	return listed{Time: time.Since(start), Count: count, Peak: peakMemory()}, st.Close()
}

// prepared creates a session, also in Claude Code's format, and returns its file and its
// name there.
func (n *peerBench) prepared(home string, id firn.ID, size int64, compacted bool) (file, claude string, err error) {
	// One part: pi opens one file.
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever, PartSize: 1 << 40})
	if err != nil {
		return "", "", err
	}
	header := firn.Entry{Body: &firn.Header{Session: id, Agent: "main", CWD: n.place()}}
	if _, err := st.Append(context.Background(), id, store.Start, header); err != nil {
		return "", "", err
	}
	if err := errors.Join(grow(context.Background(), st, id, size, compacted), st.Close()); err != nil {
		return "", "", err
	}
	file = filepath.Join(home, "agents", "main", "sessions", string(id)+".jsonl")
	claude, err = n.asClaude(file, home, n.place())
	return file, claude, err
}

var notWord = regexp.MustCompile(`[^a-zA-Z0-9]`)

// asClaude writes a session into the folder of Claude Code, as a session of a directory.
func (n *peerBench) asClaude(file, name, cwd string) (string, error) {
	claude, _ := dialects.Find("claude")
	dir := filepath.Join(n.user(), ".claude", "projects", notWord.ReplaceAllString(cwd, "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	id := dialect.UUID("bench", name)
	out, err := os.OpenFile(filepath.Join(dir, id+".jsonl"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	target := dialect.Target{Session: firn.ID(id), CWD: cwd}
	return id, errors.Join(convertAs(file, native.NewTool(), claude, out, target), out.Close())
}

// resumes measures opening sessions and building the model's input; Claude Code's SDK only
// returns the messages.
func (n *peerBench) resumes() error {
	for _, s := range []struct {
		mb        int
		compacted bool
	}{{2, true}, {n.large, true}, {2, false}, {n.large, false}} {
		what := fmt.Sprintf("resume %d MB, %s", s.mb, map[bool]string{true: "compacted", false: "not compacted"}[s.compacted])
		home := filepath.Join(n.dir, notWord.ReplaceAllString(what, "-"))
		file, claude, err := n.prepared(home, "s", int64(s.mb)*1e6, s.compacted)
		if err != nil {
			return err
		}
		err = n.compare(what, map[string]func() (listed, error){
			byFirn: func() (listed, error) {
				var r resumed
				err := spawn(&r, "resume", home, "s", "1")
				return listed{Time: r.First, Peak: r.Peak}, err
			},
			byPi: n.script("pi-open", file), byClaude: n.script("claude-open", claude, n.place()),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *peerBench) lists() error {
	home := filepath.Join(n.dir, "sessions")
	if err := manySessions(home, n.many); err != nil {
		return err
	}
	if err := reindex(home); err != nil {
		return err
	}
	dir := filepath.Join(home, "agents", "main", "sessions")
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return err
	}
	cwd := filepath.Join(n.dir, "many")
	if err := os.MkdirAll(cwd, 0o700); err != nil {
		return err
	}
	for i, file := range files {
		if _, err := n.asClaude(file, fmt.Sprint("many", i), cwd); err != nil {
			return err
		}
	}
	by := map[string]func() (listed, error){byFirn: n.all(n.child("list", home)), byPi: n.all(n.script("pi-list", "/", dir)), byClaude: n.all(n.script("claude-list", cwd))}
	if err := n.compare(fmt.Sprintf("list %d sessions, no index", n.many), by); err != nil {
		return err
	}
	by[byFirn] = n.child("page", home, "50")
	return n.compare(fmt.Sprintf("the latest 50 of %d sessions (firn: from its index)", n.many), by)
}

// all checks that all sessions were listed.
func (n *peerBench) all(run func() (listed, error)) func() (listed, error) {
	return func() (listed, error) {
		got, err := run()
		if err == nil && got.Count != n.many {
			err = fmt.Errorf("it lists %d sessions of %d", got.Count, n.many)
		}
		return got, err
	}
}

func (n *peerBench) forks() error {
	home := filepath.Join(n.dir, "fork")
	file, claude, err := n.prepared(home, "s", 2e6, false)
	if err != nil {
		return err
	}
	return n.compare("fork a session of 2 MB", map[string]func() (listed, error){
		byFirn: n.child("fork", home), byPi: n.script("pi-fork", file), byClaude: n.script("claude-fork", claude, n.place()),
	})
}

// forkChild forks a session as the gateway does.
func forkChild(args []string) (any, error) {
	st, err := filestore.Open(args[0], filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return nil, err
	}
	g, err := gateway.New(gateway.Options{Store: st, Setup: echoing(st), Home: st.Home()})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	_, err = g.Fork(context.Background(), "s", wire.Fork{})
	took := time.Since(start)
	return listed{Time: took, Count: 1, Peak: peakMemory()}, errors.Join(err, g.Close(context.Background()), st.Close())
}

// print prints the times of all tools and the fastest one.
func (n *peerBench) print() {
	names := allTools
	fmt.Printf("\n| work, best of %d | %s | quickest |\n|---|%s---|\n", n.tries, strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, r := range n.rows {
		cells := make([]string, len(names))
		for i, name := range names {
			if got, ok := r.by[name]; ok {
				cells[i] = ms(got.Time)
				if got.Peak > 0 {
					cells[i] += fmt.Sprintf(" (%.0f MB)", got.Peak)
				}
			}
		}
		fmt.Printf("| %s | %s | %s |\n", r.what, strings.Join(cells, " | "), r.winner())
	}
	fmt.Println("\nNot compared:")
	slices.Sort(n.apart)
	for _, why := range n.apart {
		fmt.Println("-", why)
	}
}

// winner returns the fastest tool, and its factor to the next.
func (r compared) winner() string {
	var names []string
	for name := range r.by {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return int(r.by[a].Time - r.by[b].Time) })
	if len(names) < 2 {
		return "nothing to compare with"
	}
	return fmt.Sprintf("%s, %.1f ×", names[0], ratio(r.by[names[1]].Time, r.by[names[0]].Time))
}
