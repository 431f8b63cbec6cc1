package chat

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/term/local"
	"firn.dev/provider/scripted"
)

// dot is a PNG image of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// withFiles gives a chat a directory with files.
func withFiles(t *testing.T, files map[string]string) func(*Options) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(o *Options) { o.Local = local.Machine{Dir: dir} }
}

// TestCommandMenu opens the menu with a slash and runs what is chosen.
func TestCommandMenu(t *testing.T) {
	d := newBoardTest(t, nil)
	d.press("/")
	d.shows("› /\n❯ /help              list the commands\n  /new  ")
	d.press("rem")
	d.shows("› /rem\n❯ /remember TEXT  save a note for all sessions\n")
	d.press("\r")
	d.shows("› /remember\n")
	d.press("the key\r")
	d.sees("noted in memory/today.md")
	d.press("/sta")
	d.shows("❯ /status  show the status of this chat")
	d.press("\r")
	d.sees("  agent ")
	d.press("/q")
	d.shows("❯ /q     as /quit\n  /quit  end the chat")
	d.press("\r")
	if err := d.wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestFileMenu completes a file after an @ and sends it with the message.
func TestFileMenu(t *testing.T) {
	d := newBoardTest(t, withFiles(t, map[string]string{".gitignore": "*.log\n", "alpha.go": "package alpha\n", "alpha.log": "no", "beta two.txt": "beta"}), scripted.Reply("fine"))
	d.press("see @al")
	d.shows("› see @al\n❯ alpha.go\n")
	if strings.Contains(d.screen.String(), "alpha.log") {
		t.Error("an ignored file is in the menu")
	}
	d.press("\tand @two")
	d.shows("❯ beta two.txt\n")
	d.press("\r")
	d.shows("› see @alpha.go and @\"beta two.txt\"\n")
	d.press("ok\r")
	d.sees("· sent alpha.go (14 B)\n· sent beta two.txt (4 B)\n")
	d.sees("on disk")
	says(t, d.messages(), "user: see @alpha.go and @\"beta two.txt\" ok\n\n<file name=\"alpha.go\">\npackage alpha\n</file>\n\n<file name=\"beta two.txt\">\nbeta\n</file>\n")
}

// TestPaste folds a paste on the screen and sends all of it.
func TestPaste(t *testing.T) {
	d := newBoardTest(t, nil, scripted.Reply("fine"))
	d.press("fix \x1b[200~" + strings.Repeat("line\r", 41) + "last\x1b[201~")
	d.shows("› fix [pasted 42 lines]\n")
	d.press(" now\r")
	d.sees("› fix [pasted 42 lines] now\nfine\n")
	d.sees("on disk")
	says(t, d.messages(), "user: fix "+strings.Repeat("line\n", 41)+"last now\n")
}

// TestImages sends a dropped image and one named with @.
func TestImages(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(dot)
	if err != nil {
		t.Fatal(err)
	}
	var dir string
	d := newBoardTest(t, func(o *Options) {
		withFiles(t, map[string]string{"a dot.png": string(data), "b.png": string(data)})(o)
		dir = o.Local.Dir
	}, scripted.Reply("fine"))
	d.press("see \x1b[200~'" + dir + "/a dot.png'\x1b[201~ and @b.png ")
	d.shows("› see [image a dot.png] and @b.png\n")
	d.press("\r")
	d.sees("on disk")
	images := 0
	for _, e := range d.entries() {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser {
			for _, p := range m.Parts {
				if image, ok := p.(firn.Image); ok && image.MimeType == "image/png" {
					images++
				}
			}
		}
	}
	if images != 2 {
		t.Errorf("%d images were sent", images)
	}
}

// TestExecute runs a command, keeps it in the session, and shows it to the model.
func TestExecute(t *testing.T) {
	d := newBoardTest(t, withFiles(t, map[string]string{"here.txt": "ice\n"}), scripted.Reply("I see"))
	d.press("!cat here.txt\r")
	d.sees("· cat here.txt … ok\n    ice\n")
	d.press("!!echo secret; exit 3\r")
	d.sees("· echo secret; exit 3 … exit 3\n    secret\n")
	d.press("what was that?\r")
	d.sees("on disk")
	var shells []firn.Shell
	for _, e := range d.entries() {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleShell {
			shells = append(shells, m.Parts[0].(firn.Shell))
		}
	}
	if len(shells) != 2 || shells[0].Command != "cat here.txt" || shells[0].Output != "ice" || *shells[0].ExitCode != 0 || shells[0].Hidden || !shells[1].Hidden || *shells[1].ExitCode != 3 {
		t.Fatalf("the session has %+v", shells)
	}
	asked := d.model.Requests()
	request := fmt.Sprintf("%+v", asked[len(asked)-1].Window)
	if !strings.Contains(request, "Ran `cat here.txt`\n```\nice\n```") || strings.Contains(request, "secret") {
		t.Errorf("the model received\n%s", request)
	}
	d.press("!\r")
	d.sees("! needs a command")
	d.press("exit\r")
	if err := d.wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestExecuteInPipe checks that lines of a pipe are never run, and that exit ends the chat.
func TestExecuteInPipe(t *testing.T) {
	s := play(t, withFiles(t, map[string]string{"x": "content"}), scripted.Reply("one"), scripted.Reply("two"))
	s.types("!echo ran", "see @x", "exit", "not sent")
	s.end()
	says(t, s.messages(), "user: !echo ran\n", "user: see @x\nassistant")
	silent(t, s.messages(), "exit", "not sent")
}

// TestEscape stops an answer with Escape, and opens the rewind with two, or with /rewind.
func TestEscape(t *testing.T) {
	d := newBoardTest(t, nil, scripted.Hang(1, scripted.Reply("one two three")), scripted.Reply("fine"))
	d.press("hello\r")
	d.sees("one")
	d.press("\x1b")
	d.sees("stopped by the user")
	d.press("second message\r")
	d.sees("fine")
	d.shows("on disk\n›")
	d.press("\x1b")
	d.shows("›\nEsc again goes back to an earlier message\n")
	d.press("\x1b")
	d.shows("go back to before:\n❯ second message\n  hello\n")
	d.press("\x1b")
	d.shows("on disk\n›")
	d.press("\x1b")
	d.shows("Esc again")
	d.press("\x1b")
	d.shows("go back to before:")
	d.press("\x1b")
	d.shows("on disk\n›")
	d.press("/rewind\r")
	d.shows("go back to before:")
	d.press("\x1b[B\r")
	d.sees("/rewind ")
	d.shows("\n› hello\n")
	d.press("\x15\x04")
	if err := d.wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
