package vectors_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"anteroom/edge/canon"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/jsondoc"
	"anteroom/generator/vectors"
)

var description = []string{
	"Conformance vectors of the canonical strings " + canon.RegistrationRule + ", " + canon.CharterRule + " and " + canon.ReceiptRule + ".",
	"A vector of registrations, charters or receipts has what is sent, in one form or several that mean the same: post is a JSON body, body the exact text of one, get a query. " +
		"Registrations go to /api/waitlist, charters to /api/org, receipts to /api/receipt.",
	"canonical is the exact string whose UTF-8 bytes are hashed and, for a receipt, signed. payload_sha256 is its SHA-256 in lower-case hexadecimal.",
	"receipts are issued by www.example.org at 2026-11-20T12:00:00Z, and signed with the current test key. Of each the members stand here that a verification checks.",
	"A vector of verdicts takes the receipt of the vector that of names, sets the members in set and removes those in remove. verdict has what a verification gives with the two test keys: " +
		"the current one, which is that of a receipt that names none, and the retired one.",
	"A vector of refused has an endpoint and the faults that a 400 of it names, each as the field, a space and the code; the code alone where the body as a whole is at fault.",
}

// text is the JSON text of a value, non-ASCII as it is.
func text(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	// The pair keeps an escaped backslash before u2028 from being taken for an escape.
	return json.RawMessage(strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSpace(b.String())))
}

// object is the JSON text of an object with these names and values, in this order; a value of "" is
// left out.
func object(pairs ...string) json.RawMessage {
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			members = append(members, fmt.Sprintf("%q:%s", pairs[i], text(pairs[i+1])))
		}
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

func query(pairs ...string) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			parts = append(parts, pairs[i]+"="+strings.ReplaceAll(url.QueryEscape(pairs[i+1]), "+", "%20"))
		}
	}
	return strings.Join(parts, "&")
}

// registration is sent by POST and, where that is short, by GET.
func registration(name, agent, key string) vectors.Sent {
	s := vectors.Sent{Name: name, Post: object("agent_name", agent, "pubkey", key)}
	if len(agent)+len(key) < 200 {
		s.Get = query("agent_name", agent, "pubkey", key)
	}
	return s
}

