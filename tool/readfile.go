package tool

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"firn.dev"
)

// The limits of read_file.
const (
	maxReadBytes = 50 << 10
	maxReadLines = 2000
	// maxImage is the largest image that providers accept: 5 MB of base64.
	maxImage = 3_750_000
)

type readArguments struct {
	Path   string `json:"path" desc:"The file, relative to the workspace."`
	Offset int    `json:"offset,omitempty" desc:"The first line to show, from 1."`
	Limit  int    `json:"limit,omitempty" desc:"How many lines to show; at most 2000."`
}

// readDetails is the machine-readable result of read_file.
type readDetails struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	// From and To are the first and last line shown. Lines is the total number of lines;
	// AtLeast is set if not all were counted.
	From    int  `json:"from,omitempty"`
	To      int  `json:"to,omitempty"`
	Lines   int  `json:"lines,omitempty"`
	AtLeast bool `json:"atLeast,omitempty"`
	// MimeType is the type of an image.
	MimeType string `json:"mimeType,omitempty"`
}

func (w *Workspace) readFile() Tool {
	return New("read_file", "Shows a text file of the workspace, or an image (PNG, JPEG, GIF, WebP). "+
		"At most 2000 lines or 50 KB are shown at once; use offset for later lines.", anywhere(w, (*Workspace).read))
}

func (w *Workspace) read(ctx context.Context, a readArguments) (Result, error) {
	if a.Path == "" || a.Offset < 0 || a.Limit < 0 {
		return Result{}, fmt.Errorf("%w arguments for read_file: path is required, offset counts from 1, and limit must not be negative", firn.ErrInvalid)
	}
	name, err := w.local(a.Path)
	if err != nil {
		return Result{}, err
	}
	f, info, err := w.open(name)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	begin := make([]byte, sniffLength)
	n, err := io.ReadFull(f, begin)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Result{}, w.explain("read", name, err)
	}
	begin = begin[:n]
	details := readDetails{Path: w.shown(name), Size: info.Size()}
	if mime := imageType(begin); mime != "" {
		return readImage(f, begin, mime, details)
	}
	if why := isBinary(begin); why != "" {
		return Result{}, fmt.Errorf("%s is a binary file of %s%s: it cannot be shown as text (%w)", w.shown(name), size(info.Size()), why, firn.ErrUnsupported)
	}
	result, err := readText(ctx, io.MultiReader(bytes.NewReader(begin), f), a.Offset, a.Limit, details)
	if err != nil {
		return Result{}, w.explain("read", name, err)
	}
	return result, nil
}

// readImage returns a complete image. Begin is the part that was already read.
func readImage(f *os.File, begin []byte, mime string, details readDetails) (Result, error) {
	rest, err := io.ReadAll(io.LimitReader(f, maxImage+1-int64(len(begin))))
	if err != nil {
		return Result{}, fmt.Errorf("read the image %s: %w", details.Path, err)
	}
	data := append(begin, rest...)
	if len(data) > maxImage {
		return Result{}, fmt.Errorf("%s is an image of %s, and models accept at most %s: it is %w", details.Path, size(details.Size), size(maxImage), firn.ErrTooLarge)
	}
	details.MimeType = mime
	return Result{
		Parts: []firn.Part{
			firn.Text{Text: fmt.Sprintf("[%s, %s, %s]", details.Path, mime, size(int64(len(data))))},
			firn.Image{MimeType: mime, Data: base64.StdEncoding.EncodeToString(data)},
		},
		Details: quote(details),
	}, nil
}

// sniffLength is the number of bytes used to detect the file type.
const sniffLength = 8 << 10

// imageType returns the MIME type of an image that models accept, or "".
func imageType(begin []byte) string {
	has := func(prefix string) bool { return bytes.HasPrefix(begin, []byte(prefix)) }
	switch {
	case has("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case has("\xff\xd8\xff"):
		return "image/jpeg"
	case has("GIF87a"), has("GIF89a"):
		return "image/gif"
	case has("RIFF") && len(begin) >= 12 && string(begin[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// isBinary returns the reason why a file is not text, or "" if it may be. Text in a legacy
// encoding counts as text, because some of its bytes are ASCII.
func isBinary(begin []byte) string {
	switch {
	case bytes.HasPrefix(begin, []byte("\xff\xfe")), bytes.HasPrefix(begin, []byte("\xfe\xff")):
		return ", perhaps text in UTF-16"
	case bytes.IndexByte(begin, 0) >= 0:
		return ", with NUL bytes in it"
	}
	bad, total := 0, 0
	for at := 0; at < len(begin); total++ {
		r, width := utf8.DecodeRune(begin[at:])
		if r == utf8.RuneError && width == 1 && len(begin)-at >= utf8.UTFMax {
			bad++
		}
		at += width
	}
	if bad*10 > total*3 {
		return ", mostly not characters"
	}
	return ""
}
