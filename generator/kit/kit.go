// Package kit holds the programs that check a receipt, a registration or a charter without the
// service: one for Python, one for JavaScript, one for the shell. Each uses nothing but what comes
// with its language or system, and is short enough to be read before it is run.
//
// Each takes the JSON answer as it was received, from a file or from standard input, and says of
// each step whether it passes, up to the first that fails. All three print the same:
//
//	ok     fields: they rebuild into canonical
//	ok     hash: payload_sha256 is the SHA-256 of canonical
//	ok     signature: the receipt has one
//	FAILED key: it is a key of the service
//
// They exit with 0 where all is valid, 1 where a step fails, and 2 where nothing could be checked:
// the input cannot be read, or there is no key. A receipt may stand in {"verify": …}, as it is sent
// to the service. For a receipt the outcome is the service's own verdict. A registration and a
// charter are not signed, so that nothing but their hash is checked.
//
// The programs are templates. What they have in double square brackets is filled in when they are
// published: the keys of the service, and the names and limits of the tables.
package kit

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"anteroom/edge/canon"
	"anteroom/edge/endpoint/org"
	"anteroom/generator/site"
)

//go:embed verify.py verify.mjs verify.sh
var programs embed.FS

// Program is the text of the program with this file name, filled in for a service at baseURL. keys
// are the base64 texts of the keys that it publishes, the current one first. There may be none:
// then the program asks for one when it meets a signature.
func Program(name, baseURL string, keys []string) ([]byte, error) {
	text, err := fs.ReadFile(programs, name)
	if err != nil {
		return nil, fmt.Errorf("read the program %s of the kit: %w", name, err)
	}
	filled, err := site.Expand(string(text), map[string]string{
		"base_url":           baseURL,
		"receipt_keys":       strings.Join(keys, ","),
		"receipt_fields":     strings.Join(canon.ReceiptFields, " "),
		"receipt_nullable":   canon.ReceiptNullable,
		"positions":          strings.Join(org.Positions, " "),
		"canon_registration": canon.RegistrationRule,
		"canon_charter":      canon.CharterRule,
		"kit_exit":           "Exit status: 0 valid, 1 not valid, 2 not checked",
		"kit_file":           "the JSON answer as it was received; standard input where it is absent",
		"kit_key": "the public key that receipts are checked against, in base64; several are joined with commas, " +
			"the current one first. The service gives it as public_key_b64 at " + baseURL + "/api/receipt",
	})
	if err != nil {
		return nil, fmt.Errorf("fill in the program %s of the kit: %w", name, err)
	}
	return []byte(filled), nil
}
