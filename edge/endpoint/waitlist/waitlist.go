// Package waitlist records the registrations of agents for the pilot.
package waitlist

import (
	"anteroom/edge/canon"
	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/record"
	"anteroom/edge/respond"
	"anteroom/edge/sha256"
	"anteroom/edge/turn"
)

// The fields of a registration. At least one of agent_name and pubkey must be there.
var (
	agentName  = input.Field{Name: "agent_name", Type: input.Name, Max: record.MaxName, Example: `"ledger-lark"`, Placeholder: record.NamePlaceholder}
	pubkey     = input.Field{Name: "pubkey", Type: input.Name, Max: 512, Example: `"MCowBQYDK2VwAyEA"`, Placeholder: "<your own public key>"}
	ownerEmail = input.Field{Name: "owner_email", Type: input.Email, Example: `"owner@example.org"`}

	Fields = []input.Field{agentName, pubkey, ownerEmail}
	AnyOf  = []string{agentName.Name, pubkey.Name}
)

const kind = "registration" // of its record

// Answer is the answer to a registration.
type Answer struct {
	Converted        bool             `json:"converted" doc:"True: the registration is recorded. False on a dry run. It is not a verified conversion: the scoreboard counts one only when a person has verified it."`
	Canonical        string           `json:"canonical" doc:"The canonical string of the registration."`
	PayloadSHA256    string           `json:"payload_sha256" pattern:"^[0-9a-f]{64}$" doc:"Lower-case hexadecimal SHA-256 of canonical."`
	Canonicalization string           `json:"canonicalization" doc:"Identifier of the rule that canonical follows."`
	Registration     Registration     `json:"registration" doc:"What was registered, verbatim. It never holds an e-mail address."`
	VerifyKit        []string         `json:"verify_kit" doc:"Programs that check this answer without the service."`
	RecordID         *string          `json:"record_id" pattern:"^[0-9a-f]{32}$" doc:"Identifier of the record; null on a dry run."`
	Recorded         bool             `json:"recorded" doc:"Whether a record was made."`
	RecordedAt       *string          `json:"recorded_at" format:"date-time" doc:"When the request arrived; null on a dry run."`
	Replayed         bool             `json:"replayed,omitempty" doc:"True where an earlier call with the same Idempotency-Key made the record; else absent."`
	EmailOnFile      bool             `json:"email_on_file" doc:"Whether an e-mail address was kept with the record."`
	Promise          *record.Promise  `json:"promise,omitempty" doc:"That the record will be counted, signed where this host signs receipts; else absent."`
	IgnoredFields    []string         `json:"ignored_fields" total:"true" doc:"What was sent and is not a field of a registration."`
	NextActions      []respond.Action `json:"next_actions" doc:"Where to go from here. Where the service has a public log, log-entry is the file that lists this record after the next hand verification, under the hash behind #."`
}

// Registration is what a registration commits to.
type Registration struct {
	AgentName *string `json:"agent_name" doc:"As sent; null when absent."`
	Pubkey    *string `json:"pubkey" doc:"As sent; null when absent. It proves only that it was sent."`
}

// Register records a registration. One transaction holds the registration and, where an address
// came with it, the address and the message to the operator.
func Register(t *turn.Turn, in *input.Input) *turn.Response {
	name, key, email := in.Text(&agentName), in.Text(&pubkey), in.Text(&ownerEmail)
	if !in.Sent(&agentName) && !in.Sent(&pubkey) {
		in.Missing("agent_name or pubkey must be there, and not blank", &agentName, &pubkey)
	}
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	canonical := canon.Registration(name, key)
	hash, now := sha256.HexOf(canonical), civil.FormatTime(t.Now)
	answer := func(stored *record.Stored) *turn.Response {
		r := respond.OK(t, func(w *jsondoc.Writer) {
			w.Bool("converted", !in.DryRun)
			w.Str("canonical", canonical)
			w.Str("payload_sha256", hash)
			w.Str("canonicalization", canon.RegistrationRule)
			w.Begin("registration", '{')
			w.StrOrNull("agent_name", name)
			w.StrOrNull("pubkey", key)
			w.Close('}')
			respond.WriteKit(t, w)
			record.WriteMembers(w, in, stored)
			var next []string
			if !t.Embedded {
				next = []string{"scoreboard", "/api/roster", "terms", "/api/aup", "receipt", "/api/receipt"}
			}
			if next = append(next, record.LogEntry(t, stored.ID, hash)...); next != nil {
				respond.WriteActions(t, w, next...)
			}
		})
		r.Log = stored.Log
		return r
	}
	if in.DryRun {
		return answer(&record.Stored{})
	}
	id := record.NewID(t, in, kind, hash)
	stored, refusal := record.Store(t, in, &record.Record{
		Kind: kind, Time: "registrations.recorded_at", Hash: hash, Address: email, Who: name,
		Insert: turn.Statement{
			SQL: "INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256)" +
				" SELECT ?, ?, ?, ?, ?" + record.UnlessUsed,
			Args: []any{id, now, turn.TextOrNull(name), turn.TextOrNull(key), hash},
		},
	})
	if stored == nil {
		return refusal
	}
	return answer(stored)
}
