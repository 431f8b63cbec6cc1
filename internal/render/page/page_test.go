package page_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"firn.dev"
	"firn.dev/internal/render/page"
)

func items(entries ...firn.Entry) iter.Seq2[page.Item, error] {
	return func(yield func(page.Item, error) bool) {
		for _, e := range entries {
			if !yield(page.Item{Entry: e}, nil) {
				return
			}
		}
	}
}

func write(t *testing.T, about page.About, all iter.Seq2[page.Item, error]) string {
	t.Helper()
	var b strings.Builder
	if err := page.Write(&b, about, all); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func entry(id firn.EntryID, body firn.Body) firn.Entry {
	return firn.Entry{ID: id, Time: time.UnixMilli(1794795115470).UTC(), Body: body}
}

// dot is the smallest PNG.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestPage checks that all messages are on the page and readable without scripts.
func TestPage(t *testing.T) {
	key := "sk-" + strings.Repeat("aB3dE5gH", 5)
	got := write(t, page.About{Session: "s1", Title: "A <trip> " + key, Agent: "main", Created: time.UnixMilli(0).UTC(), Updated: time.UnixMilli(1e9).UTC(), Branch: true}, items(
		entry("", &firn.Header{Session: "s1"}),
		entry("e1", &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "My key is " + key + ", *keep* it"}, firn.Image{MimeType: "image/png", Data: dot}, firn.Image{MimeType: "image/svg+xml", Data: "PHN2Zy8+"}, firn.Image{MimeType: "image/png", Data: "PHN2Zy8+"}}}),
		entry("e2", &firn.Message{Role: firn.RoleAssistant, Model: "m", Parts: []firn.Part{firn.Thinking{Text: "hmm"}, firn.Text{Text: "## Yes\n\n```go\nfunc f() {}\n```"}, firn.ToolCall{ID: "c", Name: "run", Arguments: json.RawMessage(`{"command":"export TOKEN=` + key + `"}`)}}}),
		entry("e3", &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "c", Name: "run", IsError: true, Content: []firn.Part{firn.Text{Text: "no\x1b[0m"}}}}}),
		entry("e4", &firn.Compaction{Summary: "they spoke", TokensBefore: 900}),
		entry("e5", &firn.ModelChange{Provider: "p", Model: "n"}),
		entry("e6", &firn.Custom{Type: "firn.counters", Data: json.RawMessage(`{"x":1}`)}),
		entry("e7", &firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Error: "it broke off"}),
	))
	for _, want := range []string{
		"<title>A &lt;trip&gt; [secret]</title>", "<h1>A &lt;trip&gt; [secret]</h1>", "agent main", `<time datetime="1970-01-01T00:00:00Z">`,
		"My key is [secret], <em>keep</em> it", `<img alt="image" src="data:image/png;base64,` + dot + `">`, "An image that cannot be shown (image/svg+xml",
		`<details class="thinking"><summary>Thinking`, "<h4>Yes</h4>", `<span class="hk">func `, `<details class="call"><summary>Calls run`, `<details class="result"><summary>Result of run, failed`, `<pre class="term">no</pre>`,
		`<details class="compaction" id="e-e4"><summary>Compacted: about 900 tokens`, "model changed to p/n", `<p class="error">it broke off</p>`, "assistant (m)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, bad := range []string{key, "<script", "counters", "http://", "https://", "svg+xml;base64"} {
		if strings.Contains(got, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	if !strings.Contains(got, `<meta http-equiv="Content-Security-Policy" content="`+page.Policy()+`">`) || strings.Contains(page.Policy(), "unsafe") {
		t.Errorf("the policy is %s", page.Policy())
	}
}

// TestNoSecretOnPage checks that no secret or part of one is on the page, whatever its author,
// and however it is colored, formatted or split.
func TestNoSecretOnPage(t *testing.T) {
	body := strings.Repeat("aB3dE5gH", 5)
	ghp, half := "ghp_"+body, "E5gHaB3d"
	for name, text := range map[string]string{
		"an environment":         "HOME=/x\nGITHUB_TOKEN=" + body + "\nMY_SECRET=" + body + "\nAWS_SESSION_TOKEN=" + body + "\nDB_PASS=" + body + "\nOPENAI_KEY=" + body,
		"in colors":              "ghp_\x1b[0m" + body + " password\x1b[0m: \x1b[32m" + body + "\x1b[0m",
		"written over":           "ghp_\rghp_" + body + "\r\n",
		"firn's own":             "firn_" + body + "abc /login#" + strings.Repeat("ABCDE234", 3) + "AB Cookie: firn-7931=firn_" + body + "abc",
		"after bold":             "**Password:** " + body,
		"escaped":                "ghp\\_" + body,
		"after much white space": strings.Repeat(" ", 2540) + ghp,
		"after empty lines":      strings.Repeat("\n", 2545) + ghp,
		"at the end of a line":   strings.Repeat("words and ", 15) + ghp,
		"in code":                "```yaml\npassword: \"" + body + "\"\n```\n\n    export A_TOKEN=" + body,
		"in a table":             "| a | b |\n|---|---|\n| x | `" + ghp + "` |",
	} {
		raw, err := json.Marshal(map[string]string{"command": text, "other": text})
		if err != nil {
			t.Fatal(err)
		}
		odd, err := json.Marshal([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		masked(t, name, half, page.About{Session: "s", Title: text, Agent: text}, func(yield func(page.Item, error) bool) {
			_ = yield(page.Item{Gap: text}, nil) && yield(page.Item{Label: text, Entry: entry("e", &firn.Message{
				Role: firn.RoleAssistant, Model: text, Error: text,
				Parts: []firn.Part{firn.Text{Text: text}, firn.Thinking{Text: text}, firn.ToolCall{ID: "c", Name: "run", Arguments: raw}, firn.ToolCall{ID: "d", Name: "run", Arguments: odd},
					firn.ToolResult{CallID: "c", Content: []firn.Part{firn.Text{Text: text}}}, firn.Shell{Command: text, Output: text}, firn.OpaquePart{Type: "x", Raw: odd}},
			})}, nil) && yield(page.Item{Entry: entry("x", &firn.Title{Name: text})}, nil) && yield(page.Item{Entry: entry("y", &firn.Compaction{Summary: text})}, nil) &&
				yield(page.Item{Entry: entry("z", &firn.Custom{Type: "odd", Data: odd})}, nil)
		})
	}
	// Secrets that only Markdown syntax hides are found in rendered Markdown.
	for name, text := range map[string]string{
		"an entity": "ghp&#95;" + body,
		"half bold": "ghp_" + body[:6] + "**" + body[6:] + "**",
		"a link":    "[here](https://a.example/?access_token=" + body + ") or <https://a.example/?api_key=" + body + ">",
	} {
		masked(t, name, half, page.About{Session: "s"}, items(
			entry("e", &firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: text}, firn.Thinking{Text: text}}}), entry("y", &firn.Compaction{Summary: text})))
	}
}

