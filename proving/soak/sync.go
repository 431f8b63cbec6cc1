//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

// syncTargetSize is the size of the disk of the sync target.
const syncTargetSize = 256 << 20

// syncSoak is a run with several machines that sync through one target.
type syncSoak struct {
	options
	target   *disk
	machines []*syncMachine
	ledger   *ledger
	began    time.Time
	ending   chan struct{}
}

// syncMachine is a home with its own processes.
type syncMachine struct {
	*syncSoak
	name, dir string
}

// syncFor runs machines that talk, sync and are killed for a while, lets them sync until nothing
// changes, and compares them.
func syncFor(ctx context.Context, o options) (_ *syncSoak, err error) {
	s := &syncSoak{options: o, ledger: newLedger(), began: time.Now(), ending: make(chan struct{})}
	if s.target, err = newDisk(o.Dir, syncTargetSize); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.target.close()) }()
	if s.target.notMounted != "" && o.Strict {
		return nil, fmt.Errorf("the target needs a disk of its own: %s", s.target.notMounted)
	}
	if err := s.setUp(); err != nil {
		return nil, err
	}
	var working sync.WaitGroup
	for i, m := range s.machines {
		working.Go(func() { m.talk(rand.New(rand.NewPCG(o.Seed, uint64(2*i)))) })
		working.Go(func() { m.keepSyncing(rand.New(rand.NewPCG(o.Seed, uint64(2*i+1)))) })
	}
	working.Go(func() { s.hurtTarget(rand.New(rand.NewPCG(o.Seed, 100))) })
	select {
	case <-ctx.Done():
	case <-time.After(o.For):
	}
	close(s.ending)
	working.Wait()
	if err := s.target.empty(); err != nil {
		return nil, err
	}
	s.syncUntilStable()
	s.compare()
	return s, nil
}

// folder is the sync target.
func (s *syncSoak) folder() string { return filepath.Join(s.target.dir, "share") }

// setUp creates the machines, which share an identity.
func (s *syncSoak) setUp() error {
	if err := os.MkdirAll(s.folder(), 0o700); err != nil {
		return err
	}
	var identity []byte
	for i := range 3 {
		m := &syncMachine{syncSoak: s, name: fmt.Sprintf("m%d", i), dir: filepath.Join(s.Dir, fmt.Sprintf("m%d", i))}
		if err := os.MkdirAll(filepath.Join(m.dir, "run"), 0o700); err != nil {
			return err
		}
		add := []string{"sync", "add", "share", s.folder(), "--machine", m.name}
		if i > 0 {
			add = append(add, "--identity", "-")
		}
		cmd := m.command(add...)
		cmd.Stdin = bytes.NewReader(identity)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("add the target on %s: %w: %.500s", m.name, err, out)
		}
		if i == 0 {
			var err error
			if identity, err = m.command("sync", "identity").Output(); err != nil {
				return err
			}
		}
		s.machines = append(s.machines, m)
	}
	return nil
}

// command returns a command of firn on the machine.
func (m *syncMachine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(m.Program, args...)
	cmd.Dir = m.dir
	cmd.Env = []string{"HOME=" + m.dir, "XDG_RUNTIME_DIR=" + filepath.Join(m.dir, "run"), "PATH=" + os.Getenv("PATH")}
	return cmd
}

// outcome is how a command ended.
type outcome int

const (
	succeeded outcome = iota
	refused
	killed
)

// run runs a command, and kills it after a while if limit is not zero.
func (m *syncMachine) run(limit time.Duration, args ...string) (outcome, string) {
	var out bytes.Buffer
	cmd := m.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		m.ledger.complain("start firn %s: %v", args[0], err)
		return refused, ""
	}
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { _ = cmd.Process.Signal(syscall.SIGKILL) }) // it may have ended
		defer timer.Stop()
	}
	err := cmd.Wait()
	if text := out.String(); strings.Contains(text, "panic:") || strings.Contains(text, "goroutine ") {
		m.ledger.complain("firn %s on %s: %.2000s", strings.Join(args, " "), m.name, text)
	}
	switch {
	case err == nil:
		return succeeded, out.String()
	case limit > 0 && cmd.ProcessState.ExitCode() == -1:
		m.ledger.fault("killed: firn " + args[0])
		return killed, out.String()
	}
	return refused, out.String()
}

