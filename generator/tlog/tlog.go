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
//	{"kind":"verification","as_of":"2026-11-20","counts":{…},"board":"…","board_sha256":"<hash>",
//	 "version":2,"told":{…},"receipt_keys":[…],"manifest_sha256":"<hash>","lookup_sha256":"<hash>"}
//	{"kind":"log","checkpoint":"…"}            the first entry of a tree under a new key
//
// The hash of a registration or charter is the SHA-256 of its record_id, a line feed and its
// payload_sha256, in lower-case hexadecimal. The hash of a suggestion is the SHA-256 of its
// record_id. An index counts from the first entry of the first tree, through all trees.
//
// A verification has the path of its scoreboard, such as /scoreboard/2026-11-20.json, and the
// SHA-256 of the document there. Its last members commit the operator to the published documents:
//
//   - told has the other numbers of the board, which the operator entered and no one can recount,
//     by their places in the board, such as suggestions.shipped, sorted by place.
//   - receipt_keys has the keys that verify receipts, in the form of the verify kit: the current
//     one, then the replaced ones, with @ and the days for whose receipts each counts. A key
//     in one verification that is missing in the next was revoked between them.
//   - manifest_sha256 is the SHA-256 of /manifest.json as published before the verification,
//     or "". That manifest has the SHA-256 of every document, and of the verify kit. The manifest
//     after the verification has the checkpoints of this log, so it cannot be named here.
//   - lookup_sha256 is the SHA-256 of /log/lookup/index with this verification.
//
// A verification of the first version has none of these members, nor a version. None follows a
// verification of a later version. Every version is read for ever.
//
// # Recount
//
// Read the entries in order. Each counts as its kind until it is corrected. The numbers of a
// verification are the numbers of entries before it that count as vouched
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
// it has a stage. testdata/example.txtar is a content with two stages.
//
// # Keys
//
// The name in the verifier key of a log is the origin of its checkpoints: the host of the service
// and /log. If a key is lost or replaced, the next one has another name, www.example.org/log/2, and
// begins a new tree. Its first entry is the last checkpoint of the tree before, without
// cosignatures, so an earlier tree cannot be exchanged unnoticed.
//
// From then on the replaced key counts only for trees that the last checkpoint extends. A thief of
// the key can sign other trees, but no proof of them is accepted. KEY@SIZE:ROOT names a replaced
// key with its last checkpoint.
//
// # Published files
//
//	/log/vkey                            the verifier keys, in the order of their use, one a line
//	/log/policy                          C2SP tlog-policy: the key, and the witnesses
//	/log/checkpoint                      the newest checkpoint
//	/log/checkpoints/<size>              every one, by the size of its tree
//	/log/tile/<level>/<n>[.p/<width>]    C2SP tlog-tiles, with the partial ones of every checkpoint
//	/log/tile/entries/<n>[.p/<width>]    the entries
//	/log/lookup/<hash>                   the places of entries, by the first digits of their hashes
//	/log/lookup/<digit>                  the SHA-256 of each of these files that begins with a digit
//	/log/lookup/index                    the SHA-256 of each of these lists
//	/log/verifications/<name>.tlog-proof C2SP tlog-proof of a verification, which is its extra data
//	/log/newest.tlog-proof               the same of the newest verification
//	/log/consistency/<name>.tlog-proof   tlog-proof of a verification under the newest checkpoint
//
// The files of a tree under a later key are in the folder named by its origin, /log/2. The keys,
// the lookup and the proofs of all trees are in /log.
//
// # Lookup
//
// A line of the lookup is a hash, the index of its entry in its tree, the name of the verification
// that added it, and its kind; then the kind it was corrected to, if it was:
//
//	a9f0…c2 12 2026-11-20 registration own
//
// Lines are sorted by hash. The lists and the index have the form of sha256sum, sorted by name,
// without files that have no line:
//
//	<hash>  a9f
//
// So the index is the root of a sorted hash tree over all records, and the newest verification
// signs it. The proof of that verification, the index, one list and one file prove what a record
// counts as now, or that the log does not have it.
//
// # Proofs
//
// The proof of a record consists of three nested tlog-proofs. The outer one proves the entry under
// the checkpoint of its verification. Its extra data is the file in /log/consistency: the proof of
// the verification under the newest checkpoint of the same tree. The extra data of that file is the
// file in /log/verifications: the proof of the verification under its own checkpoint.
//
// The path of an entry has the hashes of the subtrees next to it. Subtrees before the entry are
// complete and do not change when the tree grows. The last entry of a tree has no other subtrees,
// so its path and the entry determine the tree. The newest tree begins with that tree if the newest
// path has the same hashes before the entry. Anyone can compare the newest checkpoint with
// /log/checkpoint.
//
// A proof of the first version has the file in /log/verifications alone as extra data.
//
// Six files make a proof: a file of the lookup, the file in /log/consistency, the newest
// checkpoint, and at most three tiles in the state of the verification's checkpoint. The hashes of
// the subtrees at the right edge of the tree follow from the proof of its last entry.
package tlog
