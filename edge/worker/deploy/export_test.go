package deploy

// What tests of the package's own use.
var ContentText = contentText

// Content is what is sent of an asset.
func (a *Asset) Content() []byte { return a.document.Content() }

// Noted reads what a version says of its content.
func Noted(message string) (content, asOf string) {
	r := release(Version{Annotations: Annotations{Message: message}})
	return r.Content, r.AsOf
}
