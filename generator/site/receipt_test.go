package site

import (
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/edge/edgetest"
)

// TestReceipt: the receipt of a content folder is valid, or the folder is refused.
func TestReceipt(t *testing.T) {
	receipt := string(edgetest.NewFake(t).Do("POST", "/api/receipt", `{"agent_name":"ledger-lark"}`).Body)
	current, other := "current: "+edgetest.PublicKey(edgetest.Key), "current: "+edgetest.PublicKey(edgetest.RetiredKey)
	const refused = "receipt.json: not a valid receipt of this service: "
	for name, c := range map[string]struct{ receipt, key, want string }{
		"a valid one":             {receipt, current, ""},
		"none":                    {"", current, ""},
		"another name":            {strings.Replace(receipt, "ledger-lark", "eve", 1), current, refused},
		"without a published key": {receipt, "", refused},
		"of another host":         {receipt, current, "receipt.json: receipt issued by another host: got www.example.org, want www.base.example ("},
		"with another key":        {receipt, other, refused},
		"an empty file":           {" ", current, "receipt.json: empty (write it)"},
		"half of one":             {receipt[:100], current, "receipt.json: not a receipt in JSON"},
	} {
		fsys := base(t)
		host := string(fsys["service.yaml"].Data)
		if name != "of another host" {
			host = strings.ReplaceAll(host, "base.example", "example.org")
		}
		fsys["service.yaml"].Data = []byte(strings.Replace(host, "current: O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik=", c.key, 1))
		if c.receipt != "" {
			fsys["receipt.json"] = &fstest.MapFile{Data: []byte(c.receipt)}
		}
		s, err := Load(fsys)
		switch {
		case c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case err == nil && (s.Receipt != nil) != (c.receipt != ""):
			t.Errorf("%s: the site has the receipt %v", name, s.Receipt)
		}
	}
}
