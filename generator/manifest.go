package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"anteroom/edge/api"
	"anteroom/edge/canon"
	"anteroom/edge/core"
	"anteroom/edge/documents"
	"anteroom/edge/jsondoc"
	"anteroom/edge/receipt"
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
		},
		Versions: Versions,
		MCP:      documents.ManifestMCP{Endpoint: g.url(api.MCPPath), ProtocolVersions: api.MCPVersions, Stateless: []string{api.MCPStateless}},
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
