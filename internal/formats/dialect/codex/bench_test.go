package codex

import (
	"bytes"
	"testing"

	"firn.dev/internal/formats/dialect"
)

// BenchmarkScan reads a rollout that Codex wrote.
func BenchmarkScan(b *testing.B) {
	data := fixtures(b)["rollout-2026-11-15T21-34-06-01a1e121-bc52-7613-ad59-b80dc54c94a9.jsonl"]
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	b.SetBytes(int64(len(data)))
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
