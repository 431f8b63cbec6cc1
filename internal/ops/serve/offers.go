package serve

import (
	"context"
	"slices"

	"firn.dev/internal/ops/modelchoice"
	"firn.dev/wire"
)

// defaultModels are the models that a provider's API key selects if nothing is configured, in
// order of preference.
var defaultModels = []string{
	"anthropic/claude-sonnet-5", "openai/gpt-5", "gemini/gemini-2.5-pro", "openrouter/anthropic/claude-sonnet-4.5",
	"groq/llama-3.3-70b-versatile", "mistral/mistral-large-latest", "deepseek/deepseek-v4-pro",
}

// serverTitles are the usual names of local servers.
var serverTitles = map[string]string{"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp", "vllm": "vLLM", "openai": "the server of OPENAI_BASE_URL"}

// Table returns the models to choose from. It does no I/O except reading key files.
func (m *Models) Table() modelchoice.Table {
	t := modelchoice.Table{Providers: m.Providers(), BaseURL: m.env("OPENAI_BASE_URL") != ""}
	for _, name := range t.Providers {
		t.Offers = append(t.Offers, m.offersOf(name)...)
		if s, ok := m.serverOf(name); ok {
			t.Servers = append(t.Servers, s)
		}
	}
	for _, id := range defaultModels {
		providerName, _, err := SplitModel(id)
		if err != nil {
			continue // unreachable: a test resolves them
		}
		if variable, there := m.keyOf(providerName); there && variable != "" {
			t.Defaults = append(t.Defaults, modelchoice.Default{Variable: variable, ID: id})
		}
	}
	return t
}

// Local lists the models that servers on this machine offer.
func (m *Models) Local(ctx context.Context) []wire.Model {
	models := []wire.Model{}
	for _, o := range m.Table().Local(ctx, 10*modelchoice.Wait) {
		models = append(models, wire.Model{ID: o.ID, Window: o.Window, Local: true})
	}
	return models
}

// keyOf returns the variable of a provider's API key, and reports whether the provider can be
// used: its key is there, or it needs none.
func (m *Models) keyOf(providerName string) (variable string, ready bool) {
	v, s, err := m.vendor(providerName)
	if err != nil {
		return "", false
	}
	c, err := m.credentials(v, s, "")
	if err != nil {
		return c.variable, false
	}
	_, own := m.addressOf(v, s)
	return c.variable, c.key != "" || len(c.header) > 0 || c.variable == "" || own
}

// offersOf returns the models of a provider that the catalog knows.
func (m *Models) offersOf(providerName string) []modelchoice.Offer {
	v, _, err := m.vendor(providerName)
	if err != nil {
		return nil
	}
	if v.kind == kindOffline {
		built, err := m.find(providerName, "offline", "")
		if err != nil {
			return nil
		}
		return []modelchoice.Offer{{ID: OfflineModel, Window: built.Info().Window, Priced: true, Ready: true}}
	}
	names, listed := m.catalog().Names(providerName), providerName
	if providerName == "gemini" {
		names, listed = m.catalog().Names("google"), "google"
	}
	variable, ready := m.keyOf(providerName)
	offers := make([]modelchoice.Offer, 0, len(names))
	for _, name := range names {
		spec := m.catalog().Find(listed, name)
		o := modelchoice.Offer{
			ID: providerName + "/" + name, Window: spec.Window, Input: spec.Price.Input, Output: spec.Price.Output,
			Priced: spec.Price.Input > 0 || spec.Price.Output > 0, Variable: variable, Ready: ready,
		}
		if spec.Assumed {
			o.Window = 0
		}
		offers = append(offers, o)
	}
	return offers
}

// serverOf returns the server of a provider that may list more models than the catalog has.
// Servers with common ports are listed only if the settings name them.
func (m *Models) serverOf(providerName string) (modelchoice.Server, bool) {
	v, s, err := m.vendor(providerName)
	if err != nil || v.kind == kindOffline || v.kind == kindAnthropic || providerName == "openai-chat" {
		return modelchoice.Server{}, false
	}
	url, own := m.addressOf(v, s)
	usual := slices.Contains([]string{"ollama", "lmstudio"}, providerName)
	if !usual && !own {
		return modelchoice.Server{}, false
	}
	title := serverTitles[providerName]
	if title == "" {
		title = providerName
	}
	return modelchoice.Server{Provider: providerName, Title: title, URL: url, Tags: providerName == "ollama"}, true
}