// masked checks that a part of a secret is not on a page.
func masked(t *testing.T, name, part string, about page.About, all iter.Seq2[page.Item, error]) {
	t.Helper()
	got := write(t, about, all)
	if at := strings.Index(got, part); at >= 0 {
		t.Errorf("%s: …%s…", name, got[max(0, at-300):min(len(got), at+100)])
	}
	if !strings.Contains(got, "[secret]") {
		t.Errorf("%s: nothing was masked", name)
	}
}

// TestExpensiveTextIsPlain checks that expensive text is rendered as plain text while the
// text before and after it is rendered as Markdown.
func TestExpensiveTextIsPlain(t *testing.T) {
	say := func(text string) firn.Entry {
		return entry("e", &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}})
	}
	got := write(t, page.About{}, items(say("a *b*"), say(strings.Repeat("<div>\n\n", 1<<17)), say("c *d*")))
	if strings.Count(got, "<pre") != 1 || !strings.Contains(got, "<em>b</em>") || !strings.Contains(got, "<em>d</em>") {
		t.Errorf("%d pieces are unmasked", strings.Count(got, "<pre"))
	}
}

// TestCorpus checks that no unsafe input does harm, wherever it occurs.
func TestCorpus(t *testing.T) {
	raw, err := os.ReadFile("../richtext/testdata/xss.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		quoted, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		got := write(t, page.About{Session: firn.ID(c), Title: c, Agent: c, Source: c}, func(yield func(page.Item, error) bool) {
			_ = yield(page.Item{Gap: c}, nil) && yield(page.Item{Label: c, Hidden: true, Entry: entry(firn.EntryID(c), &firn.Message{
				Role: firn.RoleAssistant, Provider: c, Model: c, Error: c, StopReason: firn.StopReason(c),
				Parts: []firn.Part{firn.Text{Text: c}, firn.Thinking{Text: c}, firn.ToolCall{ID: c, Name: c, Arguments: quoted}, firn.ToolResult{CallID: c, Name: c, Content: []firn.Part{firn.Text{Text: c}}}, firn.Image{MimeType: c, Data: c}, firn.OpaquePart{Type: c, Raw: quoted}},
			})}, nil) && yield(page.Item{Entry: entry("x", &firn.Title{Name: c})}, nil) && yield(page.Item{Entry: entry("y", &firn.Compaction{Summary: c})}, nil) &&
				yield(page.Item{Entry: entry("z", &firn.Message{Role: firn.Role(c), Parts: []firn.Part{firn.Text{Text: c}}})}, nil) && yield(page.Item{Entry: entry("v", &firn.Custom{Type: c, Data: quoted})}, nil)
		})
		if bad := unsafePart(got); bad != "" {
			t.Errorf("%q: %s", c, bad)
		}
	}
}

