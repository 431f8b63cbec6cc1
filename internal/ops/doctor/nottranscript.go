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

// transcriptHead is the number of bytes read to decide whether a file is a transcript.
const transcriptHead = 1 << 20

// checkTranscript rejects a file that was never a transcript: none of its first lines is a
// JSON object. A file in a home, or a .jsonl file with binary data, may be a damaged
// transcript and is accepted.
func checkTranscript(fsys vfs.FS, path string) error {
	if _, inHome := homeOf(path); inHome {
		return nil
	}
	file, err := fsys.Open(path, vfs.Read)
	if err != nil {
		return nil // reported when it is examined
	}
	defer file.Close() // read-only
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
	return fmt.Errorf("%w: %s is not a transcript: it contains no JSON objects", firn.ErrInvalid, path)
}
