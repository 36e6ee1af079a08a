//! A server may send anything.

use wiremend_monitor::redis::resp::{Reply, emit_command, parse};
use wiremend_monitor::redis::{ActionRecord, Advice, HaltRecord, Observation, Record};

/// Parses consecutive answers, and the records in them.
pub(crate) fn check(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some((answer, taken))) = parse(rest) {
        assert!(0 < taken && taken <= rest.len(), "{taken} of {} bytes", rest.len());
        for short in taken.saturating_sub(64)..taken {
            assert_eq!(parse(&rest[..short]), Ok(None), "{short} of {taken} bytes are no answer yet");
        }
        bodies(&answer, &mut |body| words(body));
        rest = &rest[taken..];
    }
    words(bytes);
    commands_read_back(bytes);
}

fn bodies(answer: &Reply, read: &mut impl FnMut(&[u8])) {
    match answer {
        Reply::Bulk(Some(body)) => read(body),
        Reply::Array(Some(items)) => items.iter().for_each(|item| bodies(item, read)),
        _ => {}
    }
}

fn words(body: &[u8]) {
    assert_equal::<Observation>(body);
    assert_equal::<ActionRecord>(body);
    assert_equal::<Advice>(body);
    assert_equal::<HaltRecord>(body);
}

fn assert_equal<W: Record + PartialEq + std::fmt::Debug>(body: &[u8]) {
    let Ok(word) = serde_json::from_slice::<W>(body) else { return };
    if word.is_valid() {
        let again = serde_json::to_vec(&word).expect("a word is plain values");
        assert!(again.len() <= 4096, "words are short");
        assert_eq!(serde_json::from_slice::<W>(&again).expect("an own word is well formed"), word);
    }
}

/// A command has the format of an answer.
fn commands_read_back(bytes: &[u8]) {
    let words: Vec<&[u8]> = bytes.split(|byte| *byte == b' ').collect();
    let mut command = Vec::new();
    emit_command(&mut command, &words);
    let (answer, taken) = parse(&command).expect("an own command is well formed").expect("it is whole");
    let items = words.iter().map(|word| Reply::Bulk(Some(word.to_vec()))).collect();
    assert_eq!((answer, taken), (Reply::Array(Some(items)), command.len()));
}
