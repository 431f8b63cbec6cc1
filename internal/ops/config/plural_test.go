package config

import "testing"

// TestPlurals checks that every kind of text can be described in a list.
func TestPlurals(t *testing.T) {
	for kind, name := range texts {
		if plural[name] == "" {
			t.Errorf("a list of the kind %q has no name", kind)
		}
	}
}
