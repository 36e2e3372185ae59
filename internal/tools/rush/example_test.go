package rush_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"

	"example.com/seckill/internal/tools/rush"
)

// Three buyers come for two units. The server here is only just enough of one.
func ExampleRun() {
	var sold atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/coupons/1", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"id":"1","stock":2,"left":2,"limit_per_user":1}`)
	})
	mux.HandleFunc("POST /api/v1/coupons/1/orders", func(w http.ResponseWriter, r *http.Request) {
		n := sold.Add(1)
		if n > 2 {
			w.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprint(w, `{"status":409,"code":"sold_out"}`)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":"%d","coupon_id":"1","user_id":%q,"status":"pending"}`, n, r.Header.Get("Authorization")[len("Bearer "):])
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	report, err := rush.Run(context.Background(), rush.Options{
		URL:    server.URL,
		Users:  3,
		Keys:   true,
		Token:  func(_ context.Context, userID int64) (string, error) { return strconv.FormatInt(userID, 10), nil },
		Verify: -1, // this server forgets what it sold
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("asked:", report.Asked)
	fmt.Println("accepted:", report.Accepted)
	fmt.Println("refused:", report.Refused)
	fmt.Println("audit:", report.Audit)
	// Output:
	// asked: 3
	// accepted: 2
	// refused: map[sold_out:1]
	// audit: not_run
}
