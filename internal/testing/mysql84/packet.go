package mysql84

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/go-sql-driver/mysql"
)

// packet is one of the protocol: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html.
type packet struct {
	sequence byte
	body     []byte
}

// The commands that carry a statement.
const (
	comQuery   = 0x03
	comPrepare = 0x16
)

func readPacket(from io.Reader) (packet, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return packet{}, fmt.Errorf("read a packet: %w", err)
	}
	body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	if _, err := io.ReadFull(from, body); err != nil {
		return packet{}, fmt.Errorf("read a packet: %w", err)
	}
	return packet{head[3], body}, nil
}

func (p packet) write(to io.Writer) error {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(p.body))) //nolint:gosec // three bytes count a packet's
	head[3] = p.sequence
	if _, err := to.Write(append(head, p.body...)); err != nil {
		return fmt.Errorf("write a packet: %w", err)
	}
	return nil
}

// isStatement reports whether a client's packet is a statement. Each command starts a sequence; the packets of the
// login go on with the one of the greeting.
func (p packet) isStatement() bool {
	return p.sequence == 0 && len(p.body) > 0 && (p.body[0] == comQuery || p.body[0] == comPrepare)
}

// asMySQL replaces the version in a greeting: a byte for the protocol, and then the version, which a zero ends.
func asMySQL(greeting []byte) []byte {
	end := bytes.IndexByte(greeting, 0)
	if len(greeting) == 0 || end < 0 || greeting[0] == 0xff { // an error, such as too many connections
		return greeting
	}
	return append(append(greeting[:1:1], version...), greeting[end:]...)
}

// refusalPacket returns the answer to the first packet of a command.
func refusalPacket(e *mysql.MySQLError) packet {
	body := binary.LittleEndian.AppendUint16([]byte{0xff}, e.Number)
	body = append(body, '#')
	body = append(body, e.SQLState[:]...)
	return packet{1, append(body, e.Message...)}
}
