package card_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/render/card"
	"firn.dev/wire"
)

func message(role firn.Role, parts ...firn.Part) firn.Entry {
	return firn.Entry{ID: "e1", Parent: "e0", Time: time.UnixMilli(5).UTC(), Body: &firn.Message{Role: role, Parts: parts}}
}

// TestCards checks the card of each kind of entry.
func TestCards(t *testing.T) {
	code := 3
	for name, c := range map[string]struct {
		entry firn.Entry
		want  string
	}{
		"user":      {message(firn.RoleUser, firn.Text{Text: "hi *you*"}), `{"id":"e1","parent":"e0","kind":"message","role":"user","time":"1970-01-01T00:00:00.005Z","blocks":[{"kind":"text","html":"<p>hi <em>you</em></p>\n","bytes":8}],"tokens":2,"bytes":0}`},
		"thinking":  {message(firn.RoleAssistant, firn.Thinking{Text: "hm\nwell"}, firn.Thinking{Redacted: true, Signature: "x"}), `"blocks":[{"kind":"thinking","html":"<p>hm\nwell</p>\n","preview":"hm well","bytes":7},{"kind":"thinking","preview":"redacted by the provider","bytes":1}]`},
		"call":      {message(firn.RoleAssistant, firn.ToolCall{ID: "c1", Name: "run", Arguments: json.RawMessage(`{"command":"ls -l"}`)}), `"kind":"call","html":"<pre class=\"code\"><code class=\"language-json\">{\n  <span class=\"ha\">&#34;command&#34;</span>: <span class=\"hs\">&#34;ls -l&#34;\n</span>}</code></pre>","call":"c1","name":"run","preview":"ls -l","bytes":19`},
		"only text": {message(firn.RoleAssistant, firn.ToolCall{ID: "c1", Name: "calc", Arguments: json.RawMessage(`{"expression":"6*7"}`)}), `"name":"calc","preview":"6*7"`},
		"result":    {message(firn.RoleToolResult, firn.ToolResult{CallID: "c1", Name: "run", IsError: true, Details: json.RawMessage(`{"ms":12}`), Content: []firn.Part{firn.Text{Text: "<b>\x1b[31mno\x1b[0m"}, firn.Image{MimeType: "image/png", Data: "AAAA"}}}), `"role":"tool","time":"1970-01-01T00:00:00.005Z","blocks":[{"kind":"result","html":"<pre class=\"term\">&lt;b&gt;<span class=\"tf1\">no</span></pre>","call":"c1","name":"run","preview":"<b>no","failed":true,"ms":12,"bytes":14},{"kind":"image","bytes":3,"src":"/v1/sessions/s1/entries/e1/images/1","mimeType":"image/png"}]`},
		"shell":     {message(firn.RoleShell, firn.Shell{Command: "ls", Output: "a", ExitCode: &code}), `{"kind":"result","html":"<pre class=\"term\">a</pre>","name":"shell","preview":"a","failed":true,"tool":"shell","exit":3,"bytes":1}`},
		"svg":       {message(firn.RoleUser, firn.Image{MimeType: "image/svg+xml", Data: "AAAA"}), `[{"kind":"image","preview":"an image that cannot be shown","bytes":3,"mimeType":"image/svg+xml"}]`},
		"error":     {firn.Entry{ID: "e1", Body: &firn.Message{Role: firn.RoleAssistant, Provider: "p", Model: "m", StopReason: firn.StopError, Error: "no\nway", Usage: &firn.Usage{Input: 1, Output: 2}}}, `"provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"cost":0,"answers":1},"stop":"error","error":"no way"`},
		"sender":    {firn.Entry{ID: "e1", Extra: firn.Fields{{Name: "sender", Value: json.RawMessage(`"Ann"`)}}, Body: &firn.Message{Role: firn.RoleUser}}, `"sender":"Ann"`},
		"masked":    {firn.Entry{ID: "e1", Extra: firn.Fields{{Name: "masked", Value: json.RawMessage(`2`)}}, Body: &firn.Message{Role: firn.RoleUser}}, `"masked":2,"bytes":0`},
		"not masks": {firn.Entry{ID: "e1", Extra: firn.Fields{{Name: "masked", Value: json.RawMessage(`-2`)}}, Body: &firn.Message{Role: firn.RoleUser}}, `"role":"user","bytes":0}`},
		"compacted": {firn.Entry{ID: "e1", Time: time.UnixMilli(5).UTC(), Body: &firn.Compaction{Summary: "it was", TokensBefore: 9, Details: json.RawMessage(`{"tokensAfter":4,"strategy":"model","reason":"manual"}`)}}, `"blocks":[{"kind":"text","html":"<p>it was</p>\n","bytes":6}],"compaction":{"id":"e1","before":9,"after":4,"strategy":"model","reason":"manual","at":"1970-01-01T00:00:00.005Z"}`},
		"header":    {firn.Entry{Body: &firn.Header{CWD: "/w"}}, `"note":"session started in /w"`},
		"tombstone": {firn.Entry{Body: &firn.Tombstone{Target: "x", Reason: "wrong"}}, `"note":"hides x: wrong"`},
		"label":     {firn.Entry{Body: &firn.Label{Target: "x", Name: "<b>"}}, `"note":"x labeled “<b>”"`},
		"title":     {firn.Entry{Body: &firn.Title{Name: "a\u202eb"}}, `"note":"titled: a�b","bookkeeping":true`},
		"model":     {firn.Entry{Body: &firn.ModelChange{Provider: "p", Model: "m"}}, `"note":"model changed to p/m"`},
		"thinks":    {firn.Entry{Body: &firn.ThinkingChange{Level: "high"}}, `"note":"thinking level changed to high"`},
		"head":      {firn.Entry{Body: &firn.Head{}}, `"note":"rewound to here"`},
		"branch":    {firn.Entry{Body: &firn.BranchSummary{Summary: "left"}}, `"note":"summary of an abandoned branch"`},
		"type":      {firn.Entry{Body: &firn.Custom{Type: "firn.counters"}}, `"type":"firn.counters","note":"counters"`},
		"custom":    {firn.Entry{Body: &firn.Custom{Type: "firn.reset", Data: json.RawMessage(`{}`)}}, `"note":"key reset","blocks":[{"kind":"other"`},
		"injected":  {firn.Entry{Body: &firn.CustomMessage{Type: "memory", Parts: []firn.Part{firn.Text{Text: "x"}}}}, `"role":"system","note":"injected: memory"`},
		"opaque":    {firn.Entry{Body: &firn.Opaque{Type: "odd", Raw: json.RawMessage(`{"type":"odd"}`)}}, `"note":"an entry of unknown type: odd"`},
		"erased":    {firn.Entry{Body: &firn.Opaque{Type: firn.KindErased}}, `"note":"this entry was erased"`},
		"nothing":   {firn.Entry{ID: "e1", Parent: firn.Root}, `{"id":"e1","kind":"","bytes":0}`},
	} {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(card.Render(c.entry, card.Options{Session: "s1"})); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%s is\n%s want\n%s %v", name, b.String(), c.want, err)
		}
	}
}

