// Package kit holds the programs that check a receipt, a registration or a charter without the
// service: one for Python, one for JavaScript. Each uses only the standard library of its language,
// and is short enough to be read before it is run.
//
// Each takes the JSON answer unchanged, from a file or from standard input, and prints the result
// of each step up to the first that fails. Both print the same:
//
//	ok     fields: they match canonical
//	FAILED hash: payload_sha256 is not the SHA-256 of canonical
//
// With --counted, they also read the whole public log, of the service or a copy of it (--log), and
// check that it has the registration or the charter, and that the promise in the answer was kept.
// Package tlog describes the format. The programs judge answers as anteroom log check does, which
// also recounts the boards, and compares the log with kept checkpoints and witnesses. A file of the
// log has at most 1 MiB, and comes within 20 seconds, without a redirect.
//
// An input has at most 1 MiB and 32 levels. The programs exit with 0 if all is valid, 1 if a step
// fails, and 2 if there is no verdict: the input or a file of the log cannot be read, a key is
// missing, a promise is unverified or signed by a revoked key, or a copy of the log is too old. A
// receipt may be wrapped in {"verify": …}, the form sent to the service; the outcome is the
// service's own verdict. A registration or charter is not signed: without the log, its hash is
// checked, and the promise in the answer, if any.
//
// The programs are templates. generate fills in the keys of the service, and the names and limits
// of the tables, in double square brackets.
package kit

import (
	"embed"
	"strings"

	"anteroom/edge/canon"
	"anteroom/edge/endpoint/org"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

//go:embed verify.py verify.mjs
var programs embed.FS

// Program returns the program with this file name for a service at baseURL. keys are the published
// receipt keys in base64, the current one first; a retired one is followed by "@FIRST..LAST", the
// days of its receipts, either of which may be unknown, and a revoked one by "@revoked", which no
// day is. Without keys the program requires one for a signature. logKey is the verifier key of the
// public log, or "".
func Program(name, baseURL string, keys []string, logKey string) ([]byte, error) {
	text, err := programs.ReadFile(name)
	if err != nil {
		return nil, err
	}
	ifLog := func(text string) string {
		if logKey == "" {
			return ""
		}
		return text
	}
	log, without, noKey := ifLog(baseURL+tlog.Folder), "", "no key of the log: give one with --log-key"
	if log == "" {
		without, noKey = "; this service keeps no log", "this service keeps no log"
	}
	_, host, _ := strings.Cut(baseURL, "://")
	filled, err := site.Expand(string(text), map[string]string{
		"base_url":           baseURL,
		"canonical_host":     host,
		"receipt_keys":       strings.Join(keys, ","),
		"log_key":            logKey,
		"receipt_fields":     strings.Join(canon.ReceiptFields, " "),
		"receipt_nullable":   canon.ReceiptNullable,
		"positions":          strings.Join(org.Positions, " "),
		"canon_registration": canon.RegistrationRule,
		"canon_charter":      canon.CharterRule,
		"canon_promise":      canon.PromiseRule,
		"kit_exit":           "Exit status: 0 valid, 1 not valid, 2 not checked",
		"kit_file":           "the JSON answer, unchanged; default standard input",
		"kit_key": "the public key to check receipts and promises with, in base64; join several with commas, " +
			"the current one first, and add @FIRST..LAST to a key for the days on which it signed. " +
			"The service publishes it as public_key_b64 at " + baseURL + "/api/receipt",
		"kit_counted":    "also check that the public log has this registration or charter" + without,
		"kit_no_log_key": noKey,
		"kit_log":        "the address of the log to read for --counted" + ifLog("; default "+log),
		"log_url":        log,
		"kit_log_key":    "the verifier key of the log" + ifLog(". The service publishes it at "+baseURL+tlog.KeyPath),
	})
	return []byte(filled), err
}
