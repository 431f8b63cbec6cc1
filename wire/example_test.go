package wire_test

import (
	"encoding/json"
	"fmt"

	"firn.dev/wire"
)

// The body of a turn, as a client of the HTTP API sends it.
func Example() {
	body, err := json.Marshal(wire.Turn{Text: "When is the trip?", Agent: "travel"})
	fmt.Println(string(body), err)

	var answer wire.Answer
	err = json.Unmarshal([]byte(`{"session":"s1","text":"In May.","stop":"stop","usage":{"input":12,"output":3}}`), &answer)
	fmt.Println(answer.Text, answer.Usage.Output, err)
	// Output:
	// {"text":"When is the trip?","agent":"travel"} <nil>
	// In May. 3 <nil>
}