// wait waits about so long; false if the run ends.
func (s *syncSoak) wait(chance *rand.Rand, about time.Duration) bool {
	select {
	case <-s.ending:
		return false
	case <-time.After(about/2 + time.Duration(chance.Int64N(int64(about)))):
		return true
	}
}

// syncKeys is the number of keys that all machines use.
const syncKeys = 4

// talk changes sessions and notes.
func (m *syncMachine) talk(chance *rand.Rand) {
	for n := 0; m.wait(chance, m.Think); n++ {
		key := fmt.Sprintf("agent:main:k%d", chance.IntN(syncKeys))
		var limit time.Duration
		if chance.IntN(10) == 0 {
			limit = time.Millisecond + time.Duration(chance.IntN(150))*time.Millisecond
		}
		switch chance.IntN(20) {
		case 0:
			m.try("rename", "@"+key, fmt.Sprintf("Title %s %d", m.name, n))
		case 1:
			m.try("tag", "@"+key, fmt.Sprintf("+tag%d", n%5))
		case 2:
			m.try("rewind", "@"+key, "-n", "1")
		case 3, 4:
			m.note(fmt.Sprintf("note %s %d", m.name, n))
		case 5:
			m.say(limit, fmt.Sprintf("message %s %d", m.name, n), "--key", key, "--new")
		default:
			m.say(limit, fmt.Sprintf("message %s %d", m.name, n), "--key", key)
		}
	}
}

// try runs a command that is refused if its session is not there yet.
func (m *syncMachine) try(args ...string) {
	if got, _ := m.run(0, args...); got == succeeded {
		m.ledger.count("changes: firn " + args[0])
	}
}

// say sends a message to the built-in model.
func (m *syncMachine) say(limit time.Duration, text string, flags ...string) {
	got, out := m.run(limit, append([]string{"chat", "--no-tools", "-p", text}, flags...)...)
	what := spoken{text: text, client: m.name}
	switch got {
	case succeeded:
		m.ledger.acknowledge(&m.ledger.sent, what)
	case killed:
		m.ledger.unknown(what)
	case refused:
		m.ledger.complain("%s cannot send a message: %.500s", m.name, out)
	}
}

// note adds a line to the notes.
func (m *syncMachine) note(text string) {
	if got, out := m.run(0, "memory", "add", text); got != succeeded {
		m.ledger.complain("%s cannot add a note: %.500s", m.name, out)
		return
	}
	m.ledger.acknowledge(&m.ledger.noted, spoken{text: text, client: m.name})
}

// keepSyncing syncs all the time, often interrupted by SIGKILL, and sometimes with a process that
// watches.
func (m *syncMachine) keepSyncing(chance *rand.Rand) {
	for m.wait(chance, m.Think) {
		var limit time.Duration
		if chance.IntN(3) == 0 {
			limit = time.Millisecond + time.Duration(chance.IntN(200))*time.Millisecond
		}
		args := []string{"sync"}
		switch chance.IntN(12) {
		case 0:
			args, limit = []string{"sync", "--watch", "--every", "1s"}, time.Second+time.Duration(chance.IntN(4000))*time.Millisecond
		case 1:
			args = append(args, "--republish")
		}
		if got, _ := m.run(limit, args...); got == succeeded {
			m.ledger.count("syncs")
		} else if got == refused { // the target is full, or the other sync of this machine runs
			m.ledger.count("syncs that failed")
		}
	}
}

