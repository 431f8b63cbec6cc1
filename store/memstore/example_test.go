package memstore_test

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// An append at an outdated position fails, so two writers never mix.
func Example() {
	ctx := context.Background()
	st := memstore.New(memstore.Options{})
	defer st.Close()
	id, err := store.LoadOrCreate(ctx, st, "agent:main:main")
	if err != nil {
		fmt.Println(err)
		return
	}
	end, err := st.Append(ctx, id, store.Any, firn.UserText("first"))
	fmt.Println(err)
	_, err = st.Append(ctx, id, end, firn.UserText("second"))
	fmt.Println(err)
	_, err = st.Append(ctx, id, end, firn.UserText("too late"))
	fmt.Println(errors.Is(err, firn.ErrConflict))
	// Output:
	// <nil>
	// <nil>
	// true
}
