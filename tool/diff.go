package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/linediff"
)

// Previewer is implemented by tools that can show the effect of a call before it runs.
type Previewer interface {
	// Preview returns the change as a unified diff, without making it. It is empty if there
	// is nothing to show. The error is the one that the call would end with.
	Preview(ctx context.Context, arguments json.RawMessage) (string, error)
}

// previewed is a tool with a preview.
type previewed struct {
	Tool
	preview func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// Preview implements [Previewer].
func (p *previewed) Preview(ctx context.Context, arguments json.RawMessage) (string, error) {
	return p.preview(ctx, arguments)
}

// withPreview adds a preview to a tool made with [New]. Arguments are decoded as for the
// tool itself.
func withPreview[T any](x Tool, preview func(ctx context.Context, arguments T) (string, error)) Tool {
	decoder := New(x.Spec().Name, "", func(ctx context.Context, arguments T) (Result, error) {
		text, err := preview(ctx, arguments)
		return TextResult(text), err
	})
	return &previewed{x, func(ctx context.Context, arguments json.RawMessage) (string, error) {
		r, err := decoder.Run(ctx, arguments)
		if err != nil {
			return "", err
		}
		return firn.JoinText(r.Parts), nil
	}}
}

// maxDiffInput is the largest content for which a diff is made, and maxDiff the longest
// diff that is kept.
const (
	maxDiffInput = 1 << 20
	maxDiff      = 64 << 10
)

// unifiedDiff returns the difference of two versions of a file; empty if they are equal or
// too large. A file that did not exist is compared with nothing.
func unifiedDiff(name string, existed bool, before, after []byte) string {
	if len(before) > maxDiffInput || len(after) > maxDiffInput {
		return ""
	}
	from, to := "a/"+name, "b/"+name
	if strings.HasPrefix(name, "/") { // outside of the workspace
		from, to = name, name
	}
	if !existed {
		from = "/dev/null"
	}
	text, _ := firn.CleanText(linediff.Unified(from, to, string(before), string(after)))
	return cutDiff(text)
}

// cutDiff shortens a long diff at the end of a line.
func cutDiff(text string) string {
	if len(text) <= maxDiff {
		return text
	}
	cut := strings.LastIndexByte(text[:maxDiff], '\n') + 1
	return text[:cut] + fmt.Sprintf("… %s more\n", count(strings.Count(text[cut:], "\n"), "line"))
}
