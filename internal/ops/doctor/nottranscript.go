package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// transcriptHead is how much of a file is looked at to see whether it is a transcript.
const transcriptHead = 1 << 20

// checkTranscript refuses a file that was never a transcript: no line at its beginning is
// a JSON object. A file in a home, or one that ends in .jsonl and has bytes that are no
// text, may be a damaged transcript, and is examined.
func checkTranscript(fsys vfs.FS, path string) error {
	if _, inHome := homeOf(path); inHome {
		return nil
	}
	file, err := fsys.Open(path, vfs.Read)
	if err != nil {
		return nil // which is told when it is examined
	}
	defer file.Close() // only read
	head := make([]byte, transcriptHead)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || n == 0 {
		return nil
	}
	head = head[:n]
	for line := range bytes.Lines(head) {
		line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\xef\xbb\xbf"))
		if len(line) == 0 || line[0] != '{' {
			continue
		}
		if json.Valid(line) || isPart(path) {
			return nil
		}
	}
	if isPart(path) && (n == transcriptHead || !utf8.Valid(head) || bytes.IndexByte(head, 0) >= 0) {
		return nil
	}
	return fmt.Errorf("%w: %s is not a transcript: no line of it is a JSON object", firn.ErrInvalid, path)
}
