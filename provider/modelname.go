package provider

import (
	"strings"

	"firn.dev/internal/base/pattern"
)

// makers lists the providers that make the models they offer, keyed by the names that other
// providers use for them.
var makers = map[string]string{
	"anthropic": "anthropic", "openai": "openai",
	"google": "google", "gemini": "google", "vertex_ai": "google",
	"mistral": "mistral", "mistralai": "mistral",
	"xai": "xai", "x-ai": "xai",
	"deepseek": "deepseek", "deepseek-ai": "deepseek",
	"moonshotai": "moonshotai", "moonshot": "moonshotai",
	"zai": "zai", "z-ai": "zai", "zai-org": "zai",
	"minimax": "minimax", "minimaxai": "minimax",
	"xiaomi": "xiaomi",
}

func isMaker(provider string) bool { return makers[provider] == provider }

// splitMaker splits a name of the form vendor/model. Of longer names, as nested gateways
// produce them, only the last two elements count. The maker is empty if the vendor is not a
// known maker.
func splitMaker(model string) (maker, name string) {
	i := strings.LastIndexByte(model, '/')
	if i < 0 {
		return "", model
	}
	vendor := model[:i]
	if j := strings.LastIndexByte(vendor, '/'); j >= 0 {
		vendor = vendor[j+1:]
	}
	return makers[strings.ToLower(vendor)], model[i+1:]
}

var (
	// region matches a Bedrock region prefix. It does not change the model.
	region = pattern.New(`^(us|eu|ap|apac|au|ca|jp|in|sa|us-gov|global)\.`)
	// variant matches an OpenRouter routing suffix.
	variant = pattern.New(`:(free|batch|nitro|floor|online|extended|exacto|thinking|beta)$`)
	// previewSuffix distinguishes a preview from the release.
	previewSuffix = pattern.New(`-(preview|exp|experimental)(-\d[\d-]*)?$`)
	// dateSuffix distinguishes dated releases of one model.
	dateSuffix = pattern.New(`[-@](latest|20\d\d-?\d\d-?\d\d)(-v\d+(-\d+)?)?$`)
)

// normalizeName removes differences of notation from a model name.
func normalizeName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	name = strings.TrimPrefix(name, "models/")
	name = region().ReplaceAllString(name, "")
	name = variant().ReplaceAllString(name, "")
	return strings.NewReplacer(".", "-", ":", "-").Replace(name)
}

// stem returns a normalized name without its date.
func stem(name string) string { return dateSuffix().ReplaceAllString(normalizeName(name), "") }

// mayHaveStem reports whether a name can have a stem. It is a quick test: the stem is a part of
// the name, apart from case and separators.
func mayHaveStem(name, stem string) bool {
	first, _, _ := strings.Cut(stem, "-")
	return len(name) >= len(stem) && strings.Contains(strings.ToLower(name), first)
}

// release returns a stem without its preview suffix.
func release(stem string) string { return previewSuffix().ReplaceAllString(stem, "") }
