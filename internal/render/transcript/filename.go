package transcript

import (
	"cmp"
	"strings"
	"unicode"

	"firn.dev/internal/find/mask"
)

// nameLength limits the name of a file, in characters.
const nameLength = 40

// FileName returns a name for the file of a session with a title: its letters and digits,
// with hyphens between the words. Secrets are masked. It has no extension and is never empty.
func FileName(title string) string {
	words := strings.FieldsFunc(strings.ToLower(mask.Text(title)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	name := []rune(strings.Join(words, "-"))
	return cmp.Or(strings.Trim(string(name[:min(len(name), nameLength)]), "-"), "session")
}