// TestCut checks that a truncated card is small and marked as truncated.
func TestCut(t *testing.T) {
	long := strings.Repeat("a word \"quoted\" & <more>\n\n", 4000)
	var parts []firn.Part
	for range 30 {
		parts = append(parts, firn.Text{Text: long}, firn.ToolCall{Name: "x", Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<16) + `"}`)})
	}
	whole := card.Render(message(firn.RoleAssistant, parts...), card.Options{})
	cut := card.Render(message(firn.RoleAssistant, parts...), card.Options{Cut: 8 << 10})
	encoded, err := json.Marshal(cut)
	if err != nil || !cut.Cut || whole.Cut || len(encoded) > 150<<10 {
		t.Errorf("cut %v %v, %d bytes, %v", cut.Cut, whole.Cut, len(encoded), err)
	}
	if b := cut.Blocks[0]; !b.Cut || b.Bytes != int64(len(long)) || !strings.HasPrefix(whole.Blocks[0].HTML, b.HTML[:100]) {
		t.Errorf("%+v", b)
	}
	if b := card.Render(message(firn.RoleUser, firn.Text{Text: "short"}), card.Options{Cut: 8 << 10}); b.Cut || b.Blocks[0].Cut {
		t.Errorf("%+v", b)
	}
}

// TestMask: every text goes through the mask.
func TestMask(t *testing.T) {
	mask := func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	e := message(firn.RoleAssistant, firn.Text{Text: "hunter2"}, firn.Thinking{Text: "hunter2"}, firn.ToolCall{ID: "hunter2", Name: "hunter2", Arguments: json.RawMessage(`"hunter2"`)},
		firn.ToolResult{Content: []firn.Part{firn.Text{Text: "hunter2"}}}, firn.Shell{Command: "hunter2", Output: "hunter2"}, firn.OpaquePart{Type: "hunter2", Raw: json.RawMessage(`"hunter2"`)})
	e.Body.(*firn.Message).Error = "hunter2"
	for _, entry := range []firn.Entry{e, {Body: &firn.Title{Name: "hunter2"}}, {Body: &firn.Compaction{Summary: "hunter2"}}, {Body: &firn.Custom{Type: "hunter2", Data: json.RawMessage(`"hunter2"`)}}, {Body: &firn.CustomMessage{Type: "hunter2"}}} {
		encoded, err := json.Marshal(card.Render(entry, card.Options{Mask: mask}))
		if err != nil || strings.Contains(string(encoded), "hunter2") || !strings.Contains(string(encoded), "secret") {
			t.Errorf("%s %v", encoded, err)
		}
	}
}

