package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs/faultfs"
)

// clone copies a file system with only durable data.
func clone(fsys *faultfs.FS) *faultfs.FS {
	for same := range fsys.CrashStates(1) {
		return same
	}
	return nil
}

// loggedOnly returns a disk with data that is only in commit logs: four journals were
// appended to, one of them has a second part, and the power was cut. Of the possible states
// it is the one with the fewest files.
func loggedOnly(t *testing.T) (*world, *faultfs.FS) {
	t.Helper()
	w := newWorld(t, memory(t, nil))
	must(t, w.fs.MkdirAll("home/deep"))
	w.pad = 600
	w.commitLog(512, 1<<20)
	for i, path := range four {
		w.open(path, Options{PartSize: int64(1000 * (i + 1))})
	}
	w.append(base, 1)
	for range 3 {
		w.appendTogether(four...)
	}
	w.fs.PowerOff(1, faultfs.Any)
	w.may(w.close)
	var left *faultfs.FS
	for state := range w.fs.CrashStates(100) {
		if left == nil || len(state.Files()) < len(left.Files()) {
			left = state
		}
	}
	if n, err := PendingLogs(left, "home"); n == 0 || err != nil {
		t.Fatalf("there are %d logs to replay, %v", n, err)
	}
	return w, left
}

// TestPowerCutDuringReplay stops a replay at each of its changes, and after them; the next
// replay must complete it.
func TestPowerCutDuringReplay(t *testing.T) {
	t.Parallel()
	w, left := loggedOnly(t)
	for nth, met := 1, true; met; nth++ {
		fsys := clone(left)
		fsys.PowerOff(nth, faultfs.Changing)
		_, err := Replay(fsys, "home")
		if met = fsys.Waiting() == 0; met != (err != nil) {
			t.Fatalf("power off at change %d: %v", nth, err)
		}
		try := 0
		for state := range fsys.CrashStates(rounds(16)) {
			try++
			w.recover(state, fmt.Sprintf("power off at change %d of the replay, state %d", nth, try))
		}
		for seed := range uint64(rounds(8)) {
			state := fsys.CrashRandom(rand.New(rand.NewPCG(seed, uint64(nth))))
			w.recover(state, fmt.Sprintf("power off at change %d of the replay, random state %d", nth, seed))
		}
	}
}

// TestEveryOperationOfReplayFails makes each operation of a replay fail once. The next
// replay completes it.
func TestEveryOperationOfReplayFails(t *testing.T) {
	t.Parallel()
	w, left := loggedOnly(t)
	for nth, met := 1, true; met; nth++ {
		fsys := clone(left)
		fsys.FailNth(nth, faultfs.Fault{Short: 100})
		_, err := Replay(fsys, "home")
		if met = fsys.Waiting() == 0; !met {
			must(t, err)
			break
		}
		for state := range fsys.CrashStates(4) {
			w.recover(state, fmt.Sprintf("operation %d of the replay failed: %v", nth, err))
		}
		w.recover(fsys, fmt.Sprintf("operation %d of the replay failed: %v", nth, err))
	}
}

func TestReplayTwice(t *testing.T) {
	t.Parallel()
	_, left := loggedOnly(t)
	again := clone(left)
	done, err := Replay(left, "home")
	if err != nil || len(done) == 0 {
		t.Fatalf("replayed %v, %v", done, err)
	}
	for _, r := range done {
		if r.Restored <= 0 || r.Skipped != "" {
			t.Errorf("replayed %+v", r)
		}
	}
	if n, err := PendingLogs(left, "home"); n != 0 || err != nil {
		t.Errorf("%d logs are left, %v", n, err)
	}
	// Replay the same logs again, on files that already have all the data.
	for _, path := range again.Files() {
		if strings.HasSuffix(path, ".log") {
			must(t, left.Put(path, []byte(content(t, again, path))))
		}
	}
	before := left.String()
	if done, err := Replay(left, "home"); err != nil || len(done) > 0 {
		t.Errorf("the second time replayed %v, %v", done, err)
	}
	after := left.String()
	if i := strings.Index(before, "home/deep"); before[i:] != after[strings.Index(after, "home/deep"):] {
		t.Errorf("the second replay changed\n%s\nto\n%s", squeeze(before), squeeze(after))
	}
}

