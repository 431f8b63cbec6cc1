package provider

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// ReportedLimit returns the numbers that a provider gives when it rejects a request as too long:
// the maximum number of tokens, and the number it counted. A number that the provider does
// not state is zero.
func ReportedLimit(err error) (limit, sent int64) {
	var e *Error
	if !errors.As(err, &e) || e.Kind != Overflow {
		return 0, 0
	}
	for _, r := range limitPatterns() {
		m := r.FindStringSubmatch(e.Message)
		if m == nil {
			continue
		}
		for i, name := range r.SubexpNames() {
			switch name {
			case "limit":
				limit = tokenNumber(m[i])
			case "sent":
				sent = tokenNumber(m[i])
			}
		}
		if limit > 0 {
			return limit, sent
		}
	}
	return 0, 0
}

// limitPatterns returns the patterns for the messages in which providers state these
// numbers. They are compiled on first use.
var limitPatterns = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(?P<sent>[\d,]+) tokens > (?P<limit>[\d,]+) maximum`),                                                                     // Anthropic
		regexp.MustCompile(`(?i)context limit: (?P<sent>[\d,]+) \+ [\d,]+ > (?P<limit>[\d,]+)`),                                                           // Anthropic
		regexp.MustCompile(`(?i)maximum context length is (?P<limit>[\d,]+) tokens.*?(?:resulted in|requested)(?: about)? (?P<sent>[\d,]+)`),              // OpenAI, OpenRouter, vLLM
		regexp.MustCompile(`(?i)configured limit of (?P<limit>[\d,]+) tokens.*?resulted in (?P<sent>[\d,]+)`),                                             // OpenAI
		regexp.MustCompile(`(?i)context length of only (?P<limit>[\d,]+) tokens`),                                                                         // LM Studio
		regexp.MustCompile(`(?i)input token count \(?(?P<sent>[\d,]+)\)? exceeds the maximum number of tokens allowed \(?(?P<limit>[\d,]+)`),              // Google
		regexp.MustCompile(`(?i)request \((?P<sent>[\d,]+) tokens\) exceeds the available context size \((?P<limit>[\d,]+)`),                              // llama.cpp
		regexp.MustCompile(`(?i)request \((?P<sent>[\d,]+) tokens\) exceeds available context size \((?P<limit>[\d,]+)`),                                  // llama.cpp, old
		regexp.MustCompile(`(?i)prompt contains (?P<sent>[\d,]+) tokens.*?model with (?P<limit>[\d,]+) maximum context length`),                           // Mistral
		regexp.MustCompile(`(?i)exceeded model token limit: (?P<limit>[\d,]+)(?: \(requested: (?P<sent>[\d,]+))?`),                                        // Kimi
		regexp.MustCompile(`(?i)prompt token count of (?P<sent>[\d,]+) exceeds the limit of (?P<limit>[\d,]+)`),                                           // Copilot
		regexp.MustCompile(`(?i)maximum prompt length is (?P<limit>[\d,]+) but the request contains (?P<sent>[\d,]+)`),                                    // xAI
		regexp.MustCompile(`(?i)prompt has (?P<sent>[\d,]+) tokens?, but the configured context size is (?P<limit>[\d,]+)`),                               // ds4
		regexp.MustCompile(`(?i)\(length (?P<sent>[\d,]+)\) is longer than the maximum model length of (?P<limit>[\d,]+)`),                                // vLLM
		regexp.MustCompile(`(?i)range of input length should be \[\d+, *(?P<limit>[\d,]+)\]`),                                                             // DashScope
		regexp.MustCompile(`(?i)limit:? (?P<limit>[\d,]+), requested:? (?P<sent>[\d,]+)`),                                                                 // OpenAI and Groq, per-minute limits
		regexp.MustCompile(`(?i)(?:maximum|max|limit)[a-z' ]{0,40}?(?:context|tokens?|prompt|input)[a-z' ]{0,40}?(?: is| of|:|\() ?(?P<limit>[\d,]{3,})`), // all others
	}
})

// tokenNumber parses a number that may contain commas. It returns zero if the text is not a
// number.
func tokenNumber(text string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
