package pages

import (
	"fmt"
	"path"
	"strings"

	"anteroom/edge/respond"
	"anteroom/generator/page"
)

// verifierSection is the form that checks a receipt in the browser. The twin says that it is there.
func (g *family) verifierSection() section {
	return section{
		markdown: fmt.Sprintf("The page [receipts.html](%s) has a form that makes these steps in the browser. "+
			"It sends the receipt nowhere.\n", g.URL("/receipts.html")),
		html: page.Verifier(strings.Join(g.ReceiptKeys(), ",")),
	}
}

// interpreters run the programs of the verify kit from standard input, by the end of their names.
var interpreters = map[string]string{".py": "python3 -", ".mjs": "node --input-type=module -", ".sh": "sh -s --"}

// kitSection has the lines that fetch a program of the kit and run it, ready to be copied.
func (g *family) kitSection() string {
	var b strings.Builder
	keys := g.ReceiptKeys()
	key := ""
	if len(keys) == 0 {
		key = " --key PUBLIC_KEY"
	}
	b.WriteString("```sh\n")
	for _, p := range respond.Kit {
		fmt.Fprintf(&b, "curl -sSf %s | %s%s receipt.json\n", g.URL(p), interpreters[path.Ext(p)], key)
	}
	b.WriteString("```\n\n")
	if len(keys) == 0 {
		fmt.Fprintf(&b, "The documents of this service publish no key, so the programs hold none. `PUBLIC_KEY` is `public_key_b64` of "+
			"[%s](%s). A registration and a charter need none.\n", g.Route("receipt").Path, g.URL(g.Route("receipt").Path))
	} else {
		fmt.Fprintf(&b, "The programs hold the keys of this service: %s. `--key PUBLIC_KEY` takes another in their place.\n", codes(keys))
	}
	return b.String()
}
