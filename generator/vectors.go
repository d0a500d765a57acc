package generator

import (
	"reflect"
	"strings"

	"anteroom/generator/vectors"
)

// vectorsPath is where the conformance vectors are published.
const vectorsPath = "/vectors/canon-v0.json"

// vectors publishes the conformance vectors, which are the same for every content.
func (g *generation) vectors() { g.add(vectorsPath, vectors.CanonV0) }

// vectorsSchema is the schema of the conformance vectors: their members and what these are. What a
// vector holds is said in the document itself.
func vectorsSchema() object {
	types := object{}
	for f := range reflect.TypeFor[vectors.File]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := "object"
		if f.Type.Kind() == reflect.Slice {
			kind = "array"
		}
		types.set(name, kind)
	}
	schema := thirdPartySchema(types)
	properties := schema.get("properties").(object)
	properties.set("description", object{{"type", "array"}, {"items", object{{"type", "string"}}}})
	schema.set("properties", properties)
	return schema
}
