package tool_test

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/tool"
)

func ExampleNew() {
	type arguments struct {
		City string `json:"city" desc:"The name of the city."`
		Days int    `json:"days,omitempty" desc:"How many days ahead."`
	}
	weather := tool.New("weather", "Returns the weather forecast.", func(_ context.Context, a arguments) (tool.Result, error) {
		return tool.TextResult(fmt.Sprintf("snow in %s for %d days", a.City, max(a.Days, 1))), nil
	})
	fmt.Println(string(weather.Spec().Schema))
	r, err := weather.Run(context.Background(), []byte(`{"city": "Inari", "days": "3"}`))
	fmt.Println(firn.JoinText(r.Parts), err)
	_, err = weather.Run(context.Background(), []byte(`{"town": "Inari"}`))
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"The name of the city."},"days":{"type":"integer","description":"How many days ahead."}},"required":["city"],"additionalProperties":false}
	// snow in Inari for 3 days <nil>
	// invalid arguments for weather: "town" is unknown (known: city and days); city is missing
}
