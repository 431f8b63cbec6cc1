package openai

import (
	"encoding/json"

	"firn"
	"firn/provider"
)

// details are the tokens of a prompt that came from a cache or went into one.
type details struct {
	Cached  count `json:"cached_tokens"`
	Written count `json:"cache_write_tokens"`
}

// chatUsage is the usage of a completion. Servers that cache without being
// asked tell it in places of their own.
type chatUsage struct {
	Prompt     count   `json:"prompt_tokens"`
	Completion count   `json:"completion_tokens"`
	Total      count   `json:"total_tokens"`
	Details    details `json:"prompt_tokens_details"`
	// Hit is DeepSeek's, Cached Moonshot's.
	Hit    count `json:"prompt_cache_hit_tokens"`
	Cached count `json:"cached_tokens"`
}

// responsesUsage is the usage of a response.
type responsesUsage struct {
	Input   count   `json:"input_tokens"`
	Output  count   `json:"output_tokens"`
	Total   count   `json:"total_tokens"`
	Details details `json:"input_tokens_details"`
}

// readChatUsage reads the usage of a completion; nil if there is none.
func readChatUsage(raw json.RawMessage, price provider.Price) *firn.Usage {
	var u chatUsage
	if !present(raw) || json.Unmarshal(raw, &u) != nil {
		return nil
	}
	cached := max(u.Details.Cached, u.Hit, u.Cached)
	return newUsage(u.Prompt, cached, u.Details.Written, u.Completion, u.Total, price)
}

// readResponsesUsage reads the usage of a response; nil if there is none.
func readResponsesUsage(raw json.RawMessage, price provider.Price) *firn.Usage {
	var u responsesUsage
	if !present(raw) || json.Unmarshal(raw, &u) != nil {
		return nil
	}
	return newUsage(u.Input, u.Details.Cached, u.Details.Written, u.Output, u.Total, price)
}

// newUsage makes a usage. What was cached is part of the prompt. What was
// thought is part of the output, but not every server counts it there: the
// total has it for sure.
func newUsage(prompt, cached, written, output, total count, price provider.Price) *firn.Usage {
	cached = min(cached, prompt)
	written = min(written, prompt-cached)
	output = max(output, total-prompt)
	if prompt == 0 && output == 0 {
		return nil
	}
	u := firn.Usage{
		Input:     int64(prompt - cached - written),
		Output:    int64(output),
		CacheRead: int64(cached), CacheWrite: int64(written),
		Total: int64(prompt + output),
	}
	u.Cost = price.Cost(u)
	return &u
}
