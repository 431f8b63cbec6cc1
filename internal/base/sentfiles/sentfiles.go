// Package sentfiles writes text files into a message, and removes them from it. It knows the
// form of the text only: it reads no files.
package sentfiles

import (
	"fmt"
	"strings"
)

const (
	opening   = "<file name="
	closing   = "</file>"
	separator = "\n\n" // before each file
)

// Block returns a text file as it is sent: between tags with its name.
func Block(name, text string) string {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fmt.Sprintf("%s%q>\n%s%s", opening, name, text, closing)
}

// Add returns a message with a block at its end.
func Add(message, block string) string { return message + separator + block }

// Remove returns a message without the blocks at its end. Blocks that text follows were
// typed, and are kept. A typed block at the end cannot be distinguished from a sent file.
func Remove(message string) string {
	for strings.HasSuffix(message, "\n"+closing) {
		at := strings.LastIndex(message, separator+opening+`"`)
		if at < 0 || !strings.Contains(message[at:], "\">\n") {
			break
		}
		message = message[:at]
	}
	return message
}
