package window_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/window"
)

// clawResult is a result in OpenClaw's golden file of pruning: the call ID, the length, and
// the last 90 characters.
type clawResult struct {
	id   string
	size int
	end  string
}

// readPruned reads a case: role names and results.
func readPruned(t *testing.T, raw json.RawMessage) (roles []string, results []clawResult) {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range list {
		var role string
		var r clawResult
		if json.Unmarshal(item, &role) != nil {
			role = "result"
			if err := json.Unmarshal(item, &[]any{&r.id, &r.size, &r.end}); err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		}
		roles = append(roles, role)
	}
	return roles, results
}

var trimmedOf = regexp.MustCompile(`of (\d+) chars\.\]$`)

// unpruned returns the input path of a case. Each result repeats one letter to the length
// given in the golden file.
func unpruned(roles []string, results []clawResult) window.Path {
	var bodies []firn.Body
	for i, role := range roles {
		switch role {
		case "user":
			bodies = append(bodies, userBody("u"))
		case "assistant":
			m := assistantBody("a")
			if i+1 < len(roles) && roles[i+1] == "result" {
				m.Parts = append(m.Parts, firn.ToolCall{ID: results[0].id, Name: "exec", Arguments: json.RawMessage("{}")})
			}
			bodies = append(bodies, m)
		case "result":
			r := results[0]
			results = results[1:]
			if of := trimmedOf.FindStringSubmatch(r.end); of != nil {
				r.size, _ = strconv.Atoi(of[1])
			}
			bodies = append(bodies, resultBody(r.id, "exec", strings.Repeat(r.end[:1], r.size)))
		}
	}
	return pathOf(bodies...)
}

func resultBody(id, tool string, texts ...string) *firn.Message {
	r := firn.ToolResult{CallID: id, Name: tool}
	for _, text := range texts {
		r.Content = append(r.Content, firn.Text{Text: text})
	}
	return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r}}
}

// contents returns the text of each result of a path.
func contents(p window.Path) []string {
	var texts []string
	for _, e := range p.Entries {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleToolResult {
			texts = append(texts, firn.JoinText(m.Parts[0].(firn.ToolResult).Content))
		}
	}
	return texts
}

// TestOpenClawPruning checks that pruning gives OpenClaw's result and has OpenClaw's defaults.
func TestOpenClawPruning(t *testing.T) {
	var golden map[string]json.RawMessage
	if err := json.Unmarshal(readFile(t, "testdata/openclaw/pruning.json"), &golden); err != nil {
		t.Fatal(err)
	}
	var s struct {
		KeepLastAssistants            int
		SoftTrimRatio, HardClearRatio float64
		MinPrunableToolChars          int
		SoftTrim                      struct{ MaxChars, HeadChars, TailChars int }
		HardClear                     struct {
			Enabled     bool
			Placeholder string
		}
	}
	if err := json.Unmarshal(golden["settings"], &s); err != nil {
		t.Fatal(err)
	}
	delete(golden, "settings")
	check(t, "cases", len(golden), 4)
	reported := window.Pruning{
		KeepLastAssistants: s.KeepLastAssistants, SoftTrimRatio: s.SoftTrimRatio, HardClearRatio: s.HardClearRatio,
		MinPrunableChars: s.MinPrunableToolChars, SoftTrim: s.SoftTrim,
		HardClear: window.HardClear{Disabled: !s.HardClear.Enabled, Placeholder: s.HardClear.Placeholder},
	}
	for name, raw := range golden {
		roles, want := readPruned(t, raw)
		for _, settings := range []window.Pruning{reported, {}} {
			texts := contents(unpruned(roles, want).Prune(settings, 5000))
			check(t, name+": results", len(texts), len(want))
			for i, text := range texts {
				check(t, fmt.Sprint(name, ": length of result ", i), len(text), want[i].size)
				check(t, fmt.Sprint(name, ": end of result ", i), text[len(text)-90:], want[i].end)
			}
		}
	}
}

