// Package kit holds the programs that check a receipt, a registration or a charter without the
// service: one for Python, one for JavaScript, one for the shell. Each uses nothing but what comes
// with its language or system, and is short enough to be read before it is run.
//
// Each takes the JSON answer as it was received, from a file or from standard input, and says of
// each step whether it passes, up to the first that fails. All three print the same:
//
//	ok     fields: they rebuild into canonical
//	ok     hash: payload_sha256 is the SHA-256 of canonical
//	ok     signature: the receipt is signed
//	FAILED key: it is not a key of the service for receipts of that time
//
// With --counted, verify.py and verify.mjs also check that the public log has the registration or
// the charter. They ask the log of the service or another copy of it (--log), or read the proof in
// a file (--proof; see tlog.Stage.Prove):
//
//	ok     entry: it is in the log's look-up
//	ok     inclusion: it is entry 12 of the 512 that the checkpoint signs
//	ok     verification: the last entry of that tree is the verification of 2026-11-20
//	ok     checkpoint: it is signed by the key of www.base.example/log, at 512
//	ok     newest: its tree is the beginning of the newest one, of 700, which everybody sees
//	witnessed: it existed by 2026-11-20T10:02:11Z at the latest, says witness.example/w1
//	since then: it counts as own, says the look-up
//	counted registration by 2026-11-20, entry 12 of www.base.example/log at 512
//
// The package comment of tlog is the format. The newest checkpoint is read from the log; with
// --proof alone nothing is asked, and the line says what the proof itself leads to. The programs
// have the size and root of a replaced key after it, as in KEY@SIZE:ROOT. They take no key of a log
// under which anybody can sign: a point of small order. They do not look at the root of the
// look-up: anteroom log check does.
//
// The line "witnessed" is a cosignature that the program has verified, of the checkpoint or of the
// newest one: by a witness of the service, or by those that --witness names, all of which must have
// cosigned. One that is dated before the day of the verification, or to come, is not taken. If none
// is left, the line is "not witnessed".
//
// The line "since then" is about an entry that was corrected, and is not signed. The date is the
// day of the verification whose checkpoint proves the entry. A check reads at most six files of the
// log, each of at most 1 MiB and within 20 seconds, and follows no redirect.
//
// An input has at most 1 MiB and 32 levels. They exit with 0 if all is valid, 1 if a step fails,
// and 2 if nothing could be checked: the input or a file of the log cannot be read, or a key is
// missing. A receipt may be in {"verify": …}, as
// it is sent to the service; the outcome is the service's own verdict. Nobody signs a registration
// or a charter: without the log, its hash is checked, and the promise in the answer if it has one:
//
//	ok     promise: it is about this record
//	ok     key: it is a key of the service for receipts of that time
//	ok     signature: it is one by … over its text
//
// The programs are templates. generate fills in what is in double square brackets: the keys of the
// service, and the names and limits of the tables.
package kit

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"anteroom/edge/canon"
	"anteroom/edge/endpoint/org"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

//go:embed verify.py verify.mjs verify.sh
var programs embed.FS

// Program is the text of the program with this file name, filled in for a service at baseURL. keys
// are the base64 texts of the keys that it publishes, the current one first; "@FIRST..LAST" after a
// retired one are the days for whose receipts it counts, where "" is not known. Without keys the
// program asks for one when it meets a signature. logKeys are the verifier keys of the public log
// in the order of their use, witnesses those of its witnesses; both may be empty.
func Program(name, baseURL string, keys, logKeys, witnesses []string) ([]byte, error) {
	text, err := fs.ReadFile(programs, name)
	if err != nil {
		return nil, fmt.Errorf("read the program %s of the kit: %w", name, err)
	}
	ifLog := func(text string) string {
		if len(logKeys) == 0 {
			return ""
		}
		return text
	}
	log, without, noKey := ifLog(baseURL+tlog.Folder), "", "no key of the log: give it with --log-key"
	if log == "" {
		without, noKey = "; this service keeps no log", "this service keeps no log"
	}
	filled, err := site.Expand(string(text), map[string]string{
		"base_url":           baseURL,
		"receipt_keys":       strings.Join(keys, ","),
		"log_keys":           strings.Join(logKeys, ","),
		"log_witnesses":      strings.Join(witnesses, ","),
		"receipt_fields":     strings.Join(canon.ReceiptFields, " "),
		"receipt_nullable":   canon.ReceiptNullable,
		"positions":          strings.Join(org.Positions, " "),
		"canon_registration": canon.RegistrationRule,
		"canon_charter":      canon.CharterRule,
		"canon_promise":      canon.PromiseRule,
		"kit_exit":           "Exit status: 0 valid, 1 not valid, 2 not checked",
		"kit_file":           "the JSON answer as it was received; standard input where it is absent",
		"kit_key": "the public key that receipts are checked against, in base64; several are joined with commas, " +
			"the current one first, and @FIRST..LAST after a key are the days for whose receipts it counts. The service gives it as public_key_b64 at " + baseURL + "/api/receipt",
		"kit_counted":    "check also that the public log has the answer, of a registration or a charter" + without,
		"kit_no_log_key": noKey,
		"kit_log":        "the address of the log that is asked, with --counted" + ifLog("; "+log+" where it is absent"),
		"log_url":        log,
		"kit_proof":      "check that it was counted by this tlog-proof of the answer, without asking the log",
		"kit_witness":    "the verifier key of a witness that must have cosigned; several are joined with commas",
		"kit_log_key":    "the verifier key of the log; several are joined with commas" + ifLog(". The service gives them at "+baseURL+tlog.KeysPath),
	})
	if err != nil {
		return nil, fmt.Errorf("fill in the program %s of the kit: %w", name, err)
	}
	return []byte(filled), nil
}
