package model2vec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Limits of a tokenizer file. Those of published models are far below. Together with the
// limits of a text they bound the time and the memory that any file can take.
const (
	maxTokenizer = 64 << 20
	maxTokens    = 1 << 21
	// maxMerges is the number of merges of BPE for each token of its vocabulary.
	maxMerges = 16
	// maxRules is the length of the JSON of all normalizers, and of all pre-tokenizers.
	maxRules = 2 << 20
	// maxSteps is the number of both together. Model2Vec writes one for each punctuation mark.
	maxSteps = 64
	// maxDepth is the depth of sequences in others.
	maxDepth = 10
	// maxInserted is the length of a text that a step inserts or looks for character by
	// character.
	maxInserted = 16
	// maxPattern is the length of a pattern, maxInstructions the number of instructions of
	// all regular expressions together, without those that are a class of characters.
	maxPattern      = 1024
	maxInstructions = 512
	// maxToken is the length of a token that is looked for at each place of a text.
	maxToken = 256
	// maxElement is the length of the JSON of a token or a merge in an array.
	maxElement = 8 << 10
	// maxAddedWork is the work of normalizing added tokens: bytes times steps and
	// instructions.
	maxAddedWork = 1 << 25
)

// Limits of a text.
const (
	// maxText is the length of the part of a text that counts. Model2Vec itself reads less:
	// the number of tokens that count times the median length of a token.
	maxText = 16 << 10
	// maxGrown is the length that a text may reach when it is normalized and split.
	maxGrown = 64 << 10
)

// grownStep returns the length that a part of a text of n bytes may reach in each step.
func grownStep(n int) int { return min(4*n+64, maxGrown) }

// grownParts returns the length that parts of a text may reach in a step.
func grownParts(parts []string) int {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	return grownStep(n)
}

// grownText returns the length that all parts of a text of n bytes may reach together, and
// the number of tokens it may have.
func grownText(n int) int { return min(16*n+1024, maxGrown) }

// eachElement calls f with the elements of a JSON array: at most count of them, of at most
// length bytes each. An element is valid until f returns.
func eachElement(data []byte, count, length int, f func(json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return errors.New("not a JSON array")
	}
	var element json.RawMessage
	for n := 0; d.More(); n++ {
		if n == count {
			return fmt.Errorf("it has more than %d elements", count)
		}
		if err := d.Decode(&element); err != nil {
			return err
		}
		if len(element) > length {
			return fmt.Errorf("element %d is longer than %d bytes", n, length)
		}
		if err := f(element); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// stepList is the steps of a sequence, at most maxSteps.
type stepList []json.RawMessage

// UnmarshalJSON reads an array of steps.
func (l *stepList) UnmarshalJSON(data []byte) error {
	*l = nil
	if string(data) == "null" {
		return nil
	}
	return eachElement(data, maxSteps, maxRules, func(step json.RawMessage) error {
		*l = append(*l, bytes.Clone(step))
		return nil
	})
}
