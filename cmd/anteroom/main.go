// Anteroom renders a content folder into the documents of a pre-launch network for agents, and
// serves them together with the endpoints that write.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
