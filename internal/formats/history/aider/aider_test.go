package aider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/history/aider"
	"firn.dev/internal/formats/history/historytest"
)

// chats follows what the published source of Aider 0.86 writes: prompts and notices end with
// two spaces.
var chats = strings.ReplaceAll(`text before a heading

# aider chat started at 2026-06-09 14:01:00

> Aider v0.86.1~
> Main model: gpt-4o with diff edit format~

#### read note.txt~
#### and add a retry~

It says **hello glacier**.

#### Step 1
> a quotation
# a heading
# aider chat started at noon

> Tokens: 2.3k sent, 456 received.~
> Applied edit to src/webhook.py~

#### /run go test~

#### next~

--------------
► **THINKING**

Hm.

------------
► **ANSWER**

Done.

# aider chat started at 2026-06-09 16:00:00

> Aider v0.86.1~

# aider chat started at 2026-06-09 17:00:00

#### a file without the spaces
<thinking-content-7bbe>
think
</thinking-content-7bbe>

The answer.

> Applied edit to a.go
`, "~", "  ")

const prompts = `
# 2026-06-08 10:00:00.000001
+next

# 2026-06-09 14:02:03.500000
+read note.txt
+and add a retry

# 2026-06-09 14:05:00.000000
+next
`

const sessions = `
98 "read note.txt" in ""
  title: "read note.txt"
  custom aider:session
  custom aider:message
  user: "read note.txt\nand add a retry"
  assistant: "It says **hello glacier**.\n\n#### Step 1\n> a quotation\n# a heading\n# aider chat started at noon" (/gpt-4o stop)
  custom aider:message
  user: "/run go test"
  user: "next"
  assistant: thinking "Hm." | "Done." (/gpt-4o stop)
f5 "a file without the spaces" in ""
  title: "a file without the spaces"
  custom aider:session
  user: "a file without the spaces"
  assistant: thinking "think" | "The answer." (/ stop)
  custom aider:message
`

// shorten replaces IDs by their first characters.
func shorten(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if id, rest, ok := strings.Cut(line, " "); ok && len(id) == 36 {
			lines[i] = id[:2] + " " + rest
		}
	}
	return strings.Join(lines, "\n")
}

func TestRead(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, ".aider.chat.history.md", chats)
	historytest.Put(t, home, ".aider.input.history", prompts)
	historytest.Equal(t, shorten(historytest.Run(t, aider.New(), home)), sessions)
	historytest.Put(t, home, ".aider.chat.history.md", strings.ReplaceAll(chats, "\n", "\r\n"))
	historytest.Equal(t, shorten(historytest.Describe(t, aider.New(), home)), sessions)
}

// TestTimes takes the times of prompts from the other file, and nothing else.
func TestTimes(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, ".aider.chat.history.md", chats)
	historytest.Put(t, home, ".aider.input.history", prompts)
	dir := historytest.Mirror(t, aider.New(), home, filepath.Join(t.TempDir(), "m"))
	files, err := filepath.Glob(filepath.Join(dir, "firn-records", "98*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`02:03.5Z","role":"user","text":"#### read`, `05:00Z","role":"user","text":"#### next`, `"id":"4","role":"notice"`, `"started":"2026-06-09 14:01:00"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("missing %q in:\n%s", want, data)
		}
	}
	if strings.Count(string(data), `"timestamp"`) != 2 {
		t.Errorf("other blocks have times:\n%s", data)
	}
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	var steps []func()
	for end := 60; end < len(chats)+60; end += 60 {
		steps = append(steps, func() { historytest.Put(t, home, ".aider.chat.history.md", chats[:min(end, len(chats))]) })
	}
	steps = append(steps, func() { historytest.Put(t, home, ".aider.input.history", prompts) })
	historytest.Growth(t, aider.New(), home, steps...)
}

// TestCut reads histories that end at any byte, and of any bytes.
func TestCut(t *testing.T) {
	home := t.TempDir()
	for end := range len(chats) {
		if end%7 == 0 {
			historytest.Put(t, home, ".aider.chat.history.md", chats[:end])
			if got := historytest.Describe(t, aider.New(), home); strings.Contains(got, "error") {
				t.Fatalf("cut to %d bytes: %s", end, got)
			}
		}
	}
	historytest.Put(t, home, ".aider.chat.history.md", "# aider chat started at 2026-06-09 14:01:00\n\n#### a \x00 b \xff  \n\nanswer \xfe\n")
	if got := historytest.Run(t, aider.New(), home); !strings.Contains(got, `user: "a � b �"`) {
		t.Errorf("not text: %s", got)
	}
}

// TestFind finds projects below a home directory. firn may write into them, although they hold
// the histories of a tool.
func TestFind(t *testing.T) {
	user := t.TempDir()
	for _, dir := range []string{"work/a", "work/deep/er/b", ".cache/c", "work/node_modules/d", "1/2/3/4/5/6"} {
		historytest.Put(t, user, dir+"/.aider.chat.history.md", chats)
	}
	found, err := adopt.Find(t.Context(), user, []dialect.Tool{aider.New()}, nil)
	if err != nil || len(found) != 2 || found[0].Home != filepath.Join(user, "work/a") || found[1].Home != filepath.Join(user, "work/deep/er/b") || found[0].Sessions != 2 {
		t.Errorf("found %+v, %v", found, err)
	}
	if home, ok := adopt.EnclosingHome(filepath.Join(user, "work/a/firn"), user, dialects.Readable()[1:], nil, found); ok {
		t.Errorf("%s is taken for the directory of a tool", home)
	}
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, aider.New(), `{"type":"message","id":"1","role":"notice","text":"> Main model: m with x"}`+"\n"+`{"type":"message","id":"2","timestamp":"2026-01-01T00:00:00Z","role":"assistant","text":"► **THINKING**\nx\n► **ANSWER**"}`,
		`{"type":"message","id":"3","role":"user","text":"#### a  \n#### b  \n"}`, `{"type":"message","id":"4","role":"assistant","text":"<thinking-content-1>x</thinking-content-1>"}`)
}

// FuzzHistory reads histories of any bytes.
func FuzzHistory(f *testing.F) {
	f.Add([]byte(chats), []byte(prompts))
	f.Fuzz(func(t *testing.T, chats, prompts []byte) {
		home := t.TempDir()
		historytest.Put(t, home, ".aider.chat.history.md", string(chats))
		historytest.Put(t, home, ".aider.input.history", string(prompts))
		historytest.Describe(t, aider.New(), home)
	})
}
