package sentfiles

import "testing"

// TestRemove checks that only files at the end of a message are removed.
func TestRemove(t *testing.T) {
	a, b := Block("a.go", "package a"), Block(`b "two".txt`, "b\n")
	typed := "look:\n\n" + a + "\nand what I typed after it"
	for message, want := range map[string]string{
		"":                           "",
		"plain":                      "plain",
		Add("see @a.go", a):          "see @a.go",
		Add(Add("two\n", a), b):      "two\n",
		typed:                        typed,
		Add(typed, b):                typed,
		"one line\n" + a:             "one line\n" + a,
		"only the end\n</file>":      "only the end\n</file>",
		"\n\n<file name=\"\n</file>": "\n\n<file name=\"\n</file>",
	} {
		if got := Remove(message); got != want {
			t.Errorf("%q becomes %q, want %q", message, got, want)
		}
	}
}
