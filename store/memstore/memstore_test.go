package memstore_test

import (
	"testing"

	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/store/storetest"
)

// open opens a store in memory. Reopen returns the same store.
func open(*testing.T) storetest.Opened {
	s := memstore.New(memstore.Options{})
	return storetest.Opened{Store: s, Reopen: func() store.Store { return s }}
}

func TestContract(t *testing.T) { storetest.Run(t, open) }

func TestRandom(t *testing.T) { storetest.RunRandom(t, open) }
