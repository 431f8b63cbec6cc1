package provider

// The functions that tests of the package call directly.
var (
	ParseCatalogue = parseCatalogue
	ResponseError  = responseError
)
