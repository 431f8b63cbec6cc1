package tool_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
)

type reading struct {
	Path            string
	Size            int64
	From, To, Lines int
	AtLeast         bool
	MimeType        string
}

func TestReadFile(t *testing.T) {
	w := workspace(t, map[string]string{
		"plain.txt":  "one\ntwo\nthree\n",
		"open.txt":   "one\ntwo",
		"crlf.txt":   "one\r\ntwo\r\n",
		"empty.txt":  "",
		"latin1.txt": "caf\xe9 au lait\n",
		"blank.txt":  "\n\n\n",
		"long.txt":   numbered(5000),
		"dir/x":      "",
	})
	for name, c := range map[string]struct {
		a    args
		want string
	}{
		"all":               {args{"path": "plain.txt"}, "one\ntwo\nthree\n"},
		"no line end":       {args{"path": "open.txt"}, "one\ntwo\n"},
		"CRLF":              {args{"path": "crlf.txt"}, "one\ntwo\n[lines end in CR LF]"},
		"empty":             {args{"path": "empty.txt"}, "[empty.txt is empty]"},
		"blank lines":       {args{"path": "blank.txt"}, "\n\n\n"},
		"invalid":           {args{"path": "latin1.txt"}, "caf\ufffd au lait\n"},
		"from a line":       {args{"path": "plain.txt", "offset": 2}, "two\nthree\n[lines 2 to 3 of 3]"},
		"some lines":        {args{"path": "plain.txt", "offset": 2, "limit": 1}, "two\n[lines 2 to 2 of 3; continue with offset 3]"},
		"first lines":       {args{"path": "plain.txt", "limit": 1}, "one\n[lines 1 to 1 of 3; continue with offset 2]"},
		"more than all":     {args{"path": "plain.txt", "limit": 100}, "one\ntwo\nthree\n"},
		"in the middle":     {args{"path": "long.txt", "offset": 4000, "limit": 2}, "line 4000\nline 4001\n[lines 4000 to 4001 of 5,000; continue with offset 4002]"},
		"numbers as models": {args{"path": "plain.txt", "offset": "3"}, "three\n[lines 3 to 3 of 3]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := call(t, find(t, w, "read_file"), c.a); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for want, a := range map[string]args{
		"offset 4 is past the end of plain.txt, which has 3 lines": {"path": "plain.txt", "offset": 4},
		"dir is a directory, not a file: list_dir shows":           {"path": "dir"},
		"path is required":   {"path": ""},
		"offset counts from": {"path": "plain.txt", "offset": -1},
	} {
		err := fails(t, find(t, w, "read_file"), a)
		has(t, err.Error(), want)
		if !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%v is not ErrInvalid", err)
		}
	}
}

func TestReadFileIsBounded(t *testing.T) {
	w := workspace(t, map[string]string{
		"lines.txt": numbered(5000),
		"wide.txt":  strings.Repeat(strings.Repeat("w", 999)+"\n", 200),
		"line.txt":  strings.Repeat("é", 100_000) + "\nnext\n",
	})
	read := find(t, w, "read_file")

	r := result(t, read, args{"path": "lines.txt", "limit": 9999})
	has(t, firn.JoinText(r.Parts), "line 2000\n[lines 1 to 2000 of 5,000; continue with offset 2001]")
	if d := details[reading](t, r); d.From != 1 || d.To != 2000 || d.Lines != 5000 || d.AtLeast || d.Size != int64(len(numbered(5000))) {
		t.Errorf("the details are %+v", d)
	}

	text := call(t, read, args{"path": "wide.txt"})
	has(t, text, "[lines 1 to 51 of 200; continue with offset 52]")
	if len(text) > 51<<10 {
		t.Errorf("%d bytes are shown", len(text))
	}

	text = call(t, read, args{"path": "line.txt"})
	has(t, text, "é\n[line 1 has 200,001 bytes or more and is truncated here; lines 1 to 1 of 2; continue with offset 2]")
	lacks(t, text, "\ufffd", "next")
	has(t, call(t, read, args{"path": "line.txt", "offset": 2}), "next\n")
}

