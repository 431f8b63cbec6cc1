package cli

import (
	"io"
	"os"
	"strings"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
)

// columnsOf returns the number of columns of a stream, or 0 if it is not a terminal: output
// for programs is not fitted.
func columnsOf(stream io.Writer) int {
	if file, ok := fileOf(stream); ok && isTerminal(file) {
		return line.Columns(file)
	}
	return 0
}

// wrapText wraps the lines of a text; a width of zero does not.
func wrapText(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(prose.WrapAll(lines, width), "\n") + "\n"
}

// asciiTerminal is a terminal whose locale has only ASCII. Symbols are replaced, except in
// JSON.
type asciiTerminal struct {
	file *os.File
	p    *program
}

// Write implements [io.Writer].
func (t asciiTerminal) Write(b []byte) (int, error) {
	if t.p.json {
		return t.file.Write(b)
	}
	return line.Palette{ASCII: true}.Tint(t.file).Write(b)
}

// asciiStream returns the stream with symbols replaced if it is a terminal without UTF-8.
func (p *program) asciiStream(w io.Writer) io.Writer {
	file, ok := w.(*os.File)
	if !ok || !line.IsASCII(p.env("LC_ALL"), p.env("LC_CTYPE"), p.env("LANG")) || !isTerminal(file) {
		return w
	}
	return asciiTerminal{file, p}
}

// fileOf returns the file of a stream.
func fileOf(stream any) (*os.File, bool) {
	if t, ok := stream.(asciiTerminal); ok {
		return t.file, true
	}
	file, ok := stream.(*os.File)
	return file, ok
}

// plainStream returns a stream that replaces no symbols, for programs that do it themselves.
func plainStream(w io.Writer) io.Writer {
	if t, ok := w.(asciiTerminal); ok {
		return t.file
	}
	return w
}