// TestOpenClawHistoryLimit checks that Limit keeps the same turns as OpenClaw.
func TestOpenClawHistoryLimit(t *testing.T) {
	var cases [][2]json.RawMessage
	if err := json.Unmarshal(readFile(t, "testdata/openclaw/history_limit.json"), &cases); err != nil {
		t.Fatal(err)
	}
	read := func(raw json.RawMessage) []window.Item {
		var messages []clawMessage
		if err := json.Unmarshal(raw, &messages); err != nil {
			t.Fatal(err)
		}
		return clawItems(t, messages)
	}
	all := window.Path{Entries: entriesOf(read(cases[0][1]))} // the first case has no limit
	check(t, "cases", len(cases), 4)
	for _, c := range cases {
		limit, err := strconv.Atoi(string(c[0]))
		if err != nil {
			t.Fatal(err)
		}
		got := window.Build(all.Limit(limit), window.Options{}).Items
		check(t, fmt.Sprint("limit ", limit), bare(got), bare(read(c[1])))
	}
}

// busy returns a path with the given number of rounds, each with a result of the given number
// of characters, and a final answer.
func busy(results, size int) window.Path {
	bodies := []firn.Body{userBody("u")}
	for i := range results {
		id := fmt.Sprint(i)
		m := assistantBody("")
		m.Parts = []firn.Part{firn.ToolCall{ID: id, Name: "exec", Arguments: json.RawMessage("{}")}}
		bodies = append(bodies, m, resultBody(id, "exec", strings.Repeat("x", size)))
	}
	return pathOf(append(bodies, assistantBody("done"))...)
}

// sizes formats the lengths of results, run-length encoded.
func sizes(p window.Path) string {
	var words []string
	texts := contents(p)
	for i := 0; i < len(texts); {
		n := i
		for n < len(texts) && len(texts[n]) == len(texts[i]) {
			n++
		}
		words = append(words, fmt.Sprintf("%d*%d", n-i, len(texts[i])))
		i = n
	}
	return strings.Join(words, " ")
}

func TestPrune(t *testing.T) {
	wide := func(f func(*window.Pruning)) window.Pruning {
		var pr window.Pruning
		f(&pr)
		return pr
	}
	tests := []struct {
		name            string
		results, size   int
		settings        window.Pruning
		tokens          int64
		want, firstRuns string
	}{
		{"room enough", 8, 10000, window.Pruning{}, 67000, "8*10000", ""},
		{"three tenths are used", 8, 10000, window.Pruning{}, 66000, "6*3087 2*10000", "pruned:e3-e3*1@0"},
		{"the window is not known", 8, 10000, window.Pruning{}, 0, "8*10000", ""},
		{"cleared while half is used", 40, 5000, window.Pruning{}, 50000, "10*33 28*3086 2*5000", "pruned:e3-e3*1@0"},
		{"cleared all", 40, 5000, window.Pruning{}, 100, "38*33 2*5000", "pruned:e3-e3*1@0"},
		{"never cleared", 40, 5000, wide(func(p *window.Pruning) { p.HardClear.Disabled = true }), 100, "38*3086 2*5000", "pruned:e3-e3*1@0"},
		{"exactly as much is used", 4, 5000, window.Pruning{SoftTrimRatio: 20029. / 40000}, 10000, "2*3086 2*5000", "pruned:e3-e3*1@0"},
		{"a little less is used", 4, 5000, window.Pruning{SoftTrimRatio: 20030. / 40000}, 10000, "4*5000", ""},
		{"exactly enough to clear", 3, 5000, window.Pruning{MinPrunableChars: 3086}, 100, "1*33 2*5000", "pruned:e3-e3*1@0"},
		{"a little less than enough", 3, 5000, window.Pruning{MinPrunableChars: 3087}, 100, "1*3086 2*5000", "pruned:e3-e3*1@0"},
		{"as long as may be", 3, 4000, window.Pruning{}, 100, "3*4000", ""},
		{"one longer", 3, 4001, window.Pruning{}, 100, "1*3086 2*4001", "pruned:e3-e3*1@0"},
		{"too little to clear", 18, 5000, window.Pruning{}, 100, "16*3086 2*5000", "pruned:e3-e3*1@0"},
		{"enough to clear", 19, 5000, window.Pruning{}, 100, "17*33 2*5000", "pruned:e3-e3*1@0"},
		{"without a least", 3, 5000, wide(func(p *window.Pruning) { p.MinPrunableChars = -1 }), 100, "1*33 2*5000", "pruned:e3-e3*1@0"},
		{"all are old", 3, 5000, wide(func(p *window.Pruning) { p.KeepLastAssistants = -1 }), 100, "3*3086", "pruned:e3-e3*1@0"},
		{"one is new", 3, 5000, wide(func(p *window.Pruning) { p.KeepLastAssistants = 2 }), 100, "2*3086 1*5000", "pruned:e3-e3*1@0"},
		{"as many as there are", 2, 5000, window.Pruning{}, 100, "2*5000", ""},
		{"another placeholder", 3, 5000, wide(func(p *window.Pruning) { p.MinPrunableChars, p.HardClear.Placeholder = 1, "gone" }), 100, "1*4 2*5000", "pruned:e3-e3*1@0"},
		{"nothing shorter than the placeholder is cleared", 40, 20, wide(func(p *window.Pruning) { p.MinPrunableChars = 1 }), 100, "40*20", ""},
		{"another head and tail", 3, 5000, wide(func(p *window.Pruning) { p.SoftTrim = window.SoftTrim{MaxChars: 10, HeadChars: 7, TailChars: -1} }), 100, "1*87 2*5000", "pruned:e3-e3*1@0"},
		{"not worth it", 3, 200, wide(func(p *window.Pruning) { p.SoftTrim = window.SoftTrim{MaxChars: 10, HeadChars: 60, TailChars: 60} }), 100, "3*200", ""},
		{"allowed", 3, 5000, window.Pruning{Allow: []string{"read", "EX*"}}, 100, "1*3086 2*5000", "pruned:e3-e3*1@0"},
		{"not allowed", 3, 5000, window.Pruning{Allow: []string{"read"}}, 100, "3*5000", ""},
		{"denied", 3, 5000, window.Pruning{Allow: []string{"exec"}, Deny: []string{"*x*c"}}, 100, "3*5000", ""},
		{"another denied", 3, 5000, window.Pruning{Deny: []string{"x*", "*xe", "execc", "e*c*c", ""}}, 100, "1*3086 2*5000", "pruned:e3-e3*1@0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := busy(tt.results, tt.size)
			got := p.Prune(tt.settings, tt.tokens)
			check(t, "results", sizes(got), tt.want)
			first, _, _ := strings.Cut(outs(got), " ")
			check(t, "first out", first, tt.firstRuns)
			check(t, "what was given", sizes(p), fmt.Sprintf("%d*%d", tt.results, tt.size))
		})
	}
}

