//! The READs of one flow and the responses that a tap has seen.

use std::collections::VecDeque;

use crate::resend::ReadGap;

/// READs that are kept, complete ones too: the last responses may be lost behind the tap.
const KEPT_MAX: usize = 256;
/// Answers that are kept.
const ANSWERS_MAX: usize = 128;

#[derive(Default)]
pub(crate) struct Reads {
    reads: VecDeque<Read>,
    /// Responses and ACKs: PSN, frame and time.
    answers: VecDeque<(i64, u64, i64)>,
}

#[derive(Clone, Copy)]
struct Read {
    start: i64,
    end: i64,
    /// First response that was not seen.
    missing: i64,
    /// A response behind it.
    later: Option<(i64, u64)>,
    any_response: bool,
}

impl Reads {
    pub(crate) fn add(&mut self, start: i64, span: i64) {
        while self.reads.len() >= KEPT_MAX
            || self.reads.len() > 8 && self.reads.front().is_some_and(|read| read.missing == read.end)
        {
            self.reads.pop_front();
        }
        self.reads.push_back(Read {
            start,
            end: start + span,
            missing: start,
            later: None,
            any_response: false,
        });
    }

    fn covering(&mut self, psn: i64) -> Option<&mut Read> {
        let at = self.reads.partition_point(|read| read.start <= psn).checked_sub(1)?;
        self.reads.get_mut(at).filter(|read| psn < read.end)
    }

    /// A READ is requested again from `psn` on.
    pub(crate) fn resume(&mut self, psn: i64, span: i64) {
        self.answers.retain(|(seen, ..)| *seen < psn);
        if let Some(read) = self.covering(psn) {
            read.missing = psn;
            read.later = None;
        } else if self.reads.back().is_none_or(|read| read.end <= psn) {
            self.add(psn, span);
        }
    }

    /// A response was seen; returns the first PSN of its READ.
    pub(crate) fn respond(&mut self, psn: i64, frame: u64, ns: i64) -> Option<i64> {
        let read = self.covering(psn)?;
        read.any_response = true;
        if psn == read.missing {
            read.missing += 1;
        } else if psn > read.missing {
            read.later.get_or_insert((psn, frame));
        }
        let start = read.start;
        self.note(psn, frame, ns);
        Some(start)
    }

    /// Keeps an answer while there are READs.
    pub(crate) fn note(&mut self, psn: i64, frame: u64, ns: i64) {
        if self.reads.is_empty() {
            return;
        }
        if self.answers.len() == ANSWERS_MAX {
            self.answers.pop_front();
        }
        self.answers.push_back((psn, frame, ns));
    }

    /// When the first answer behind a PSN passed: it may have shown the requester that this one was missing.
    pub(crate) fn answered_behind(&self, psn: i64) -> Option<i64> {
        self.answers.iter().find(|(seen, ..)| *seen > psn).map(|(.., ns)| *ns)
    }

    /// The first missing response of all READs.
    pub(crate) fn first_missing(&self) -> Option<i64> {
        self.reads.iter().find(|read| read.missing < read.end).map(|read| read.missing)
    }

    /// What was seen of the READ that a request repeats.
    pub(crate) fn gap(&self, psn: i64) -> Option<ReadGap> {
        let at = self.reads.partition_point(|read| read.start <= psn).checked_sub(1)?;
        let read = self.reads.get(at).filter(|read| psn < read.end)?;
        let seen = self.answers.iter().rev().find(|(seen, ..)| *seen == psn);
        let behind = self.answers.iter().find(|(seen, ..)| *seen > psn && *seen < read.end);
        Some(ReadGap {
            start: read.start,
            any_response: read.any_response,
            response: seen.map(|(_, frame, ns)| (*frame, *ns)),
            highest: self.answers.iter().map(|(seen, ..)| *seen).max(),
            later: behind.map(|(_, frame, _)| *frame).or(read.later.map(|(_, frame)| frame)),
        })
    }
}