// TestReplaySkipsLogsInUse checks two processes in the same home.
func TestReplaySkipsLogsInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memory(t, nil))
	w.commitLog(512, 3000)
	w.open(base, Options{})
	w.open(other, Options{})
	w.appendTogether(base, other)
	files := w.fs.Files()
	second, done, err := NewCommitter(w.fs, "home")
	if err != nil || len(done) > 0 {
		t.Fatalf("replayed %v, %v", done, err)
	}
	if n, err := PendingLogs(w.fs, "home"); n != 0 || err != nil {
		t.Errorf("%d logs seem to be pending, %v", n, err)
	}
	for _, path := range files {
		content(t, w.fs, path) // fails if it is missing
	}
	w.appendTogether(base, other)
	must(t, second.Close())
	w.close()
	w.check(false)
	if slices.ContainsFunc(w.fs.Files(), func(path string) bool { return strings.HasSuffix(path, ".log") }) {
		t.Errorf("after all are closed there are %q", w.fs.Files())
	}
}

// TestReplayRemovesUnlockedLog runs a replay of another process between the creation of a log
// and its lock: it takes the log for that of a dead process and removes it.
func TestReplayRemovesUnlockedLog(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"trylock", "syncdir", "write"} {
		w := newWorld(t, memory(t, nil))
		w.commitLog(512, 3000)
		w.open(base, Options{})
		w.open(other, Options{})
		met := false
		w.fs.Hook(func(_ faultfs.Kind, line string) {
			if strings.HasPrefix(line, moment+" home/commit") && !met {
				met = true
				_, err := Replay(w.fs, "home")
				must(t, err)
			}
		})
		w.appendTogether(base, other)
		w.appendTogether(base, other)
		if !met {
			t.Fatalf("there was no %s of a log", moment)
		}
		for left := range w.fs.CrashStates(10) {
			w.recover(left, "replay before "+moment)
		}
	}
}

// TestReplaySkips replays records that must not be written to files.
func TestReplaySkips(t *testing.T) {
	t.Parallel()
	record := func(path string, offset int64, data string) logged { return logged{path, offset, []byte(data)} }
	for name, c := range map[string]struct {
		files   map[string]string
		record  logged
		want    map[string]string // files afterwards; empty: missing
		skipped string
		bytes   int64
	}{
		"all there":               {map[string]string{base: "one\n"}, record("s.jsonl", 0, "one\n"), map[string]string{base: "one\n"}, "", 0},
		"half there":              {map[string]string{base: "on"}, record("s.jsonl", 0, "one\n"), map[string]string{base: "one\n"}, "", 2},
		"zeros there":             {map[string]string{base: "one\n\x00\x00\x00\x00\x00"}, record("s.jsonl", 4, "two\n"), map[string]string{base: "one\ntwo\n\x00"}, "", 4},
		"not there":               {nil, record("s.jsonl", 0, "one\n"), map[string]string{base: "one\n"}, "", 4},
		"not even a directory":    {nil, record("a/b/s.jsonl", 0, "one\n"), map[string]string{"home/a/b/s.jsonl": "one\n"}, "", 4},
		"erased":                  {map[string]string{base: "   \n"}, record("s.jsonl", 0, "one\n"), map[string]string{base: "   \n", base + ".rescued-0": ""}, "other bytes are at 0", 0},
		"erased, its place kept":  {map[string]string{base: `{"type":"erased"}` + "\n"}, record("s.jsonl", 0, `{"type":"message"`+"}"), map[string]string{base: `{"type":"erased"}` + "\n", base + ".rescued-0": ""}, "other bytes are at 0", 0},
		"another log's":           {map[string]string{base: "o\x00x\n"}, record("s.jsonl", 0, "one\n"), map[string]string{base: "o\x00x\n", base + ".rescued-0": "one\n"}, "other bytes are at 0", 0},
		"the beginning is gone":   {nil, record("s.jsonl", 4, "two\n"), map[string]string{base: ""}, "the file is gone", 0},
		"in the trash bin":        {map[string]string{"home/bin/s/manifest.json": "{}"}, record("s.jsonl", 0, "one\n"), map[string]string{base: ""}, "the session was removed", 0},
		"a part in the trash bin": {map[string]string{"home/bin/s/manifest.json": "{}"}, record("s_part2.jsonl", 0, "one\n"), map[string]string{PartPath(base, 1): ""}, "the session was removed", 0},
		"purged":                  {map[string]string{"home/receipts/s.json": "{}"}, record("agent/s.jsonl", 0, "one\n"), map[string]string{"home/agent/s.jsonl": ""}, "the session was removed", 0},
		"outside":                 {nil, record("../x.jsonl", 0, "one\n"), map[string]string{"x.jsonl": ""}, "the path is not below the home", 0},
		"absolute":                {nil, record("/x.jsonl", 0, "one\n"), map[string]string{"x.jsonl": ""}, "the path is not below the home", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := memory(t, c.files)
			must(t, fsys.Put("home/commit/0000000000000001.log", logOf(1, c.record)))
			done, err := Replay(fsys, "home")
			must(t, err)
			if c.skipped == "" && c.bytes == 0 {
				if len(done) != 0 {
					t.Errorf("replayed %+v", done)
				}
			} else if len(done) != 1 || done[0].Skipped != c.skipped || done[0].Restored != c.bytes {
				t.Errorf("replayed %+v", done)
			}
			for path, want := range c.want {
				got, err := fsys.Get(path)
				if string(got) != want || (err != nil) != (want == "") {
					t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
				}
			}
			if files := fsys.Files(); slices.Contains(files, "home/commit/0000000000000001.log") {
				t.Errorf("the log is still there")
			}
		})
	}
}

