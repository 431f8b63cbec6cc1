package provider

import (
	"regexp"
	"strings"
)

// makers are the providers that make the models they offer, by the names that
// others call them.
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

// splitMaker parts a name of the form vendor/model. Of longer ones, as gateways
// of gateways have them, the last two count. Without a vendor that makes models
// the maker is empty.
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
	// region is where Bedrock runs a model; it does not change the model.
	region = regexp.MustCompile(`^(us|eu|ap|apac|au|ca|jp|in|sa|us-gov|global)\.`)
	// variant is how OpenRouter routes a request.
	variant = regexp.MustCompile(`:(free|batch|nitro|floor|online|extended|exacto|thinking|beta)$`)
	// early is what tells a trial from the release.
	early = regexp.MustCompile(`-(preview|exp|experimental)(-\d[\d-]*)?$`)
	// dated is what tells the releases of one model apart.
	dated = regexp.MustCompile(`[-@](latest|20\d\d-?\d\d-?\d\d)(-v\d+(-\d+)?)?$`)
)

// spelling is a name without what is only a matter of spelling.
func spelling(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	name = strings.TrimPrefix(name, "models/")
	name = region.ReplaceAllString(name, "")
	name = variant.ReplaceAllString(name, "")
	return strings.NewReplacer(".", "-", ":", "-").Replace(name)
}

// stem is a name without its date.
func stem(name string) string { return dated.ReplaceAllString(spelling(name), "") }

// release is a stem without what marks it as a trial.
func release(stem string) string { return early.ReplaceAllString(stem, "") }
