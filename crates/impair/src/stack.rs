//! The impairments of one lane, and the frame properties that they use.

use std::fmt::Debug;

use wiremend_units::{Psn, Time};

use crate::gaps::Gaps;
use crate::{
    BadImpairment, BitErrors, EveryNth, FrameLoss, GilbertElliott, IpId, Replay, Script, TiltedLoss,
};

/// All impairments of one lane; none by default.
#[derive(Debug, Default)]
pub struct Impairments {
    all: Vec<Impairment>,
}

impl Impairments {
    /// Adds an impairment.
    pub fn push(&mut self, impairment: Impairment) {
        self.all.push(impairment);
    }

    /// Whether there is no impairment, so that every frame passes.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a frame may be corrupted: not if all rates are zero.
    pub fn may_corrupt(&self) -> bool {
        self.all.iter().any(|one| match &one.model {
            Model::BitErrors(model) => !model.is_zero(),
            Model::FrameLoss(model) => !model.is_zero(),
            _ => true,
        })
    }

    /// The impairments in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Impairment> {
        self.all.iter()
    }

    /// The impairment with importance sampling, if the lane has one.
    pub fn tilted_mut(&mut self) -> Option<&mut TiltedLoss> {
        self.all.iter_mut().find_map(|one| match &mut one.model {
            Model::TiltedLoss(model) => Some(model),
            _ => None,
        })
    }

    /// Whether the only impairment counts bits: see [`Self::lend_clean`].
    pub fn counts_bits(&self) -> bool {
        matches!(&*self.all, [Impairment { window: Window::ALWAYS, model: Model::BitErrors(_) }])
    }

    /// Lends the number of frames that certainly pass, or of bits if [`Self::counts_bits`], so that the caller may
    /// count them where it is faster. The rest must be returned before the next call of [`Self::fate`]. 0 unless
    /// the only impairment is memoryless and always active.
    pub fn lend_clean(&mut self) -> u64 {
        self.gaps().map_or(0, Gaps::lend)
    }

    /// Returns the rest of what was lent.
    pub fn return_clean(&mut self, rest: u64) {
        if let Some(gaps) = self.gaps() {
            gaps.return_rest(rest);
        }
    }

    fn gaps(&mut self) -> Option<&mut Gaps> {
        match &mut *self.all {
            [Impairment { window: Window::ALWAYS, model: Model::BitErrors(model) }] => Some(model.gaps()),
            [Impairment { window: Window::ALWAYS, model: Model::FrameLoss(model) }] => Some(model.gaps()),
            _ => None,
        }
    }

    /// Fate of the next frame of the lane. Frames are passed in the order in which they cross it.
    #[inline]
    pub fn fate(&mut self, now: Time, frame: &FrameFacts) -> Fate {
        // No short circuit: each impairment advances with every frame, so that none depends on another.
        let corrupt = self.all.iter_mut().fold(false, |corrupt, one| one.corrupts(now, frame) | corrupt);
        if corrupt { Fate::Corrupt } else { Fate::Pass }
    }
}

/// Fate of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives as it was sent.
    Pass,
    /// It arrives with a wrong FCS and is dropped.
    Corrupt,
}

/// Frame properties that the models use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameFacts {
    /// Length from MAC header to FCS.
    pub frame_bytes: u32,
    /// IP identification, if there is an IP header.
    pub ip_id: Option<u16>,
    /// Role of the frame in the protocol.
    pub kind: FrameKind,
    /// Packet sequence number, if it has one.
    pub psn: Option<Psn>,
    /// Number of earlier transmissions of the same packet by its sender.
    pub copy: u8,
    /// Content of its link header, if it is on a protected link.
    pub link: Option<LinkFacts>,
}

// It is created for every frame of a lane that corrupts.
const _: () = assert!(size_of::<FrameFacts>() <= 32);

impl FrameFacts {
    /// A frame with only a length.
    pub fn bare(frame_bytes: u32) -> Self {
        Self { frame_bytes, ip_id: None, kind: FrameKind::Other, psn: None, copy: 0, link: None }
    }
}

/// Role of a frame in the RDMA transport.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameKind {
    /// A packet of a SEND or a WRITE.
    Data,
    /// A positive acknowledgement.
    Ack,
    /// A negative acknowledgement, receiver-not-ready included.
    Nak,
    /// A READ request.
    ReadRequest,
    /// A packet of a READ response.
    ReadResponse,
    /// Other frames: congestion notification, PFC, link control, other protocols.
    Other,
}

/// Kind and number of a frame on a protected link, by which rules and lists of faults identify it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkFacts {
    /// Its kind.
    pub kind: LinkKind,
    /// Its number, or the number that it refers to.
    pub seq: u32,
}

/// Kind of a frame on a protected link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkKind {
    /// Carries a numbered frame.
    Data,
    /// Announces the number of the next frame.
    Dummy,
    /// Acknowledges all frames before a number.
    Ack,
    /// Requests missing frames; its number is the first missing one.
    Missing,
    /// Starts or ends protection; its number is 0.
    Hello,
}

impl LinkKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Data, Self::Dummy, Self::Ack, Self::Missing, Self::Hello];

    /// Name in lists of faults.
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

/// A model and the window in which it is active.
#[derive(Debug)]
pub struct Impairment {
    window: Window,
    model: Model,
}

impl Impairment {
    /// A model that is active only in a window. Frames outside of it are neither corrupted nor counted.
    pub fn during(window: Window, model: impl Into<Model>) -> Self {
        Self { window, model: model.into() }
    }

    /// A model that is always active.
    pub fn always(model: impl Into<Model>) -> Self {
        Self::during(Window::ALWAYS, model)
    }

    /// The window in which it is active.
    pub fn window(&self) -> Window {
        self.window
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Whether the next frame is corrupted.
    #[inline]
    pub fn corrupts(&mut self, now: Time, frame: &FrameFacts) -> bool {
        self.window.contains(now) && self.model.corrupts(frame)
    }
}

/// The times from `start` until before `stop`.
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

    /// Creates a window that is not empty.
    pub fn new(start: Time, stop: Time) -> Result<Self, BadImpairment> {
        let window = Self { start, stop };
        if start < stop { Ok(window) } else { Err(BadImpairment::Window(window)) }
    }

    /// Whether the window is open.
    #[inline]
    pub fn contains(self, now: Time) -> bool {
        self.start <= now && now < self.stop
    }
}

/// An impairment model.
#[derive(Debug)]
pub enum Model {
    /// Independent bit errors.
    BitErrors(BitErrors),
    /// Independent frame losses.
    FrameLoss(FrameLoss),
    /// Burst losses.
    GilbertElliott(GilbertElliott),
    /// Periodic losses.
    EveryNth(EveryNth),
    /// Losses selected by IP identification.
    IpId(IpId),
    /// Scripted losses.
    Script(Script),
    /// Recorded losses of a protected link.
    Replay(Replay),
    /// Independent losses with importance sampling.
    TiltedLoss(TiltedLoss),
    /// A model of another program.
    Other(Box<dyn CorruptionModel>),
}

/// An impairment model of another program. It receives the frames of one link direction in order.
pub trait CorruptionModel: Debug + Send {
    /// Whether the next frame is corrupted.
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
