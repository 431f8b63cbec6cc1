// Command site builds the documentation as static pages: the Markdown of this repository
// with navigation, search and printing, and without external requests. It fails if a link
// leads to a file or heading that does not exist, or if docs/README.md does not list a page.
// `make site` runs it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the `directory` of the repository")
	out := flag.String("out", "dist/site", "the `directory` to write the pages to; it is replaced")
	flag.Parse()
	s, err := build(*root)
	if err == nil {
		err = s.write(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages and %d other files in %s\n", len(s.pages), len(s.files), *out)
}
