package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/ops/doctor"
)

// The lines of the test transcripts.
const (
	header = `{"type":"session","version":3,"id":"s1","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w","firn":1,"agent":"main"}`
	ok     = header + "\n" // the start of a transcript
)

// messageLine returns the line of a message.
func messageLine(id, parent, text string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-11-15T02:45:47.243Z","message":{"role":"user","content":[{"type":"text","text":"` + text + `"}],"timestamp":1794710747206}}`
}

// talk returns a valid transcript of n messages, a1 to an.
func talk(n int) []string {
	lines := []string{header}
	parent := "null"
	for i := range n {
		id := fmt.Sprintf("a%d", i+1)
		lines = append(lines, messageLine(id, parent, fmt.Sprintf("message %d", i+1)))
		parent = id
	}
	return lines
}

func join(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// home creates a home with one session.
func home(t testing.TB, parts ...string) *faultfs.FS {
	t.Helper()
	fs := faultfs.New()
	for i, part := range parts {
		name := "/h/agents/main/sessions/s1.jsonl"
		if i > 0 {
			name = fmt.Sprintf("/h/agents/main/sessions/s1_part%d.jsonl", i+1)
		}
		if err := fs.Put(name, []byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

func verify(t testing.TB, fs *faultfs.FS) *doctor.Report {
	t.Helper()
	target, err := doctor.OpenHome(fs, "/h")
	if err != nil {
		t.Fatal(err)
	}
	report, err := doctor.Verify(context.Background(), target, doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// short formats findings as "severity kind line:offset entry".
func short(findings []doctor.Finding) []string {
	words := []string{}
	for _, f := range findings {
		s := fmt.Sprintf("%s %s", f.Severity, f.Kind)
		if f.At != nil {
			s += fmt.Sprintf(" %d:%d", f.At.Line, f.At.Offset)
		}
		if f.Entry != "" {
			s += " " + string(f.Entry)
		}
		if f.Repaired {
			s += " repaired"
		}
		words = append(words, s)
	}
	return words
}

// at returns the offset of line n of a text, counted from 1.
func at(text string, n int) int {
	offset := 0
	for range n - 1 {
		offset += strings.IndexByte(text[offset:], '\n') + 1
	}
	return offset
}

const (
	call       = `{"type":"message","id":"c1","parentId":"a1","timestamp":"2026-11-15T02:45:47.621Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"read","arguments":{}},{"type":"toolCall","id":"t2","name":"write","arguments":{}}],"stopReason":"toolUse","timestamp":1794710747452}}`
	result     = `{"type":"message","id":"r1","parentId":"c1","timestamp":"2026-11-15T02:45:49.751Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"read","content":[],"isError":false,"timestamp":1794710749751}}`
	lastResult = `{"type":"message","id":"r2","parentId":"r1","timestamp":"2026-11-15T02:45:49.751Z","message":{"role":"toolResult","toolCallId":"t2","toolName":"write","content":[],"isError":false,"timestamp":1794710749751}}`
	erased     = `{"type":"erased","id":"e1","parentId":"a1"}     `
)

// damages returns damaged transcripts with their expected findings.
func damages() map[string]struct {
	parts []string
	want  []string
} {
	four := talk(4)
	whole := join(four...)
	zeros := strings.Repeat("\x00", 16)
	second := len(ok)
	third := second + len(four[1]) + 1
	return map[string]struct {
		parts []string
		want  []string
	}{
		"sound":                    {[]string{whole}, nil},
		"only a header":            {[]string{ok}, nil},
		"empty":                    {[]string{""}, []string{"info empty"}},
		"parts":                    {[]string{join(four[:3]...), join(four[3:]...)}, nil},
		"blank lines":              {[]string{join(four[0], "", "  ", four[1])}, nil},
		"U+2028 in a text":         {[]string{join(header, messageLine("a1", "null", "a\u2028b"))}, nil},
		"not JSON":                 {[]string{join(header, "hello", four[1])}, []string{fmt.Sprintf("fault damaged 2:%d", second)}},
		"an array":                 {[]string{join(header, "[1]", four[1])}, []string{fmt.Sprintf("fault damaged 2:%d", second)}},
		"nothing but damage":       {[]string{"hello\n"}, []string{"fault damaged 1:0", "fault no-header"}},
		"zeros as a line":          {[]string{join(header, zeros, four[1])}, []string{fmt.Sprintf("fault nul 2:%d", second)}},
		"zeros before an entry":    {[]string{join(header, zeros+four[1])}, []string{fmt.Sprintf("fault nul 2:%d", second)}},
		"zeros at the end":         {[]string{whole + zeros}, []string{fmt.Sprintf("fault nul 6:%d", len(whole))}},
		"zeros after an entry":     {[]string{strings.TrimSuffix(whole, "\n") + zeros}, []string{fmt.Sprintf("warn no-newline 5:%d a4", at(whole, 5)), fmt.Sprintf("fault nul 5:%d", len(whole)-1)}},
		"a byte order mark":        {[]string{"\ufeff" + whole}, []string{"warn bom 1:0"}},
		"CRLF":                     {[]string{strings.ReplaceAll(whole, "\n", "\r\n")}, []string{"warn crlf 1:0"}},
		"glued":                    {[]string{join(header, four[1]+four[2], four[3])}, []string{fmt.Sprintf("fault glued 2:%d", second+len(four[1]))}},
		"three glued":              {[]string{join(header, four[1]+four[2]+four[3])}, []string{fmt.Sprintf("fault glued 2:%d", second+len(four[1])), fmt.Sprintf("fault glued 2:%d", second+len(four[1])+len(four[2]))}},
		"glued to a fragment":      {[]string{join(header, four[1]+four[2][:40]+four[3])}, []string{fmt.Sprintf("fault torn 2:%d", second+len(four[1])), fmt.Sprintf("fault dangling-parent 2:%d a3", second+len(four[1])+40)}},
		"torn tail":                {[]string{whole[:len(whole)-20]}, []string{fmt.Sprintf("fault torn 5:%d", at(whole, 5))}},
		"no newline":               {[]string{whole[:len(whole)-1]}, []string{fmt.Sprintf("warn no-newline 5:%d a4", at(whole, 5))}},
		"torn end of a part":       {[]string{join(four[:2]...) + four[2][:30], join(four[3:]...)}, []string{fmt.Sprintf("fault torn 3:%d", third), "fault dangling-parent 1:0 a3"}},
		"open end of a part":       {[]string{join(four[:2]...) + four[2], join(four[3:]...)}, []string{fmt.Sprintf("warn no-newline 3:%d a2", third)}},
		"invalid UTF-8":            {[]string{join(header, messageLine("a1", "null", "a\xffb"))}, []string{fmt.Sprintf("fault bad-text 2:%d a1", second+strings.IndexByte(messageLine("a1", "null", "a\xffb"), 0xff))}},
		"a lone surrogate":         {[]string{join(header, messageLine("a1", "null", `a\ud800b`))}, []string{fmt.Sprintf("warn bad-text 2:%d a1", second+strings.Index(messageLine("a1", "null", `a\ud800b`), `\ud800`))}},
		"a zero character":         {[]string{join(header, messageLine("a1", "null", `\\\u0000`))}, []string{fmt.Sprintf("warn bad-text 2:%d a1", second+strings.Index(messageLine("a1", "null", `\\\u0000`), `\u0000`))}},
		"a pair of surrogates":     {[]string{join(header, messageLine("a1", "null", `\ud83d\ude00`))}, nil},
		"no header":                {[]string{join(four[1:]...)}, []string{"fault no-header 1:0 a1"}},
		"a second header":          {[]string{join(header, four[1], header)}, []string{fmt.Sprintf("warn second-header 3:%d", third)}},
		"another's header":         {[]string{join(strings.Replace(header, "s1", "s2", 1), four[1])}, []string{"warn other-session 1:0"}},
		"a duplicate":              {[]string{join(header, four[1], messageLine("a1", "null", "again"))}, []string{fmt.Sprintf("fault duplicate-id 3:%d a1", third)}},
		"a lost parent":            {[]string{join(header, four[1], four[3])}, []string{fmt.Sprintf("fault dangling-parent 3:%d a3", third)}},
		"a parent after its child": {[]string{join(header, four[1], four[3], four[2])}, []string{fmt.Sprintf("fault parent-after 3:%d a3", third)}},
		"no parent":                {[]string{join(header, strings.Replace(four[1], `"parentId":null,`, "", 1))}, []string{fmt.Sprintf("warn no-parent 2:%d a1", second)}},
		"no id":                    {[]string{join(header, strings.Replace(four[1], `"id":"a1",`, "", 1))}, []string{fmt.Sprintf("warn no-id 2:%d", second)}},
		"a circle":                 {[]string{join(header, messageLine("x", "y", ""), messageLine("y", "x", ""))}, []string{fmt.Sprintf("fault parent-cycle 2:%d x", second)}},
		"its own parent":           {[]string{join(header, messageLine("x", "x", ""))}, []string{fmt.Sprintf("fault parent-cycle 2:%d x", second)}},
		"a cycle that remains":     {[]string{join(header, messageLine("x", "y", ""), messageLine("y", "x", ""), four[1])}, []string{fmt.Sprintf("warn parent-cycle 2:%d x", second)}},
		"a circle of a duplicate":  {[]string{join(header, messageLine("x", "null", ""), messageLine("y", "x", ""), messageLine("x", "y", ""))}, []string{fmt.Sprintf("fault duplicate-id 4:%d x", second+len(messageLine("x", "null", ""))+len(messageLine("y", "x", ""))+2), fmt.Sprintf("fault parent-cycle 3:%d y", second+len(messageLine("x", "null", ""))+1)}},
		"a message without role":   {[]string{join(header, `{"type":"message","id":"m","parentId":null,"timestamp":"2026-11-15T02:45:47.243Z","message":{}}`)}, []string{fmt.Sprintf("warn malformed 2:%d m", second)}},
		"an unknown type":          {[]string{join(header, `{"type":"novelty","id":"m","parentId":null}`)}, nil},
		"purged":                   {[]string{join(header, four[1], erased)}, []string{fmt.Sprintf("info erased 3:%d", third)}},
		"open calls":               {[]string{join(header, four[1], call)}, []string{fmt.Sprintf("info interrupted 3:%d c1", third)}},
		"one open call":            {[]string{join(header, four[1], call, result)}, []string{fmt.Sprintf("info interrupted 3:%d c1", third)}},
		"answered calls":           {[]string{join(header, four[1], call, result, lastResult)}, nil},
		"open calls, gone on":      {[]string{join(header, four[1], call, messageLine("n", "c1", "never mind"))}, nil},
	}
}

func TestVerifyFinds(t *testing.T) {
	for name, w := range damages() {
		t.Run(name, func(t *testing.T) {
			fs := home(t, w.parts...)
			got := short(verify(t, fs).Findings)
			if !slices.Equal(got, w.want) && len(got)+len(w.want) > 0 {
				t.Errorf("found\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(w.want, "\n\t"))
			}
			if n := fs.Count(faultfs.Changing); n > 0 {
				t.Errorf("%d operations changed something: %v", n, fs.Log(faultfs.Changing))
			}
		})
	}
}

func TestMissingParts(t *testing.T) {
	lines := talk(6)
	cases := map[string]struct{ gone, want []string }{
		"the first": {[]string{"s1.jsonl"}, []string{
			"missing-part s1.jsonl", "no-header s1_part2.jsonl", "dangling-parent s1_part2.jsonl",
		}},
		"one within": {[]string{"s1_part2.jsonl"}, []string{"missing-part s1_part2.jsonl", "dangling-parent s1_part3.jsonl"}},
		"too many": {[]string{"s1.jsonl", "s1_part2.jsonl"}, []string{
			"missing-part s1.jsonl", "missing-part s1_part3.jsonl", "missing-part s1_part4.jsonl",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fs := home(t, join(lines[:2]...), join(lines[2]), join(lines[3]), join(lines[4]))
			for _, name := range c.gone {
				if err := fs.Remove("/h/agents/main/sessions/" + name); err != nil {
					t.Fatal(err)
				}
			}
			got := []string{}
			for _, f := range verify(t, fs).Findings {
				got = append(got, fmt.Sprintf("%s %s", f.Kind, path.Base(f.File)))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

func TestSideFiles(t *testing.T) {
	fs := home(t, ok)
	for _, name := range []string{"s1.jsonl.torn-7", "s1.jsonl.rescued-0"} {
		if err := fs.Put("/h/agents/main/sessions/"+name, []byte("abc")); err != nil {
			t.Fatal(err)
		}
	}
	got := short(verify(t, fs).Findings)
	if want := []string{"warn saved-aside", "info saved-aside repaired"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	fs := home(t, ok+strings.Repeat("x\n", 1000))
	r := verify(t, fs)
	if len(r.Findings) != 20 || r.Unlisted[doctor.Damaged] != 980 || r.Faults != 1000 || r.Faulty != 1 {
		t.Errorf("%d listed, %v not, %d faults in %d sessions", len(r.Findings), r.Unlisted, r.Faults, r.Faulty)
	}
}

func TestForeignFilesAreOnlyRead(t *testing.T) {
	fs := faultfs.New()
	claude := `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"x","message":{"role":"user","content":"hi"},"timestamp":"2026-11-15T02:40:15.042Z"}`
	if err := fs.Put("/d/c.jsonl", []byte(claude+"\nnot json\n"+claude[:50])); err != nil {
		t.Fatal(err)
	}
	target, err := doctor.Find(fs, "/h", "/d/c.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	report, err := doctor.Verify(context.Background(), target, doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"info foreign", fmt.Sprintf("fault damaged 2:%d", len(claude)+1), fmt.Sprintf("fault torn 3:%d", len(claude)+10)}
	if got := short(report.Findings); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	plan, err := doctor.Repair(context.Background(), target, doctor.Options{})
	if err != nil || len(plan.Steps) > 0 || len(plan.Left) != 2 {
		t.Errorf("repaired a foreign file: %v, %v", plan, err)
	}
}

// TestNoFailureIsHidden fails each operation once: there must be an error or a fault, or
// everything was read.
func TestNoFailureIsHidden(t *testing.T) {
	const of = faultfs.Open | faultfs.Read | faultfs.Stat | faultfs.ReadDir
	lines := talk(3)
	reported := 0
	for n := 1; ; n++ {
		fs := home(t, join(lines[:2]...), join(lines[2:]...))
		fs.FailNth(n, faultfs.Fault{Of: of})
		report, err := open(fs, doctor.Verify)
		if fs.Waiting() > 0 {
			break
		}
		if err == nil && report.OK() && report.Entries < len(lines) {
			t.Errorf("call %d failed, %d entries were read and nothing was reported", n, report.Entries)
		}
		if err != nil || !report.OK() {
			reported++
		}
	}
	if reported < 5 {
		t.Errorf("only %d failures were reported", reported)
	}
}

type action = func(context.Context, doctor.Target, doctor.Options) (*doctor.Report, error)

func open(fs *faultfs.FS, do action) (*doctor.Report, error) {
	target, err := doctor.OpenHome(fs, "/h")
	if err != nil {
		return nil, err
	}
	return do(context.Background(), target, doctor.Options{})
}

func TestCancelled(t *testing.T) {
	fs := home(t, join(talk(15000)...))
	target, err := doctor.OpenHome(fs, "/h")
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range []action{doctor.Verify, doctor.Examine} {
		ctx, cancel := context.WithCancel(context.Background())
		report, err := act(ctx, target, doctor.Options{Progress: func(done, total int64) {
			if done >= total {
				t.Error("it continued to the end")
			}
			cancel()
		}})
		if !errors.Is(err, context.Canceled) || report != nil {
			t.Errorf("the error is %v", err)
		}
	}
}
