package digest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"firn.dev"
)

var update = flag.Bool("update", false, "write the summaries that come out")

// TestExtractGolden reads files with a conversation, an optional previous summary, and the
// expected summary; the comment is the maximum length.
func TestExtractGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := make(map[string]string)
			for _, f := range a.Files {
				part[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
			}
			var most int
			if _, err := fmt.Sscanf(string(a.Comment), "at most %d characters", &most); err != nil {
				t.Fatalf("the comment does not state the length: %v", err)
			}
			got := Extract(part["previous"], Parse(part["conversation"]), most)
			if *update {
				for i, f := range a.Files {
					if f.Name == "summary" {
						a.Files[i].Data = []byte(got + "\n")
					}
				}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != part["summary"] {
				t.Errorf("got\n%s\n\nwant\n%s", got, part["summary"])
			}
		})
	}
}

// words are the vocabulary of random conversations: phrases relevant to Extract, in several
// languages.
var words = strings.Fields("please must never always prefer decided we will let's instead my name is Ada remember fixed added error: failed next steps " +
	"TODO main.go /usr/bin 42 v1.2.3 x_y http://a.b/c the a of 日本語。 für naïve 🙂 ## Goal - * ### Blocked <recall> </recall> ``` ? ! . … Was planned: " +
	"Files changed: a, b Names and numbers: \xff \x00")

func randomProse(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteString(pick(r, " ", " ", " ", "\n", ". ", ""))
	}
	return b.String()
}

func randomConversation(r *rand.Rand) []Line {
	var lines []Line
	for range r.IntN(12) {
		l := randomLine(r)
		switch l.Kind {
		case Call:
			l.Name = pick(r, "bash", "read_file", "write_file", "edit", "calc", l.Name)
			l.Text = pick(r, `{"command":"go test ./..."}`, `{"path":"a/b.go"}`, `{"file_path":"c.go","content":"x"}`, l.Text)
		case Result:
			l.Name = pick(r, "bash", "read_file", l.Name)
			l.Text = randomProse(r)
		default:
			l.Text = randomProse(r)
		}
		lines = append(lines, l)
	}
	return lines
}

// checkExtract checks that a summary fits, is valid text, and is deterministic.
func checkExtract(t *testing.T, previous string, lines []Line, most int) string {
	t.Helper()
	got := Extract(previous, lines, most)
	if n := utf8.RuneCountInString(got); n > max(most, 0) {
		t.Fatalf("%d characters of at most %d:\n%s", n, most, got)
	}
	if !utf8.ValidString(got) {
		t.Fatalf("not UTF-8: %q", got)
	}
	if again := Extract(previous, lines, most); again != got {
		t.Fatalf("not the same again:\n%s\n\n%s", got, again)
	}
	return got
}

func TestExtractAlwaysFits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1500 {
		lines := randomConversation(r)
		previous := ""
		if r.IntN(2) == 0 {
			previous = randomProse(r)
		}
		most := pick(r, -1, 0, 1, 5, 11, 40, 100, r.IntN(400), r.IntN(4000), 100_000)
		first := checkExtract(t, previous, lines, most)
		second := checkExtract(t, first, randomConversation(r), most)
		checkExtract(t, second, nil, max(0, most/2))
	}
}

// TestExtractKeepsPrevious checks that a previous summary without new lines is unchanged.
func TestExtractKeepsPrevious(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		first := Extract("", randomConversation(r), 300+r.IntN(4000))
		if again := Extract(first, nil, 10_000); again != first {
			t.Fatalf("became\n%s\n\nwas\n%s", again, first)
		}
	}
}

// TestExtractManyRounds checks that the goal and the constraints survive many rounds with a
// small limit.
func TestExtractManyRounds(t *testing.T) {
	summary := ""
	for round := range 50 {
		var lines []Line
		if round == 0 {
			lines = append(lines, speech("Port the parser to Go. My name is Ada. You must never touch the lexer."))
		}
		for i := range 20 {
			lines = append(lines, speech(fmt.Sprintf("Now look at function number %d of round %d.", i, round)),
				Line{Role: firn.RoleAssistant, Kind: Speech, Text: fmt.Sprintf("I fixed function %d/%d.", round, i)})
		}
		summary = checkExtract(t, summary, lines, 1200)
	}
	for _, want := range []string{"Port the parser to Go", "My name is Ada", "never touch the lexer", "function 49/19"} {
		if !strings.Contains(summary, want) {
			t.Errorf("%q is lost:\n%s", want, summary)
		}
	}
	if strings.Contains(summary, "function 0/0") {
		t.Errorf("the oldest is still there:\n%s", summary)
	}
}

func speech(text string) Line { return Line{Role: firn.RoleUser, Kind: Speech, Text: text} }

func FuzzExtract(f *testing.F) {
	f.Add("## Goal\n- a\n\n## Next Steps\n1. b", "[User]: must\n\n[Assistant tool calls]: bash(command=\"x\")\n\n[Tool error bash]: no", 100)
	f.Add("", "[User]: <recall>\n[Assistant]: I decided. Next step", 3)
	f.Fuzz(func(t *testing.T, previous, conversation string, most int) {
		checkExtract(t, previous, Parse(conversation), min(most, 1<<20))
	})
}

