package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// namePrefix is the beginning of the names of all tools of servers.
	namePrefix = "mcp__"
	// maxName is the longest name of a tool that all providers accept.
	maxName = 64
	// suffixLength is the length of the digest at the end of a changed name.
	suffixLength = 8
)

// toolName returns the name of a server's tool for models: mcp__SERVER__TOOL, in which other
// characters than letters, digits, - and _ are replaced. A name that is changed by that, too
// long, or could be split in another way, because one of the names has __ or _ next to the
// separator, ends with a digest of both names. So it is as unique as they are, and no server
// can take over the name of another server's tool.
func toolName(server, tool string) string {
	plain := namePrefix + server + "__" + tool
	name := strings.Map(nameRune, plain)
	single := strings.Count(server+"__"+tool, "__") == 1 && !strings.HasSuffix(server, "_") && !strings.HasPrefix(tool, "_")
	if name == plain && len(name) <= maxName && server != "" && tool != "" && single {
		return name
	}
	return digestName(server, tool)
}

// digestName returns a name that ends with a digest of both names.
func digestName(server, tool string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	name := strings.Map(nameRune, namePrefix+server+"__"+tool)
	return name[:min(len(name), maxName-suffixLength-1)] + "_" + hex.EncodeToString(sum[:])[:suffixLength]
}

// nameRune replaces a character that names of tools must not have.
func nameRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}

// names assigns unique names to tools.
type names map[string]bool

// assign returns a name that is not in use; false if there is none.
func (n names) assign(server, tool string) (string, bool) {
	name := toolName(server, tool)
	if n[name] {
		name = digestName(server, tool)
	}
	if n[name] {
		return "", false
	}
	n[name] = true
	return name, true
}
