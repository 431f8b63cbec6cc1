package agent

import (
	"firn.dev"
	"firn.dev/provider"
)

// Spent makes the entry that tells what asking a model beside a conversation
// has used, so that it counts where the answers of the session do.
func Spent(purpose provider.Purpose, info provider.Info, u firn.Usage) firn.Entry {
	return usageEntry(purpose, info, u)
}
