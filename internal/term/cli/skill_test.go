package cli

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
)

// TestSkill checks that every command line in the instructions for agents is accepted, and
// that they list the exit codes and the kinds of commands correctly.
func TestSkill(t *testing.T) {
	for flag, name := range map[string]string{"--skill": "SKILL.md", "--agents": "AGENTS.md"} {
		var out, errs bytes.Buffer
		if code := Main(context.Background(), []string{"help", flag}, Process{Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }}); code != 0 {
			t.Fatalf("it ends with %d: %s", code, errs.String())
		}
		text := out.String()
		lines := regexp.MustCompile("(?m)(?:^|`|\\| )firn ([a-z][^`#\\n]*)").FindAllStringSubmatch(strings.ReplaceAll(text, "\nfirn keeps", "\nIt keeps"), -1)
		if len(lines) < 5 {
			t.Fatalf("%s has the commands %q", name, lines)
		}
		for _, l := range lines {
			words := shellWords(l[1])
			err := accepts(words)
			if err != nil {
				if cmd, rest, _ := testProgram().root().Find(words); cmd.HasParent() && len(rest) == 0 {
					continue // the command is only mentioned
				}
				t.Errorf("%s: firn %q: %v", name, words, err)
			}
		}
		for line := range strings.SplitSeq(text, "\n") {
			if len(line) > 140 && !strings.HasPrefix(line, "description:") && !strings.HasPrefix(line, "- Reading commands") {
				t.Errorf("%s has a line of %d characters: %s", name, len(line), line)
			}
		}
	}
	head := regexp.MustCompile(`(?s)^---\nname: ([a-z-]{1,64})\ndescription: ([^\n]+)\n---\n`).FindStringSubmatch(skillText)
	if head == nil || head[1] != "firn" || len(head[2]) > 1024 {
		t.Errorf("SKILL.md begins with %.200s", skillText)
	}
	_, codes, _ := strings.Cut(skillText, "## Exit codes\n")
	for _, m := range exitMeanings {
		if !regexp.MustCompile(`(?:^|[\s,])` + m.Name + ` `).MatchString(codes) {
			t.Errorf("SKILL.md does not list the exit code %s", m.Name)
		}
	}
}

// shellWords splits a command line at spaces outside of quotes.
func shellWords(line string) []string {
	var words []string
	for _, w := range regexp.MustCompile(`(?:[^\s"']|"[^"]*"|'[^']*')+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(w, `"'`))
	}
	return words
}
