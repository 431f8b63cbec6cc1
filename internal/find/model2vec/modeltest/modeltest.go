// Package modeltest writes the files of models in Model2Vec's format, for tests and
// measurements.
package modeltest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// Tensor is a tensor of a file.
type Tensor struct {
	Name  string
	DType string
	Shape []int
	// Numbers are rounded to the type.
	Numbers []float64
}

// Tensors returns a file in the format safetensors.
func Tensors(all ...Tensor) ([]byte, error) {
	header := make(map[string]any)
	var data []byte
	for _, t := range all {
		from := len(data)
		for _, x := range t.Numbers {
			var err error
			if data, err = appendNumber(data, t.DType, x); err != nil {
				return nil, err
			}
		}
		header[t.Name] = map[string]any{"dtype": t.DType, "shape": t.Shape, "data_offsets": [2]int{from, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(file, text...), data...), nil
}

func appendNumber(data []byte, dtype string, x float64) ([]byte, error) {
	switch dtype {
	case "F64":
		return binary.LittleEndian.AppendUint64(data, math.Float64bits(x)), nil
	case "F32":
		return binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x))), nil
	case "BF16":
		return binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(float32(x))>>16)), nil
	case "F16":
		return binary.LittleEndian.AppendUint16(data, half(x)), nil
	case "I8":
		return append(data, byte(int8(x))), nil
	case "I32":
		return binary.LittleEndian.AppendUint32(data, uint32(int32(x))), nil
	case "I64":
		return binary.LittleEndian.AppendUint64(data, uint64(int64(x))), nil
	}
	return nil, fmt.Errorf("no numbers of type %s", dtype)
}

// half encodes a number in 16 bits. Numbers that are too small become zero.
func half(x float64) uint16 {
	sign := uint16(0)
	if x < 0 {
		sign, x = 1<<15, -x
	}
	fraction, exponent := math.Frexp(x)
	if x == 0 || exponent < -13 {
		return sign
	}
	return sign | uint16(exponent+14)<<10 | uint16(math.Round((2*fraction-1)*1024))&0x3ff
}

// Tokens returns a file tokenizer.json with the rules of BERT. The first token is the unknown
// one.
func Tokens(tokens ...string) ([]byte, error) {
	vocab := make(map[string]int)
	for i, token := range tokens {
		vocab[token] = i
	}
	return Rules(map[string]any{
		"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"model":         map[string]any{"type": "WordPiece", "unk_token": tokens[0], "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab},
	})
}

// Rules returns a file tokenizer.json with some members.
func Rules(members map[string]any) ([]byte, error) {
	file := map[string]any{"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []any{}, "post_processor": nil, "decoder": nil}
	for name, value := range members {
		file[name] = value
	}
	return json.Marshal(file)
}
