package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev/internal/ops/jetstreamtest"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"firn": func() {
		if d, err := time.ParseDuration(os.Getenv(testWordDelay)); err == nil {
			wordDelay = d
		}
		detectLimit = -1 // tests do not depend on the keys and servers of the machine
		if d, err := time.ParseDuration(os.Getenv(testDetectLimit)); err == nil {
			detectLimit = d
		}
		main()
	}, "nats-server": serveNATS})
}

// serveNATS is the command nats-server -c FILE, which comes with the library that firn uses.
func serveNATS() {
	if err := jetstreamtest.ServeFile(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// testDetectLimit is the variable that enables the detection of models in a firn that a test
// starts, with that limit.
const testDetectLimit = "FIRN_TEST_DETECT_LIMIT"

// testWordDelay is the variable that sets wordDelay in a firn that a test starts.
const testWordDelay = "FIRN_TEST_WORD_DELAY"

// TestScripts runs the scripts of commands and what they print. Besides the
// usual commands a script has
//
//	exits CODE COMMAND…    runs a command that ends with that code
//	add FILE TEXT…         adds bytes to a file, encoded as in a Go string
//	cut FILE N             takes the last N bytes off a file
//	mode OCTAL FILE…       sets permissions
//	snapshot DIR           notes the bytes, modes and times of all files
//	unchanged DIR          fails if any of them differs
//	somewhere WORD DIR…    fails if no file has the word, in its name or its bytes
//	nowhere WORD [-NAME…] DIR…
//	                       fails if one has, also if it is compressed there; not below NAME
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values["snapshots"] = make(map[string]string)
			return nil
		},
		Cmds: scriptCommands(nil),
	})
}

// scriptCommands are the commands that scripts have besides the usual ones.
func scriptCommands(more map[string]func(ts *testscript.TestScript, neg bool, args []string)) map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"exits": exits, "add": add, "cut": cut, "mode": mode, "snapshot": snapshot, "unchanged": unchanged, "somewhere": somewhere, "nowhere": nowhere,
		"gateway": gatewayCommand, "undo": runUndo, "has": hasText, "nofiles": noFiles,
	}
	maps.Copy(all, more)
	return all
}

// shelf is a map from names to values that is safe for concurrent use.
type shelf[T any] struct {
	mu     sync.Mutex
	things map[string]T
}

func newShelf[T any]() *shelf[T] { return &shelf[T]{things: make(map[string]T)} }

func (s *shelf[T]) put(name string, thing T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.things[name] = thing
}

func (s *shelf[T]) get(name string) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thing, ok := s.things[name]
	return thing, ok
}

func need(ts *testscript.TestScript, neg bool, ok bool, usage string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 1, "exits CODE COMMAND…")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s ended with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func add(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 1, "add FILE TEXT…")
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	ts.Check(err)
	defer f.Close()
	for _, arg := range args[1:] {
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(arg, `"`, `\"`) + `"`)
		ts.Check(err)
		_, err = f.WriteString(text)
		ts.Check(err)
	}
}

func cut(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "cut FILE N")
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, info.Size()-n))
}

func mode(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 1, "mode OCTAL FILE…")
	perm, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, name := range args[1:] {
		ts.Check(os.Chmod(ts.MkAbs(name), fs.FileMode(perm)))
	}
}

func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "snapshot DIR")
	ts.Value("snapshots").(map[string]string)[args[0]] = describe(ts, args[0])
}

func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "unchanged DIR")
	before := ts.Value("snapshots").(map[string]string)[args[0]]
	if after := describe(ts, args[0]); before != after {
		ts.Fatalf("%s has changed: it was\n%s\nand is\n%s", args[0], before, after)
	}
}

// describe lists the contents, modes and times of all files below a directory.
func describe(ts *testscript.TestScript, dir string) string {
	var b strings.Builder
	ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %s", path, info.Mode(), info.ModTime().Format(time.RFC3339Nano))
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %d %x", len(data), sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}
