package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialects"
)

// conversions measures the speed and memory of converting a transcript to another tool's
// format.
func (b *bench) conversions() error {
	path := filepath.Join(b.dir, "convert.jsonl")
	size, err := writeTalk(path, 64<<20)
	if err != nil {
		return err
	}
	pi, _ := dialects.Find("pi")
	claude, _ := dialects.Find("claude")
	codex, _ := dialects.Find("codex")
	ours := native.NewTool()
	for _, c := range []struct {
		from, to dialect.Tool
		target   float64
	}{{ours, ours, 150}, {ours, pi, 150}, {pi, ours, 150}, {ours, claude, 0}, {ours, codex, 0}} {
		start := processorTime()
		peak, err := convertFile(path, c.from, c.to, io.Discard)
		if err != nil {
			return err
		}
		rate := float64(size) / 1e6 / (processorTime() - start).Seconds()
		what := fmt.Sprintf("convert %s to %s", c.from.Name(), c.to.Name())
		if c.target > 0 {
			b.want(what, fmt.Sprintf("%.0f MB/s, %.0f MB live", rate, peak), fmt.Sprintf("≥ %.0f MB/s", c.target), rate >= c.target)
		} else {
			b.note(what, fmt.Sprintf("%.0f MB/s, %.0f MB live", rate, peak))
		}
	}
	return os.Remove(path)
}

// convertFile converts a file and returns the peak of live memory in MB.
func convertFile(path string, from, to dialect.Tool, out io.Writer) (float64, error) {
	w := &liveWriter{w: out}
	err := convertAs(path, from, to, w, dialect.Target{Session: "bench", CWD: "/bench"})
	return w.peak, err
}

// convertAs converts a file.
func convertAs(path string, from, to dialect.Tool, out io.Writer, target dialect.Target) error {
	src := convert.Transcript(from, dialect.Origin{}, func() iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			f, err := os.Open(path)
			if err != nil {
				yield(nil, err)
				return
			}
			defer f.Close() // read-only
			convert.Lines(f, 0)(yield)
		}
	})
	return convert.Write(context.Background(), out, src, to, target, &convert.Report{})
}

// liveWriter samples the live memory during writes.
type liveWriter struct {
	w    io.Writer
	n    int
	peak float64
}

// Write writes to the underlying writer and samples the memory now and then.
func (l *liveWriter) Write(p []byte) (int, error) {
	if l.n++; l.n%64 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		l.peak = max(l.peak, float64(m.HeapAlloc)/1e6)
	}
	return l.w.Write(p)
}

// writeTalk writes a transcript of about size bytes and returns its exact size.
func writeTalk(path string, size int) (int, error) {
	var out bytes.Buffer
	say := func(e firn.Entry) error {
		line, err := native.New().Append(nil, e)
		out.Write(line)
		out.WriteByte('\n')
		return err
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := say(firn.Entry{Time: at, Body: &firn.Header{Session: "bench", Version: 3, CWD: "/bench"}}); err != nil {
		return 0, err
	}
	var last firn.EntryID
	text := strings.Repeat("What is said here goes on for a while, as answers do. ", 20)
	for n := 0; out.Len() < size; n++ {
		id := fmt.Sprintf("call_%d", n)
		for i, body := range []firn.Body{
			&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text[:400]}}, Time: at},
			&firn.Message{Role: firn.RoleAssistant, Time: at, API: "anthropic-messages", Provider: "anthropic", Model: "m", StopReason: firn.StopToolUse, Usage: &firn.Usage{Input: 10, Output: 20, Total: 30},
				Parts: []firn.Part{firn.Text{Text: text[:200]}, firn.ToolCall{ID: id, Name: "read", Arguments: json.RawMessage(`{"path":"a/b/c.go"}`)}}},
			&firn.Message{Role: firn.RoleToolResult, Time: at, Parts: []firn.Part{firn.ToolResult{CallID: id, Name: "read", Content: []firn.Part{firn.Text{Text: strings.Repeat(text, 3)}}}}},
			&firn.Message{Role: firn.RoleAssistant, Time: at, API: "anthropic-messages", Provider: "anthropic", Model: "m", StopReason: firn.StopEnd, Usage: &firn.Usage{Input: 10, Output: 20, Total: 30}, Parts: []firn.Part{firn.Text{Text: text}}},
		} {
			at = at.Add(time.Second)
			e := firn.Entry{ID: firn.EntryID(fmt.Sprintf("e%d_%d", n, i)), Parent: last, Time: at, Body: body}
			last = e.ID
			if err := say(e); err != nil {
				return 0, err
			}
		}
	}
	return out.Len(), os.WriteFile(path, out.Bytes(), 0o600)
}

// mirrors measures mirroring 10,000 sessions, and repeating that without changes.
func (b *bench) mirrors() error {
	home, dir := filepath.Join(b.dir, "tool"), filepath.Join(b.dir, "mirror")
	folder := filepath.Join(home, "projects", "-bench")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	line := `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"hello"},"uuid":"11111111-0000-4000-8000-000000000001","timestamp":"2026-01-02T03:04:05.000Z","sessionId":"x"}` + "\n"
	for n := range 10_000 {
		name := dialect.UUID("bench", fmt.Sprint(n)) + ".jsonl"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.Repeat(line, 20)), 0o600); err != nil {
			return err
		}
	}
	claude, _ := dialects.Find("claude")
	run := func() (time.Duration, adopt.Result, error) {
		m := &adopt.Mirror{Tool: claude, Home: home, Dir: dir, FS: vfs.OS{}, Now: time.Now}
		start := time.Now()
		done, err := m.Run(context.Background())
		return time.Since(start), done, err
	}
	first, done, err := run()
	if err != nil || done.Copied != 10_000 {
		return fmt.Errorf("the first run copied %d files: %w", done.Copied, err)
	}
	// Recent modification times are not trusted: the second run compares everything that
	// the first one wrote, and records it.
	var again [2]time.Duration
	for i := range again {
		if again[i], done, err = run(); err != nil || done.Bytes != 0 {
			return fmt.Errorf("a run after the first read %d bytes: %w", done.Bytes, err)
		}
	}
	b.note("adopt 10,000 sessions", ms(first))
	b.note("adopt them again at once, all compared", ms(again[0]))
	b.want("adopt them again, nothing new", ms(again[1]), "≤ 1/10 of the first", again[1]*10 <= first)
	return nil
}
