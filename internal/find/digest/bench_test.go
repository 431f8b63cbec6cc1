package digest

import (
	"fmt"
	"strings"
	"testing"

	"firn.dev"
)

// longConversation has about 20 MB: five million tokens.
func longConversation() []Line {
	prose := strings.Repeat("We looked at store/filestore/open.go and decided that it must never block. The error was in line 42. ", 8)
	output := strings.Repeat("ok  \tfirn/store\t0.312s\n", 60)
	var lines []Line
	for i := range 5000 {
		lines = append(lines,
			speech(fmt.Sprintf("Step %d: %s", i, prose)),
			Line{Role: firn.RoleAssistant, Kind: Speech, Text: fmt.Sprintf("I fixed step %d. %s", i, prose)},
			Line{Role: firn.RoleAssistant, Kind: Call, Name: "bash", Text: fmt.Sprintf(`{"command":"go test ./%d"}`, i)},
			Line{Role: firn.RoleToolResult, Kind: Result, Name: "bash", Text: output},
			Line{Role: firn.RoleAssistant, Kind: Call, Name: "write_file", Text: fmt.Sprintf(`{"path":"f%d.go","content":"%s"}`, i, prose)},
			Line{Role: firn.RoleToolResult, Kind: Result, Name: "write_file", Text: "ok"})
	}
	return lines
}

func BenchmarkExtract(b *testing.B) {
	lines := longConversation()
	b.SetBytes(int64(len(Write(lines, -1))))
	for b.Loop() {
		Extract("", lines, 16_000)
	}
}

func BenchmarkParse(b *testing.B) {
	text := Write(longConversation(), 0)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Parse(text)
	}
}