// hurtTarget fills, stops and damages the target.
func (s *syncSoak) hurtTarget(chance *rand.Rand) {
	for s.wait(chance, s.Pause) {
		var err error
		switch what := chance.IntN(3); {
		case what == 0 && s.target.notMounted == "":
			s.ledger.fault("target full")
			err = s.target.fill()
			s.wait(chance, 2*time.Second)
			err = errors.Join(err, s.target.empty())
		case what == 1 && s.target.notMounted == "":
			s.ledger.fault("target stalled")
			err = s.target.freeze()
			s.wait(chance, 2*time.Second)
			err = errors.Join(err, s.target.thaw())
		default:
			err = s.loseFile(chance)
		}
		if err != nil {
			s.ledger.complain("hurt the target: %v", err)
		}
	}
}

// loseFile removes a file of the target, or cuts it.
func (s *syncSoak) loseFile(chance *rand.Rand) error {
	files, err := filepath.Glob(filepath.Join(s.folder(), "*", "*", "*"))
	if err != nil || len(files) == 0 {
		return err
	}
	name := files[chance.IntN(len(files))]
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return nil // it is being renamed
	}
	if chance.IntN(2) == 0 {
		s.ledger.fault("target file cut")
		err = os.Truncate(name, info.Size()/2)
	} else {
		s.ledger.fault("target file lost")
		err = os.Remove(name)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return err
}

// settleRounds is the maximum number of rounds until nothing changes.
const settleRounds = 20

// syncUntilStable syncs until nothing changes. The first syncs publish again what the target lost.
func (s *syncSoak) syncUntilStable() {
	for round := range settleRounds {
		moved := 0
		for _, m := range s.machines {
			args := []string{"sync", "--json"}
			if round < 2 {
				args = append(args, "--republish")
			}
			moved += m.moved(args)
		}
		if moved == 0 && round >= 2 {
			return
		}
	}
	s.ledger.complain("after %d syncs of each machine something still changes", settleRounds)
}

// moved syncs and returns the number of things that changed. Files that the run damaged are
// skipped, which is exit code 9.
func (m *syncMachine) moved(args []string) int {
	cmd := m.command(args...)
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 9 {
		m.ledger.complain("the last syncs of %s: %v: %.1000s", m.name, err, out)
	}
	var results []struct{ Imported, Marked, Notes int }
	if err := json.Unmarshal(out, &results); err != nil {
		m.ledger.complain("the last syncs of %s print %.200q: %v", m.name, out, err)
	}
	n := 0
	for _, r := range results {
		n += r.Imported + r.Marked + r.Notes
	}
	return n
}

// compare checks that all machines have everything, once, and show the same.
func (s *syncSoak) compare() {
	views := make([]map[string]string, len(s.machines))
	for i, m := range s.machines {
		views[i] = m.view()
		for _, line := range differences(views[0], views[i]) {
			s.ledger.complain("m0 and %s differ: %s", m.name, line)
		}
		for _, args := range [][]string{{"verify"}, {"doctor"}} {
			if got, out := m.run(0, args...); got != succeeded {
				s.ledger.complain("firn %s on %s: %.1000s", args[0], m.name, out)
			}
		}
	}
	all := s.ledger.snapshot()
	for i, m := range s.machines {
		for _, what := range all.sent {
			if n := strings.Count(views[i]["messages"], what.text+"\n"); n != 1 {
				s.ledger.complain("%s has the message %q %d times", m.name, what.text, n)
			}
		}
		for _, what := range all.lost {
			if n := strings.Count(views[i]["messages"], what.text+"\n"); n > 1 {
				s.ledger.complain("%s has the unacknowledged message %q %d times", m.name, what.text, n)
			}
		}
		for _, what := range all.noted {
			if n := strings.Count(views[i]["notes"], what.text+"\n"); n != 1 {
				s.ledger.complain("%s has the note %q %d times", m.name, what.text, n)
			}
		}
	}
}

// differences describes how two views differ.
func differences(a, b map[string]string) (lines []string) {
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if a[name] != b[name] {
			lines = append(lines, fmt.Sprintf("%s: %.600q and %.600q", name, a[name], b[name]))
		}
	}
	return lines
}

