package richtext_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"firn.dev/internal/render/richtext"
)

// shown is a page on which a text grows.
type shown struct{ blocks []string }

func (s *shown) take(from int, blocks []string) { s.blocks = append(s.blocks[:from:from], blocks...) }

// bits are the pieces of which test texts are composed.
var bits = []string{"word ", "another ", "\n", "\n\n", "- item\n", "1. one\n", "```go\n", "```\n", "~~~\n", "    code\n", "# head\n", "> quote\n", "| a | b |\n", "|---|---|\n", "**", "`", "[x](https://a.example)", "\t", "é", "日本", "😀", "\r\n", "- ```\n", "  ```\n", "<div>\n", "---\n", "===\n", "\x80"}

// TestGrowth checks that a text that arrives in pieces of any size ends with the blocks of the
// whole text, also for a reader who joins in the middle.
func TestGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 60).Draw(t, "text"), "")
		want := richtext.Blocks(text)
		if got := grow(text, rapid.Uint64().Draw(t, "cuts"), 9); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%q grew to\n%q\nwant\n%q", text, got, want)
		}
	})
}

// grow renders a text that arrives in pieces of up to the given number of bytes.
func grow(text string, seed uint64, most int) []string {
	random := rand.New(rand.NewPCG(seed, 1))
	var g richtext.Growth
	var page shown
	for at := 0; at < len(text); {
		n := min(1+random.IntN(most), len(text)-at)
		g.Add(text[at : at+n])
		at += n
		if random.IntN(3) > 0 || at == len(text) {
			if from, blocks, changed := g.Grown(); changed {
				page.take(from, blocks)
			}
		}
	}
	return page.blocks
}

// TestLongGrowth: long texts grow the same way, with lines and code that are
// longer than a piece may be.
func TestLongGrowth(t *testing.T) {
	for name, text := range map[string]string{
		"paragraphs": strings.Repeat("some words of an answer\n\n", 4000),
		"one line":   strings.Repeat("word é ", 9000),
		"code":       "```go\n" + strings.Repeat("x := 1 // a line of code\n", 3000) + "```\n\nthe end",
		"a list":     strings.Repeat("- an item\n\n  more of it\n", 3000),
		"no letters": strings.Repeat("日", 20000),
		"broken":     strings.Repeat("\xe6", 40000),
	} {
		want := richtext.Blocks(text)
		if got := grow(text, 7, 4000); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Errorf("%s: it grew to %d blocks, want %d", name, len(got), len(want))
		}
		for _, b := range want {
			if bad := unsafe(b); bad != "" {
				t.Errorf("%s: %s", name, bad)
			}
		}
	}
}

// TestGrowthIsCheap checks that streaming a text line by line renders a small multiple of
// its length, not its square.
func TestGrowthIsCheap(t *testing.T) {
	var g richtext.Growth
	reported, size := 0, 0
	for range 5000 {
		line := "a line of a long answer, with *stars* and more\n\n"
		size += len(line)
		g.Add(line)
		_, blocks, _ := g.Grown()
		for _, b := range blocks {
			reported += len(b)
		}
	}
	if reported > 6*size {
		t.Errorf("%d bytes were reported of a text of %d", reported, size)
	}
}

// FuzzGrowth searches for texts that do harm, or that end differently when they arrive in
// pieces.
func FuzzGrowth(f *testing.F) {
	for _, c := range corpus(f) {
		f.Add(c, uint64(1))
	}
	f.Add("```\n- x\n\n```\n\n1. a\n\n```", uint64(2))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		want := richtext.Blocks(text)
		if got := grow(text, seed, 12); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Errorf("%q grew to\n%q\nwant\n%q", text, got, want)
		}
		for _, got := range append(want, richtext.Plain(text), richtext.Code("go", text), richtext.Inline(text)) {
			if bad := unsafe(got); bad != "" {
				t.Errorf("%q allows %s:\n%s", text, bad, got)
			}
		}
	})
}

// TestPathological checks that worst-case input of each kind takes no longer than ordinary
// text.
func TestPathological(t *testing.T) {
	const size = 80 << 10
	for name, part := range map[string]string{
		"quotes": ">", "brackets": "[", "images": "![", "stars": "*a **a ", "ticks": "`a``", "tags": "<a ", "entities": "&", "lists": "- ", "links": "[a](", "tables": "|", "underscores": "_a__", "tildes": "~~a", "comments": "<!--", "backslashes": "\\", "references": "[a]: b\n",
		"nested": "> - ", "numbers": "1. ", "urls": "http://", "mails": "a@", "lines of quotes": ">>>>>>>>>>>>>>>>>>>> a\n", "indents": "  - a\n    ", "fences": "```\n", "headings": "# ", "cells": "|a|b|\n|-|-|\n",
		"open strings": "\"\\", "open marks": "'a\\", "columns": "|" + strings.Repeat("a|", 1000) + "\n|" + strings.Repeat("-|", 1000) + "\n" + strings.Repeat("|x\n", 1000), "rows": "|" + strings.Repeat("a|", 60) + "\n|" + strings.Repeat("-|", 60) + "\n" + strings.Repeat("|x\n", 4000),
	} {
		text := strings.Repeat(part, size/len(part)+1)
		got := richtext.Markdown(text)
		if bad := unsafe(got); bad != "" {
			t.Errorf("%s: %s", name, bad)
		}
		for _, language := range []string{"go", "bash", "html", "diff", "yaml"} {
			if bad := unsafe(richtext.Code(language, text)); bad != "" {
				t.Errorf("%s as %s: %s", name, language, bad)
			}
		}
		if len(got) > 400*size {
			t.Errorf("%s: %d bytes became %d", name, size, len(got))
		}
	}
}