func TestPruneTouchesOnlyResults(t *testing.T) {
	long := strings.Repeat("y", 5000)
	picture := resultBody("2", "see", long)
	r := picture.Parts[0].(firn.ToolResult)
	seen := r
	seen.Content = append(slices.Clip(r.Content), firn.Image{MimeType: "image/png", Data: "AAAA"})
	picture.Parts = []firn.Part{seen}
	failed := resultBody("3", "exec", long)
	failed.Parts = []firn.Part{firn.ToolResult{CallID: "3", Name: "exec", IsError: true, Details: json.RawMessage(`{"d":1}`), Content: []firn.Part{firn.Text{Text: long}}}}
	p := pathOf(
		resultBody("0", "exec", long), userBody(long), assistantBody(long), resultBody("1", "exec", "é"+long, long+"😀"), &firn.Label{},
		failed, picture, &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.Text{Text: long}}},
		&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r, firn.Text{Text: "beside it"}}}, assistantBody("x"), assistantBody("x"), assistantBody("x"),
	)
	got := p.Prune(window.Pruning{SoftTrim: window.SoftTrim{HeadChars: 3, TailChars: 3}}, 100)
	check(t, "out", outs(got), "pruned:e4-e6*2@0")
	for i := range p.Entries {
		if i != 3 && i != 5 && got.Entries[i].Body != p.Entries[i].Body {
			t.Errorf("%s was changed", p.Entries[i].ID)
		}
	}
	result := func(i int) firn.ToolResult { return got.Entries[i].Body.(*firn.Message).Parts[0].(firn.ToolResult) }
	note := "\n\n[Tool result trimmed: kept first 3 chars and last 3 chars of 10004 chars.]"
	check(t, "two texts", firn.JoinText(result(3).Content), "éyy\n...\ny😀"+note)
	check(t, "failed", fmt.Sprint(result(5).CallID, result(5).IsError, string(result(5).Details)), `3true{"d":1}`)
}

// TestPruneTwice checks that a shortened result is not shortened again even if it is still
// too long.
func TestPruneTwice(t *testing.T) {
	settings := window.Pruning{SoftTrim: window.SoftTrim{MaxChars: 10, HeadChars: 60, TailChars: 60}}
	once := busy(3, 10000).Prune(settings, 100)
	check(t, "once", sizes(once), "1*203 2*10000")
	check(t, "twice", outs(once.Prune(settings, 100)), outs(once))
}

