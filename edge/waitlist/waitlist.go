// Package waitlist records registrations for the pilot.
package waitlist

import (
	"anteroom/edge/canon"
	"anteroom/edge/core"
	"anteroom/edge/jsondoc"
)

// The fields of a registration. One of agent_name and pubkey must be there.
var (
	agentName  = core.Field{Name: "agent_name", Type: core.Name, Max: core.MaxName, Example: `"ledger-lark"`, Placeholder: core.NamePlaceholder}
	pubkey     = core.Field{Name: "pubkey", Type: core.Name, Max: 512, Example: `"MCowBQYDK2VwAyEA"`, Placeholder: "<your own public key>"}
	ownerEmail = core.Field{Name: "owner_email", Type: core.Email, Example: `"owner@example.org"`}

	Fields = []core.Field{agentName, pubkey, ownerEmail}
	AnyOf  = []string{agentName.Name, pubkey.Name}
)

// Chosen reports whether a query registers: it has any parameter at all, so that a mistyped one is
// refused and not answered with the contract.
func Chosen(in *core.Input) bool { return in.Names() > 0 }

// Answer is the answer to a registration.
type Answer struct {
	Converted        bool          `json:"converted" doc:"True: the registration is recorded. False on a dry run."`
	Canonical        string        `json:"canonical" doc:"The canonical string of the registration."`
	PayloadSHA256    string        `json:"payload_sha256" pattern:"^[0-9a-f]{64}$" doc:"Lower-case hexadecimal SHA-256 of canonical."`
	Canonicalization string        `json:"canonicalization" doc:"Identifier of the rule that canonical follows."`
	Registration     Registration  `json:"registration" doc:"What was registered, verbatim. It never holds an e-mail address."`
	RecordID         *string       `json:"record_id" pattern:"^[0-9a-f]{32}$" doc:"Identifier of the record; null on a dry run."`
	Recorded         bool          `json:"recorded" doc:"Whether a record was made."`
	RecordedAt       *string       `json:"recorded_at" format:"date-time" doc:"When the request arrived; null on a dry run."`
	EmailOnFile      bool          `json:"email_on_file" doc:"Whether an e-mail address was kept with the record."`
	IgnoredFields    []string      `json:"ignored_fields" doc:"What was sent and is no field of a registration."`
	IgnoredTotal     int           `json:"ignored_fields_total,omitempty" doc:"How many there were, where ignored_fields leaves some out."`
	NextActions      []core.Action `json:"next_actions" doc:"Where to go from here."`
}

// Registration is what a registration commits to.
type Registration struct {
	AgentName *string `json:"agent_name" doc:"As sent; null when absent."`
	Pubkey    *string `json:"pubkey" doc:"As sent; null when absent. It proves only that it was sent."`
}

// Register records a registration, with its address and the message to the operator where there
// is one, all in one transaction.
func Register(t *core.Turn, in *core.Input) *core.Response {
	name, key, email := in.Text(&agentName), in.Text(&pubkey), in.Text(&ownerEmail)
	if !in.Sent(&agentName) && !in.Sent(&pubkey) {
		in.Add(agentName.Name, core.Required, "agent_name or pubkey must be there, and not blank")
	}
	if in.Total > 0 {
		return t.Invalid(in)
	}
	canonical := canon.Registration(name, key)
	hash, now := core.SHA256(canonical), core.FormatTime(t.Now)
	answer := func(id string) *core.Response {
		return t.Answer(func(w *jsondoc.Writer) {
			w.Bool("converted", !in.DryRun)
			w.Str("canonical", canonical)
			w.Str("payload_sha256", hash)
			w.Str("canonicalization", canon.RegistrationRule)
			w.Name("registration")
			w.Open('{')
			w.StrOrNull("agent_name", name)
			w.StrOrNull("pubkey", key)
			w.Close('}')
			core.WriteRecord(w, in, id, now, email != "")
			t.WriteActions(w, "scoreboard", "/api/roster", "terms", "/api/aup", "souvenir", "/api/receipt")
		})
	}
	if in.DryRun {
		return answer("")
	}
	id := t.NewID()
	return t.Record("registration", id, core.Statement{
		SQL:  "INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES (?, ?, ?, ?, ?)",
		Args: []any{id, now, core.OrNull(name), core.OrNull(key), hash},
	}, email, name, func() *core.Response { return answer(id) })
}