var elements = regexp.MustCompile(`^(html|head|meta|title|style|body|header|main|footer|article|details|summary|time|h[1-6]|p|br|hr|ul|ol|li|blockquote|pre|code|span|em|strong|del|a|img|table|thead|tbody|tr|th|td)$`)

// unsafePart returns the unsafe part of a page.
func unsafePart(text string) string {
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return ""
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		token := z.Token()
		if !elements.MatchString(token.Data) {
			return "<" + token.Data + ">"
		}
		for _, a := range token.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", a.Key == "src" && !strings.HasPrefix(a.Val, "data:image/"), a.Key == "href" && !strings.HasPrefix(a.Val, "http") && !strings.HasPrefix(a.Val, "mailto:"):
				return token.String()
			}
		}
	}
}

// pipe counts the bytes written.
type pipe struct{ n int }

func (p *pipe) Write(b []byte) (int, error) { p.n += len(b); return len(b), nil }

// TestStreams checks that a page is written entry by entry and that an error in the middle
// is returned.
func TestStreams(t *testing.T) {
	out := &pipe{}
	err := page.Write(out, page.About{Session: "s1"}, func(yield func(page.Item, error) bool) {
		for i := range 2000 {
			if held := i*1000 - out.n; held > 200<<10 {
				t.Errorf("%d bytes are withheld", held)
				return
			}
			if !yield(page.Item{Entry: entry("e", &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: strings.Repeat("word ", 200)}}})}, nil) {
				return
			}
		}
		yield(page.Item{}, io.ErrUnexpectedEOF)
	})
	if !errors.Is(err, io.ErrUnexpectedEOF) || out.n < 2000*1000/2 {
		t.Errorf("%v after %d bytes", err, out.n)
	}
	if err := page.Write(broken{}, page.About{}, items()); err == nil {
		t.Error("a page that cannot be written is not an error")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, fmt.Errorf("the disk is full") }
