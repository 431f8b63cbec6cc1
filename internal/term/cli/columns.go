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
	if file, ok := stream.(*os.File); ok && isTerminal(file) {
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
