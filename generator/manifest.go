package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"anteroom/edge/api"
	"anteroom/edge/bizday"
	"anteroom/edge/canon"
	"anteroom/edge/charter"
	"anteroom/edge/core"
	"anteroom/edge/documents"
	"anteroom/edge/indexnow"
	"anteroom/edge/jsondoc"
	"anteroom/edge/receipt"
	"anteroom/edge/selftest"
)

// manifest lists what is published: all documents made so far, which must be all but the manifest
// itself and the CDN's own configuration.
func (g *generation) manifest() {
	m := documents.Manifest{
		Limits: documents.Limits{
			BodyBytes:       core.MaxBody,
			QueryBytes:      core.MaxQuery,
			JSONDepth:       jsondoc.MaxDepth,
			JSONMembers:     jsondoc.MaxMembers,
			WritesPerMinute: g.site.Service.Limits.WritesPerMinute,
			BatchMessages:   g.site.Service.Limits.BatchMessages,
			BatchWrites:     g.site.Service.Limits.BatchWrites,
			WriteWindow:     api.Window,
			EmailBytes:      core.MaxAddress,
			EmailLocalBytes: core.MaxLocalPart,

			EchoedCodePoints: core.MaxEcho,
			EchoedEntries:    core.MaxEntries,
			SkippedHolidays:  bizday.MaxSkipped,

			SignalFiredPause:  indexnow.FiredPause,
			SignalFailedPause: indexnow.FailedPause,
			SignalShare:       indexnow.ShareSeconds,
			SelftestShare:     selftest.ShareSeconds,

			OrgCap:         charter.Cap,
			FoundingAgents: documents.FoundingAgentSlots,
			FoundingOrgs:   documents.FoundingOrgSlots,

			Fields: g.fieldLimits(),
		},
		Versions: Versions,
		MCP:      documents.ManifestMCP{Endpoint: g.url(api.MCPPath), ProtocolVersions: api.MCPVersions, Stateless: []string{api.MCPStateless}},
	}
	m.Content = g.snapshot.Version[:contentDigits]
	if key := g.site.Service.ReceiptKeys.Current; key != "" {
		m.ReceiptKey = &key
	}
	m.Documents = make([]documents.ManifestDocument, len(g.documents))
	var hashed sync.WaitGroup
	for i, d := range g.documents {
		hashed.Go(func() {
			sum := sha256.Sum256(d.Bytes)
			m.Documents[i] = documents.ManifestDocument{Path: d.Path, MediaType: d.MediaType, Bytes: len(d.Bytes), SHA256: hex.EncodeToString(sum[:])}
		})
	}
	hashed.Wait()
	slices.SortFunc(m.Documents, func(a, b documents.ManifestDocument) int { return strings.Compare(a.Path, b.Path) })
	for _, route := range g.routes {
		m.Endpoints = append(m.Endpoints, documents.ManifestEndpoint{
			ID: route.ID, Path: route.Path, Methods: route.Methods(), Writes: writes(route), What: g.what(route.ID),
		})
	}
	g.answer("/manifest.json", m)
}

// contentDigits is how much of the content's version is shown.
const contentDigits = 12

// fieldLimits are the limits of the input fields of all operations, as their contracts have them.
func (g *generation) fieldLimits() (limits []documents.FieldLimits) {
	var add func(operation, prefix string, fields []documents.ContractField)
	add = func(operation, prefix string, fields []documents.ContractField) {
		for i := range fields {
			f := &fields[i]
			l := documents.FieldLimits{
				MinLength: f.MinLength, MaxLength: f.MaxLength, Minimum: f.Minimum, Maximum: f.Maximum, MinItems: f.MinItems, MaxItems: f.MaxItems,
			}
			if l != (documents.FieldLimits{}) {
				l.Operation, l.Field = operation, prefix+f.Name
				limits = append(limits, l)
			}
			add(operation, prefix+f.Name+"[].", f.Items)
		}
	}
	for _, route := range g.routes {
		for _, op := range readsFirst(route) {
			add(op.ID, "", g.contractOperation(route, op).Fields)
		}
	}
	return limits
}

// Versions are the versions of what the service publishes.
var Versions = documents.Versions{
	PublicDescription:        documents.DescriptionVersion,
	AUP:                      documents.AUPVersion,
	Quest:                    documents.QuestVersion,
	Receipt:                  receipt.Spec,
	ReceiptCanonicalization:  canon.ReceiptRule,
	WaitlistCanonicalization: canon.RegistrationRule,
	OrgCanonicalization:      canon.CharterRule,
	MCPServer:                api.MCPServerVersion,
}
