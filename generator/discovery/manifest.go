package discovery

import (
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/canon"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/turn"
	"anteroom/generator/contract"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/tlog"
)

// Index makes llms.txt and manifest.json, which list the documents. Only the CDN's configuration
// comes later. Each of the two contains the other's size.
func Index(a *contract.Answers, documents []output.File) ([]output.File, error) {
	manifest := (&family{contract.Family{Answers: a}}).manifest(documents)
	size := 0
	var g *family
	for range 3 { // the first lacks a size, and the second may give it another digit
		g = &family{contract.Family{Answers: a}}
		g.Add("/llms.txt", []byte(g.llmsText(documents, size)))
		listed := manifest
		listed.Documents = append(slices.Clone(manifest.Documents), manifestDocument(g.Files[0]))
		slices.SortFunc(listed.Documents, func(a, b model.ManifestDocument) int { return strings.Compare(a.Path, b.Path) })
		g.AddWithTrailer("/manifest.json", listed)
		size = len(g.Files[1].Bytes)
	}
	return g.Result()
}

func manifestDocument(f output.File) model.ManifestDocument {
	return model.ManifestDocument{Path: f.Path, MediaType: f.MediaType, Bytes: len(f.Bytes), SHA256: f.SHA256}
}

func (g *family) manifest(documents []output.File) model.Manifest {
	manifest := model.Manifest{
		Limits: model.Limits{
			BodyBytes:       turn.MaxBody,
			QueryBytes:      turn.MaxQuery,
			AnswerBytes:     turn.MaxAnswer,
			JSONDepth:       jsondoc.MaxDepth,
			JSONMembers:     jsondoc.MaxMembers,
			QueryNames:      jsondoc.MaxMembers,
			WritesPerMinute: g.Site.Service.Limits.WritesPerMinute,
			BatchMessages:   g.Site.Service.Limits.BatchMessages,
			BatchWrites:     g.Site.Service.Limits.BatchWrites,
			BatchBytes:      turn.MaxAnswers,
			WriteWindow:     api.Window,
			PromiseDays:     g.Site.Service.Limits.PromiseDays,
			CopyDays:        g.Site.Service.Limits.CopyDays,
			EmailBytes:      input.MaxAddress,
			EmailLocalBytes: input.MaxLocalPart,

			EchoedCodePoints: input.MaxEcho,
			EchoedEntries:    input.MaxEntries,
			SkippedHolidays:  bizday.MaxSkipped,
			ListedHolidays:   bizday.MaxListed,

			BusinessDaysFirst: bizday.FirstYear,
			BusinessDaysLast:  bizday.LastYear,
			BusinessDaysYears: bizday.MaxYears,

			SignalFiredPause:  signal.FiredPause,
			SignalFailedPause: signal.FailedPause,
			SignalShare:       signal.ShareSeconds,
			SelftestShare:     selftest.ShareSeconds,

			OrgCap:         org.Cap,
			FoundingAgents: model.FoundingAgentSlots,
			FoundingOrgs:   model.FoundingOrgSlots,

			Fields: g.fieldLimits(),
		},
		Versions: model.Versions{
			PublicDescription:        model.DescriptionVersion,
			AUP:                      g.Site.AUP.Version,
			Quest:                    model.QuestVersion,
			Receipt:                  receipt.Spec,
			ReceiptCanonicalization:  canon.ReceiptRule,
			WaitlistCanonicalization: canon.RegistrationRule,
			OrgCanonicalization:      canon.CharterRule,
			MCPServer:                protocol.ServerVersion,
		},
		MCP: model.ManifestMCP{
			Endpoint:  g.URL(protocol.Path),
			Revisions: model.Revisions{ProtocolVersions: protocol.Versions, Stateless: []string{protocol.Stateless}},
		},
	}
	manifest.Content = g.Snapshot.ShortVersion()
	if key := g.Site.Service.ReceiptKeys.Current; key != "" {
		manifest.ReceiptKey = &key
	}
	if stage := g.Stage(); stage != nil {
		manifest.Log = &model.ManifestLog{
			Origin: g.Site.Log.Origin(), Key: g.Site.Log.Key, Size: stage.Size,
			Checkpoint: g.URL(tlog.CheckpointPath),
		}
	}
	for _, d := range documents {
		manifest.Documents = append(manifest.Documents, manifestDocument(d))
	}
	for _, route := range api.Routes {
		manifest.Endpoints = append(manifest.Endpoints, model.ManifestEndpoint{
			ID: route.ID, Path: route.Path, Methods: route.Methods(), Writes: contract.Writes(route), What: g.Summary(route.ID),
		})
	}
	return manifest
}

func (g *family) fieldLimits() (limits []model.FieldLimits) {
	for _, route := range api.Routes {
		for _, op := range g.Contract(route).Operations {
			for _, f := range contract.WithItems("", op.Fields) {
				if f.Bounds != (model.Bounds{}) {
					limits = append(limits, model.FieldLimits{Operation: op.ID, Field: f.Name, Bounds: f.Bounds})
				}
			}
		}
	}
	return limits
}
