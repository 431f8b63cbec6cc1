package provider_test

import (
	"errors"
	"fmt"
	"testing"

	"firn.dev/provider"
)

// TestStated checks that the numbers are read from the messages of providers.
func TestStated(t *testing.T) {
	for message, want := range map[string][2]int64{
		"prompt is too long: 213462 tokens > 200000 maximum":                                                                                     {200000, 213462},
		"input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again":        {200000, 199759},
		"This model's maximum context length is 8,192 tokens. However, your messages resulted in 9,308 tokens. Please reduce the length":         {8192, 9308},
		"This endpoint's maximum context length is 200000 tokens. However, you requested about 264437 tokens (262437 of text input)":             {200000, 264437},
		"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).":                                                {1048575, 1196265},
		"request (9000 tokens) exceeds available context size (4096 tokens)":                                                                     {4096, 9000},
		"the request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it":                                          {4096, 9000},
		"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length":                                 {32768, 40000},
		"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)":                                                   {262144, 300000},
		"prompt token count of 150000 exceeds the limit of 128000":                                                                               {128000, 150000},
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.":                                                   {131072, 537812},
		"The decoder prompt (length 9000) is longer than the maximum model length of 8192.":                                                      {8192, 9000},
		"Range of input length should be [1, 30720]":                                                                                             {30720, 0},
		"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45000. The input or output must":     {30000, 45000},
		"This model's maximum context length is 8192 tokens":                                                                                     {8192, 0},
		"Your input exceeds the context window of this model. Please adjust your input and try again.":                                           {},
		"prompt too long; exceeded max context length by 512 tokens":                                                                             {},
		"maximum context length is 99999999999999999999999 tokens. However, your messages resulted in 99999999999999999999999999 tokens, overly": {},
	} {
		err := fmt.Errorf("ask: %w", &provider.Error{Kind: provider.Overflow, Message: message})
		if limit, sent := provider.ReportedLimit(err); limit != want[0] || sent != want[1] {
			t.Errorf("%s\n\tnames %d and %d, want %v", message, limit, sent, want)
		}
	}
	for _, err := range []error{nil, errors.New("maximum context length is 8192 tokens"), &provider.Error{Kind: provider.Temporary, Message: "Limit 30000, Requested 2000"}} {
		if limit, sent := provider.ReportedLimit(err); limit != 0 || sent != 0 {
			t.Errorf("%v names %d and %d", err, limit, sent)
		}
	}
}
