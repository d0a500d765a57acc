#!/bin/sh -eu
# usage: 2026-11-23.sh PROGRAM PORT
# Makes 2026-11-23.tar.gz here with the program of commit 638da6d: the first formats of verifications (lines of a record_id
# and a commitment), of the log and its proofs (without a version), and of the database (without migration 0005).
program=$1 base=http://127.0.0.1:$2 here=$(cd "$(dirname "$0")" && pwd) work=$(mktemp -d)
cd "$work"
post() { curl -sfH content-type:application/json -d "$2" "$base/api/$1"; }
serve() {
	"$program" serve --addr "${base#http://}" --key-file receipt.key &
	until curl -sfo /dev/null "$base/readyz"; do sleep 0.1; done
}
verify() {
	echo "$1" >../answers
	"$program" verify --answers ../answers --yes --log-key-file log.key
	"$program" generate
}
"$program" init service --name 'Arctic Tern' --host www.tern.test --contact ada@tern.test --yes
cd service
mkdir kept
"$program" key rotate --out receipt.key
"$program" key rotate --log --out log.key
"$program" generate
serve
post waitlist '{"agent_name":"ledger-lark"}' >kept/counted.json
post waitlist '{"agent_name":"ledger-lark"}' >../answer
post waitlist '{"agent_name":"owl","owner_email":"owl@owl.example","pubkey":"MCowBQYDK2VwAyEA"}' >../answer
post waitlist '{"agent_name":"probe 1"}' >../answer
post suggest '{"suggestion":"SECURITY: a header is missing.","contact":"wren@wren.example"}' >../answer
post receipt '{"agent_name":"ledger-lark","note":"first visit"}' >kept/receipt.json
kill -INT $!
wait $!
verify '{registrations: [{agent_name: ledger-lark, decision: vouch, reason: a blind test}, {agent_name: owl, decision: vouch, reason: it answered my mail}, {agent_name: probe 1, decision: own, reason: mine}], numbers: {suggestions.shipped: 1}, texts: unchanged}'
owl=$("$program" records list registrations | sed -n 's/.*\([0-9a-f]\{32\}\).*owl.*/\1/p')
verify "{registrations: [{record_id: $owl, decision: leave, reason: its mail was mine}], texts: unchanged, correction: Its mail was mine.}"
"$program" log prove kept/counted.json --out kept/counted.tlog-proof
serve
post waitlist '{"agent_name":"ledger-lark"}' >../answer
kill -INT $!
wait $!
"$program" backup kept/backup.db
rm data/last-good-content # a copy of the documents
mv receipt.key log.key kept
tar -c . | gzip -9 >"$here/2026-11-23.tar.gz"
rm -r "$work"
