// Package tlog is the public log of what was counted: a transparency log of every commitment
// that a hand verification has counted, as files that anyone can check without trusting the
// service.
//
// # Entries
//
// An entry is one JSON object without white space, its members in the order shown. It holds no name
// and no address.
//
//	{"kind":"registration","entry":"<hash>"}   a registration that counts
//	{"kind":"charter","entry":"<hash>"}        a charter that counts
//	{"kind":"suggestion","entry":"<hash>"}     a suggestion from outside
//	{"kind":"own","entry":"<hash>"}            a record of the operator's, set apart
//	{"kind":"vouched","index":0}               an agent that is vouched for, by a registration of its
//	{"kind":"correction","index":0,"to":"own"} entry 0 counts as this from here on; "none" is nothing
//	{"kind":"verification","as_of":"2026-11-20","counts":{…},"board":"…","board_sha256":"…"}
//	{"kind":"log","checkpoint":"…"}            the first entry of a tree under a new key
//
// The hash of a registration and of a charter is the SHA-256 of its record_id, a line feed and its
// payload_sha256, that of a suggestion the SHA-256 of its record_id: see RecordHash. An index
// counts from the first entry of the first tree on, through all trees. The board of a verification
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
// a line, of which the verification is the last, and log/2026-11-20.checkpoint the signed note over
// the whole tree (C2SP tlog-checkpoint). The entries of a stage are the records that it covers,
// kind by kind in the order in which they were recorded, then corrections, then who is vouched for.
// The first stage may be of any verification, and holds all that was covered before; each
// verification after it has a stage. testdata/example.txtar is a content with two stages.
//
// # Keys
//
// A log has a key of its own. The name in its verifier key is the origin of its checkpoints: the
// host of the service and /log. A key that is lost or replaced is followed by one of another name,
// www.example.org/log/2, under which a new tree begins. Its first entry is the last checkpoint of
// the tree before, so that no tree can be exchanged behind the next one's back.
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
// Whoever holds an answer proves with six files that it was counted: the keys, a file of the
// look-up, the proof of the verification, and at most three tiles, each as the checkpoint in that
// proof has it. The hashes of the subtrees at the right edge of the tree follow from the proof of
// its last entry. Stage.Prove makes one file of all this: a tlog-proof of the entry, whose extra
// data is the proof of the verification.
package tlog
