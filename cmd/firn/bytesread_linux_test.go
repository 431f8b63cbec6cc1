package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"firn.dev"
)

// sessionOfSize writes a session file of about the given size into a new home, as firn writes
// it: turns with their counters, and a compaction every hundred turns. All sizes have the same
// number of turns after the last compaction.
func sessionOfSize(t *testing.T, size int) (home string, id firn.ID) {
	t.Helper()
	home, id = t.TempDir(), "01a1e732-1375-769d-9890-3c12300e0781"
	path := filepath.Join(home, "agents", "main", "sessions", string(id)+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := &sessionWriter{w: bufio.NewWriterSize(f, 1<<20), parent: "null"}
	w.line(`{"type":"session","version":3,"firn":1,"id":"%s","timestamp":"2026-10-01T10:00:00Z","cwd":"/","agent":"main"}`, id)
	for w.size < size || w.turns%100 != 40 {
		w.turn()
	}
	if err := w.w.Flush(); err != nil {
		t.Fatal(err)
	}
	return home, id
}

// sessionWriter writes entries with rising ids, made ten seconds apart.
type sessionWriter struct {
	w                    *bufio.Writer
	size, entries, turns int
	parent               string
}

func (w *sessionWriter) line(format string, args ...any) {
	n, _ := fmt.Fprintf(w.w, format+"\n", args...) // errors are reported by the final flush
	w.size += n
}

// entry writes an entry with the given members besides type, id and parent.
func (w *sessionWriter) entry(kind, format string, args ...any) {
	n := uint64(time.Date(2026, 10, 1, 10, 0, 0, 0, time.UTC).UnixMilli()+int64(w.entries)*10_000) << 20
	var id [13]byte
	for i := len(id) - 1; i >= 0; i-- {
		id[i], n = "0123456789abcdefghjkmnpqrstvwxyz"[n&31], n>>5
	}
	w.line(`{"type":"%s","id":"%s","parentId":%s,"timestamp":"2026-10-01T10:00:00Z",%s}`, kind, id[:], w.parent, fmt.Sprintf(format, args...))
	w.parent = `"` + string(id[:]) + `"`
	w.entries++
}

func (w *sessionWriter) turn() {
	w.turns++
	w.entry("message", `"message":{"role":"user","content":[{"type":"text","text":"%s"}]}`, strings.Repeat(fmt.Sprint("question", w.turns%50, " "), 100))
	w.entry("message", `"message":{"role":"assistant","content":[{"type":"text","text":"%s"}],"api":"offline","provider":"firn","model":"offline","usage":{"input":10,"output":10,"totalTokens":20},"stopReason":"stop"}`, strings.Repeat(fmt.Sprint("answer", w.turns%50, " "), 100))
	w.entry("custom", `"customType":"firn.counters","data":{"input":%d,"output":%[1]d,"answers":%[2]d,"turns":%[2]d,"messages":%[3]d,"compactions":%[4]d,"entries":%[5]d,"window":20,"names":{"title":"Long talk","titleSource":"user","prompted":true,"complete":true}}`,
		10*w.turns, w.turns, 2*w.turns, w.turns/100, w.entries)
	if w.turns%100 == 0 {
		w.entry("compaction", `"summary":"what was said so far","firstKeptEntryId":%s,"tokensBefore":1000`, w.parent)
	}
}

// bytesRead runs firn and returns the number of bytes read by the process and its output.
func bytesRead(t *testing.T, home string, args ...string) (int, string) {
	t.Helper()
	var out strings.Builder
	cmd := exec.Command("firn", args...)
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The counters of an ended process are available until it is waited for.
	const byPid, ended, stay = 1, 4, 0x01000000 // P_PID, WEXITED, WNOWAIT
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPid, uintptr(cmd.Process.Pid), 0, ended|stay, 0, 0)
		if errno == 0 {
			break
		}
		if errno != syscall.EINTR {
			t.Fatal(errno)
		}
	}
	counts, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("firn %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
	var read int
	if _, err := fmt.Sscanf(string(counts), "rchar: %d", &read); err != nil || read == 0 {
		t.Fatalf("counts of the process: %v\n%s", err, counts)
	}
	return read, out.String()
}

// TestCostDoesNotDependOnLength runs the commands that show or move the end of a session on
// sessions of 2 MB and 200 MB with the same live part: they read about the same number of
// bytes. Turns are tested on 2 and 20 MB, with the index that recall uses.
func TestCostDoesNotDependOnLength(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		small, large int
		index        bool
		commands     [][]string
	}{
		{2e6, 200e6, false, [][]string{
			{"tail", "-n", "3", "ID"}, {"window", "ID"}, {"show", "ID"}, {"ls"}, {"rewind", "ID"}, {"rewind", "ID", "LEFT"}, {"tail", "ID"},
			{"uncompact", "ID"}, {"uncompact", "ID", "--redo"}, {"rename", "ID", "Other"}, {"tag", "ID", "+x"}, {"archive", "ID"},
		}},
		{2e6, 20e6, true, [][]string{{"chat", "-r", "ID", "-p", "question7"}, {"chat", "-c", "-p", "answer9"}, {"tail", "-n", "3", "ID"}}},
	} {
		var read [2][]int
		for i, size := range []int{c.small, c.large} {
			home, id := sessionOfSize(t, size)
			if c.index {
				bytesRead(t, home, "search", "question7")
			}
			left := ""
			for _, args := range c.commands {
				args = strings.Fields(strings.NewReplacer("ID", string(id), "LEFT", left).Replace(strings.Join(args, " ")))
				n, out := bytesRead(t, home, args...)
				read[i] = append(read[i], n)
				if _, undo, ok := strings.Cut(out, "undo: firn rewind "); ok {
					left = strings.Fields(undo)[1]
				}
			}
		}
		for i, args := range c.commands {
			small, large := read[0][i], read[1][i]
			t.Logf("%d and %d MB: %d and %d kB read by firn %s", c.small/1e6, c.large/1e6, small/1e3, large/1e3, strings.Join(args, " "))
			if large > 2*small+1e6 {
				t.Errorf("firn %s read %d kB of a session of %d MB, and %d kB of one of %d MB", strings.Join(args, " "), large/1e3, c.large/1e6, small/1e3, c.small/1e6)
			}
		}
	}
}
