// Package waitlist records the registrations of agents for the pilot.
package waitlist

import (
	"anteroom/edge/canon"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/record"
	"anteroom/edge/respond"
	"anteroom/edge/sha256"
	"anteroom/edge/turn"
)

var (
	pubkey = input.Field{
		Name: "pubkey", Type: input.Name, Max: 512, Example: `"MCowBQYDK2VwAyEA"`,
		Placeholder: "<your own public key>",
	}
	Fields = []input.Field{record.AgentName, pubkey, record.OwnerEmail}
	AnyOf  = []string{record.AgentName.Name, pubkey.Name}
)

type Answer struct {
	Converted        bool         `json:"converted" doc:"True: the registration is recorded. False on a dry run. It is not a verified conversion: the scoreboard counts it once a person has verified it."`
	Canonical        string       `json:"canonical" doc:"The canonical string of the registration."`
	PayloadSHA256    string       `json:"payload_sha256" pattern:"^[0-9a-f]{64}$" doc:"Lower-case hexadecimal SHA-256 of canonical."`
	Canonicalization string       `json:"canonicalization" doc:"Identifier of the rule that canonical follows."`
	Registration     Registration `json:"registration" doc:"The registration, verbatim. It never has an e-mail address."`

	record.Members `flat:"true"`
	NextActions    []respond.Action `json:"next_actions" doc:"Next links."`
}

type Registration struct {
	AgentName *string `json:"agent_name" doc:"As sent; null when absent."`
	Pubkey    *string `json:"pubkey" doc:"As sent; null when absent. It proves only that it was sent."`
}

func Register(t *turn.Turn, in *input.Input) *turn.Response {
	name, key, email := in.Text(&record.AgentName), in.Text(&pubkey), in.Text(&record.OwnerEmail)
	if !in.Sent(&record.AgentName) && !in.Sent(&pubkey) {
		in.Missing("agent_name or pubkey is required, and must not be blank", &record.AgentName, &pubkey)
	}
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	canonical := canon.Registration(name, key)
	hash := sha256.HexOf(canonical)
	registration := &record.Record{
		Kind: record.Registration, Columns: "agent_name, pubkey",
		Values: []any{turn.TextOrNull(name), turn.TextOrNull(key)}, Hash: hash, Address: email,
	}
	return record.Answer(t, in, registration, func(w *jsondoc.Writer, stored *record.Stored) {
		w.Bool("converted", !in.DryRun)
		w.Str("canonical", canonical)
		w.Str("payload_sha256", hash)
		w.Str("canonicalization", canon.RegistrationRule)
		w.Begin("registration", '{')
		w.StrOrNull("agent_name", name)
		w.StrOrNull("pubkey", key)
		w.Close('}')
		record.WriteMembers(t, w, in, stored)
		if !t.Embedded {
			respond.WriteActions(t, w, "scoreboard", "/api/roster", "terms", "/api/aup", "receipt", "/api/receipt")
		}
	})
}
