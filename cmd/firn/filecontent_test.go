package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// somewhere fails if no file below some directories has a word.
func somewhere(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 1, "somewhere WORD DIR…")
	if len(filesWith(ts, args[0], args[1:])) == 0 {
		ts.Fatalf("%q is stored nowhere, so the test would check nothing", args[0])
	}
}

// nowhere fails if a file below some directories contains a word. Directory names with a
// leading dash are excluded.
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 1, "nowhere WORD [-NAME…] DIR…")
	if files := filesWith(ts, args[0], args[1:]); len(files) > 0 {
		ts.Fatalf("%q is left in\n%s", args[0], strings.Join(files, "\n"))
	}
}

// filesWith finds the files with a word in their names or contents: in any case, in UTF-8
// or UTF-16, and in compressed data.
func filesWith(ts *testscript.TestScript, word string, dirs []string) []string {
	var files []string
	for _, dir := range dirs {
		if strings.HasPrefix(dir, "-") {
			continue
		}
		err := filepath.WalkDir(ts.MkAbs(dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() && slices.Contains(dirs, "-"+e.Name()) {
				return fs.SkipDir
			}
			var data []byte
			if e.Type().IsRegular() {
				if data, err = os.ReadFile(path); err != nil {
					return err
				}
			}
			if where := holds(data, word); where != "" || strings.Contains(strings.ToLower(e.Name()), word) {
				files = append(files, path+where)
			}
			return nil
		})
		ts.Check(err)
	}
	return files
}

// holds returns the context of a word in data; empty if it does not occur.
func holds(data []byte, word string) string {
	if where := within(data, word); where != "" {
		return where
	}
	for _, unpacked := range unpack(data) {
		if where := within(unpacked, word); where != "" {
			return " (compressed)" + where
		}
	}
	return ""
}

func within(data []byte, word string) string {
	var wide []byte
	for _, u := range utf16.Encode([]rune(word)) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	low := bytes.ToLower(data)
	for _, w := range [][]byte{[]byte(word), wide, bytes.Join(bytes.Split([]byte(word), nil), []byte{0})} {
		if at := bytes.Index(low, w); at >= 0 {
			return ": …" + string(bytes.ToValidUTF8(slices.Clone(data[max(0, at-80):min(len(data), at+80)]), []byte("?"))) + "…"
		}
	}
	return ""
}

// unpack returns the decompressed zstd frames in data, wherever they start. No other
// compression is used.
func unpack(data []byte) [][]byte {
	var all [][]byte
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil
	}
	defer decoder.Close()
	magic := []byte{0x28, 0xB5, 0x2F, 0xFD}
	for rest := data; ; {
		at := bytes.Index(rest, magic)
		if at < 0 {
			break
		}
		rest = rest[at:]
		unpacked, _ := decoder.DecodeAll(rest, nil) // up to where the frame ends, and something else begins
		all = append(all, unpacked)
		rest = rest[len(magic):]
	}
	return all
}