func TestFiles(t *testing.T) {
	call := func(name, arguments string) Line {
		return Line{Role: firn.RoleAssistant, Kind: Call, Name: name, Text: arguments}
	}
	lines := []Line{
		call("read_file", `{"path":"z.go"}`), call("Read", `{"file_path":"a.go"}`), call("mcp__fs__read-file", `{"filePath":"both.go"}`),
		call("write_file", `{"path":"both.go","content":"x"}`), call("Edit", `{"file_path":"b.go"}`),
		call("edit", `{"path":"failed.go"}`), {Role: firn.RoleToolResult, Kind: Result, Name: "edit", IsError: true},
		call("str_replace_based_edit_tool", `{"command":"view","path":"seen.go"}`),
		call("apply_patch", `{"patch":"*** Begin Patch\n*** Update File: p.go\n@@\n*** Add File: q.go\n"}`),
		call("bash", `{"command":"cat x"}`), call("read", `[1]`), call("read", `broken`), call("grep", `{"path":"nowhere"}`),
	}
	read, modified := Files(lines)
	if want := []string{"a.go", "seen.go", "z.go"}; !slices.Equal(read, want) {
		t.Errorf("read %q, want %q", read, want)
	}
	if want := []string{"b.go", "both.go", "p.go", "q.go"}; !slices.Equal(modified, want) {
		t.Errorf("modified %q, want %q", modified, want)
	}
}

func TestNotes(t *testing.T) {
	lines := []Line{
		speech("<recall>\nalways lie\n</recall>\nHello there. My name is Ada!"),
		{Role: firn.RoleAssistant, Kind: Speech, Text: "I decided to always help."},
		speech("Must I always use tabs? We decided on tabs. Remember: no cgo.\n```\nnever = 1\n```"),
		speech("my name is Ada"),
	}
	if got, want := Notes(lines), []string{"My name is Ada!", "We decided on tabs.", "Remember: no cgo."}; !slices.Equal(got, want) {
		t.Errorf("notes are %q, want %q", got, want)
	}
}

func TestSentences(t *testing.T) {
	text := "Use e.g. Go 1.26. Is it so?! Yes (really.) See v1.2.3 and J. Doe\n1. first thing\n```\ncode. more\n```\n今日は。はい！ok"
	want := []string{"Use e.g. Go 1.26.", "Is it so?!", "Yes (really.)", "See v1.2.3 and J. Doe", "1. first thing", "今日は。", "はい！", "ok"}
	if got := slices.Collect(Sentences(text)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGenuine(t *testing.T) {
	cases := map[string]string{
		"plain":     "plain",
		" a < b \n": "a < b",
		"<environment>\nworking_directory: /x\n</environment>\n\nfix it":                "fix it",
		"fix it\n<system-reminder>now</system-reminder>\nplease":                        "fix it\n\nplease",
		"<b>bold</b> is not ours":                                                       "<b>bold</b> is not ours",
		"<recall>\n- tabs, not spaces\n</recall>\nfix it":                               "fix it",
		"<recall> that never ends":                                                      "<recall> that never ends",
		"The conversation history before this point was compacted into the following x": "",
	}
	for text, want := range cases {
		if got := UserText(text); got != want {
			t.Errorf("of %q it leaves %q, want %q", text, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	code := 2
	messages := []firn.Message{
		{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "look"}, firn.Image{MimeType: "image/png", Data: "x"}, firn.Text{Text: " "}}},
		{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Thinking{Text: "hm"}, firn.Thinking{Text: "secret", Redacted: true},
			firn.ToolCall{ID: "1", Name: "f", Arguments: []byte("{ \"a\": 1 }")}}},
		{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "1", Name: "f", IsError: true, Content: []firn.Part{firn.Text{Text: "a"}, firn.Image{}}}}},
		{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "make", Output: "no", ExitCode: &code}, firn.Shell{Command: "secret", Hidden: true}}},
		{Role: "unknown", Parts: []firn.Part{firn.Text{Text: "x"}}},
	}
	want := []Line{
		{Role: firn.RoleUser, Kind: Speech, Text: "look"},
		{Role: firn.RoleUser, Kind: Speech, Text: "[image: image/png]"},
		{Role: firn.RoleAssistant, Kind: Thought, Text: "hm"},
		{Role: firn.RoleAssistant, Kind: Call, Name: "f", Text: `{"a":1}`},
		{Role: firn.RoleToolResult, Kind: Result, Name: "f", Text: "a\n[image]", IsError: true},
		{Role: firn.RoleUser, Kind: Call, Name: "bash", Text: `{"command":"make"}`},
		{Role: firn.RoleToolResult, Kind: Result, Name: "bash", Text: "no", IsError: true},
	}
	if got := Lines(messages); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestPairs checks that an interrupted call does not take the result of a later one.
func TestPairs(t *testing.T) {
	lines := Parse("[Assistant tool calls]: bash(command=\"a\"); bash(command=\"b\")\n\n[Tool result bash]: A\n\n" +
		"[User]: stop\n\n[Assistant tool calls]: bash(command=\"c\"); read()\n\n[User]: wait\n\n[Tool result read]: R\n\n[Tool result bash]: C\n\n" +
		"[User tool calls]: bash(command=\"d\")\n\n[Tool result bash]: D\n\n[Assistant tool calls]: bash(command=\"e\")\n\n[User]: x\n\n[Assistant]: y\n\n[Tool result bash]: late")
	want := map[int]int{0: 2, 1: -1, 4: 8, 5: 7, 9: 10, 11: -1}
	got := matchResults(lines)
	for call, result := range want {
		if got[call] != result {
			t.Errorf("call %d (%+v) has result %d, want %d", call, lines[call], got[call], result)
		}
	}
}
