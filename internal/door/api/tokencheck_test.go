package api

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// TestTokenCannotBeChecked checks that the errors for a token that could not be checked, or
// not be revoked because the disk is full, have a kind and no paths.
func TestTokenCannotBeChecked(t *testing.T) {
	h := &HTTP{log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		err  error
		want wire.Kind
	}{
		{errors.New("read /home/me/tokens.json: broken"), wire.Internal},
		{fmt.Errorf("write /home/me/tokens.json: %w: no space left on device", firn.ErrNotSaved), wire.NotSaved},
		{fmt.Errorf("ask: %w", firn.ErrUnavailable), wire.Unavailable},
		{&wire.Problem{Kind: wire.NoToken, Message: "no"}, wire.NoToken},
	} {
		got := h.tokenCheckError(c.err)
		if wire.KindOf(got) != c.want || strings.Contains(got.Error(), "/home/me") {
			t.Errorf("%v is reported as %v, %s", c.err, got, wire.KindOf(got))
		}
	}
}
