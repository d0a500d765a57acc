package openapi

import (
	"reflect"
	"strings"

	"anteroom/generator/vectors"
)

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
		types.Set(name, kind)
	}
	shape := thirdPartySchema(types)
	properties := shape.Get("properties").(object)
	properties.Set("description", object{{"type", "array"}, {"items", object{{"type", "string"}}}})
	shape.Set("properties", properties)
	return shape
}
