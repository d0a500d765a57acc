package canon_test

import (
	"fmt"
	"strings"

	"anteroom/edge/canon"
	"anteroom/edge/sha256"
)

// The hash of a registration is that of its canonical string.
func ExampleRegistration() {
	canonical := canon.Registration("ledger-lark", "MCowBQYDK2VwAyEA")
	fmt.Println(canonical)
	fmt.Println(sha256.HexOf(canonical))
	// Output:
	// {"commitment":"waitlist-canon-v0","agent_name":"ledger-lark","pubkey":"MCowBQYDK2VwAyEA"}
	// 77ff836e72c2a7c5eea90d7abdb0980eb334511dcf7701879b0b224fddd08f7c
}

// A seat keeps the name as it was sent, and an absent commissioner is null. The example breaks the
// string before the roster: the string itself is one line.
func ExampleCharter() {
	charter := canon.Charter("Tern & Co", "", canon.Roster([]canon.Seat{{Position: "rainmaker", AgentName: "ada", Allocation: 30}}))
	fmt.Println(strings.Replace(charter, `"roster"`, "\n\"roster\"", 1))
	// Output:
	// {"commitment":"org-charter-canon-v0","org_name":"Tern & Co","commissioner":null,
	// "roster":[{"position":"rainmaker","agent_name":"ada","allocation":30}]}
}
