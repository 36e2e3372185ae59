// Package sql carries the migrations of the database schema, a folder per dialect,
// inside the binary. Each file changes one thing, because the DDL of MySQL is not
// transactional: a migration that fails has done nothing or all of it.
package sql

import "embed"

// Migrations holds mysql/ (MySQL and MariaDB) and sqlite/, in the order of the
// numbers in the files' names.
//
//go:embed mysql/*.sql sqlite/*.sql
var Migrations embed.FS
