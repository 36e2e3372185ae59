-- Returns which server this is, or nothing.
--
-- KEYS: none
return server() or ''
