package agent

import (
	"firn.dev"
	"firn.dev/provider"
)

// UsageEntry returns an entry that records the usage of a model call outside the conversation,
// so that it counts toward the session.
func UsageEntry(purpose provider.Purpose, info provider.Info, u firn.Usage) firn.Entry {
	return usageEntry(purpose, info, u)
}
