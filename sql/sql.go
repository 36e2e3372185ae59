// Package sql carries the database schema and its migrations, a folder per dialect, inside the binary. The first file
// makes the whole schema. Each later file changes one thing, because the DDL of MySQL is not transactional: a migration
// that fails has done nothing or all of it.
package sql

import "embed"

// Migrations holds mysql/ (MySQL and MariaDB) and sqlite/, in the order of the
// numbers in the files' names.
//
//go:embed mysql/*.sql sqlite/*.sql
var Migrations embed.FS
