package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
)

// specimen is a transcript of the corpus.
type specimen struct {
	tool dialect.Tool
	name string
	text []byte
}

// corpus reads the transcripts of the dialects' own tests.
func corpus(t *testing.T) []specimen {
	t.Helper()
	var all []specimen
	for _, tool := range dialects.Others() {
		dir := filepath.Join("..", "dialect", string(tool.Name()), "testdata")
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || path.Ext(name) != ".jsonl" || strings.Contains(name, "fuzz") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			all = append(all, specimen{tool, name, text})
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if len(all) < 20 {
		t.Fatalf("the corpus has only %d transcripts", len(all))
	}
	return all
}

func (s specimen) source() convert.Source { return from(s.tool, s.name, s.text) }

func from(tool dialect.Tool, name string, text []byte) convert.Source {
	origin := dialect.Origin{Transcript: dialect.Transcript{ID: "specimen", Parts: []string{name}}}
	return convert.Transcript(tool, origin, func() iter.Seq2[[]byte, error] { return convert.Lines(bytes.NewReader(text), 0) })
}

// each runs a test over the corpus.
func each(t *testing.T, do func(t *testing.T, s specimen)) {
	for _, s := range corpus(t) {
		t.Run(string(s.tool.Name())+"/"+strings.ReplaceAll(s.name, "/", ":"), func(t *testing.T) { do(t, s) })
	}
}

// write converts a source.
func write(t *testing.T, src convert.Source, to dialect.Tool) ([]byte, *convert.Report) {
	t.Helper()
	var out bytes.Buffer
	report := &convert.Report{}
	target := dialect.Target{Session: "specimen", CWD: "/home/u/specimen", Agent: "main"}
	if err := convert.Write(t.Context(), &out, src, to, target, report); err != nil {
		t.Fatalf("to %s: %v", to.Name(), err)
	}
	if n := report.Same + report.Reencoded + report.Changed + report.Left; n > report.Total() {
		t.Errorf("to %s: %d entries are reported, %d were read", to.Name(), n, report.Total())
	}
	back := src.Tool == to.Name() || src.Tool == dialect.Native // damaged lines are restored as they were
	for line := range bytes.Lines(out.Bytes()) {
		if !back && !json.Valid(line) {
			t.Fatalf("to %s: this is not JSON: %.200s", to.Name(), line)
		}
	}
	return out.Bytes(), report
}

// TestConvertToNativeAndBack checks that every line, even an unreadable one, is restored byte
// for byte after a conversion to firn's own format.
func TestConvertToNativeAndBack(t *testing.T) {
	ours := dialects.All()[0]
	each(t, func(t *testing.T, s specimen) {
		kept, _ := write(t, s.source(), ours)
		back, report := write(t, from(ours, "specimen.jsonl", kept), s.tool)
		if string(back) != string(s.text) {
			t.Errorf("the result of the round trip differs: %s\nreport %+v", firstDifference(string(back), string(s.text)), report)
		}
	})
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("line %d of %d (want %d)\n got %.300s\nwant %.300s", i, len(a), len(b), x, y)
		}
	}
	return fmt.Sprintf("at the end: %d bytes, want %d", len(got), len(want))
}

// TestConvertToEveryToolAndBack checks that texts, calls and results for the model are the
// same after a conversion to any tool and back.
func TestConvertToEveryToolAndBack(t *testing.T) {
	each(t, func(t *testing.T, s specimen) {
		want := conversation(t, s.source())
		for _, to := range dialects.All() {
			out, report := write(t, s.source(), to)
			got := conversation(t, from(to, "specimen.jsonl", out))
			if got != want && report.Changed+report.Left == 0 {
				t.Errorf("to %s, with nothing lost: %s", to.Name(), firstDifference(got, want))
			}
			if strings.TrimSpace(got) == "" && strings.TrimSpace(want) != "" {
				t.Errorf("to %s: nothing is left (%+v)", to.Name(), report)
			}
			t.Logf("to %s: same %v", to.Name(), got == want)
		}
	})
}

// conversation returns the messages for the model, in short form.
func conversation(t *testing.T, src convert.Source) string {
	t.Helper()
	st := memstore.New(memstore.Options{})
	if _, err := convert.Import(t.Context(), st, "s", src, &convert.Report{}); err != nil {
		t.Fatalf("import from %s: %v", src.Tool, err)
	}
	path, err := window.Collect(st.ReadBack(t.Context(), "s", store.End))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, item := range window.Build(path, window.Options{Profile: window.Anthropic()}).Items {
		writeParts(&b, string(item.Message.Role), item.Message.Parts)
	}
	return b.String()
}

// writeParts writes texts, calls and results, one per line, so that their grouping in
// messages does not matter.
func writeParts(b *strings.Builder, who string, parts []firn.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case firn.Text:
			for line := range strings.SplitSeq(p.Text, "\n") {
				if line = strings.TrimSpace(line); line != "" {
					fmt.Fprintf(b, "%s: %s\n", who, line)
				}
			}
		case firn.ToolCall:
			fmt.Fprintf(b, "call %s\n", p.Name)
		case firn.ToolResult:
			writeParts(b, "result", p.Content)
		}
	}
}

// hasGap reports whether a line has data that is not an object.
func hasGap(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\n")
		if rawjson.IsBlank(line) || rawjson.Valid(line) == nil {
			continue
		}
		for _, piece := range rawjson.Split(line) {
			if piece.Kind != rawjson.Complete && piece.Kind != rawjson.BOM {
				return true
			}
		}
	}
	return false
}
