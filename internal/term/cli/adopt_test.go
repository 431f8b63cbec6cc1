package cli

import (
	"errors"
	"testing"
)

// TestIncomplete checks that firn adopt fails if a file was not mirrored or the messages of a
// tool were not added to a session.
func TestIncomplete(t *testing.T) {
	for _, c := range []struct {
		name string
		r    adopted
		want error
	}{
		{"all mirrored", adopted{Ahead: []ahead{{Added: 2}}}, nil},
		{"a file failed", adopted{Failed: []unadopted{{File: "f", Error: "x"}}}, errPartial},
		{"a session was not added to", adopted{Ahead: []ahead{{Added: 1}, {Error: "x"}}}, errPartial},
	} {
		if err := incomplete([]adopted{{}, c.r}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
