package memory

import (
	"strings"

	"firn.dev/internal/base/secrets"
)

// The limits of an extracted fact.
const (
	leastTerms      = 2
	mostFactBytes   = 400
	leastConfidence = 0.3
)

// junkWords are phrases of sentences without lasting value: they are about the conversation
// itself or the current moment.
var junkWords = []string{
	"the user asked", "the user said hello", "the user thanked", "the user greeted", "the user wants to know", "user asked", "asked the assistant",
	"the assistant", "as an ai", "this conversation", "this session", "the conversation", "previous message", "my previous", "last message",
	"tests pass", "test passes", "tests are passing", "build succeeded", "build passes", "all green", "is running now", "currently running",
	"was successful", "completed successfully", "no changes were made", "working directory", "let me know", "here is", "here are", "sure,",
	"note to self", "system prompt", "ignore previous", "ignore all", "disregard", "you are now", "do not tell the user",
}

// junkReason returns a short reason why a fact is not worth keeping; empty if it is.
func junkReason(f Fact) string {
	text := strings.TrimSpace(f.Text)
	low := strings.ToLower(text)
	switch {
	case len(text) > mostFactBytes:
		return "it is too long for a fact"
	case len(terms(text)) < leastTerms:
		return "it is too short"
	case f.Confidence > 0 && f.Confidence < leastConfidence:
		return "the confidence is too low"
	case strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？"):
		return "it is a question"
	case strings.HasSuffix(text, ":"):
		return "it ends with a colon"
	case secrets.In(text):
		return "it may be a secret"
	case strings.ContainsAny(text, "<>{}`") && strings.Count(text, "`")%2 != 0 || strings.Contains(text, "</"):
		return "it is not a sentence"
	}
	for _, phrase := range junkWords {
		if strings.Contains(low, phrase) {
			return "it is about the conversation itself or only true now: " + phrase
		}
	}
	return ""
}

// familiar reports whether a text adds almost nothing to one of the others.
func familiar(words []string, others [][]string) bool {
	for _, other := range others {
		if cover(words, other) >= 0.9 {
			return true
		}
	}
	return false
}
