//! Any file may be passed as a capture.

use wiremend_wire::pcap::{Packet, Reader, Writer};

/// Reads a capture to its end; every packet must be equal after writing.
pub(crate) fn check(bytes: &[u8]) {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => assert_survives(packet),
            Ok(None) => return,
            Err(error) => {
                assert!(error.offset <= bytes.len() as u64, "{error}");
                assert!(matches!(reader.next_packet(), Ok(None)), "an error ends the reading");
                return;
            }
        }
    }
}

fn assert_survives(mut packet: Packet<'_>) {
    // Joined comments may exceed the limit of one comment.
    packet.comment = packet.comment.filter(|comment| comment.len() <= u16::MAX.into());
    let mut writer = Writer::new(Vec::new(), "").expect("memory takes everything");
    packet.interface = writer.add_interface("").expect("memory takes everything");
    writer.write(&packet).expect("memory takes everything");
    let file = writer.into_inner();
    let mut reader = Reader::new(file.as_slice()).expect("an own file is well formed");
    assert_eq!(reader.next_packet().expect("an own file is well formed"), Some(packet));
}
