package openai

import (
	"encoding/json"
	"testing"

	"firn.dev"
	"firn.dev/provider"
)

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		reported string
		want     *firn.Usage
	}{
		{`null`, nil},
		{`"none"`, nil},
		{`{}`, nil},
		{`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, nil},
		{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`, &firn.Usage{Input: 10, Output: 5, Total: 15}},
		{`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}`, &firn.Usage{Input: 2, Output: 5, CacheRead: 8, Total: 15}},
		{`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":80}}`, &firn.Usage{Output: 5, CacheRead: 10, Total: 15}},
		{`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":9}}`, &firn.Usage{Output: 5, CacheRead: 4, CacheWrite: 6, Total: 15}},
		{`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null,"cached_tokens":3}`, &firn.Usage{Input: 7, Output: 5, CacheRead: 3, Total: 15}},
		{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":40,"completion_tokens_details":{"reasoning_tokens":25}}`, &firn.Usage{Input: 10, Output: 30, Total: 40}},
		{`{"prompt_tokens":10.0,"completion_tokens":"5","total_tokens":-3}`, &firn.Usage{Input: 10, Total: 10}},
		{`{"prompt_tokens":1e99,"completion_tokens":5}`, &firn.Usage{Output: 5, Total: 5}},
	} {
		got := readChatUsage(json.RawMessage(c.reported), provider.Price{})
		if (got == nil) != (c.want == nil) {
			t.Errorf("%s: got %+v, want %+v", c.reported, got, c.want)
			continue
		}
		if got != nil && (got.Input != c.want.Input || got.Output != c.want.Output || got.CacheRead != c.want.CacheRead || got.CacheWrite != c.want.CacheWrite || got.Total != c.want.Total) {
			t.Errorf("%s: got %+v, want %+v", c.reported, got, c.want)
		}
	}
}