// TestLine: a line has nothing in it that steers.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "": "", " a  b\n\tc ": "a b c", "\u202eevil\u202c gpj.exe": "�evil� gpj.exe", "a\x1b[31mb\x03\x15": "a [31mb", "fire\u200bfox\ufeff\U000e0041": "firefox", "日本 é 👩\u200d👧": "日本 é 👩\u200d👧", "seven letters": "seven le…",
	} {
		runes := 100
		if text == "seven letters" {
			runes = 7
		}
		if got := card.Line(text, runes); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestWorkLimit checks that text beyond the work limit is rendered as plain text, and that cards
// share a limit.
func TestWorkLimit(t *testing.T) {
	work := 4000
	o := card.Options{Work: &work}
	set := func(text string) bool {
		return strings.Contains(card.Render(message(firn.RoleUser, firn.Text{Text: text}), o).Blocks[0].HTML, "<em>")
	}
	if !set("*a*"+strings.Repeat(" word", 200)) || work > 3000 {
		t.Errorf("an ordinary text is not set; %d is left", work)
	}
	if set("*a*" + strings.Repeat("\n\nx", 100)) {
		t.Error("more paragraphs than there is work for are set")
	}
	if !set("*a*"+strings.Repeat(" a@b.example", 100)) || work > 1000 {
		t.Errorf("what much comes of is little work: %d is left", work)
	}
	if set("*a*" + strings.Repeat(" word", 200)) {
		t.Error("it is set although no work is left")
	}
	o.Work = nil
	if !set("*a*"+strings.Repeat(" word", 200)) || set("*a*"+strings.Repeat("\n\nx", 1<<15)) {
		t.Error("one entry alone may be as much work as it likes, or none")
	}
}

// harmful matches unsafe tags. All text is escaped, so anything that looks like a tag is
// one.
var harmful = regexp.MustCompile(`(?i)<(script|style|iframe|img|svg|object|embed|form|input|button|link|meta|base|div)|<[a-z0-9]+[^>]*\s(on[a-z]+|style|src|srcdoc|id)\s*=|href="[^hm]`)

// FuzzCard tries lines of transcripts: there is a card of each, and no harm in it.
func FuzzCard(f *testing.F) {
	raw, err := os.ReadFile("../richtext/testdata/xss.txt")
	if err != nil {
		f.Fatal(err)
	}
	for i, c := range strings.Split(string(raw), "\n") {
		s, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		for _, form := range []string{
			`{"type":"message","id":"a","message":{"role":"user","content":X}}`,
			`{"type":"message","id":"a","message":{"role":"assistant","provider":X,"model":X,"errorMessage":X,"content":[{"type":"text","text":X},{"type":"thinking","thinking":X},{"type":"toolCall","id":X,"name":X,"arguments":{"command":X}}]}}`,
			`{"type":"message","id":"a","message":{"role":"toolResult","toolCallId":X,"toolName":X,"content":[{"type":"text","text":X},{"type":"image","mimeType":X,"data":X}]}}`,
			`{"type":"message","id":"a","message":{"role":"bashExecution","command":X,"output":X}}`,
			`{"type":"compaction","id":"a","summary":X,"details":{"strategy":X}}`,
			`{"type":"session_info","id":"a","name":X}`, `{"type":X,"id":X,"x":X}`, `{"type":"custom","id":"a","customType":X,"data":X}`, `{"type":"label","id":"a","targetId":X,"label":X}`,
		} {
			if i%7 == 0 || strings.HasPrefix(form, `{"type":"message"`) {
				f.Add([]byte(strings.ReplaceAll(form, "X", string(s))), i%2 == 0)
			}
		}
	}
	decoder := native.New()
	f.Fuzz(func(t *testing.T, line []byte, cut bool) {
		entry, err := decoder.Decode(line)
		if err != nil {
			return
		}
		o := card.Options{Session: "s"}
		if cut {
			o.Cut = 300
		}
		c := card.Render(entry, o)
		for _, b := range c.Blocks {
			if bad := harmful.FindString(b.HTML); bad != "" {
				t.Errorf("%s: %s in %s", line, bad, b.HTML)
			}
			if b.Src != "" && !strings.HasPrefix(b.Src, "/v1/sessions/s/entries/") {
				t.Errorf("an image from %s", b.Src)
			}
		}
		if encoded, err := json.Marshal(c); err != nil || json.Unmarshal(encoded, &wire.Card{}) != nil {
			t.Errorf("it cannot be encoded: %v", err)
		}
	})
}

// TestReferences checks that an approval names its call, and the start of a sub-agent its
// session.
func TestReferences(t *testing.T) {
	for _, c := range []struct{ kind, data, call, session string }{
		{"firn.approval.asked", `{"call":"c1","name":"x"}`, "c1", ""},
		{"firn.approval.answered", `{"call":"c2"}`, "c2", ""},
		{"firn.spawned", `{"session":"s1"}`, "", "s1"},
		{"firn.spawned", `{"session":7}`, "", ""},
		{"firn.approval.asked", `null`, "", ""},
		{"other", `{"call":"c3","session":"s3"}`, "", ""},
	} {
		got := card.Render(firn.Entry{ID: "e", Body: &firn.Custom{Type: c.kind, Data: json.RawMessage(c.data)}}, card.Options{})
		call := ""
		if len(got.Blocks) > 0 {
			call = got.Blocks[0].Call
		}
		if call != c.call || string(got.Session) != c.session {
			t.Errorf("%s %s: call %q and session %q", c.kind, c.data, call, got.Session)
		}
	}
}
