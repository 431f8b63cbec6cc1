package interop

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store/filestore"
)

// newPi returns a home of pi as a target of handoffs.
func newPi(t *testing.T, name, api string) client {
	t.Helper()
	requireInstalled(t, name)
	user, cwd := t.TempDir(), realDir(t)
	ask := func(t *testing.T, question string, args ...string) []string {
		t.Helper()
		f := newProvider(t, "It was snow.")
		out, err := f.piCommand(t, name, api, user, cwd, append(args, "-p", question)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "It was snow.") {
			t.Errorf("pi printed %q, %v", out, err)
		}
		return f.flatAny(t)
	}
	return client{tool: "pi", home: filepath.Join(user, ".pi", "agent"), cwd: cwd, ask: ask, withoutOwnMessages: slices.Clip[[]string]}
}

// piWords translates firn's texts to those of a release of pi: since 1.5, images in the
// result of a failed call are in a separate message after it.
func piWords(name string) *strings.Replacer {
	if name != "pi-next" {
		return strings.NewReplacer()
	}
	return strings.NewReplacer("no such file+[image/png]",
		"no such file\n(image attached after the tool results)"+newLine+"user: Images from the error result of tool call toolu_2 (read):"+newLine+"user: [image/png]")
}

// newLine marks where one line becomes two.
const newLine = "\x00"

// TestPiCommandOnHandedSessions hands sessions of firn to pi and continues them there.
func TestPiCommandOnHandedSessions(t *testing.T) {
	for name, version := range piCommands {
		t.Run(version, func(t *testing.T) {
			continueIn(t, func(t *testing.T) client { return newPi(t, name, "anthropic-messages") }, piWords(name), nil,
				"one line of every kind", "a message hidden", "compacted and undone", "rewound")
		})
	}
}

// TestPiCommandOnClaudesSessions hands sessions of Claude Code to pi.
func TestPiCommandOnClaudesSessions(t *testing.T) {
	files, err := filepath.Glob("../../internal/formats/dialect/claudecode/testdata/transcripts/real-*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no transcripts of Claude Code (%v)", err)
	}
	for name, version := range piCommands {
		for i, file := range files {
			if name == "pi" && i > 0 && !everything() {
				break // one session shows whether the old release reads the file
			}
			t.Run(version+"/"+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				s := openHome(t, home, filestore.Options{})
				s.id = firn.ID(importFile(t, home, absolute(t, file)).Session.ID)
				c := newPi(t, name, "anthropic-messages")
				var want []string
				for _, line := range flatWindow(t, s.path(t)) {
					if !thought.MatchString(line) || name != "pi-next" { // pi-next omits thinking of other models
						want = append(want, thought.ReplaceAllString(line, "assistant: ")) // the others send it as text
					}
				}
				c.resume(t, s.handoff(t, "pi", c.home, c.cwd), want)
			})
		}
	}
}

// thought matches the beginning of a line with thinking.
var thought = regexp.MustCompile(`^thinking [^:]*: `)

func absolute(t *testing.T, file string) string {
	t.Helper()
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
