package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// MaxImage is the maximum size of an image in bytes. Providers accept no larger ones.
const MaxImage = 5 << 20

// Image is an image in a format that models accept.
type Image struct {
	// Name is the name of the file.
	Name, MimeType string
	Data           []byte
}

// ErrNoImage means that a file or the clipboard has no image in a supported format.
var ErrNoImage = errors.New("not a PNG, JPEG, GIF or WebP image")

// Image reads an image from a file.
func (m Machine) Image(name string) (Image, error) {
	f, err := os.Open(m.Path(name))
	if err != nil {
		return Image{}, err
	}
	defer f.Close() // read-only
	info, err := f.Stat()
	if err != nil {
		return Image{}, err
	}
	if !info.Mode().IsRegular() {
		return Image{}, ErrNoImage
	}
	if info.Size() > MaxImage {
		return Image{}, fmt.Errorf("%s is larger than %d MB", filepath.Base(name), MaxImage>>20)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxImage))
	if err != nil {
		return Image{}, err
	}
	return imageOf(filepath.Base(name), data)
}

// imageOf checks the format of an image by its content.
func imageOf(name string, data []byte) (Image, error) {
	kind := http.DetectContentType(data)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return Image{Name: name, MimeType: kind, Data: data}, nil
	}
	return Image{}, ErrNoImage
}

// Dropped returns the image files that a terminal pasted because they were dropped on it. It
// returns none if the text is anything else.
func (m Machine) Dropped(text string) []string {
	words := dropWords(strings.TrimSpace(text))
	for i, word := range words {
		if u, err := url.Parse(word); err == nil && u.Scheme == "file" {
			word = u.Path
		}
		words[i] = word
		switch strings.ToLower(filepath.Ext(word)) {
		case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		default:
			return nil
		}
		if info, err := os.Stat(m.Path(word)); err != nil || !info.Mode().IsRegular() {
			return nil
		}
	}
	return words
}

// maxDropped is the maximum length of dropped paths.
const maxDropped = 8 << 10

// dropWords splits a text into words as a shell does: quotes and backslashes keep spaces.
func dropWords(text string) []string {
	if len(text) > maxDropped {
		return nil
	}
	var words []string
	var word strings.Builder
	quote, open := rune(0), false
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case r == '\\' && quote != '\'' && filepath.Separator != '\\' && i+1 < len(runes):
			i++
			word.WriteRune(runes[i])
			open = true
		case quote == 0 && (r == ' ' || r == '\n'):
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

// Clipboard returns the image on the clipboard. It uses the first installed program that can
// read one: wl-paste on Wayland, xclip on X11, pngpaste on macOS.
func (m Machine) Clipboard(ctx context.Context) (Image, error) {
	program := m.clipboardProgram()
	if program == nil {
		return Image{}, errors.New("no program to read an image from the clipboard was found: wl-paste on Wayland, xclip on X11, pngpaste on macOS")
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stdout = &limited{w: &out, room: MaxImage}
	if err := cmd.Run(); err != nil || out.Len() == 0 {
		return Image{}, errors.New("the clipboard has no image")
	}
	return imageOf("clipboard.png", out.Bytes())
}

// clipboardProgram returns the program that reads the clipboard, or nil.
func (m Machine) clipboardProgram() []string {
	programs := [][]string{}
	if runtime.GOOS == "darwin" {
		programs = append(programs, []string{"pngpaste", "-"})
	}
	if m.env("WAYLAND_DISPLAY") != "" {
		programs = append(programs, []string{"wl-paste", "--type", "image/png"})
	}
	if m.env("DISPLAY") != "" {
		programs = append(programs, []string{"xclip", "-selection", "clipboard", "-t", "image/png", "-o"})
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p[0]); err == nil {
			return p
		}
	}
	return nil
}

// limited fails when more than room bytes are written.
type limited struct {
	w    io.Writer
	room int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.room -= len(p); l.room < 0 {
		return 0, errors.New("the image is too large")
	}
	return l.w.Write(p)
}
