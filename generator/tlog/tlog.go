// Package tlog is the public log of what was counted: a transparency log of every commitment
// that a hand verification has counted, as files that anyone can check without trusting the
// service. This comment is the format; the rest of the package refers to it.
//
// # Entries
//
// An entry is one JSON object without white space, with its members in the order shown. It has no
// name and no address.
//
//	{"kind":"registration","entry":"<hash>"}   a registration that counts
//	{"kind":"charter","entry":"<hash>"}        a charter that counts
//	{"kind":"suggestion","entry":"<hash>"}     a suggestion from outside
//	{"kind":"own","entry":"<hash>"}            a record of the operator's, set apart
//	{"kind":"vouched","index":0}               the agent of a registration, which is vouched for
//	{"kind":"correction","index":0,"to":"own"} what entry 0 counts as from here on, or "none"
//	{"kind":"verification","as_of":"2026-11-20","counts":{…},"board":"…","board_sha256":"<hash>",
//	 "version":2,"told":{…},"receipt_keys":[…],"manifest_sha256":"<hash>","lookup_sha256":"<hash>"}
//	{"kind":"log","checkpoint":"…"}            the first entry of a tree under a new key
//
// The hash of a registration or charter is the SHA-256 of its record_id, a line feed and its
// payload_sha256, in lower-case hexadecimal. The hash of a suggestion is the SHA-256 of its
// record_id. An index counts from the first entry of the first tree, through all trees.
//
// A verification has the path of its scoreboard, such as /scoreboard/2026-11-20.json, and the
// SHA-256 of the document there. Its last members commit the operator to what was published:
//
//   - told has the other numbers of the board, which the operator entered and nobody can recount,
//     by their places there, such as suggestions.shipped, sorted by place.
//   - receipt_keys has the keys by which receipts verify, as the verify kit has them: the current
//     one, then those that were replaced, with @ and the days for whose receipts each counts. A key
//     in one verification that is missing in the next was revoked between them.
//   - manifest_sha256 is the SHA-256 of /manifest.json as published when the verification was made,
//     or "". That manifest has the SHA-256 of every document, and of the verify kit. The manifest
//     that follows cannot be named: it has the checkpoints of this log.
//   - lookup_sha256 is the SHA-256 of /log/lookup/index with this verification.
//
// # Recount
//
// Read the entries in their order. Each counts as its kind, until a correction. The numbers of a
// verification are how many entries before it count as vouched
// (verified_organic_agent_conversions), registration (registrations_recorded), charter
// (charters_filed), suggestion (received_external) and own (development_seed_and_test_records). A
// record changes its kind only to own or none, and back; an own record changes to the kind it was
// first corrected to. An agent that is vouched for has a registration that counts, so that there
// are never more conversions than registrations.
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
// cosignatures, so that nobody can exchange an earlier tree unnoticed.
//
// From then on the key before counts only for what leads to that last checkpoint. A thief of the
// key can sign other trees, but no proof of them is accepted. KEY@SIZE:ROOT names a replaced key
// with its last checkpoint.
//
// # Published files
//
//	/log/vkey                            the verifier keys, in the order of their use, one a line
//	/log/policy                          C2SP tlog-policy: the key, and the witnesses
//	/log/checkpoint                      the newest checkpoint
//	/log/checkpoints/<size>              every one, by the size of its tree
//	/log/tile/<level>/<n>[.p/<width>]    C2SP tlog-tiles, with the partial ones of every checkpoint
//	/log/tile/entries/<n>[.p/<width>]    the entries
//	/log/lookup/<hash>                   where entries are, by the first three digits of their hashes
//	/log/lookup/<digit>                  the SHA-256 of each of these files that begins with a digit
//	/log/lookup/index                    the SHA-256 of each of these lists
//	/log/verifications/<name>.tlog-proof C2SP tlog-proof of a verification, which is its extra data
//	/log/newest.tlog-proof               the same of the newest verification
//	/log/consistency/<name>.tlog-proof   tlog-proof of a verification under the newest checkpoint
//
// The files of a tree under another key are in the folder named by its origin: /log/2. The keys,
// the look-up and the proofs are in /log for all trees.
//
// # Look-up
//
// A line of the look-up is a hash, the index of its entry in its tree, the name of the verification
// that added it, and its kind; then what it counts as, if it was corrected since:
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
// A proof of an answer is a tlog-proof in two others. It proves the entry under the checkpoint of
// its verification. Its extra data is the file in /log/consistency: the proof of the verification
// under the newest checkpoint of the same tree. The extra data of that is the one in
// /log/verifications: the proof of the verification under its own checkpoint.
//
// The path of an entry has a hash for each subtree next to those that hold the entry. Subtrees
// before the entry are whole, and stay when the tree grows. The last entry of a tree has no others,
// so its path and the entry are the tree. The newest tree begins with it if the newest path has the
// same hashes before the entry. Everybody can compare the newest checkpoint with /log/checkpoint.
//
// Six files make a proof: a file of the look-up, the one in /log/consistency, the newest
// checkpoint, and at most three tiles, each as the checkpoint of the verification has it. The
// hashes of the subtrees at the right edge of the tree follow from the proof of its last entry.
package tlog
