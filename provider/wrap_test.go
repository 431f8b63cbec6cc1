package provider_test

import (
	"context"
	"iter"
	"testing"

	"firn.dev/provider"
	"firn.dev/provider/offline"
	"firn.dev/provider/scripted"
	"firn.dev/window"
)

// TestWrap checks that a wrapped model answers differently and keeps its other methods.
func TestWrap(t *testing.T) {
	asked := 0
	none := func(context.Context, provider.Request) iter.Seq2[provider.Event, error] {
		asked++
		return func(func(provider.Event, error) bool) {}
	}
	req := provider.Request{Window: window.Window{System: "four"}}
	m := offline.New(offline.Options{})
	w := provider.Wrap(m, none)
	for e, err := range w.Stream(t.Context(), req) {
		t.Errorf("it was called itself, and returns %v %v", e, err)
	}
	if got, want := w.Info().Name, m.Info().Name; asked != 1 || got != want {
		t.Errorf("%q was asked %d times, want %q once", got, asked, want)
	}
	want, _ := m.CountTokens(t.Context(), req)
	counter, ok := w.(provider.Counter)
	if !ok {
		t.Fatal("it counts no longer")
	}
	if got, err := counter.CountTokens(t.Context(), req); err != nil || got != want || want == 0 {
		t.Errorf("it counts %d, %v, want %d", got, err, want)
	}
	if _, ok := provider.Wrap(scripted.New(provider.Info{}), none).(provider.Counter); ok {
		t.Error("it counts tokens although the wrapped model cannot")
	}
}
