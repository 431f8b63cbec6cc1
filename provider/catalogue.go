package provider

// AssumedWindow is the window of a model that is not in the catalogue.
const AssumedWindow = 200_000

// Catalogue knows the sizes and prices of models. The zero catalogue knows
// none; [Known] has those that come with firn.
type Catalogue struct {
	specs map[string]Spec
}

// Find returns what is known of a model, by the names of provider and model.
// For one that is not known it is [AssumedWindow] and marked as assumed.
func (c Catalogue) Find(provider, model string) Spec {
	if spec, ok := c.specs[provider+"/"+model]; ok {
		return spec
	}
	return Spec{Window: AssumedWindow, Assumed: true}
}
