package claudecode

import (
	"bytes"
	"testing"

	"firn.dev/internal/formats/dialect"
)

// BenchmarkScan reads a long session of Claude Code.
func BenchmarkScan(b *testing.B) {
	data := corpus(b)["ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl"].Data
	lines := bytes.Split(bytes.TrimSpace(data), []byte{'\n'})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		s := New().Scanner(dialect.Origin{})
		for _, line := range lines {
			if _, err := s.Scan(line); err != nil {
				b.Fatal(err)
			}
		}
		s.Finish()
	}
}

// BenchmarkPrint writes the same session.
func BenchmarkPrint(b *testing.B) {
	data := corpus(b)["ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl"].Data
	entries := scanAll(b, "s.jsonl", data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		p := New().Printer(dialect.Target{Session: "s"})
		var out []byte
		for _, e := range entries {
			out, _ = p.Print(out[:0], e)
		}
	}
}
