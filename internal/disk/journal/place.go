package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// A position has the number of the part file in the upper bits and the offset in it in the
// lower bits. It can be computed without reading earlier parts, and in a journal with one
// part it is the file offset.
const (
	offsetBits = 40
	offsetMask = 1<<offsetBits - 1
	// maxPart keeps the largest position distinct from the one that means "the end".
	maxPart = 1<<(64-offsetBits) - 2
)

// Place returns the position of an offset in a part. Parts count from 0.
func Place(part int, offset int64) firn.Pos {
	return firn.Pos(uint64(part)<<offsetBits | uint64(offset)&offsetMask)
}

// Split is the inverse of Place.
func Split(pos firn.Pos) (part int, offset int64) {
	return int(pos >> offsetBits), int64(pos & offsetMask)
}

// PartPath returns the path of a part file: the base path for part 0, <stem>_part2.jsonl
// for part 1 and so on.
func PartPath(base string, part int) string {
	if part == 0 {
		return base
	}
	stem, ext := cutExt(base)
	return stem + "_part" + strconv.Itoa(part+1) + ext
}

// BasePath is the inverse of PartPath: it returns the path of the first part of the journal
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

// partHole is the number of consecutive missing parts that does not end a journal. Readers
// skip them as a fault.
const partHole = 3

// Part is an existing part file.
type Part struct {
	Number int
	Path   string
	vfs.Info
}

// Parts returns the part files of the journal at base, in order. It returns none if the
// journal does not exist.
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
			if n == 0 { // without its first part it is not a journal, unless the next part exists
				missing = partHole
			}
			continue
		}
		if err != nil {
			return parts, fmt.Errorf("list part files of %s: %w", base, err)
		}
		if missing > 0 && n > sure {
			// Parts are created in order: a part that was missing may exist by now. Check
			// again, once.
			sure, n, missing = n, max(first, n-missing)-1, 0
			continue
		}
		missing = 0
		parts = append(parts, Part{Number: n, Path: path, Info: info})
	}
	return parts, nil
}
