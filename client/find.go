package client

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// AddressFile is where a gateway writes down how it is reached, below its home.
const AddressFile = "gateway/address.json"

// findTime is how long a gateway may take to say that it is there.
const findTime = 2 * time.Second

// Find looks for a gateway that serves a home: it reads the address that the
// gateway wrote down, and asks whether it is there. One that was killed leaves
// its address behind; it is not found. read reads the file; nil means
// os.ReadFile.
func Find(ctx context.Context, home string, read func(path string) ([]byte, error)) (address string, ok bool) {
	if read == nil {
		read = os.ReadFile
	}
	data, err := read(filepath.Join(home, filepath.FromSlash(AddressFile)))
	if err != nil {
		return "", false
	}
	var at struct {
		Address string `json:"address"`
	}
	if json.Unmarshal(data, &at) != nil {
		return "", false
	}
	c, err := New(Options{Address: at.Address})
	if err != nil {
		return "", false
	}
	defer c.Close()
	return at.Address, c.alive(ctx)
}

// alive asks once whether a gateway is there. That it wants a token from us does
// not matter here: /healthz asks for none.
func (c *Client) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	_, err := c.fetch(ctx, request{method: http.MethodGet, path: []string{"healthz"}}, nil)
	return err == nil
}
