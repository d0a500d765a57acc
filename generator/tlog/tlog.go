// Package tlog is the public log of what was counted: a transparency log of every commitment
// that a hand verification has counted, as files that anyone can check without trusting the
// service.
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
//	{"kind":"verification","as_of":"2026-11-20","counts":{…},"board":"…","board_sha256":"…"}
//	{"kind":"log","checkpoint":"…"}            the first entry of a tree under a new key
//
// The hash of a registration and of a charter is the SHA-256 of its record_id, a line feed and its
// payload_sha256; that of a suggestion is the SHA-256 of its record_id: see RecordHash. An index
// counts from the first entry of the first tree, through all trees. The board of a verification
// is the path of its scoreboard, such as /scoreboard/2026-11-20.json.
//
// # Recount
//
// Read the entries in their order. Each counts as its kind, until a correction says otherwise. The
// numbers of a verification are how many entries before it count as vouched
// (verified_organic_agent_conversions), registration (registrations_recorded), charter
// (charters_filed), suggestion (received_external) and own (development_seed_and_test_records).
//
// # Content
//
// A hand verification, such as 2026-11-20, adds a stage: log/2026-11-20.jsonl has its entries, one
// a line, and the verification is the last. log/2026-11-20.checkpoint is the signed note over the
// whole tree (C2SP tlog-checkpoint). The entries of a stage are the records that it covers, kind by
// kind in the order in which they were recorded, then corrections, then who is vouched for. The
// first stage may be that of any verification, and has all records of those before it; each
// verification after it has a stage. testdata/example.txtar is a content with two stages.
//
// # Keys
//
// The name in the verifier key of a log is the origin of its checkpoints: the host of the service
// and /log. If a key is lost or replaced, the next one has another name, www.example.org/log/2, and
// begins a new tree. The first entry of that is the last checkpoint of the tree before, so that
// nobody can exchange an earlier tree unnoticed.
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
//	/log/verifications/<name>.tlog-proof C2SP tlog-proof of a verification, which is its extra data
//
// The files of a tree under another key are in the folder that its origin says: /log/2. The keys,
// the look-up and the proofs are in /log for all trees. A line of the look-up is a hash, the index
// of its entry in its tree, the name of the verification that added it, and its kind; then what it
// counts as, where it was corrected since:
//
//	a9f0…c2 12 2026-11-20 registration own
//
// Six files prove that an answer was counted: the keys, a file of the look-up, the proof of the
// verification, and at most three tiles, each as the checkpoint in that proof has it. The hashes of
// the subtrees at the right edge of the tree follow from the proof of its last entry. ReadProof
// reads the tiles there too. Stage.Prove makes one file of all this: a tlog-proof of the entry,
// whose extra data is the proof of the verification.
package tlog
