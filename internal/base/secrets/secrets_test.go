package secrets

import "testing"

func TestIn(t *testing.T) {
	for _, secret := range []string{
		"The password is hunter2", "my Password: x", "api key: abc", "the API keys are in here: a, b", "The key sk-abcdefghijklmnopqrstuv is for tests",
		"use ghp_abcdefghijklmnopqrstuvwxyz0123456789", "the door code is 1234", "das Passwort lautet Sommer2026", "le mot de passe est soleil",
		"la contraseña es gato", "密码是123456", "パスワードは abc です", "the database is postgres://ada:secret@db/x", "Authorization: Bearer abcdefghijkl123",
		"The blob is aGVsbG8gd29ybGQgdGhpcyBpcyBsb25nIGFuZCBzZWNyZXQ5", "-----BEGIN OPENSSH PRIVATE KEY-----", "my token is abc", "the pin is 4711",
	} {
		if !In(secret) {
			t.Errorf("%q is not recognized", secret)
		}
	}
	for _, harmless := range []string{
		"The user prefers tabs over spaces", "Commit 0123456789abcdef0123456789abcdef01234567 broke the build", "the token limit is 200,000",
		"the window is 200000 tokens", "We use a password manager", "Secret Santa is on Friday", "the key is under the mat", "session 01a1e2c3-f5dd-7e91-a5f0-e903788d9e63 is old",
	} {
		if In(harmless) {
			t.Errorf("%q is treated as a secret", harmless)
		}
	}
}

func TestDrop(t *testing.T) {
	kept, dropped := Drop("- I like tea\n- my password is hunter2\n- the trip is in May")
	if want := "- I like tea\n- the trip is in May"; kept != want || dropped != 1 {
		t.Errorf("kept %q and dropped %d, want %q and 1", kept, dropped, want)
	}
}