// TestPruneMeasures checks that everything sent counts toward the window, and line breaks
// between texts count toward a result.
func TestPruneMeasures(t *testing.T) {
	long := strings.Repeat("x", 5000)
	with := func(result *firn.Message, first ...firn.Body) window.Path {
		return pathOf(append(first, userBody("u"), assistantBody("x"), result, assistantBody("x"), assistantBody("x"), assistantBody("x"))...)
	}
	picture := userBody("")
	picture.Parts = []firn.Part{firn.Image{MimeType: "image/png", Data: "AAAA"}}
	halves := resultBody("1", "exec", strings.Repeat("x", 2000), strings.Repeat("x", 2000))
	tests := []struct {
		name   string
		path   window.Path
		tokens int64
		out    string
	}{
		{"not enough", with(resultBody("1", "exec", long)), 5000, ""},
		{"a summary", with(resultBody("1", "exec", long), &firn.Compaction{Summary: long}), 5000, "pruned:e4-e4*1@0"},
		{"a summary of a branch", with(resultBody("1", "exec", long), &firn.BranchSummary{Summary: long}), 5000, "pruned:e4-e4*1@0"},
		{"a note", with(resultBody("1", "exec", long), &firn.CustomMessage{Parts: []firn.Part{firn.Text{Text: long}}}), 5000, "pruned:e4-e4*1@0"},
		{"a picture is 8,000 characters", with(resultBody("1", "exec", long), picture), 10000, "pruned:e4-e4*1@0"},
		{"two halves and a line break", with(halves), 100, "pruned:e3-e3*1@0"},
	}
	for _, tt := range tests {
		check(t, tt.name, outs(tt.path.Prune(window.Pruning{}, tt.tokens)), tt.out)
	}
	failed := pathOf(userBody("u"), assistantBody("x"), resultBody("1", "exec", long), assistantBody("x"), assistantBody("x"), sketchBody("f1", 9), sketchBody("f2", 9))
	check(t, "failed answers do not count", outs(failed.Prune(window.Pruning{}, 100)), "")
}

// TestPruneCutsBetweenRunes checks that a rune is never split.
func TestPruneCutsBetweenRunes(t *testing.T) {
	p := pathOf(userBody("u"), assistantBody("x"), resultBody("1", "exec", strings.Repeat("😀", 5000)), assistantBody("x"), assistantBody("x"), assistantBody("x"))
	got := contents(p.Prune(window.Pruning{SoftTrim: window.SoftTrim{HeadChars: 3, TailChars: 5}}, 100))[0]
	check(t, "result", got, "😀\n...\n😀😀\n\n[Tool result trimmed: kept first 3 chars and last 5 chars of 10000 chars.]")
}

func TestBoundResults(t *testing.T) {
	const gone = 89 // characters of the notice
	tests := []struct {
		name          string
		results, size int
		chars         int
		want, out     string
	}{
		{"no bound", 8, 10000, 0, "8*10000", ""},
		{"within it", 8, 10000, 80000, "8*10000", ""},
		{"over it", 8, 10000, 79999, "1*89 7*10000", "pruned:e3-e3*1@0"},
		{"far over it", 8, 10000, 50000, "4*89 4*10000", "pruned:e3-e3*1@0 pruned:e5-e5*1@0 pruned:e7-e7*1@0 pruned:e9-e9*1@0"},
		{"the last six messages stay", 5, 10000, 1, "2*89 3*10000", "pruned:e3-e3*1@0 pruned:e5-e5*1@0"},
		{"small ones stay", 8, 200, 1, "8*200", ""},
		{"those that are not quite small go", 8, 201, 1, "5*89 3*201", "pruned:e3-e3*1@0 pruned:e5-e5*1@0 pruned:e7-e7*1@0 pruned:e9-e9*1@0 pruned:e11-e11*1@0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := busy(tt.results, tt.size)
			got := p.BoundResults(tt.chars)
			check(t, "results", sizes(got), tt.want)
			check(t, "out", outs(got), tt.out)
			check(t, "what was given", sizes(p), fmt.Sprintf("%d*%d", tt.results, tt.size))
			if texts := contents(got); len(texts[0]) == gone && !strings.HasPrefix(texts[0], "[firn] ") {
				t.Errorf("the notice does not name the entry: %s", texts[0])
			}
		})
	}
}
