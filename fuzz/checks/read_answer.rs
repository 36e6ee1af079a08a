//! A server may say anything.

use wiremend_monitor::bus::resp::{Answer, parse, put_command};
use wiremend_monitor::bus::{Advice, Deed, Halt, Sighting, Word};

/// Reads answers one after another, and what ports are said to see and to do.
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

fn bodies(answer: &Answer, read: &mut impl FnMut(&[u8])) {
    match answer {
        Answer::Bytes(Some(body)) => read(body),
        Answer::Several(Some(items)) => items.iter().for_each(|item| bodies(item, read)),
        _ => {}
    }
}

fn words(body: &[u8]) {
    says_the_same::<Sighting>(body);
    says_the_same::<Deed>(body);
    says_the_same::<Advice>(body);
    says_the_same::<Halt>(body);
}

fn says_the_same<W: Word + PartialEq + std::fmt::Debug>(body: &[u8]) {
    let Ok(word) = serde_json::from_slice::<W>(body) else { return };
    if word.is_sound() {
        let again = serde_json::to_vec(&word).expect("a word is plain values");
        assert!(again.len() <= 4096, "words are short");
        assert_eq!(serde_json::from_slice::<W>(&again).expect("an own word is well formed"), word);
    }
}

/// A command is an answer too.
fn commands_read_back(bytes: &[u8]) {
    let words: Vec<&[u8]> = bytes.split(|byte| *byte == b' ').collect();
    let mut command = Vec::new();
    put_command(&mut command, &words);
    let (answer, taken) = parse(&command).expect("an own command is well formed").expect("it is whole");
    let items = words.iter().map(|word| Answer::Bytes(Some(word.to_vec()))).collect();
    assert_eq!((answer, taken), (Answer::Several(Some(items)), command.len()));
}
