package canon_test

import (
	"testing"

	"anteroom/edge/canon"
	"anteroom/edge/sha256"
)

// The canonical strings are those of JSON.stringify, byte for byte. Anybody can recompute them and
// their hashes.
func TestStrings(t *testing.T) {
	receipt := func(fields map[string]string) string {
		return canon.Receipt(func(field string) string { return fields[field] })
	}
	fields := map[string]string{
		"receipt_spec": "souvenir_visit_v0.2", "issued_by": "www.example.org", "issued_at": "2026-11-20T12:00:00Z", "agent_name": "ledger-lark",
		"owner_email_sha256": "90", "note": "first visit", "epoch": "pre-launch", "signature": "not signed",
	}
	seats := []canon.Seat{{"rainmaker", "a:b", 30}, {"operator", "bo", 25}}
	for _, c := range []struct{ name, got, want string }{
		{"registration", canon.Registration("ledger-lark", "MCowBQYDK2VwAyEA"), `{"commitment":"waitlist-canon-v0","agent_name":"ledger-lark","pubkey":"MCowBQYDK2VwAyEA"}`},
		{"registration by name", canon.Registration("é \"\\\u2028<>&/\n", ""), `{"commitment":"waitlist-canon-v0","agent_name":"é \"\\` + "\u2028" + `<>&/\n","pubkey":null}`},
		{"registration by key", canon.Registration("", "k"), `{"commitment":"waitlist-canon-v0","agent_name":null,"pubkey":"k"}`},
		{
			"charter", canon.Charter("Tern & Co", "", canon.Roster(seats)),
			`{"commitment":"org-charter-canon-v0","org_name":"Tern & Co","commissioner":null,"roster":[{"position":"rainmaker","agent_name":"a:b","allocation":30},{"position":"operator","agent_name":"bo","allocation":25}]}`,
		},
		{"charter of nobody", canon.Charter("Tern", "dee", canon.Roster(nil)), `{"commitment":"org-charter-canon-v0","org_name":"Tern","commissioner":"dee","roster":[]}`},
		{
			"receipt", receipt(fields),
			`{"receipt_spec":"souvenir_visit_v0.2","issued_by":"www.example.org","issued_at":"2026-11-20T12:00:00Z","agent_name":"ledger-lark","owner_email_sha256":"90","note":"first visit","epoch":"pre-launch"}`,
		},
		{
			"receipt of nothing", receipt(nil),
			`{"receipt_spec":"","issued_by":"","issued_at":"","agent_name":"","owner_email_sha256":null,"note":"","epoch":""}`,
		},
	} {
		if c.got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, c.got, c.want)
		}
	}
	// The example of the package comment.
	if got := sha256.HexOf(canon.Registration("ledger-lark", "MCowBQYDK2VwAyEA")); got != "77ff836e72c2a7c5eea90d7abdb0980eb334511dcf7701879b0b224fddd08f7c" {
		t.Error(got)
	}
}
