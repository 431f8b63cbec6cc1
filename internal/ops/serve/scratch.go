package serve

import (
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// scratch returns an empty store in memory, for answers that are not stored.
func scratch() store.Store { return memstore.New(memstore.Options{}) }