// TestHugeFileIsNotReadCompletely reads from a sparse file of 1 TB, which would take minutes
// to read.
func TestHugeFileIsNotReadCompletely(t *testing.T) {
	w := workspace(t, map[string]string{"huge.txt": numbered(3000)})
	path := filepath.Join(w.Dir(), "huge.txt")
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	r := result(t, find(t, w, "read_file"), args{"path": "huge.txt"})
	has(t, firn.JoinText(r.Parts), "line 2000\n[lines 1 to 2000 of more than 3,001; continue with offset 2001]")
	if d := details[reading](t, r); !d.AtLeast || d.Size != 1<<40 {
		t.Errorf("the details are %+v", d)
	}
}

func TestReadingIsCanceled(t *testing.T) {
	w := workspace(t, map[string]string{"huge.txt": numbered(3000)})
	path := filepath.Join(w.Dir(), "huge.txt")
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	// Line 3002 is never reached: the line before it is the whole hole.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := find(t, w, "read_file").Run(ctx, marshal(t, args{"path": "huge.txt", "offset": 3002}))
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestBinaryFilesAreReported(t *testing.T) {
	w := workspace(t, map[string]string{
		"nul.bin":   "abc\x00def",
		"utf16.txt": "\xff\xfea\x00b\x00",
		"noise.bin": strings.Repeat("\xfe\xed\xfa\xce\x80\x91a", 100),
	})
	for path, want := range map[string]string{
		"nul.bin":   "nul.bin is a binary file of 7 bytes, with NUL bytes in it",
		"utf16.txt": "perhaps text in UTF-16",
		"noise.bin": "a binary file of 700 bytes, mostly not characters",
	} {
		err := fails(t, find(t, w, "read_file"), args{"path": path})
		has(t, err.Error(), want)
		if !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%v is not ErrUnsupported", err)
		}
	}
}

// TestCharacterAcrossSniffBoundary reads text with a character across the end of the bytes that
// are checked for binary content.
func TestCharacterAcrossSniffBoundary(t *testing.T) {
	for shift := range 4 {
		text := strings.Repeat("x", shift) + strings.Repeat("😀", 5000) + "\n"
		w := workspace(t, map[string]string{"a.txt": text})
		if got := call(t, find(t, w, "read_file"), args{"path": "a.txt"}); got != text {
			t.Errorf("shifted by %d it is shown as %.40q", shift, got)
		}
	}
}

func TestImagesAreShown(t *testing.T) {
	for mime, begin := range map[string]string{
		"image/png":  "\x89PNG\r\n\x1a\n",
		"image/jpeg": "\xff\xd8\xff\xe0",
		"image/gif":  "GIF89a",
		"image/webp": "RIFF\x00\x00\x00\x00WEBP",
	} {
		data := begin + strings.Repeat("\x00\x01\xff", 10_000)
		w := workspace(t, map[string]string{"picture.txt": data}) // names do not count
		r := result(t, find(t, w, "read_file"), args{"path": "picture.txt"})
		if len(r.Parts) != 2 {
			t.Fatalf("%s: there are %d parts", mime, len(r.Parts))
		}
		image, ok := r.Parts[1].(firn.Image)
		if !ok || image.MimeType != mime || image.Data != base64.StdEncoding.EncodeToString([]byte(data)) {
			t.Errorf("%s: not the image: %.60v", mime, r.Parts[1])
		}
		has(t, firn.JoinText(r.Parts), mime)
		if d := details[reading](t, r); d.MimeType != mime {
			t.Errorf("the details are %+v", d)
		}
	}
	w := workspace(t, map[string]string{"big.png": "\x89PNG\r\n\x1a\n"})
	if err := os.Truncate(filepath.Join(w.Dir(), "big.png"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := fails(t, find(t, w, "read_file"), args{"path": "big.png"}); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("a huge image: %v", err)
	}
}