// logOf returns the bytes of a log.
func logOf(epoch uint64, records ...logged) []byte {
	b := binary.BigEndian.AppendUint64([]byte(logMagic), epoch)
	for _, r := range records {
		b = appendRecord(b, epoch, r.path, r.offset, r.data)
	}
	return b
}

// TestLogCutAtEveryByte checks that the complete records of a log are read, whether they
// are followed by nothing, zeros, or bytes of an earlier use of the file.
func TestLogCutAtEveryByte(t *testing.T) {
	t.Parallel()
	var records []logged
	for i, line := range sample(12, 5) {
		records = append(records, logged{fmt.Sprintf("agents/%d.jsonl", i%3), int64(i * 1000), []byte(line + "\n")})
	}
	whole := logOf(7, records...)
	var older []logged
	for _, r := range slices.Concat(records, records) {
		older = append(older, logged{r.path, r.offset, bytes.Repeat([]byte{'z'}, len(r.data))})
	}
	old := logOf(6, older...)
	for cut := 0; cut <= len(whole); cut++ {
		n := 0
		for n < len(records) && len(logOf(7, records[:n+1]...)) <= cut {
			n++
		}
		for name, rest := range map[string][]byte{"nothing": nil, "zeros": make([]byte, 600), "an older log": old[cut:]} {
			if cut < logHeaderSize && name == "an older log" {
				continue // then it is the older log
			}
			got := parseLog(slices.Concat(whole[:cut], rest))
			if !slices.EqualFunc(got, records[:n], sameRecord) {
				t.Fatalf("cut at %d, then %s: %d records, want %d", cut, name, len(got), n)
			}
		}
	}
}

func sameRecord(a, b logged) bool {
	return a.path == b.path && a.offset == b.offset && bytes.Equal(a.data, b.data)
}

func FuzzParseLog(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte(logMagic))
	f.Add(logOf(1))
	f.Add(logOf(1, logged{"s.jsonl", 0, []byte("{}\n")}, logged{"a/t.jsonl", 1 << 40, []byte("{}\n{}\n")}))
	f.Add(append(logOf(2, logged{"s.jsonl", 0, []byte("{}\n")}), make([]byte, 64)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		records := parseLog(b)
		// The records encode to the bytes they were parsed from.
		if len(records) > 0 {
			again := logOf(binary.BigEndian.Uint64(b[8:]), records...)
			if !bytes.HasPrefix(b, again) {
				t.Fatalf("read %d records of %q that are written as %q", len(records), b, again)
			}
		}
		// Replaying any log stays within the home.
		fsys := memory(t, map[string]string{filepath.Join("home", "commit", "x.log"): string(b)})
		if slices.ContainsFunc(records, func(r logged) bool { return r.offset < 0 || r.offset > 1<<20 }) {
			return // too large for memory
		}
		_, _ = Replay(fsys, "home") // a path may be invalid
		for _, path := range fsys.Files() {
			if !strings.HasPrefix(path, "home/") {
				t.Fatalf("it made %s", path)
			}
		}
	})
}
