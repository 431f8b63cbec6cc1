package firn_test

import (
	"fmt"

	"firn.dev"
)

// A session is a list of entries. Their parents form a tree.
func Example() {
	entries := []firn.Entry{
		firn.UserText("What is firn?"),
		firn.AssistantText("Last year's snow, still there."),
		firn.NewEntry(&firn.Title{Name: "snow", Source: firn.SourceUser}),
	}
	for _, e := range entries {
		switch body := e.Body.(type) {
		case *firn.Message:
			fmt.Printf("%s: %s\n", body.Role, body.Text())
		case *firn.Title:
			fmt.Println("title:", body.Name)
		}
	}
	// Output:
	// user: What is firn?
	// assistant: Last year's snow, still there.
	// title: snow
}

// An entry without a parent follows the head when a store appends it. An entry with a parent
// starts a branch there.
func ExampleEntry() {
	question := firn.NewEntry(firn.UserText("Tea or coffee?").Body)
	answer := firn.NewEntry(firn.AssistantText("Tea.").Body)
	again := firn.NewEntry(firn.AssistantText("Coffee.").Body)
	again.Parent = question.ID

	fmt.Println(answer.Parent == "", again.Parent == question.ID)
	fmt.Println(question.ID < answer.ID && answer.ID < again.ID)
	// Output:
	// true true
	// true
}

// A message has parts: an answer may contain thinking, text and tool calls.
func ExampleMessage() {
	answer := &firn.Message{
		Role: firn.RoleAssistant,
		Parts: []firn.Part{
			firn.Thinking{Text: "I should look."},
			firn.Text{Text: "Let me look."},
			firn.ToolCall{ID: "call_1", Name: "read_file", Arguments: []byte(`{"path":"a.txt"}`)},
		},
		StopReason: firn.StopToolUse,
	}
	fmt.Println(answer.Text())
	for _, part := range answer.Parts {
		if call, ok := part.(firn.ToolCall); ok {
			fmt.Println(call.Name, string(call.Arguments))
		}
	}
	// Output:
	// Let me look.
	// read_file {"path":"a.txt"}
}

// A tree is built from entries in file order and returns the path from the root to any of
// them. Faults of the file are reported.
func ExampleTree() {
	var tree firn.Tree
	for at, g := range []firn.Glance{
		{Kind: firn.KindMessage, ID: "ask"},
		{Kind: firn.KindMessage, ID: "tea", Parent: "ask"},
		{Kind: firn.KindMessage, ID: "coffee", Parent: "ask"},
		{Kind: firn.KindMessage, ID: "thanks", Parent: "lost"},
	} {
		tree.Add(firn.Pos(at), g)
	}
	for _, n := range tree.Path(tree.Head()) {
		fmt.Println(tree.Node(n).ID)
	}
	for _, gap := range tree.Gaps() {
		fmt.Println(gap.Error())
	}
	// Output:
	// ask
	// coffee
	// thanks
	// dangling-parent at 3 (entry thanks): its parent lost does not precede it; the previous entry is assumed
}

// A tombstone is an entry like any other, so it can be hidden too: that restores its
// target.
func ExampleHide() {
	secret := firn.NewEntry(firn.UserText("my PIN is 1234").Body)
	hide := firn.NewEntry(firn.Hide(secret.ID).Body)
	restore := firn.NewEntry(firn.Hide(hide.ID).Body)

	var tree firn.Tree
	tree.Add(0, firn.GlanceOf(secret))
	tree.Add(1, firn.GlanceOf(hide))
	fmt.Println(tree.Hidden()[secret.ID])
	tree.Add(2, firn.GlanceOf(restore))
	fmt.Println(tree.Hidden()[secret.ID])
	// Output:
	// true
	// false
}
