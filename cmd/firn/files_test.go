package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// runUndo runs the command that an output in a file names as its undo.
func runUndo(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "undo FILE")
	m := regexp.MustCompile(`(?m)^undo: firn (.*)$`).FindStringSubmatch(ts.ReadFile(args[0]))
	if m == nil {
		ts.Fatalf("%s names no undo", args[0])
	}
	ts.Check(ts.Exec("firn", strings.Fields(m[1])...))
}

// hasText checks the whole content of a file.
func hasText(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "has FILE TEXT")
	if got := ts.ReadFile(args[0]); got != args[1] {
		ts.Fatalf("%s has %q", args[0], got)
	}
}

// noFiles checks that a directory has no files in it.
func noFiles(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "nofiles DIRECTORY")
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			ts.Fatalf("%s is left", path)
		}
		return err
	}))
}
