package doctor_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/internal/ops/doctor"
)

// span is a range of a file.
type span struct{ from, to int }

// commitLog encodes a commit log with ranges of the transcript.
func commitLog(data string, spans ...span) []byte {
	const name = "agents/main/sessions/s1.jsonl"
	table := crc32.MakeTable(crc32.Castagnoli)
	epoch := binary.BigEndian.AppendUint64(nil, 1)
	out := append([]byte("firnlog1"), epoch...)
	for _, s := range spans {
		piece := data[s.from:s.to]
		b := binary.BigEndian.AppendUint32(nil, uint32(10+len(name)+len(piece)))
		b = binary.BigEndian.AppendUint64(b, uint64(s.from))
		b = binary.BigEndian.AppendUint16(b, uint16(len(name)))
		b = append(append(b, name...), piece...)
		out = binary.BigEndian.AppendUint32(out, crc32.Update(crc32.Checksum(epoch, table), table, b))
		out = append(out, b...)
	}
	return out
}

// powerCut returns a transcript of four messages, its state after a power failure, with the
// second zeroed and the last missing, and a log that contains both.
func powerCut() (whole, left string, log []byte) {
	lines := talk(4)
	whole = join(lines...)
	second := span{len(join(lines[:2]...)), len(join(lines[:3]...))}
	last := span{len(join(lines[:4]...)), len(whole)}
	left = whole[:second.from] + strings.Repeat("\x00", second.to-second.from-1) + whole[second.to-1:last.from]
	return whole, left, commitLog(whole, second, last)
}

// TestRepairByPathReplaysFirst checks that the commit log of a transcript's home is
// replayed however the file was named: stand-ins must not be appended in place of logged
// data.
func TestRepairByPathReplaysFirst(t *testing.T) {
	whole, left, log := powerCut()
	for _, name := range []string{transcript, "/h/agents/main/sessions", "/h/agents", "/h", "/"} {
		fs := home(t, left)
		must(t, fs.Put("/h/commit/00000000000000aa.log", log))
		target, err := doctor.Find(fs, "/other", name)
		must(t, err)
		plan, err := doctor.MakePlan(t.Context(), target, doctor.Options{})
		must(t, err)
		if steps := actions(plan); len(steps) == 0 || steps[0] != "replay-log" {
			t.Errorf("%s: the plan is %q", name, steps)
		}
		plan, err = doctor.Repair(t.Context(), target, doctor.Options{})
		must(t, err)
		check(t, name+": the repair did", actions(plan), []string{"replay-log", "replay-log"})
		if got := read(t, fs, transcript); got != whole {
			t.Errorf("%s: the transcript is %q", name, got)
		}
	}
}

// TestRepairThroughALink checks the same for a file named by a symbolic link or by its
// directory.
func TestRepairThroughALink(t *testing.T) {
	whole, left, log := powerCut()
	for _, name := range []string{"s1.jsonl", "elsewhere/s1.jsonl"} {
		dir := t.TempDir()
		sessions := filepath.Join(dir, "h", "agents", "main", "sessions")
		write(t, filepath.Join(sessions, "s1.jsonl"), left)
		write(t, filepath.Join(dir, "h", "commit", "00000000000000aa.log"), string(log))
		must(t, os.Symlink(sessions, filepath.Join(sessions, "elsewhere")))
		t.Chdir(sessions)
		target, err := doctor.Find(nil, "/other", name)
		must(t, err)
		_, err = doctor.Repair(t.Context(), target, doctor.Options{})
		must(t, err)
		if got, err := os.ReadFile("s1.jsonl"); err != nil || string(got) != whole {
			t.Errorf("%s: the transcript is %q, %v", name, got, err)
		}
	}
}
