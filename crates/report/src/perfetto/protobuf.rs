//! The part of the protobuf encoding that traces need: varints, 64-bit numbers, and fields with a length.

/// A message under construction.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;

impl Message {
    pub(super) fn varint(mut self, field: u64, value: u64) -> Self {
        self.tag(field, VARINT);
        self.push_varint(value);
        self
    }

    pub(super) fn fixed64(mut self, field: u64, value: u64) -> Self {
        self.tag(field, FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub(super) fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.tag(field, LENGTH);
        self.push_varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn tag(&mut self, field: u64, wire_type: u64) {
        self.push_varint(field << 3 | wire_type);
    }

    fn push_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the protobuf documentation: `a = 150` is 08 96 01, `b = "testing"` is 12 07 and the text.
    #[test]
    fn fields_are_encoded_as_documented() {
        assert_eq!(Message::default().varint(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").into_bytes(), b"\x12\x07testing");
        let inner = Message::default().varint(1, 150);
        assert_eq!(Message::default().message(3, &inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().fixed64(1, 2).into_bytes(), [9, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Message::default().varint(1, u64::MAX).into_bytes().len(), 11);
    }
}
