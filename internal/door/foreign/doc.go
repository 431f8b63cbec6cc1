// Package foreign has the bodies of other vendors' APIs that the gateway shares between its
// doors: errors in the formats of OpenAI and Anthropic, and the list of models.
package foreign
