// Package dialects lists the tools whose sessions firn can read and write.
package dialects

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/cersei"
	"firn.dev/internal/formats/dialect/claudecode"
	"firn.dev/internal/formats/dialect/claw0"
	"firn.dev/internal/formats/dialect/codex"
	"firn.dev/internal/formats/dialect/crabtalk"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialect/openclaw"
	"firn.dev/internal/formats/dialect/pi"
	"firn.dev/internal/formats/history/aider"
	"firn.dev/internal/formats/history/cline"
	"firn.dev/internal/formats/history/copilot"
	"firn.dev/internal/formats/history/crush"
	"firn.dev/internal/formats/history/cursor"
	"firn.dev/internal/formats/history/gemini"
	"firn.dev/internal/formats/history/goose"
	"firn.dev/internal/formats/history/hermes"
	"firn.dev/internal/formats/history/opencode"
	"firn.dev/internal/formats/history/zed"
)

// All lists the tools whose sessions firn reads and writes, firn itself first. Of two tools that share a folder, the one with
// the more specific files is first.
func All() []dialect.Tool {
	pi := pi.New(native.New())
	return []dialect.Tool{
		native.NewTool(), claudecode.New(), codex.New(), pi, openclaw.New(pi), crabtalk.New(), claw0.New(claw0.Options{}), cersei.New(cersei.Options{}),
	}
}

// Others lists the tools except firn itself.
func Others() []dialect.Tool { return All()[1:] }

// ReadOnly lists the tools whose sessions firn reads but does not write.
func ReadOnly() []dialect.Tool {
	return []dialect.Tool{opencode.New(), gemini.New(), copilot.New(), crush.New(), goose.New(), cline.New(), hermes.New(), aider.New(), cursor.New(), zed.New()}
}

// Readable lists all tools whose sessions firn reads, firn itself first.
func Readable() []dialect.Tool { return append(All(), ReadOnly()...) }

// short maps common names of tools.
var short = map[string]dialect.Name{"claude": dialect.ClaudeCode, "claude-code": dialect.ClaudeCode, "firn": dialect.Native, "clawdbot": dialect.OpenClaw, "clawdia": dialect.OpenClaw}

// Find returns a tool by its name or a common name.
func Find(name string) (dialect.Tool, bool) {
	if full, ok := short[name]; ok {
		name = string(full)
	}
	for _, t := range Readable() {
		if string(t.Name()) == name {
			return t, true
		}
	}
	return nil, false
}

// Names lists the names of the tools whose sessions firn writes.
func Names() []string {
	var names []string
	for _, t := range All() {
		names = append(names, string(t.Name()))
	}
	return names
}

// OwnerOf returns the tool that owns a directory, judging by the file names in it. A home
// of firn, or an unknown folder, has no owner.
func OwnerOf(dir string) (dialect.Tool, bool) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, false
	}
	tree := os.DirFS(dir)
	if isOurs(tree) {
		return nil, false
	}
	for _, t := range Readable()[1:] {
		if t.Layout().Owns(tree) {
			return In(t, dir), true
		}
	}
	return nil, false
}

// In returns the tool for a folder: claw0 has two versions, and the folder determines which
// one is used.
func In(t dialect.Tool, dir string) dialect.Tool {
	if versions, ok := t.(claw0.Tool); ok {
		return versions.In(os.DirFS(dir))
	}
	return t
}

// isOurs reports whether a directory is a home of firn. A home without sessions is
// recognized by its settings or the files of a gateway.
func isOurs(tree fs.FS) bool {
	for _, name := range []string{"firn.toml", "commit", "receipts", "gateway", "index"} {
		if _, err := fs.Stat(tree, name); err == nil {
			if name != "index" && name != "gateway" {
				return true
			}
			if _, err := fs.Stat(tree, "agents"); err == nil {
				return true
			}
		}
	}
	return native.NewTool().Layout().Owns(tree)
}

// OfFile returns the format of a file from its first lines.
func OfFile(name string) (dialect.Tool, error) {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only
	var in io.Reader = f
	if strings.HasSuffix(name, ".zst") {
		plain, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer plain.Close()
		in = plain
	}
	first, err := io.ReadAll(io.LimitReader(in, 64<<10))
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return nil, fmt.Errorf("%w: it is empty", firn.ErrInvalid)
	}
	found, err := dialect.Detect(first)
	if err != nil {
		return nil, err
	}
	tool, _ := Find(string(found))
	return tool, nil
}
