package grep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// shelf creates files with the given lines and equal modification times, so that they are
// found in the order of their names.
func shelf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(1_700_000_000, 0)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runSearch runs a search and returns its matches.
func runSearch(t *testing.T, dir, pattern string, o Options) ([]Match, Summary) {
	t.Helper()
	files, err := Files(vfs.OS{}, o.Expand != nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Pattern = regexp.MustCompile(pattern)
	var all []Match
	s, err := Run(context.Background(), vfs.OS{}, files, o, func(m Match) error {
		all = append(all, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, s
}

func TestRun(t *testing.T) {
	dir := shelf(t, map[string]string{
		"a/one.jsonl": `{"type":"message","id":"m1","message":{"role":"user","content":"say \"hi\"\nor caf\u00e9"}}` + "\n" +
			"not json at all, but a needle\n" + `{"id":"torn","text":"needle`,
		"a/one_part2.jsonl": `{"uuid":"m2","type":"assistant","text":"` + strings.Repeat("x", 300_000) + `needle"}` + "\n",
		"other.txt":         "needle",
	})
	found := func(pattern string) string {
		all, _ := runSearch(t, dir, pattern, Options{})
		var where []string
		for _, m := range all {
			where = append(where, fmt.Sprintf("%s:%d:%s", m.Session, m.Line, m.Entry))
		}
		return strings.Join(where, " ")
	}
	for pattern, want := range map[string]string{
		"needle": "one:2: one:3: one:1:m2", `say "hi"`: "one:1:m1", "café": "one:1:m1", `(?s)hi.*or`: "one:1:m1", `"hi".or`: "", "(?m)^or ": "one:1:m1", "nowhere": "",
	} {
		if got := found(pattern); got != want {
			t.Errorf("%s is found at %q, want %q", pattern, got, want)
		}
	}
}

// TestBlocks checks that lines are numbered the same whether they are searched or only
// counted, wherever the buffer ends.
func TestBlocks(t *testing.T) {
	var text strings.Builder
	var want []int
	for i := range 9000 {
		switch {
		case i == 4000:
			text.WriteString(strings.Repeat("long ", 200_000) + "needle")
			want = append(want, i+1)
		case i%1700 == 1234:
			text.WriteString(strings.Repeat("n", i%700) + `n\u0065edle`)
			want = append(want, i+1)
		case i%1300 == 999:
			text.WriteString(strings.Repeat("x", i%700) + "needle")
			want = append(want, i+1)
		default:
			text.WriteString(strings.Repeat("hay ", i%97))
		}
		if i < 8999 {
			text.WriteByte('\n')
		}
	}
	dir := shelf(t, map[string]string{"a.jsonl": text.String(), "b.jsonl": "\n\nneedle", "c.jsonl": ""})
	all, s := runSearch(t, dir, "needle", Options{})
	var got []int
	for _, m := range all {
		got = append(got, m.Line)
	}
	if want = append(want, 3); !slices.Equal(got, want) {
		t.Errorf("found in the lines %v, want %v", got, want)
	}
	if size := int64(text.Len() + len("\n\nneedle")); s.Bytes != size || s.Files != 3 {
		t.Errorf("%d bytes of %d files were read, want %d", s.Bytes, s.Files, size)
	}
}

func TestBounds(t *testing.T) {
	dir := shelf(t, map[string]string{"a.jsonl": strings.Repeat(`{"text":"needle `+strings.Repeat("y", 5000)+"\"}\n", 50), "b.jsonl": "needle\n"})
	all, s := runSearch(t, dir, "needle", Options{MaxMatches: 7, Width: 100})
	if len(all) != 7 || !s.More || s.Matches != 7 {
		t.Errorf("%d were reported, of %+v", len(all), s)
	}
	for _, m := range all {
		if len(m.Text) > 100+2*len("…") || !strings.Contains(m.Text, "needle") {
			t.Errorf("%d bytes were reported", len(m.Text))
		}
	}
	if all, s := runSearch(t, dir, "needle", Options{}); len(all) != 51 || s.More {
		t.Errorf("%d were reported, of %+v", len(all), s)
	}
}

func TestSecrets(t *testing.T) {
	dir := shelf(t, map[string]string{"a.jsonl": `{"text":"the password=hunter2hunter2 is here"}` + "\n"})
	for _, pattern := range []string{"password", "hunter2", "here"} {
		if all, _ := runSearch(t, dir, pattern, Options{}); len(all) != 1 || strings.Contains(all[0].Text, "hunter2") {
			t.Errorf("%s reports %v", pattern, all)
		}
	}
	if all, _ := runSearch(t, dir, "password", Options{Secrets: true}); !strings.Contains(all[0].Text, "hunter2") {
		t.Errorf("it was requested: %v", all)
	}
}

func TestFaults(t *testing.T) {
	dir := shelf(t, map[string]string{"a.jsonl": "needle\n", "b.jsonl.zst": "zipped needle\n"})
	bad := func(io.Reader) (io.ReadCloser, error) { return nil, errors.New("not today") }
	all, s := runSearch(t, dir, "needle", Options{Expand: bad})
	if len(all) != 1 || len(s.Failed) != 1 || !strings.Contains(s.Failed[0], "not today") {
		t.Errorf("%v, %+v", all, s)
	}
	plain := func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(r), nil }
	if all, s := runSearch(t, dir, "needle", Options{Expand: plain}); len(all) != 2 || s.Files != 2 {
		t.Errorf("%v, %+v", all, s)
	}
	if all, _ := runSearch(t, dir, "needle", Options{}); len(all) != 1 {
		t.Errorf("%v", all)
	}
	torn := func(r io.Reader) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(r, strings.NewReader("another needle\nhalf"), iotest.ErrReader(errors.New("checksum")))), nil
	}
	if all, s := runSearch(t, dir, "needle", Options{Expand: torn}); len(all) != 3 || len(s.Failed) != 1 || !strings.Contains(s.Failed[0], "checksum") {
		t.Errorf("before the damage: %v, %+v", all, s)
	}
	stop := errors.New("enough")
	_, err := Run(context.Background(), vfs.OS{}, []string{filepath.Join(dir, "a.jsonl")}, Options{Pattern: regexp.MustCompile("e")}, func(Match) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, vfs.OS{}, []string{filepath.Join(dir, "a.jsonl")}, Options{Pattern: regexp.MustCompile("e")}, func(Match) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestChoose(t *testing.T) {
	dir := shelf(t, map[string]string{"s/abcd-1.jsonl": "", "s/abcd-1_part2.jsonl": "", "s/abcd-1_part10.jsonl": "", "s/wxyz.jsonl": ""})
	all, err := Files(vfs.OS{}, false, dir, filepath.Join(dir, "missing"))
	if err != nil || len(all) != 4 {
		t.Fatalf("%v, %v", all, err)
	}
	names := func(chosen []string) string {
		var out []string
		for _, path := range chosen {
			out = append(out, filepath.Base(path))
		}
		return strings.Join(out, " ")
	}
	if got, err := Choose(vfs.OS{}, false, all, []string{"abcd"}); err != nil || names(got) != "abcd-1.jsonl abcd-1_part2.jsonl abcd-1_part10.jsonl" {
		t.Errorf("%s, %v", names(got), err)
	}
	if got, err := Choose(vfs.OS{}, false, all, []string{filepath.Join(dir, "s", "wxyz.jsonl"), dir}); err != nil || len(got) != 5 {
		t.Errorf("%s, %v", names(got), err)
	}
	for _, name := range []string{"abc", "nobody", filepath.Join(dir, "no")} {
		if _, err := Choose(vfs.OS{}, false, all, []string{name}); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReadable compares Readable with encoding/json.
func FuzzReadable(f *testing.F) {
	for _, s := range []string{`a\nb`, `\u00e9\ud83d\ude00`, `\\n`, `\ud800`, `\x`, `\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Readable([]byte(text))
		var want string
		if quoted := `"` + text + `"`; json.Unmarshal([]byte(quoted), &want) == nil && json.Valid([]byte(quoted)) {
			if !bytes.Equal(got, bytes.TrimRight([]byte(want), "\r\n")) && !strings.ContainsAny(text, "\r\n") && !strings.HasSuffix(want, "\n") && !strings.HasSuffix(want, "\r") && strings.ToValidUTF8(text, "") == text {
				t.Errorf("%q becomes %q, want %q", text, got, want)
			}
		}
	})
}
