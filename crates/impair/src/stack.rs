//! The impairments of one lane and what they need to know about a frame.

use std::fmt::Debug;

use wiremend_units::{Psn, Time};

use crate::{
    BadImpairment, BitErrors, EveryNth, FrameLoss, GilbertElliott, IpId, Replay, Script, TiltedLoss,
};

/// All impairments of one lane; none of them by default.
#[derive(Debug, Default)]
pub struct Impairments {
    all: Vec<Impairment>,
}

impl Impairments {
    /// Puts one more on the lane.
    pub fn push(&mut self, impairment: Impairment) {
        self.all.push(impairment);
    }

    /// Whether every frame passes.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those on the lane, in the order of their arrival.
    pub fn iter(&self) -> impl Iterator<Item = &Impairment> {
        self.all.iter()
    }

    /// The one that weighs rare outcomes, if the lane has one.
    pub fn tilted_mut(&mut self) -> Option<&mut TiltedLoss> {
        self.all.iter_mut().find_map(|one| match &mut one.model {
            Model::TiltedLoss(model) => Some(model),
            _ => None,
        })
    }

    /// What happens to the next frame of the lane. Frames are shown in the order in which they cross it.
    #[inline]
    pub fn fate(&mut self, now: Time, frame: &FrameFacts) -> Fate {
        // No short cut: each impairment advances with every frame, so that none depends on another.
        let corrupt = self.all.iter_mut().fold(false, |corrupt, one| one.corrupts(now, frame) | corrupt);
        if corrupt { Fate::Corrupt } else { Fate::Pass }
    }
}

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives as it was sent.
    Pass,
    /// It arrives with a wrong frame check, and is dropped.
    Corrupt,
}

/// What the models look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameFacts {
    /// From MAC header to FCS.
    pub frame_bytes: u32,
    /// IP identification, if there is an IP header.
    pub ip_id: Option<u16>,
    /// What the frame does in the protocol.
    pub kind: FrameKind,
    /// Packet sequence number, if it has one.
    pub psn: Option<Psn>,
    /// How often its sender had sent the same packet before.
    pub copy: u8,
    /// What its link header says, if it is on a protected link.
    pub link: Option<LinkFacts>,
}

// It is made for every frame of a lane that corrupts.
const _: () = assert!(size_of::<FrameFacts>() <= 32);

impl FrameFacts {
    /// A frame that has nothing but a length.
    pub fn bare(frame_bytes: u32) -> Self {
        Self { frame_bytes, ip_id: None, kind: FrameKind::Other, psn: None, copy: 0, link: None }
    }
}

/// What a frame does in the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameKind {
    /// A packet of a SEND or a WRITE.
    Data,
    /// A positive acknowledgement.
    Ack,
    /// A negative acknowledgement, receiver-not-ready included.
    Nak,
    /// Asks for a READ.
    ReadRequest,
    /// A packet of a READ's answer.
    ReadResponse,
    /// Anything else: congestion notices, pause frames, link control, other protocols.
    Other,
}

/// What a frame says to the other end of a protected link: by this it is called in rules and lists of faults.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkFacts {
    /// What it is for.
    pub kind: LinkKind,
    /// Its number, or the one that it is about.
    pub seq: u32,
}

/// What a frame of a protected link is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkKind {
    /// Carries a frame of somebody else's, by its number.
    Data,
    /// Tells the number of the next frame.
    Dummy,
    /// Acknowledges all before a number.
    Ack,
    /// Asks for what is missing, by the first number that is.
    Missing,
    /// Protection begins or ends; its number is 0.
    Hello,
}

impl LinkKind {
    /// All there are.
    pub const ALL: [Self; 5] = [Self::Data, Self::Dummy, Self::Ack, Self::Missing, Self::Hello];

    /// As it is written in lists of faults.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Dummy => "dummy",
            Self::Ack => "ack",
            Self::Missing => "missing",
            Self::Hello => "hello",
        }
    }
}

/// A model and when it is at work.
#[derive(Debug)]
pub struct Impairment {
    window: Window,
    model: Model,
}

impl Impairment {
    /// A model that works in a window only. What crosses the lane outside of it is neither hit nor counted.
    pub fn during(window: Window, model: impl Into<Model>) -> Self {
        Self { window, model: model.into() }
    }

    /// A model that always works.
    pub fn always(model: impl Into<Model>) -> Self {
        Self::during(Window::ALWAYS, model)
    }

    /// When it is at work.
    pub fn window(&self) -> Window {
        self.window
    }

    /// What it does.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Whether the next frame is hit.
    #[inline]
    pub fn corrupts(&mut self, now: Time, frame: &FrameFacts) -> bool {
        self.window.contains(now) && self.model.corrupts(frame)
    }
}

/// From `start` on, and no longer from `stop` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The first instant inside.
    pub start: Time,
    /// The first instant after.
    pub stop: Time,
}

impl Window {
    /// From the start of the run, without end.
    pub const ALWAYS: Self = Self { start: Time::ZERO, stop: Time::MAX };

    /// A window that is open at some time.
    pub fn new(start: Time, stop: Time) -> Result<Self, BadImpairment> {
        let window = Self { start, stop };
        if start < stop { Ok(window) } else { Err(BadImpairment::Window(window)) }
    }

    /// Whether it is open.
    #[inline]
    pub fn contains(self, now: Time) -> bool {
        self.start <= now && now < self.stop
    }
}

/// One of the ways to harm frames.
#[derive(Debug)]
pub enum Model {
    /// Independent errors of bits.
    BitErrors(BitErrors),
    /// Independent losses of frames.
    FrameLoss(FrameLoss),
    /// Losses in bursts.
    GilbertElliott(GilbertElliott),
    /// Periodic losses.
    EveryNth(EveryNth),
    /// Losses by IP identification.
    IpId(IpId),
    /// Losses written down one by one.
    Script(Script),
    /// Losses of a protected link that were recorded.
    Replay(Replay),
    /// Independent losses, the rare ones made frequent.
    TiltedLoss(TiltedLoss),
    /// One that another program has brought.
    Other(Box<dyn CorruptionModel>),
}

/// A way to harm frames that another program brings. It sees the frames of one direction of a link, in their order.
pub trait CorruptionModel: Debug + Send {
    /// Whether the next frame is hit.
    fn corrupts(&mut self, frame: &FrameFacts) -> bool;
}

impl Model {
    #[inline]
    fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        match self {
            Self::BitErrors(model) => model.corrupts(frame),
            Self::FrameLoss(model) => model.corrupts(frame),
            Self::GilbertElliott(model) => model.corrupts(frame),
            Self::EveryNth(model) => model.corrupts(frame),
            Self::IpId(model) => model.corrupts(frame),
            Self::Script(model) => model.corrupts(frame),
            Self::Replay(model) => model.corrupts(frame),
            Self::TiltedLoss(model) => model.corrupts(frame),
            Self::Other(model) => model.corrupts(frame),
        }
    }
}

macro_rules! model_from {
    ($($name:ident),*) => {
        $(impl From<$name> for Model {
            fn from(model: $name) -> Self {
                Self::$name(model)
            }
        })*
    };
}
model_from!(BitErrors, FrameLoss, GilbertElliott, EveryNth, IpId, Script, Replay, TiltedLoss);
