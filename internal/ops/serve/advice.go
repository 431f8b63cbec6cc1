package serve

import (
	"errors"

	"firn.dev/internal/base/typo"
	"firn.dev/internal/render/prose"
	"firn.dev/provider"
)

// starts describes how to start the local servers.
var starts = map[string]string{
	"ollama":   "to start Ollama: ollama serve",
	"lmstudio": "to start the server of LM Studio: lms server start",
	"llamacpp": "to start llama.cpp: llama-server -m MODEL.gguf",
	"vllm":     "to start vLLM: vllm serve MODEL",
}

// advise adds a hint to a provider's error: the variable of the API key, a model with a
// similar name, or the command that starts the server.
func (m *Models) advise(err error, providerName, model, profile string) error {
	var failure *provider.Error
	if !errors.As(err, &failure) || failure.Advice != "" {
		return err
	}
	advice := m.adviceFor(failure, providerName, model, profile)
	if advice == "" {
		return err
	}
	known := *failure
	known.Advice = advice
	return &known
}

func (m *Models) adviceFor(failure *provider.Error, providerName, model, profile string) string {
	v, s, err := m.vendor(providerName)
	if err != nil {
		return ""
	}
	switch {
	case failure.RejectsKey():
		c, err := m.credentials(v, s, profile)
		if err != nil || c.variable == "" {
			return ""
		}
		return KeyHint(c.variable)
	case provider.UnknownModel(failure):
		hint := "to list the models: firn model"
		if near := m.nearestModel(providerName, model); near != "" {
			hint = "did you mean " + near + "? " + hint
		} else if providerName == "ollama" {
			hint = "to download it: ollama pull " + prose.Clean(model) + "; " + hint
		}
		return hint
	case provider.Unreachable(failure) && starts[providerName] != "":
		return starts[providerName] + "; then /retry sends your message again"
	}
	return ""
}

// KeyHint returns where to put an API key.
func KeyHint(variable string) string {
	return "set " + variable + " to a valid API key, or choose another model with -m or /model; " + OfflineModel + " needs no key"
}

// nearestModel returns the known model of a provider whose name is most similar.
func (m *Models) nearestModel(providerName, model string) string {
	v, _, err := m.vendor(providerName)
	if err != nil {
		return ""
	}
	names := m.catalog().Names(providerName)
	if v.marked != "" {
		names = append(names, m.catalog().Names(v.marked)...)
	}
	if near := typo.Nearest(model, names, max(2, len(model)/4)); near != "" {
		return providerName + "/" + near
	}
	return ""
}
