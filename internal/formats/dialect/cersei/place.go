package cersei

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Place returns the path of a new session: in the folder of its project, named by its ID.
// Claude Code accepts only UUIDs.
func (l layout) Place(home fs.FS, to dialect.Target) (string, error) {
	id := string(to.Session)
	if to.Session.Check() != nil || l.options.ForClaude {
		id = dialect.UUID(string(dialect.Cersei), id)
	}
	dir := path.Join(projects, folder(to.CWD))
	if l.options.ForClaude {
		dir = path.Join(projects, claudeFolder(to.CWD))
	}
	taken := make(map[string]bool)
	for _, s := range sessionsIn(home, dir) {
		taken[strings.ToLower(s.name)] = true // some file systems ignore case
	}
	name := id
	for n := 2; taken[strings.ToLower(name)]; n++ {
		if n > maxSniffs {
			return "", fmt.Errorf("placing session %s in %s: %w: too many sessions have this name", to.Session, dir, firn.ErrConflict)
		}
		name = fmt.Sprintf("%s-%d", id, n)
		if dialect.IsUUID(id) {
			name = dialect.UUID(id, name)
		}
	}
	return path.Join(dir, name+extension), nil
}

// maxFolderLen is the maximum length of a folder name in bytes. It is a limit of file
// systems, not of Cersei.
const maxFolderLen = 200

// folder returns the folder name of a project as Cersei's library does: characters other
// than letters, digits, dashes, dots and underscores become underscores.
func folder(cwd string) string {
	name := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsNumber(c) || strings.ContainsRune("-_.", c) {
			return c
		}
		return '_'
	}, strings.ToValidUTF8(cwd, "_"))
	if strings.Trim(name, ".") == "" { // "." and ".." are not valid folder names
		name = strings.Repeat("_", max(1, len(name)))
	}
	if len(name) > maxFolderLen {
		sum := sha256.Sum256([]byte(cwd))
		name = firn.CutText(name, maxFolderLen) + "_" + hex.EncodeToString(sum[:4])
	}
	return name
}

// claudeFolder returns the folder name of a project as Claude Code does: a dash for each
// UTF-16 unit other than an ASCII letter or digit; a long name is truncated, with a hash
// appended.
func claudeFolder(cwd string) string {
	units := utf16.Encode([]rune(cwd))
	name := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash<<5 - hash + int32(u)
		name[i] = '-'
		if u < 128 && (u >= '0' && u <= '9' || u >= 'A' && u <= 'Z' || u >= 'a' && u <= 'z') {
			name[i] = byte(u)
		}
	}
	if len(name) == 0 {
		return "-"
	}
	if len(name) <= maxFolderLen {
		return string(name)
	}
	h := int64(hash)
	return string(name[:maxFolderLen]) + "-" + strconv.FormatInt(max(h, -h), 36)
}
