package auth_test

import (
	"fmt"
	"time"

	"example.com/seckill/internal/api/auth"
)

// A token proves a user and a role. One that another secret signed proves nothing.
func ExampleTokens_Verify() {
	ours, err := auth.NewTokens([]byte("a secret of at least 32 bytes, kept"), time.Hour)
	if err != nil {
		panic(err)
	}
	theirs, err := auth.NewTokens([]byte("another secret that also is 32 bytes"), time.Hour)
	if err != nil {
		panic(err)
	}

	token, _, err := ours.Sign(42, auth.RoleUser, 0)
	if err != nil {
		panic(err)
	}
	identity, err := ours.Verify(token)
	fmt.Println("user", identity.UserID, identity.Role, err)

	_, err = theirs.Verify(token)
	fmt.Println("refused:", err != nil)
	// Output:
	// user 42 user <nil>
	// refused: true
}
