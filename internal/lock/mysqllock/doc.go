// Package mysqllock
package mysqllock
