package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"firn.dev"
)

const (
	// maxLine limits a message of a server.
	maxLine = 16 << 20
	// maxStray limits the number of lines that are not messages.
	maxStray = 1000
)

// errLine means that a server sent a line that is not a message.
var errLine = errors.New("not a message of the protocol")

// messageReader reads the messages of a server, one per line. Lines that do not begin like
// JSON, such as a banner, are skipped and reported. It fails at a line that begins like a
// message but is not valid, at one that is too long, and after too many lines that are not
// messages.
type messageReader struct {
	io.Closer
	in     *bufio.Reader
	stray  func(line string)
	strays int
	left   []byte

	mu  sync.Mutex
	err error
}

func newMessageReader(r io.ReadCloser, stray func(string)) *messageReader {
	return &messageReader{Closer: r, in: bufio.NewReaderSize(r, 64<<10), stray: stray}
}

// Read implements [io.Reader].
func (m *messageReader) Read(p []byte) (int, error) {
	for len(m.left) == 0 {
		line, err := readLine(m.in)
		if err == nil {
			m.left, err = m.accept(line)
		}
		if err != nil {
			m.mu.Lock()
			m.err = err
			m.mu.Unlock()
			return 0, err
		}
	}
	n := copy(p, m.left)
	m.left = m.left[n:]
	return n, nil
}

// failure returns why reading ended; nil if it did not, or at the end of the input.
func (m *messageReader) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(m.err, io.EOF) {
		return nil
	}
	return m.err
}

// accept returns the bytes of a message, or none if the line is skipped.
func (m *messageReader) accept(line []byte) ([]byte, error) {
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0:
		return nil, nil
	case text[0] != '{' && text[0] != '[':
		m.stray(brief(string(text)))
		if m.strays++; m.strays > maxStray {
			return nil, fmt.Errorf("%w: more than %d lines of other output", errLine, maxStray)
		}
		return nil, nil
	case !isMessage(text):
		return nil, fmt.Errorf("%w: %s", errLine, brief(string(text)))
	}
	return append(text, '\n'), nil
}

// isMessage reports whether a line is JSON-RPC: an object with the member jsonrpc, or a list.
func isMessage(text []byte) bool {
	if text[0] == '[' {
		return json.Valid(text)
	}
	var m struct {
		Version string `json:"jsonrpc"`
	}
	return json.Unmarshal(text, &m) == nil && m.Version == "2.0"
}

// readLine reads a line of limited length.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return nil, fmt.Errorf("a message of more than %d bytes: %w", maxLine, firn.ErrTooLarge)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
		return line, err
	}
}

// brief returns the beginning of a text on one line, for messages.
func brief(text string) string {
	text = clean(strings.Join(strings.Fields(text), " "))
	if len(text) > 200 {
		text = firn.CutText(text, 200) + "…"
	}
	return text
}

// clean returns a text of a server without characters that a terminal may interpret instead of
// showing them, or that change the order of the text after them. Newlines and tabs stay.
func clean(text string) string {
	text, _ = firn.CleanText(text)
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, text)
}
