package lab

import (
	"sync/atomic"

	"example.com/seckill/internal/tools/lab/harness"
)

// foreignKeyHotRow shows that an insert which a foreign key checks has already read-locked the hot
// row.
func foreignKeyHotRow() Experiment {
	play := func(orders string) func(run *Run) {
		return func(run *Run) {
			run.Tables("coupons (id INT PRIMARY KEY, stock INT)", orders)
			run.Exec("INSERT INTO coupons VALUES (1, 10)")
			var died atomic.Int64
			run.AtMost(diedOfDeadlock, 0, died.Load)
			buy := func(user string) func(a *Actor) {
				return func(a *Actor) {
					a.SQL(committed)
					a.SQL("BEGIN")
					a.SQL("INSERT INTO orders (coupon_id, user_id) VALUES (1, " + user + ")")
					if _, err := a.TrySQLThen("UPDATE coupons SET stock = stock - 1 WHERE id = 1 AND stock > 0", countDeadlock(&died)); err != nil {
						a.SQL("ROLLBACK")
						return
					}
					a.SQL("COMMIT")
				}
			}
			one, two := run.Actor("user 42", buy("42")), run.Actor("user 43", buy("43"))
			run.Schedule(one.Until("UPDATE"), two.Until("UPDATE"), one.Until("COMMIT"), two.Until("COMMIT"), one.ToTheEnd(), two.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "foreign-key-hot-row",
		Title: text("A foreign key to the hot row", "指向热点行的外键"),
		Lesson: text(
			"To check the foreign key the insert takes a shared lock on the coupon's row. Two buyers have it; then each wants to write the row "+
				"and waits for the other. Without the foreign key nothing is locked before its turn. That the coupon exists is known long before.",
			"为检查外键，插入订单时会给优惠券那一行加共享锁。两个买家都拿到了，然后都想更新这一行，于是互相等待。去掉外键，就不会提前锁住热点行；"+
				"优惠券是否存在早已确认过。"),
		Wild: text("Every schema that an ORM made from its models. With one, 96 of 100 concurrent orders died.",
			"由 ORM 模型自动生成的表结构。实测并发下单 96% 死于死锁。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("with a foreign key", "有外键"), play("orders (id INT AUTO_INCREMENT PRIMARY KEY, coupon_id INT, user_id INT, "+
				"CONSTRAINT orders_coupon FOREIGN KEY (coupon_id) REFERENCES coupons (id))")),
			right(text("without", "没有外键"), play("orders (id INT AUTO_INCREMENT PRIMARY KEY, coupon_id INT, user_id INT)")),
		},
	}
}