// view returns what a machine shows: the entries of each session, the titles, tags and keys, the
// texts of all user messages, and the notes.
func (m *syncMachine) view() map[string]string {
	view := make(map[string]string)
	m.addTranscripts(view)
	m.addList(view)
	notes, err := filepath.Glob(filepath.Join(m.dir, ".firn", "agents", "main", "workspace", "memory", "*.md"))
	if err != nil {
		m.ledger.complain("list the notes of %s: %v", m.name, err)
	}
	slices.Sort(notes)
	for _, name := range notes {
		text, err := os.ReadFile(name)
		if err != nil {
			m.ledger.complain("read a note of %s: %v", m.name, err)
		}
		view["notes"] += string(text) + "\n"
	}
	return view
}

// addTranscripts adds the messages of all sessions, as they are in the files.
func (m *syncMachine) addTranscripts(view map[string]string) {
	files, err := filepath.Glob(filepath.Join(m.dir, ".firn", "agents", "*", "sessions", "*.jsonl"))
	if err != nil || len(files) == 0 {
		m.ledger.complain("%s has no sessions: %v", m.name, err)
	}
	var texts []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			m.ledger.complain("read a session of %s: %v", m.name, err)
		}
		var entries []string
		for line := range bytes.Lines(data) {
			var e struct {
				Type, ID, ParentID string
				Message            json.RawMessage
			}
			if json.Unmarshal(line, &e) != nil || e.Type != "message" {
				continue // verify reports damaged lines
			}
			entries = append(entries, e.ID+" after "+e.ParentID+": "+string(e.Message))
			texts = append(texts, userText(e.Message))
		}
		slices.Sort(entries)
		view["session "+filepath.Base(name)] = strings.Join(entries, "\n")
	}
	slices.Sort(texts)
	view["messages"] = "\n" + strings.Join(texts, "\n") + "\n"
}

// userText returns the text of a user message.
func userText(message json.RawMessage) string {
	var m struct {
		Role    string
		Content []struct{ Text string }
	}
	if json.Unmarshal(message, &m) != nil || m.Role != "user" || len(m.Content) != 1 {
		return ""
	}
	return m.Content[0].Text
}

// addList adds the titles, tags and keys that firn ls and firn keys show.
func (m *syncMachine) addList(view map[string]string) {
	var list struct {
		Items []struct {
			ID, Title, Key, Session string
			Tags                    []string
		}
	}
	for _, args := range [][]string{{"ls", "-n", "all", "--json"}, {"keys", "ls", "--json"}} {
		out, err := m.command(args...).Output()
		list.Items = nil
		if err == nil {
			err = json.Unmarshal(out, &list)
		}
		if err != nil {
			m.ledger.complain("firn %s on %s: %v", args[0], m.name, err)
		}
		for _, item := range list.Items {
			slices.Sort(item.Tags)
			if item.Session != "" {
				view["key "+item.Key] = item.Session
				continue
			}
			view["list "+item.ID] = fmt.Sprintf("%q tags %v", item.Title, item.Tags)
		}
	}
}

// table formats the result.
func (s *syncSoak) table() string {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(what string, value any) { fmt.Fprintf(w, "%s\t%v\n", what, value) }
	row("time", time.Since(s.began).Round(time.Second))
	row("seed", s.Seed)
	row("messages acknowledged", len(s.ledger.sent))
	row("messages of unknown fate", len(s.ledger.lost))
	row("notes", len(s.ledger.noted))
	for _, k := range slices.Sorted(maps.Keys(s.ledger.counts)) {
		row(k, s.ledger.counts[k])
	}
	for _, k := range slices.Sorted(maps.Keys(s.ledger.faults)) {
		row("fault: "+k, s.ledger.faults[k])
	}
	for _, c := range s.ledger.complaints {
		row("WRONG", c)
	}
	row("result", map[bool]string{true: "ok: all machines have every message and note once, and show the same", false: "FAILED"}[len(s.ledger.complaints) == 0])
	w.Flush()
	return b.String()
}