var registrations = []vectors.Sent{
	registration("name and key", "ledger-lark", "k"),
	registration("the documented example", "ledger-lark", "MCowBQYDK2VwAyEA"),
	registration("key alone", "", "MCowBQYDK2VwAyEA"),
	registration("Latin with accents", "Zoë Grünspan", ""),
	registration("decomposed accents stay decomposed", "Zoe\u0308", ""),
	registration("Cyrillic", "Журавль", "ключ"),
	registration("astral characters", "😀𝒳\U0010fffd", ""),
	registration("less, greater, ampersand", "<a & b>", "x<y>&z"),
	registration("line and paragraph separator", "a\u2028b\u2029c", ""),
	registration("quotes", `"quoted" 'name'`, `"`),
	registration("backslashes", `C:\temp\new`, `\`),
	registration("what looks like an escape", `\u2028 \n \\ \"`, ""),
	registration("slashes", "a/b//c", "+/="),
	registration("white space around a name stays", "  ledger lark ", ""),
	registration("no-break and ideographic space", "a\u00a0b\u3000c", ""),
	registration("byte order mark and noncharacter", "\ufeffa\uffff", ""),
	registration("C1 controls", "a\u0080\u009fb", ""),
	registration("name of 80 ASCII characters", strings.Repeat("x", 80), ""),
	registration("name of 80 characters, one astral", strings.Repeat("x", 79)+"😀", ""),
	registration("key of 512 characters", "", strings.Repeat("0123456789abcdef", 32)),
	registration("what looks like JSON", `{"agent_name":null}`, "null"),
	registration("plus, percent and ampersand", "a+b%20c&d=e", ""),
	{Name: "escapes in the body", Body: `{"agent_name":"\u005A\u006f\u00eb \ud83d\ude00 \/ \u2028 \u0022\u005c"}`, Get: query("agent_name", "Zoë 😀 / \u2028 \"\\")},
	{Name: "order, white space and null do not matter", Body: "{ \"pubkey\" : null,\r\n\t\"agent_name\" : \"a\" }", Get: "agent_name=a"},
	{Name: "an address is no part of it", Post: object("agent_name", "ledger-lark", "owner_email", "owner@example.org"), Get: "agent_name=ledger-lark&owner_email=owner%40example.org"},
	{Name: "plus is a space in a query", Post: object("agent_name", "a b"), Get: "agent_name=a+b"},
}

// names are the agents of a charter, in the order of positions.
var names = []string{"a", "b", "c", "d", "e"}

// charter is a charter with these names of agents and their allocations. It is sent by GET too
// where twin says so.
func charter(name, orgName, commissioner string, agents []string, allocations []int, twin bool) vectors.Sent {
	var seats []string
	parts := []string{"org_name", orgName, "commissioner", commissioner}
	for i, position := range org.Positions {
		seats = append(seats, fmt.Sprintf(`{"position":%q,"agent_name":%s,"allocation":%d}`, position, text(agents[i]), allocations[i]))
		parts = append(parts, position, fmt.Sprintf("%s:%d", agents[i], allocations[i]))
	}
	members := strings.TrimSuffix(string(object(parts[:4]...)), "}")
	s := vectors.Sent{Name: name, Post: json.RawMessage(members + `,"roster":[` + strings.Join(seats, ",") + "]}")}
	if twin {
		s.Get = query(parts...)
	}
	return s
}

// first is names with another one in the first place.
func first(name string) []string { return append([]string{name}, names[1:]...) }

var (
	shares = []int{30, 25, 20, 15, 10}
	least  = []int{5, 5, 5, 5, 5}
)

var charters = []vectors.Sent{
	charter("the documented example", "Tern & Co", "", first("a:b"), shares, true),
	charter("with a commissioner", "Tern & Co", "ledger-lark", names, shares, true),
	charter("the least allocations", "Tern", "", names, least, false),
	charter("org name of 3", "abc", "", names, least, false),
	charter("org name of 40", strings.Repeat("o", 40), "", names, least, false),
	charter("org name of 40 characters, one astral", strings.Repeat("o", 39)+"😀", "", names, least, false),
	charter("commissioner of 80", "Tern", strings.Repeat("c", 80), names, least, false),
	charter("agent name of 80", "Tern", "", first(strings.Repeat("x", 79)+"é"), least, false),
	charter("Cyrillic and Chinese", "Журавль", "鹤", names, least, false),
	charter("less, greater, ampersand", "<T> & Co", "<&>", names, least, true),
	charter("line and paragraph separator", "T\u2028r\u2029n", "", first("a\u2028"), least, true),
	charter("quotes", `"Tern"`, `"`, first(`"ada"`), least, true),
	charter("backslashes", `T\rn`, `\`, first(`\\`), least, false),
	charter("colons in a name", "Tern", "", first("a:1:b:"), least, true),
	charter("white space stays", " Tern ", " c ", first(" ada "), least, false),
	charter("one agent in all seats", "Tern", "ada", []string{"ada", "ada", "ada", "ada", "ada"}, least, false),
	charter("astral characters", "😀😀😀", "", first("👩‍🚀"), least, false),
	charter("what looks like JSON", `{"org_name":null}`, "", first("]}"), least, false),
	{Name: "the order of seats does not matter", Post: json.RawMessage(`{"roster":[{"position":"treasurer","agent_name":"ed","allocation":10},` +
		`{"position":"scout","agent_name":"dee","allocation":15},{"position":"verifier","agent_name":"cy","allocation":20},` +
		`{"position":"operator","agent_name":"bo","allocation":25},{"position":"rainmaker","agent_name":"ada","allocation":30}],"org_name":"Tern & Co"}`)},
	{Name: "escapes, and an integer with a fraction of zero", Body: `{"org_name":"T\u00ebrn \u0026","roster":[{"position":"rainmaker","agent_name":"\u0061","allocation":30.0},` +
		`{"position":"operator","agent_name":"bo","allocation":5},{"position":"verifier","agent_name":"cy","allocation":5},` +
		`{"position":"scout","agent_name":"dee","allocation":5},{"position":"treasurer","agent_name":"ed","allocation":5}]}`},
}

func receipt(name, agent, address, note string) vectors.Sent {
	return vectors.Sent{Name: name, Post: object("agent_name", agent, "owner_email", address, "note", note)}
}

var receipts = []vectors.Sent{
	receipt("full", "ledger-lark", "owner@example.org", "first visit"),
	{Name: "nothing sent", Post: json.RawMessage("{}")},
	receipt("name alone", "ledger-lark", "", ""),
	receipt("both", "a", "", "b"),
	receipt("note alone", "", "", "first visit"),
	receipt("name of 80", strings.Repeat("n", 80), "", ""),
	receipt("note of 140", "", "", strings.Repeat("x", 139)+"é"),
	receipt("Latin with accents", "Zoë", "", "déjà vu"),
	receipt("Chinese and Arabic", "鹤", "", "طائر"),
	receipt("astral characters", "😀", "", "👩‍🚀𝒳"),
	receipt("less, greater, ampersand", "<a>", "", "b & c < d"),
	receipt("line and paragraph separator", "a\u2028b", "", "c\u2029d"),
	receipt("quotes", `"a"`, "", `she said "no"`),
	receipt("backslashes", `a\b`, "", `\u2028 \\ \n`),
	receipt("tab, line feed and carriage return", "a", "", "one\ttwo\nthree\r\n"),
	receipt("white space stays", " a ", "", "  b "),
	receipt("byte order mark and noncharacter", "\ufeffa", "", "\uffff"),
	receipt("upper case of an address matters", "a", "Owner@Example.org", ""),
	receipt("what looks like JSON", "null", "", `{"note":null}`),
	{Name: "escapes in the body", Body: `{"agent_name":"\u005a\u00eb","note":"\ud83d\ude00\u0009\u000a\/" }`},
}

// stranger signs what the service did not.
var stranger = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))

var changes = []change{
	{name: "as it was minted", of: "full"},
	{name: "quotes, as minted", of: "quotes"},
	{name: "separators, as minted", of: "line and paragraph separator"},
	{name: "receipt_spec edited", of: "full", set: set("receipt_spec", "souvenir_visit_v0.3")},
	{name: "issued_by edited", of: "full", set: set("issued_by", "www.example.com")},
	{name: "issued_at edited", of: "full", set: set("issued_at", "2026-11-20T12:00:01Z")},
	{name: "agent_name edited", of: "full", set: set("agent_name", "ledger-larh")},
	{name: "owner_email_sha256 edited", of: "full", set: set("owner_email_sha256", strings.Repeat("0", 64))},
	{name: "owner_email_sha256 taken away", of: "full", set: set("owner_email_sha256", nil)},
	{name: "owner_email_sha256 empty", of: "name alone", set: set("owner_email_sha256", "")},
	{name: "note edited", of: "full", set: set("note", "first visit ")},
	{name: "note normalized", of: "Latin with accents", set: set("note", "de\u0301ja\u0300 vu")},
	{name: "epoch edited", of: "full", set: set("epoch", "launch")},
	{name: "a field missing", of: "full", remove: []string{"note"}},
	{name: "a field null", of: "full", set: set("note", nil)},
	{name: "a field of another type", of: "full", set: set("epoch", 3)},
	{name: "canonical edited", of: "nothing sent", set: set("canonical", "{}")},
	{name: "canonical missing", of: "nothing sent", remove: []string{"canonical"}},
	{name: "canonical null", of: "nothing sent", set: set("canonical", nil)},
	{name: "hash edited", of: "nothing sent", set: set("payload_sha256", strings.Repeat("0", 64))},
	{name: "hash missing", of: "nothing sent", remove: []string{"payload_sha256"}},
	{name: "hash in upper case", of: "nothing sent", set: set("payload_sha256", upper)},
	{name: "fields, canonical and hash edited alike", of: "full", set: set("agent_name", "eve"), commits: true},
	{name: "signed by a stranger in the name of the service", of: "full", signer: stranger, set: set("public_key_b64", edgetest.PublicKey(edgetest.Key))},
	{name: "signed by a stranger in their own name", of: "full", signer: stranger},
	{name: "a stranger's key beside the signature", of: "full", set: set("public_key_b64", edgetest.PublicKey(stranger))},
	{name: "signed by the retired key", of: "full", signer: edgetest.RetiredKey},
	{name: "the retired key beside the signature", of: "full", set: set("public_key_b64", edgetest.PublicKey(edgetest.RetiredKey))},
	{name: "the key missing", of: "nothing sent", remove: []string{"public_key_b64"}},
	{name: "the key blank", of: "nothing sent", set: set("public_key_b64", " \t")},
	{name: "the key a number", of: "nothing sent", set: set("public_key_b64", 7)},
	{name: "the signature of another receipt", of: "name alone", set: set("signature", another)},
	{name: "the signature null", of: "nothing sent", set: set("signature", nil)},
	{name: "the signature missing", of: "nothing sent", remove: []string{"signature"}},
	{name: "the signature empty", of: "nothing sent", set: set("signature", "")},
	{name: "the signature no base64", of: "nothing sent", set: set("signature", strings.Repeat("-", 88))},
	{name: "the signature an array", of: "nothing sent", set: set("signature", []string{"x"})},
	{name: "unsigned", of: "nothing sent", set: map[string]any{"signature": nil, "signed": false, "public_key_b64": ""}},
	{name: "signed denied", of: "nothing sent", set: set("signed", false)},
	{name: "a member added", of: "nothing sent", set: set("reputation", "high")},
	{name: "another format, signed by the service", of: "nothing sent", set: set("receipt_spec", "souvenir_visit_v9"), commits: true, signer: edgetest.Key},
}

func set(name string, value any) map[string]any { return map[string]any{name: value} }

// special is a value that judge makes of the receipt itself.
type special int

const (
	upper   special = iota // the hash in upper case
	another                // the signature of the receipt before
)

// refusals of one endpoint.
func refusal(endpoint, name string, post, get string) vectors.Refusal {
	r := vectors.Refusal{Sent: vectors.Sent{Name: name, Get: get}, Endpoint: endpoint}
	// A parser of JSON loses how a number was written: an exponent stands in the exact text.
	if _, err := jsondoc.Parse([]byte(post)); err == nil && !strings.Contains(post, `:1e1`) {
		r.Post = json.RawMessage(post)
	} else {
		r.Body = post
	}
	return r
}

// roster is the JSON text of a roster with one seat changed.
func roster(old, new string) string {
	return `{"org_name":"Tern","roster":` + strings.Replace(`[{"position":"rainmaker","agent_name":"ada","allocation":5},{"position":"operator","agent_name":"bo","allocation":5},`+
		`{"position":"verifier","agent_name":"cy","allocation":5},{"position":"scout","agent_name":"dee","allocation":5},{"position":"treasurer","agent_name":"ed","allocation":5}]`, old, new, 1) + "}"
}

// seats are the parameters of a roster with this one as rainmaker.
func seats(rainmaker string) string {
	return "rainmaker=" + rainmaker + "&operator=bo:5&verifier=cy:5&scout=dee:5&treasurer=ed:5"
}

var refused = []vectors.Refusal{
	refusal("/api/waitlist", "neither name nor key", `{}`, "agent_name="),
	refusal("/api/waitlist", "a blank name", `{"agent_name":" \t\u3000"}`, "agent_name=%20%09%E3%80%80"),
	refusal("/api/waitlist", "a name of 81", `{"agent_name":"`+strings.Repeat("x", 81)+`"}`, ""),
	refusal("/api/waitlist", "a key of 513", `{"pubkey":"`+strings.Repeat("k", 513)+`"}`, ""),
	refusal("/api/waitlist", "a number for a name", `{"agent_name":7}`, ""),
	refusal("/api/waitlist", "a line feed in a name", `{"agent_name":"a\nb"}`, "agent_name=a%0Ab"),
	refusal("/api/waitlist", "a null character", `{"agent_name":"a\u0000b"}`, "agent_name=a%00b"),
	refusal("/api/waitlist", "a delete character", `{"agent_name":"a\u007fb"}`, "agent_name=a%7Fb"),
	refusal("/api/waitlist", "an unpaired surrogate", `{"agent_name":"\ud83d"}`, ""),
	refusal("/api/waitlist", "a duplicate name", `{"agent_name":"a","agent_name":"a"}`, ""),
	refusal("/api/waitlist", "no address", `{"agent_name":"a","owner_email":"nobody"}`, "agent_name=a&owner_email=nobody"),
	refusal("/api/waitlist", "a parameter twice", "", "agent_name=a&agent_name=a"),
	refusal("/api/waitlist", "a malformed escape", "", "agent_name=%zz"),
	refusal("/api/waitlist", "UTF-8 that is none", "", "agent_name=%C3%28"),
	refusal("/api/waitlist", "trailing data", `{"agent_name":"a"} x`, ""),
	refusal("/api/waitlist", "no JSON", `{agent_name:"a"}`, ""),
	refusal("/api/org", "an org name of 2", "", "org_name=Te&"+seats("ada:5")),
	refusal("/api/org", "an org name of 41", "", "org_name="+strings.Repeat("o", 41)+"&"+seats("ada:5")),
	refusal("/api/org", "an allocation of 4", "", "org_name=Tern&"+seats("ada:4")),
	refusal("/api/org", "101 credit units", "", "org_name=Tern&"+seats("ada:81")),
	refusal("/api/org", "a seat without its allocation", "", "org_name=Tern&"+seats("ada")),
	refusal("/api/org", "an exponent", roster(`"ada","allocation":5`, `"ada","allocation":1e1`), ""),
	refusal("/api/org", "an unknown position", roster("scout", "pilot"), ""),
	refusal("/api/org", "a position twice", roster("scout", "verifier"), ""),
	refusal("/api/org", "no roster", `{"org_name":"Tern"}`, ""),
	refusal("/api/receipt", "a name on it of 81", `{"agent_name":"`+strings.Repeat("x", 81)+`"}`, ""),
	refusal("/api/receipt", "a note of 141", `{"note":"`+strings.Repeat("x", 141)+`"}`, ""),
	refusal("/api/receipt", "a field that there is not", `{"name":"a"}`, ""),
	refusal("/api/receipt", "an address for a display name", `{"owner_email":"A <a@example.org>"}`, ""),
	refusal("/api/receipt", "verify that is no object", `{"verify":null}`, ""),
	refusal("/api/receipt", "a form feed in a note", `{"note":"a\fb"}`, ""),
}
