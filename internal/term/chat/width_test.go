package chat

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/wire"
)

// widths are the screens that everything must fit.
var widths = []int{40, 80, 120}

// golden compares a text with a golden file. To update the files, set FIRN_UPDATE=1.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name+".golden")
	if os.Getenv("FIRN_UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s(%v)", name, got, want, err)
	}
}

func fits(t *testing.T, lines []string, width int) {
	t.Helper()
	for _, l := range lines {
		if n := prose.Width(l); n > width {
			t.Errorf("a line has %d columns of %d: %s", n, width, l)
		}
	}
}

func TestHelpFits(t *testing.T) {
	for _, width := range widths {
		lines := helpLines(width)
		fits(t, lines, width)
		if len(lines) < len(commands()) {
			t.Errorf("at %d columns the help has %d lines", width, len(lines))
		}
	}
}

func TestStatusLineFits(t *testing.T) {
	s := wire.Session{Title: "The migration of the accounts to the new database", End: 12345, State: &wire.State{
		Provider: "anthropic", Model: "claude-sonnet-4-5", Branches: 12, Window: wire.Usage{Tokens: 150_000, Window: 200_000, Estimated: true},
	}}
	used := wire.Counters{Input: 123_456, Output: 6_789, Cost: 1.2345}
	for width, want := range map[int]string{
		40:  "~75% of 200k · $1.2345 · #1,042 on disk",
		80:  "⎇ 12 · anthropic/claude-sonnet-4-5 · ~75% of 200k · $1.2345 · #1,042 on disk",
		120: "The migration of th… · ⎇ 12 · anthropic/claude-sonnet-4-5 · ▰▰▰▰▰▰▰▰▱▱ ~75% of 200k · $1.2345 · #1,042 on disk",
	} {
		got := statusLine(s, used, 1042, width)
		fits(t, []string{got}, width)
		if got != want {
			t.Errorf("in %d columns it is %q, want %q", width, got, want)
		}
	}
}

// TestBoardFits prints notices, hints, problems and folded output at each width: no row is
// wider than the screen, and none is broken within a word.
func TestBoardFits(t *testing.T) {
	for _, width := range widths {
		b, shown := newBoardOf(t, width, 50)
		const words = "a notice that is much longer than forty columns, and longer than eighty ones, too, so that it is wrapped"
		b.note("· %s", words)
		b.printf("note: %s", words)
		b.problem(errors.New(words), words)
		b.callEnds("1", "shell go test ./... -run TestSomething", "ok, 0.1 s, 20 B")
		b.fold("shell", outputLines("one\ntwo "+words+"\nthree\nfour\nfive\nsix"), foldedOutput)
		shown.Await(t, "Ctrl-O")
		text := shown.All()
		fits(t, strings.Split(text, "\n"), width)
		golden(t, fmt.Sprintf("board-%d", width), text)
	}
}

// newBoardOf returns a board on an emulated terminal.
func newBoardOf(t *testing.T, width, height int) (*board, *linetest.Screen) {
	t.Helper()
	in, keys := io.Pipe()
	shown := linetest.New(width, height)
	term, err := line.Open(line.Device{
		In: in, Out: shown, Raw: func() (func() error, error) { return func() error { return nil }, nil }, Size: func() (int, int) { return width, height },
	}, line.Options{Styles: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		keys.Close()
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	})
	return newBoard(term, Options{Terminal: Terminal{In: true, Out: true, Err: true, Dim: true}}), shown
}
