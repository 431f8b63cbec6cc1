// Package dialects is the table of all tools whose sessions firn can read and
// write.
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
)

// All lists the tools, firn itself first. Of two that share a folder, the one
// that is surer of its own comes first.
func All() []dialect.Tool {
	pi := pi.New(native.New())
	return []dialect.Tool{
		native.NewTool(), claudecode.New(), codex.New(), pi, openclaw.New(pi), crabtalk.New(), claw0.New(claw0.Options{}), cersei.New(cersei.Options{}),
	}
}

// Others lists the tools but firn itself.
func Others() []dialect.Tool { return All()[1:] }

// short are names by which people call tools.
var short = map[string]dialect.Name{"claude": dialect.ClaudeCode, "claude-code": dialect.ClaudeCode, "firn": dialect.Native, "clawdbot": dialect.OpenClaw, "clawdia": dialect.OpenClaw}

// Find finds a tool by its name, or by what people call it.
func Find(name string) (dialect.Tool, bool) {
	if full, ok := short[name]; ok {
		name = string(full)
	}
	for _, t := range All() {
		if string(t.Name()) == name {
			return t, true
		}
	}
	return nil, false
}

// Names lists the names of all tools.
func Names() []string {
	var names []string
	for _, t := range All() {
		names = append(names, string(t.Name()))
	}
	return names
}

// OwnerOf tells whose folder a directory is, from the names in it. A folder of
// firn, and one of nobody, has no owner.
func OwnerOf(dir string) (dialect.Tool, bool) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, false
	}
	tree := os.DirFS(dir)
	if isOurs(tree) {
		return nil, false
	}
	for _, t := range Others() {
		if t.Layout().Owns(tree) {
			return In(t, dir), true
		}
	}
	return nil, false
}

// In is the tool as it is to be used for a folder: claw0 has two versions, and
// goes on in the one that the folder is of.
func In(t dialect.Tool, dir string) dialect.Tool {
	if versions, ok := t.(claw0.Tool); ok {
		return versions.In(os.DirFS(dir))
	}
	return t
}

// isOurs reports whether a directory is a home of firn: one without sessions
// has its settings, or what a gateway leaves.
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

// OfFile tells the format of a file, from its first lines.
func OfFile(name string) (dialect.Tool, error) {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
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
