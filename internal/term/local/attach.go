package local

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// MaxText is the number of bytes sent of a text file. The rest is left out.
const MaxText = 128 << 10

// Attachment is a file that is sent with a message: its text, or an image.
type Attachment struct {
	// Name is the path as it was typed.
	Name string
	Text string
	// Size is the size of the file, Cut is true if Text is only its beginning.
	Size  int64
	Cut   bool
	Image *Image
}

// Mentions returns the files that a text names as @path or @"path with spaces", if they
// exist, each once. An @ within a word, such as in an address, names nothing.
func (m Machine) Mentions(text string) []string {
	var names []string
	seen := make(map[string]bool)
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || i > 0 && !strings.ContainsRune(" \t\n(", rune(text[i-1])) {
			continue
		}
		for _, name := range candidates(text[i+1:]) {
			info, err := os.Stat(m.Path(name))
			if name == "" || err != nil || !info.Mode().IsRegular() {
				continue
			}
			if !seen[name] {
				names = append(names, name)
			}
			seen[name] = true
			break
		}
	}
	return names
}

// candidates returns the possible paths at the beginning of a text: the quoted one, or the
// word, with and without punctuation at its end.
func candidates(text string) []string {
	if rest, ok := strings.CutPrefix(text, `"`); ok {
		name, _, _ := strings.Cut(rest, `"`)
		return []string{name}
	}
	word := text
	if i := strings.IndexAny(word, " \t\n"); i >= 0 {
		word = word[:i]
	}
	return []string{word, strings.TrimRight(word, ".,:;!?)\"'")}
}

// Attach reads a file to send: an image, or text.
func (m Machine) Attach(name string) (Attachment, error) {
	image, err := m.Image(name)
	if err == nil {
		return Attachment{Name: name, Size: int64(len(image.Data)), Image: &image}, nil
	}
	f, err := os.Open(m.Path(name))
	if err != nil {
		return Attachment{}, err
	}
	defer f.Close() // read-only
	info, err := f.Stat()
	if err != nil {
		return Attachment{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxText+1))
	if err != nil {
		return Attachment{}, err
	}
	a := Attachment{Name: name, Size: info.Size(), Cut: len(data) > MaxText}
	if a.Cut {
		data = data[:MaxText]
		for range utf8.UTFMax - 1 { // the last character may be incomplete
			if r, n := utf8.DecodeLastRune(data); r == utf8.RuneError && n == 1 {
				data = data[:len(data)-1]
			}
		}
	}
	if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return Attachment{}, fmt.Errorf("neither text nor an image of at most %d MB", MaxImage>>20)
	}
	a.Text = string(data)
	return a, nil
}

// Sent returns the text of a file as it is sent: with a note at its end if it was cut.
func (a Attachment) Sent() string {
	if !a.Cut {
		return a.Text
	}
	return strings.TrimSuffix(a.Text, "\n") + fmt.Sprintf("\n[cut after %d of %d bytes]\n", len(a.Text), a.Size)
}
