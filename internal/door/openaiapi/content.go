package openaiapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/door/conversation"
)

// contentPart is a part of a message in either of OpenAI's two APIs.
type contentPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
	// ImageURL is a string, or an object with a member url.
	ImageURL json.RawMessage `json:"image_url"`
}

// contentParts reads the content of a message: a string, or parts.
func contentParts(raw json.RawMessage) ([]firn.Part, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return conversation.TextPart(text), nil
	}
	var all []contentPart
	if err := rawjson.Unmarshal(raw, &all, true); err != nil {
		return nil, errors.New("the content is neither a string nor a list of parts")
	}
	var parts []firn.Part
	for _, p := range all {
		switch p.Type {
		case "text", "input_text", "output_text":
			parts = append(parts, conversation.TextPart(p.Text)...)
		case "refusal":
			parts = append(parts, conversation.TextPart(p.Refusal)...)
		case "image_url", "input_image":
			image, err := imagePart(p.ImageURL)
			if err != nil {
				return nil, err
			}
			parts = append(parts, image)
		default:
			return nil, fmt.Errorf("unsupported part type %s", conversation.Quoted(p.Type))
		}
	}
	return parts, nil
}

// imagePart reads an image. The image must be in the request itself; URLs are not fetched.
func imagePart(raw json.RawMessage) (firn.Part, error) {
	var url string
	if json.Unmarshal(raw, &url) != nil {
		var object struct {
			URL string `json:"url"`
		}
		if err := rawjson.Unmarshal(raw, &object, true); err != nil {
			return nil, errors.New("missing image URL")
		}
		url = object.URL
	}
	rest, ok := strings.CutPrefix(url, "data:")
	kind, data, packed := strings.Cut(rest, ";base64,")
	if !ok || !packed || !strings.HasPrefix(kind, "image/") {
		return nil, errors.New("images must be sent as data:image/…;base64,…; URLs are not fetched")
	}
	if _, err := base64.StdEncoding.DecodeString(data); err != nil {
		return nil, errors.New("an image is not valid base64")
	}
	return firn.Image{MimeType: kind, Data: data}, nil
}
