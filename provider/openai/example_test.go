package openai_test

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/openai"
	"firn.dev/window"
)

// A model that runs on this machine.
func ExampleNewChat() {
	model := openai.NewChat(openai.Options{
		Name: "qwen3:8b", Provider: "ollama", URL: "http://localhost:11434/v1",
		Spec: provider.Spec{Window: 40_960, Thinks: true},
	})
	info := model.Info()
	path := window.Path{Entries: []firn.Entry{firn.UserText("What is firn?")}}
	request := provider.Request{Window: window.Build(path, window.Options{Profile: info.Profile, Ask: info.Ask()})}
	for event, err := range model.Stream(context.Background(), request) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if text, ok := event.(provider.TextDelta); ok {
			fmt.Print(text.Text)
		}
	}
}

// Gemini through its OpenAI-compatible endpoint: Gemini's rules for windows, and OpenAI's
// wire format.
func ExampleNewChat_gemini() {
	model := openai.NewChat(openai.Options{
		Name: "gemini-3-pro-preview", Provider: "google", Key: "...",
		URL:     "https://generativelanguage.googleapis.com/v1beta/openai",
		Profile: window.Gemini(),
	})
	fmt.Println(model.Info().Profile.Name)
	// Output: gemini
}
