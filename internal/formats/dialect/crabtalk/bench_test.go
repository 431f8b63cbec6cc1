package crabtalk

import (
	"strings"
	"testing"

	"firn.dev/internal/formats/dialect"
)

// BenchmarkScan reads responses of some length.
func BenchmarkScan(b *testing.B) {
	line := []byte(`{"role":"assistant","content":"` + strings.Repeat(`It is said \"so\" here.\n`, 40) + `","tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`)
	s := New().Scanner(dialect.Origin{})
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := s.Scan(line); err != nil {
			b.Fatal(err)
		}
	}
}
