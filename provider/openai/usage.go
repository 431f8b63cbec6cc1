package openai

import (
	"encoding/json"

	"firn.dev"
	"firn.dev/provider"
)

// details counts the prompt tokens that were read from or written to a cache.
type details struct {
	Cached  count `json:"cached_tokens"`
	Written count `json:"cache_write_tokens"`
}

// chatUsage is the usage of a completion. Servers that cache automatically report it in
// members of their own.
type chatUsage struct {
	Prompt     count   `json:"prompt_tokens"`
	Completion count   `json:"completion_tokens"`
	Total      count   `json:"total_tokens"`
	Details    details `json:"prompt_tokens_details"`
	// Hit is sent by DeepSeek, Cached by Moonshot.
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

// readChatUsage parses the usage of a completion. It returns nil if there is none.
func readChatUsage(raw json.RawMessage, price provider.Price) *firn.Usage {
	var u chatUsage
	if !present(raw) || json.Unmarshal(raw, &u) != nil {
		return nil
	}
	cached := max(u.Details.Cached, u.Hit, u.Cached)
	return newUsage(u.Prompt, cached, u.Details.Written, u.Completion, u.Total, price)
}

// readResponsesUsage parses the usage of a response. It returns nil if there is none.
func readResponsesUsage(raw json.RawMessage, price provider.Price) *firn.Usage {
	var u responsesUsage
	if !present(raw) || json.Unmarshal(raw, &u) != nil {
		return nil
	}
	return newUsage(u.Input, u.Details.Cached, u.Details.Written, u.Output, u.Total, price)
}

// newUsage returns a usage. Cached tokens are part of the prompt. Thinking is part of the
// output, but some servers include it only in the total.
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
