package main

import (
	"fmt"
	"testing"

	"firn.dev/internal/formats/dialect/native"
)

// decode measures reading and writing one line.
func (b *bench) decode() error {
	d := native.New()
	names := []string{"user text", "assistant: thinking and tool call", "tool result", "assistant: text"}
	for i, e := range newTalk(3).turn() {
		e.Parent = "01k7q2hz3m4x7"
		line, err := d.Append(nil, e)
		if err != nil {
			return err
		}
		allocs := testing.AllocsPerRun(1000, func() {
			if _, err := d.Decode(line); err != nil {
				panic(err)
			}
		})
		b.want(fmt.Sprintf("decode %s (%d bytes), allocations", names[i], len(line)), fmt.Sprintf("%.0f", allocs), "≤ 10", allocs <= 10)
	}
	return nil
}
