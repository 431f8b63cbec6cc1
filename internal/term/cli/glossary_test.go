package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// otherMeanings are synonyms of the glossary that are also used for something else, so that
// their use cannot be checked by the word alone.
var otherMeanings = map[string]string{
	"chat":      "firn chat, the command",
	"thread":    "a thread of a channel",
	"record":    "a record of usage, and a verb",
	"event":     "an event of the stream",
	"context":   "firn search --context",
	"prompt":    "the system prompt, and the argument of firn chat",
	"assistant": "the role of a message",
	"server":    "a server of a NATS cluster",
}

// codeSpan matches names of fields, settings and commands, which do not change.
var codeSpan = regexp.MustCompile("`[^`]*`")

// TestOneNameForOneThing checks that the help of all commands, the descriptions of the API
// and the settings use the terms of the glossary in docs/concepts.md, not the synonyms in
// its third column.
func TestOneNameForOneThing(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	concepts, err := os.ReadFile(filepath.Join(docs, "concepts.md"))
	if err != nil {
		t.Fatal(err)
	}
	synonyms := map[string]string{}
	for line := range strings.Lines(string(concepts)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(line, "---") || strings.TrimSpace(cells[3]) == "not" {
			continue
		}
		for word := range strings.SplitSeq(cells[3], ",") {
			if word = strings.TrimSpace(word); word != "" && otherMeanings[word] == "" {
				synonyms[word] = strings.TrimSpace(cells[1])
			}
		}
	}
	if len(synonyms) < 10 {
		t.Fatalf("the glossary has only %d synonyms: %v", len(synonyms), synonyms)
	}
	for _, page := range []string{"cli.md", "api.md", "configuration.md"} {
		text, err := os.ReadFile(filepath.Join(docs, page))
		if err != nil {
			t.Fatal(err)
		}
		for word, term := range synonyms {
			used := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word) + `s?\b`)
			proper := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(term) + `s?\b`) // may contain the synonym
			for i, line := range strings.Split(string(text), "\n") {
				if used.MatchString(proper.ReplaceAllString(codeSpan.ReplaceAllString(line, ""), "")) {
					t.Errorf("docs/%s:%d: %q is called %q: %s", page, i+1, word, term, line)
				}
			}
		}
	}
}
