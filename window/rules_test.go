package window_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the rules do into testdata/rules, to be read before it is kept")

// ruleCase is one case of a file in testdata/rules: the input, the output and the repairs.
type ruleCase struct {
	name, head, in, out string
}

// TestRules runs the cases of testdata/rules. Each starts with a line
//
//	== description | rule of profile | ask
//
// then the messages, a line =>, the resulting messages, and the repairs.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		preamble, cases := splitCases(string(data))
		for i, c := range cases {
			t.Run(filepath.Base(file)+"/"+c.name, func(t *testing.T) {
				cases[i].out = runCase(t, c)
				if !*update && cases[i].out != c.out {
					t.Errorf("want -, got +\n%s", cmp.Diff(c.out, cases[i].out))
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, []byte(joinCases(preamble, cases)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func splitCases(data string) (preamble string, cases []ruleCase) {
	blocks := strings.Split(data, "\n== ")
	for _, block := range blocks[1:] {
		head, body, _ := strings.Cut(block, "\n")
		in, out, _ := strings.Cut(body, "=>\n")
		name, _, _ := strings.Cut(head, " | ")
		if out = strings.TrimRight(out, "\n"); out != "" {
			out += "\n"
		}
		cases = append(cases, ruleCase{name, head, in, out})
	}
	return blocks[0], cases
}

func joinCases(preamble string, cases []ruleCase) string {
	b := strings.Builder{}
	b.WriteString(preamble)
	for _, c := range cases {
		b.WriteString("\n== " + c.head + "\n" + c.in + "=>\n" + c.out)
	}
	return b.String()
}

// runCase applies the rule once for the result and a second time to check that nothing
// changes.
func runCase(t *testing.T, c ruleCase) string {
	fields := strings.Split(c.head, " | ")
	rule, profile, _ := strings.Cut(fields[1], " of ")
	one := only(t, rule, profile)
	var ask window.Ask
	if len(fields) > 2 {
		who := strings.Split(fields[2], "/")
		ask = window.Ask{API: who[0], Provider: who[1], Model: who[2]}
	}
	in := parseItems(c.in)
	items, repairs := one.Apply(in, ask)
	if got, want := formatItems(in), formatItems(parseItems(c.in)); got != want {
		t.Errorf("the rule modified its input:\n%s", cmp.Diff(want, got))
	}
	again, more := one.Apply(items, ask)
	if diff := cmp.Diff(formatItems(items), formatItems(again)); diff != "" || len(more) > 0 {
		t.Errorf("applied twice it still makes changes: %v\n%s", more, diff)
	}
	var b strings.Builder
	b.WriteString(formatItems(items))
	for _, r := range repairs {
		if r.Rule != rule && rule != "all" {
			t.Errorf("repair of rule %s recorded for rule %s", rule, r.Rule)
		}
		fmt.Fprintf(&b, "- %s %s: %s\n", r.Rule, r.Entry, r.What)
	}
	return b.String()
}

// only returns a profile with a single rule, or with all of them for "all".
func only(t *testing.T, rule, profile string) window.Profile {
	for _, p := range window.Profiles() {
		if p.Name != profile {
			continue
		}
		if rule == "all" {
			return p
		}
		for _, r := range p.Rules {
			if r.Name == rule {
				p.Rules = []window.Rule{r}
				return p
			}
		}
	}
	t.Fatalf("no rule %s in %s", rule, profile)
	return window.Profile{}
}

// TestEveryRuleHasCases checks that every rule of every profile has a test case.
func TestEveryRuleHasCases(t *testing.T) {
	files, _ := filepath.Glob("testdata/rules/*.txt")
	tested := make(map[string]bool)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, cases := splitCases(string(data))
		for _, c := range cases {
			rule, _, _ := strings.Cut(strings.Split(c.head, " | ")[1], " of ")
			tested[rule] = true
		}
	}
	for _, p := range window.Profiles() {
		for _, r := range p.Rules {
			if !tested[r.Name] {
				t.Errorf("rule %s of %s has no case in testdata/rules", r.Name, p.Name)
			}
		}
	}
}
