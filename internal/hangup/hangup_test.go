package hangup_test

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"firn/internal/hangup"
)

// closer is a buffer that can be closed.
type closer struct{ bytes.Buffer }

func (*closer) Close() error { return nil }

func TestWait(t *testing.T) {
	cases := map[string]struct {
		asked, answered string
		ends            bool
	}{
		"nothing asked":         {"", "", true},
		"answered":              {`{"id":1,"method":"a"}` + "\n", `{"id":1,"result":{}}` + "\n", true},
		"not answered":          {`{"id":1,"method":"a"}` + "\n", "", false},
		"another answered":      {`{"id":1,"method":"a"}` + "\n", `{"id":2,"result":{}}` + "\n", false},
		"one of two":            {`{"id":1,"method":"a"}` + "\n" + `{"id":2,"method":"a"}` + "\n", `{"id":2,"result":{}}` + "\n", false},
		"without a newline":     {`{"id":"x","method":"a"}`, `{"id":"x","error":{}}` + "\n", true},
		"a notice":              {`{"method":"note"}` + "\n", "", true},
		"excepted":              {`{"id":1,"method":"long"}` + "\n", "", true},
		"an answer to us":       {`{"id":7,"result":1}` + "\n", "", true},
		"no JSON":               {"hello\n{\n[]\n", "", true},
		"we ask back meanwhile": {`{"id":1,"method":"a"}` + "\n", `{"id":1,"method":"b"}` + "\n", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out := hangup.Wait(strings.NewReader(c.asked), &closer{}, "long")
				ended := make(chan struct{})
				go func() {
					io.Copy(io.Discard, bufio.NewReader(in))
					close(ended)
				}()
				synctest.Wait()
				if _, err := io.WriteString(out, c.answered); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case <-ended:
					if !c.ends {
						t.Error("the stream ended before all was answered")
					}
				default:
					if c.ends {
						t.Error("the stream does not end")
					}
					for range 3 { // let it go, so that the test can end
						io.WriteString(out, `{"id":1,"result":{}}`+"\n")
						io.WriteString(out, `{"id":2,"result":{}}`+"\n")
					}
					<-ended
				}
			})
		})
	}
}
