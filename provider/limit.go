package provider

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Stated returns the numbers that a provider names when it refuses a request as too
// long: how many tokens it takes at most, and how many it counted. Zero is a number that
// it does not name.
func Stated(err error) (limit, sent int64) {
	var e *Error
	if !errors.As(err, &e) || e.Kind != Overflow {
		return 0, 0
	}
	for _, r := range stating() {
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

// stating returns the ways in which providers name the numbers, each with those who do.
// They are compiled when they are first needed.
var stating = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(?P<sent>[\d,]+) tokens > (?P<limit>[\d,]+) maximum`),                                                                     // Anthropic
		regexp.MustCompile(`(?i)context limit: (?P<sent>[\d,]+) \+ [\d,]+ > (?P<limit>[\d,]+)`),                                                           // Anthropic
		regexp.MustCompile(`(?i)maximum context length is (?P<limit>[\d,]+) tokens.*?(?:resulted in|requested)(?: about)? (?P<sent>[\d,]+)`),              // OpenAI, OpenRouter, vLLM
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
		regexp.MustCompile(`(?i)limit:? (?P<limit>[\d,]+), requested:? (?P<sent>[\d,]+)`),                                                                 // OpenAI and Groq, of a minute's worth
		regexp.MustCompile(`(?i)(?:maximum|max|limit)[a-z' ]{0,40}?(?:context|tokens?|prompt|input)[a-z' ]{0,40}?(?: is| of|:|\() ?(?P<limit>[\d,]{3,})`), // and the rest
	}
})

// tokenNumber reads a number that may have commas in it; zero if it is none.
func tokenNumber(text string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
