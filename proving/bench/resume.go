package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"
)

// resume measures opening sessions and building the window for the model.
func (b *bench) resume() error {
	home, fresh := b.home("resume")
	sizes := []struct {
		id        firn.ID
		size      int64
		compacted bool
	}{{"s2c", 2e6, true}, {"s200c", 200e6, true}, {"s200n", 200e6, false}}
	if b.big > 0 {
		sizes = append(sizes, struct {
			id        firn.ID
			size      int64
			compacted bool
		}{"big", int64(b.big) * 1e9, true})
	}
	if fresh {
		st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
		if err != nil {
			return err
		}
		for _, s := range sizes {
			if err := grow(context.Background(), st, s.id, s.size, s.compacted); err != nil {
				return err
			}
		}
		if err := st.Close(); err != nil {
			return err
		}
	}
	results := make(map[firn.ID]resumed)
	for _, s := range sizes {
		r, err := resumeInChildren(home, s.id)
		if err != nil {
			return err
		}
		results[s.id] = r
	}
	b.reportResume(results)
	return nil
}

func (b *bench) reportResume(results map[firn.ID]resumed) {
	small, large, whole := results["s2c"], results["s200c"], results["s200n"]
	b.note("resume 2 MB, compacted: open + window, warm", ms(small.Time))
	b.want("resume 200 MB, compacted: open + window, warm", ms(large.Time), "≤ 3 ms", large.Time <= 3*time.Millisecond)
	r := ratio(large.Time, small.Time)
	b.want("resume 200 MB against 2 MB with the same live tail", times(r), "≤ 2 ×", r <= 2)
	b.want("resume 200 MB, compacted: peak memory of the process", fmt.Sprintf("%.1f MB", large.Peak), "≤ 12 MB", large.Peak <= 12)
	b.want("resume 200 MB, compacted: bytes read", fmt.Sprintf("%d kB of %d kB live", large.Read>>10, large.Live>>10), "≤ 2 × live + 64 kB", large.Read <= 2*large.Live+64<<10)
	b.note("memory of a process of this bench before it does anything", fmt.Sprintf("%.1f MB", large.Floor))
	b.note("resume 200 MB, compacted: first time in a process", ms(large.First))
	b.want("resume 200 MB, not compacted: open + window, warm", ms(whole.Time), "≤ 800 ms", whole.Time <= 800*time.Millisecond)
	b.want("resume 200 MB, not compacted: the same on one core", ms(whole.OneCore), "≤ 800 ms", whole.OneCore <= 800*time.Millisecond)
	returned := float64(whole.Returned) / (1 << 20)
	b.want("resume 200 MB, not compacted: peak memory of the process", fmt.Sprintf("%.0f MB of %.0f MB", whole.Peak, returned), "≤ 1.5 × returned", whole.Peak <= 1.5*returned)
	if big, ok := results["big"]; ok {
		b.want(fmt.Sprintf("resume %d GB, compacted: open + window, warm", b.big), ms(big.Time), "≤ 2 × of 2 MB", ratio(big.Time, small.Time) <= 2)
	}
}

// resumed is the result of a child process that resumes a session.
type resumed struct {
	Time  time.Duration // median
	First time.Duration
	Peak  float64 // peak memory of the process in MB, after the first run
	Floor float64 // memory of the process before any work
	Read  int64   // bytes read, once
	Live  int64   // bytes from the kept-from mark to the end
	Items int
	// Returned is the size of the window's text in bytes.
	Returned int64
	// OneCore is Time in a process with one core.
	OneCore time.Duration

	start store.Pos
}

// resumeInChildren measures time in one process and memory in another, since repetitions
// need memory.
func resumeInChildren(home string, id firn.ID) (resumed, error) {
	var once, often resumed
	if err := spawn(&once, "resume", home, string(id), "1"); err != nil {
		return often, err
	}
	if err := spawn(&often, "resume", home, string(id), "9"); err != nil {
		return often, err
	}
	often.Peak, often.Floor, often.First = once.Peak, once.Floor, once.First
	var one resumed
	err := spawn(&one, "resume", home, string(id), "9", "1")
	often.OneCore = one.Time
	return often, err
}

func spawn(result any, child string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append([]string{"-child", child}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("child %s: %w", child, err)
	}
	return json.Unmarshal(out, result)
}

func runChild(child string, args []string) error {
	run, ok := map[string]func([]string) (any, error){"resume": resumeChild, "list": listChild, "page": pageChild, "read4k": read4kChild, "append": appendChild, "fork": forkChild, "search": searchChild, "server": serverChild}[child]
	if !ok {
		return fmt.Errorf("no child %q", child)
	}
	result, err := run(args)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func resumeChild(args []string) (any, error) {
	home, id, runs := args[0], firn.ID(args[1]), args[2]
	if len(args) > 3 {
		runtime.GOMAXPROCS(1)
	}
	r := resumed{Floor: peakMemory()}
	open := func(fsys vfs.FS) error {
		st, err := filestore.Open(home, filestore.Options{ReadOnly: true, FS: fsys})
		if err != nil {
			return err
		}
		path, err := window.Collect(st.ReadBack(context.Background(), id, store.End))
		if err != nil {
			return err
		}
		w := window.Build(path, window.Options{Profile: window.Anthropic()})
		r.Items, r.Returned = len(w.Items), textOf(w)
		r.start = path.Start
		return st.Close()
	}
	start := time.Now()
	if err := open(nil); err != nil {
		return nil, err
	}
	r.First = time.Since(start)
	r.Peak = peakMemory()
	if runs == "1" {
		return r, nil
	}
	var err error
	if r.Time, err = median(9, func() error { return open(nil) }); err != nil {
		return nil, err
	}
	counting := &countingFS{FS: vfs.OS{}}
	if err := open(counting); err != nil {
		return nil, err
	}
	r.Read = counting.read.Load()
	r.Live, err = bytesAfter(home, id, r.start)
	return r, err
}

// textOf returns the size of a window's text in bytes.
func textOf(w window.Window) (n int64) {
	for i := range w.Items {
		n += partsSize(w.Items[i].Message.Parts)
	}
	return n
}

func partsSize(parts []firn.Part) (n int64) {
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Text:
			n += int64(len(p.Text))
		case firn.Thinking:
			n += int64(len(p.Text) + len(p.Signature))
		case firn.ToolCall:
			n += int64(len(p.Arguments))
		case firn.ToolResult:
			n += partsSize(p.Content)
		}
	}
	return n
}

// bytesAfter returns the total size of the lines after a position.
func bytesAfter(home string, id firn.ID, after store.Pos) (n int64, err error) {
	st, err := filestore.Open(home, filestore.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	for record, err := range st.Read(context.Background(), id, after) {
		if err != nil {
			return n, err
		}
		n += int64(len(record.Line())) + 1
	}
	return n, st.Close()
}

// peakMemory returns the peak resident memory of the process in MB.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			return kb / 1024
		}
	}
	return 0
}

// countingFS counts the bytes that are read.
type countingFS struct {
	vfs.FS
	read atomic.Int64
}

func (c *countingFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := c.FS.Open(path, mode)
	return &countingFile{f, c}, err
}

type countingFile struct {
	vfs.File
	fs *countingFS
}

func (f *countingFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.fs.read.Add(int64(n))
	return n, err
}
