package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"firn"
	"firn/internal/vfs"
)

// A position is the number of the part file in the upper bits and the offset
// in it in the lower ones. So it can be told without looking at the parts
// before, and in a journal of one part it is the plain offset in the file.
const (
	offsetBits = 40
	offsetMask = 1<<offsetBits - 1
	// maxPart keeps the largest position apart from the one that means "the end".
	maxPart = 1<<(64-offsetBits) - 2
)

// Place makes the position at an offset in a part. Parts count from 0.
func Place(part int, offset int64) firn.Pos {
	return firn.Pos(uint64(part)<<offsetBits | uint64(offset)&offsetMask)
}

// Split is the inverse of Place.
func Split(pos firn.Pos) (part int, offset int64) {
	return int(pos >> offsetBits), int64(pos & offsetMask)
}

// PartPath names a part file: the base path for part 0, <stem>_part2.jsonl for
// part 1 and so on.
func PartPath(base string, part int) string {
	if part == 0 {
		return base
	}
	stem, ext := cutExt(base)
	return fmt.Sprintf("%s_part%d%s", stem, part+1, ext)
}

// BasePath is the inverse of PartPath: it names the first part of the journal
// that the file at path belongs to.
func BasePath(path string) string {
	stem, ext := cutExt(path)
	i := strings.LastIndex(stem, "_part")
	if i < 0 {
		return path
	}
	digits := stem[i+len("_part"):]
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return path
	}
	return stem[:i] + ext
}

func cutExt(path string) (stem, ext string) {
	if stem, ok := strings.CutSuffix(path, ".jsonl"); ok {
		return stem, ".jsonl"
	}
	return path, ""
}

// partHole is how many missing parts in a row do not end a journal. They are a
// fault that readers pass over.
const partHole = 3

// Part is a part file as it was found.
type Part struct {
	Number int
	Path   string
	vfs.Info
}

// Parts finds the part files of the journal at base, in order. A journal that
// does not exist has none.
func Parts(fsys vfs.FS, base string) ([]Part, error) {
	return partsFrom(fsys, base, 0)
}

func partsFrom(fsys vfs.FS, base string, first int) ([]Part, error) {
	var parts []Part
	for n, missing, sure := first, 0, 0; missing <= partHole && n <= maxPart; n++ {
		path := PartPath(base, n)
		info, err := fsys.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			missing++
			if n == 0 { // without its beginning it is not a journal, unless the next part is there
				missing = partHole
			}
			continue
		}
		if err != nil {
			return parts, fmt.Errorf("look for part files of %s: %w", base, err)
		}
		if missing > 0 && n > sure {
			// Parts are begun in order: what was missing a moment ago may be there
			// by now. Look again, once.
			sure, n, missing = n, max(first, n-missing)-1, 0
			continue
		}
		missing = 0
		parts = append(parts, Part{Number: n, Path: path, Info: info})
	}
	return parts, nil
}
