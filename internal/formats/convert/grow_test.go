package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialects"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
)

// FIRN_CUTS=all tries every line and 200 bytes of every transcript, FIRN_SEED selects the
// bytes and the generated transcripts, and FIRN_CORPUS names a directory with more
// transcripts.
func cutsOf(t *testing.T, text []byte, seed uint64) []int {
	t.Helper()
	var cuts []int
	for i, c := range text {
		if c == '\n' && i+1 < len(text) {
			cuts = append(cuts, i+1)
		}
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(text))))
	count := 200
	if os.Getenv("FIRN_CUTS") != "all" {
		most := max(2, min(6, 100_000/len(text)))
		random.Shuffle(len(cuts), func(i, j int) { cuts[i], cuts[j] = cuts[j], cuts[i] })
		cuts, count = cuts[:min(len(cuts), most)], most
	}
	for range count {
		cuts = append(cuts, 1+random.IntN(len(text)))
	}
	return cuts
}

// seedOf returns the seed of this run.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("FIRN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("FIRN_SEED: %v", err)
		}
	}
	t.Logf("FIRN_SEED=%d", seed)
	return seed
}

// furtherCorpus reads the transcripts below the given directory.
func furtherCorpus(t *testing.T) (all []specimen) {
	t.Helper()
	dir := os.Getenv("FIRN_CORPUS")
	if dir == "" {
		return nil
	}
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(name) != ".jsonl" {
			return err
		}
		tool, err := dialects.OfFile(name)
		if err != nil {
			t.Logf("%s: %v", name, err)
			return nil
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all = append(all, specimen{tool, filepath.ToSlash(rel), text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// everything returns the corpus with the hard cases.
func everything(t *testing.T) []specimen {
	t.Helper()
	all := append(corpus(t), hardCases(t, seedOf(t))...)
	return append(all, furtherCorpus(t)...)
}

// imported imports versions of a transcript into a new store, one after the other.
func imported(t *testing.T, s specimen, texts ...[]byte) store.Store {
	t.Helper()
	// Some tools record no times: then that of the import is used.
	st := memstore.New(memstore.Options{Now: func() time.Time { return time.UnixMilli(1_800_000_000_000) }})
	for i, text := range texts {
		if !begun(from(s.tool, s.name, text)) {
			continue // an import rejects it
		}
		added, err := convert.Import(t.Context(), st, "s", from(s.tool, s.name, text), &convert.Report{})
		if err != nil {
			t.Fatalf("import %d bytes: %v", len(text), err)
		}
		if added == 0 {
			continue
		}
		counters := firn.Entry{ID: firn.EntryID(fmt.Sprintf("counters%d", i)), Body: &firn.Custom{Type: firn.CountersType, Data: []byte(`{"turns":0}`)}}
		if _, err := st.Append(t.Context(), "s", store.Any, counters); err != nil { // a gateway does this too
			t.Fatal(err)
		}
	}
	return st
}

// begun reports whether a transcript can be imported.
func begun(src convert.Source) bool {
	for t := range src.Entries(&convert.Report{}) {
		if convert.Importable([]dialect.EntryLines{t}) {
			return true
		}
	}
	return false
}

// exported writes a session as a tool's transcript.
func exported(t *testing.T, st store.Store, to dialect.Tool) ([]byte, *convert.Report) {
	t.Helper()
	var out bytes.Buffer
	report := &convert.Report{}
	target := dialect.Target{Session: "s", Title: titleOf(t, st), CWD: "/home/u/specimen", Agent: "main"}
	if err := convert.Write(t.Context(), &out, convert.Stored(t.Context(), st, "s", dialect.Native), to, target, report); err != nil {
		t.Fatalf("export to %s: %v", to.Name(), err)
	}
	return out.Bytes(), report
}

// titleOf returns the effective title.
func titleOf(t *testing.T, st store.Store) string {
	t.Helper()
	var title firn.Title
	for record, err := range st.Read(t.Context(), "s", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if e, err := record.Entry(); err == nil {
			if b, ok := e.Body.(*firn.Title); ok && b.Beats(title) {
				title = *b
			}
		}
	}
	return title.Name
}

// conversationOf returns the path to the last entry without hidden entries, in a comparable
// form.
func conversationOf(t *testing.T, st store.Store) string {
	t.Helper()
	var tree firn.Tree
	var entries []firn.Entry
	for record, err := range st.Read(t.Context(), "s", store.Start) {
		if err != nil || record.Gap != nil {
			t.Fatal(err, record.Gap)
		}
		e, err := record.Entry()
		if err != nil {
			t.Fatal(err)
		}
		if tree.Add(record.At, record.Glance) >= 0 {
			entries = append(entries, e)
		}
	}
	hidden := tree.Hidden()
	var b strings.Builder
	for _, n := range tree.Path(tree.Head()) {
		e := entries[n]
		if c, ok := e.Body.(*firn.Custom); ok && c.Type == firn.CountersType {
			continue
		}
		if convert.IsReimportTombstone(e) || hidden[e.ID] || isEnd(e) {
			continue
		}
		body, err := json.Marshal(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %T %s\n", convert.FirstID(e.ID), e.Body, body)
	}
	return b.String()
}

// isEnd reports whether an entry only records the end of the transcript: one is added if
// only that changed since the last import.
func isEnd(e firn.Entry) bool {
	c, ok := e.Body.(*firn.Custom)
	return ok && strings.HasSuffix(c.Type, ":"+dialect.End)
}

// windowsOf returns the windows of all providers.
func windowsOf(t *testing.T, st store.Store) string {
	t.Helper()
	path, err := window.Collect(st.ReadBack(t.Context(), "s", store.End))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, profile := range window.Profiles() {
		w := window.Build(path, window.Options{Profile: profile})
		fmt.Fprintf(&b, "%s: %s\n", profile.Name, w.System)
		for _, item := range w.Items {
			m, err := json.Marshal(item.Message)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", m)
		}
	}
	return b.String()
}

// TestGrown checks that a transcript imported while the tool was writing it, and again when
// it was complete, equals a single import.
func TestGrown(t *testing.T) {
	seed := seedOf(t)
	for _, s := range everything(t) {
		t.Run(string(s.tool.Name())+"/"+strings.ReplaceAll(s.name, "/", ":"), func(t *testing.T) {
			whole := imported(t, s, s.text)
			path, windows := conversationOf(t, whole), windowsOf(t, whole)
			exports := make(map[dialect.Name]string)
			for _, to := range dialects.Others() {
				out, _ := exported(t, whole, to)
				exports[to.Name()] = string(out)
			}
			for _, cut := range cutsOf(t, s.text, seed) {
				grown := imported(t, s, s.text[:cut], s.text)
				if got := conversationOf(t, grown); got != path {
					t.Fatalf("cut at byte %d: the session differs: %s", cut, firstDifference(got, path))
				}
				if got := windowsOf(t, grown); got != windows {
					t.Fatalf("cut at byte %d: the windows differ: %s", cut, firstDifference(got, windows))
				}
				for _, to := range dialects.Others() {
					if out, _ := exported(t, grown, to); string(out) != exports[to.Name()] {
						t.Fatalf("cut at byte %d: the export to %s differs: %s", cut, to.Name(), firstDifference(string(out), exports[to.Name()]))
					}
				}
			}
		})
	}
}

// TestImportedBytesRoundTrip checks that an imported transcript is restored byte for byte,
// and that the report agrees.
func TestImportedBytesRoundTrip(t *testing.T) {
	for _, s := range everything(t) {
		t.Run(string(s.tool.Name())+"/"+strings.ReplaceAll(s.name, "/", ":"), func(t *testing.T) {
			st := imported(t, s, s.text)
			back, report := exported(t, st, s.tool)
			if string(back) != string(s.text) {
				t.Errorf("the bytes differ, with %d the same, %d re-encoded, %d changed, %d left: %s",
					report.Same, report.Reencoded, report.Changed, report.Left, firstDifference(string(back), string(s.text)))
			}
			stored, _ := write(t, from(native.NewTool(), "s.jsonl", []byte(nativeOf(t, st))), s.tool)
			if string(stored) != string(s.text) {
				t.Errorf("the bytes that firn's files hold differ: %s", firstDifference(string(stored), string(s.text)))
			}
			if !report.Lossless() && report.Damaged == 0 {
				t.Errorf("the bytes are the same, but the report is: %+v", report)
			}
			again := imported(t, s, s.text, s.text)
			if got, want := nativeOf(t, again), nativeOf(t, st); got != want {
				t.Errorf("importing it twice adds something: %s", firstDifference(got, want))
			}
		})
	}
}

// nativeOf returns the lines of a session as firn stores them.
func nativeOf(t *testing.T, st store.Store) string {
	t.Helper()
	var out []byte
	for record, err := range st.Read(t.Context(), "s", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := record.Entry()
		if err == nil {
			out, err = native.New().Append(out, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, '\n')
	}
	return string(out)
}

// TestTitleFileAfterImport checks that a title set in a separate file after the import is
// added, and that neither it nor later entries start a new tree.
func TestTitleFileAfterImport(t *testing.T) {
	claude, _ := dialects.Find(string(dialect.ClaudeCode))
	text := claudeParallel(rand.New(rand.NewPCG(3, 41)))
	st := memstore.New(memstore.Options{})
	for _, title := range []string{"", "Named", "Named"} {
		origin := dialect.Origin{Transcript: dialect.Transcript{ID: "s", Title: title}}
		src := convert.Transcript(claude, origin, func() iter.Seq2[[]byte, error] { return convert.Lines(bytes.NewReader(text), 0) })
		if _, err := convert.Import(t.Context(), st, "s", src, &convert.Report{}); err != nil {
			t.Fatalf("with the title %q: %v", title, err)
		}
	}
	if got := titleOf(t, st); got != "Named" {
		t.Errorf("the title is %q", got)
	}
	plain := imported(t, specimen{claude, "s.jsonl", text}, text)
	if got, want := windowsOf(t, st), windowsOf(t, plain); got != want {
		t.Errorf("the windows differ: %s", firstDifference(got, want))
	}
	back, _ := exported(t, st, claude)
	if string(back) != string(text) {
		t.Errorf("the bytes differ: %s", firstDifference(string(back), string(text)))
	}
}

// TestShorterCopy checks that a shorter copy of an imported transcript adds and hides
// nothing.
func TestShorterCopy(t *testing.T) {
	seed := seedOf(t)
	for _, s := range hardCases(t, seed) {
		want := nativeOf(t, imported(t, s, s.text))
		for _, cut := range cutsOf(t, s.text, seed) {
			if got := nativeOf(t, imported(t, s, s.text, s.text[:cut])); got != want {
				t.Fatalf("%s %s, cut at byte %d: %s", s.tool.Name(), s.name, cut, firstDifference(got, want))
			}
		}
	}
}

// TestGrownInSteps checks that a transcript imported in many steps equals a single import.
func TestGrownInSteps(t *testing.T) {
	seed := seedOf(t)
	for i, s := range hardCases(t, seed) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		var texts [][]byte
		for at := 0; at < len(s.text); at += 1 + random.IntN(len(s.text)/6+1) {
			texts = append(texts, s.text[:at])
		}
		whole, grown := imported(t, s, s.text), imported(t, s, append(texts, s.text)...)
		if got, want := conversationOf(t, grown), conversationOf(t, whole); got != want {
			t.Fatalf("%s %s: the session differs: %s", s.tool.Name(), s.name, firstDifference(got, want))
		}
		if got, want := windowsOf(t, grown), windowsOf(t, whole); got != want {
			t.Fatalf("%s %s: the windows differ: %s", s.tool.Name(), s.name, firstDifference(got, want))
		}
		if back, _ := exported(t, grown, s.tool); string(back) != string(s.text) {
			t.Fatalf("%s %s: the bytes differ: %s", s.tool.Name(), s.name, firstDifference(string(back), string(s.text)))
		}
	}
}

// TestCountersStay checks that firn's counters are not written to the tool, and that later
// entries have the right parent.
func TestCountersStay(t *testing.T) {
	claude, _ := dialects.Find(string(dialect.ClaudeCode))
	text := claudeParallel(rand.New(rand.NewPCG(3, 41)))
	st := imported(t, specimen{claude, "s.jsonl", text}, text)
	counters := firn.NewEntry(&firn.Custom{Type: firn.CountersType, Data: []byte(`{"turns":1}`)})
	if _, err := st.Append(t.Context(), "s", store.Any, counters); err != nil {
		t.Fatal(err)
	}
	back, report := exported(t, st, claude)
	if string(back) != string(text) || !report.Lossless() {
		t.Errorf("the bytes differ, %+v: %s", report, firstDifference(string(back), string(text)))
	}
	if _, err := st.Append(t.Context(), "s", store.Any, firn.UserText("and now?")); err != nil {
		t.Fatal(err)
	}
	for _, to := range dialects.Others() {
		out, _ := exported(t, st, to)
		if got := conversation(t, from(to, "s.jsonl", out)); !strings.Contains(got, "user: go\n") || !strings.Contains(got, "user: and now?\n") {
			t.Errorf("%s reads\n%s", to.Name(), got)
		}
	}
}
