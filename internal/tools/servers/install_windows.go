package servers

// Install returns "": Redis and MariaDB need process groups and signals here, and Windows has none.
func (e *MissingError) Install() string { return "" }
