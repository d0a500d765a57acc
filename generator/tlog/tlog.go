// Package tlog is the public log: a transparency log of every record that a hand verification has
// counted, as files that anyone can check without trusting the service. This comment is the
// format.
//
// # Entries
//
// An entry is one JSON object without white space, with its members in the order shown. It contains
// no name and no address.
//
//	{"kind":"registration","entry":"<hash>"}   a registration that counts
//	{"kind":"charter","entry":"<hash>"}        a charter that counts
//	{"kind":"suggestion","entry":"<hash>"}     a suggestion from outside
//	{"kind":"own","entry":"<hash>"}            a record of the operator's, set apart
//	{"kind":"vouched","index":0}               the operator vouches for the agent of registration 0
//	{"kind":"correction","index":0,"to":"own"} entry 0 counts as "own" from here on, or as "none"
//	{"kind":"verification","as_of":"2026-11-20","board":"…","board_sha256":"<hash>",
//	 "receipt_keys":[…]}
//
// The hash of a registration or charter is the SHA-256 of its record_id, a line feed and its
// payload_sha256, in lower-case hexadecimal. The hash of a suggestion is the SHA-256 of its
// record_id. An index counts from the first entry of the log.
//
// A verification has the path of its scoreboard, such as /scoreboard/2026-11-20.json, and the
// SHA-256 of the document there. receipt_keys has the keys that verify receipts, in the form of the
// verify kit: the current one, then the replaced ones, with @ and the days for whose receipts each
// counts. A key that a later verification does not name was revoked between them.
//
// # Recount
//
// Read the entries in order. Each counts as its kind until it is corrected. The numbers of the
// board of a verification are the numbers of entries before it that count as vouched
// (verified_organic_agent_conversions), registration (registrations_recorded), charter
// (charters_filed), suggestion (received_external) and own (development_seed_and_test_records). A
// record changes its kind only to own or none, and back; an own record changes to the kind it was
// first corrected to. A vouched agent has a registration that counts, so there are never more
// conversions than registrations.
//
// # Content
//
// A hand verification, such as 2026-11-20, adds a stage: log/2026-11-20.jsonl has its entries, one
// a line, and the verification is the last. log/2026-11-20.checkpoint is the signed note over the
// whole tree (C2SP tlog-checkpoint). The entries of a stage are the records it covers, kind by kind
// in the order in which they were recorded, then corrections, then vouched agents. The first stage
// may belong to any verification, and has all records of the earlier ones; each verification after
// it has a stage.
//
// # Key
//
// A log has one key. The name in it is the origin of the checkpoints: the host of the service and
// /log, or /log-2 for the second log of a host. A lost key means a new log.
//
// # Published files
//
//	/log/vkey                            the verifier key
//	/log/checkpoint                      the newest checkpoint
//	/log/checkpoints/<size>              every one, by the size of its tree
//	/log/tile/<level>/<n>[.p/<width>]    C2SP tlog-tiles, with the partial ones of every checkpoint
//	/log/tile/entries/<n>[.p/<width>]    the entries
//
// There are no proofs: the root of any number of entries follows from the entries (RFC 6962,
// section 2.1). So a kept checkpoint, or the tree that a promise names, is compared with the
// root of that many entries.
package tlog
