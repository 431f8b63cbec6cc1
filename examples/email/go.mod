module firn.dev/examples/email

go 1.26.0

require (
	firn.dev v0.0.0
	github.com/emersion/go-imap/v2 v2.0.0-beta.8
	github.com/emersion/go-message v0.18.2
	github.com/emersion/go-sasl v0.0.0-20241020182733-b788ff22d5a6
	github.com/emersion/go-smtp v0.25.0
	golang.org/x/net v0.60.0
)

require golang.org/x/text v0.43.0 // indirect

replace firn.dev => ../..
