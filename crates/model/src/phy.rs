//! Frame loss from optical power (claim L21): attenuation → eye opening Q → bit errors before FEC → frame
//! loss.
//!
//! The current of a direct-detection receiver is proportional to the optical power, against constant noise.
//! So Q falls tenfold with 10 dB, noise grows with bandwidth, and four levels divide the same swing by three.
//! This alone orders the generations: 2.5 times the symbol rate costs 4 dB, four levels another 4.8 dB, and
//! Reed–Solomon gains 2 to 3 dB. The position of the curves depends on transmitter and receiver: one number,
//! the [budget](Optics::budget_db), sets it.

use crate::bits::{any, frame_loss};
use crate::special::erfc;

/// Line code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Modulation {
    /// Two levels, a bit each.
    Nrz,
    /// Four levels, two bits each.
    Pam4,
}

/// A Reed–Solomon code over symbols of ten bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// Symbols per codeword.
    pub symbols: u32,
    /// Number of correctable symbols.
    pub corrects: u32,
}

impl Code {
    /// Bits per symbol.
    pub const SYMBOL_BITS: u32 = 10;
    /// Frame bytes per codeword: 514 symbols hold 20 blocks of 257 bits, each with 256 bits of data.
    pub const PAYLOAD_BYTES: u32 = 640;
    /// RS(528,514): 25G and 100G over NRZ lanes.
    pub const RS528: Self = Self { symbols: 528, corrects: 7 };
    /// RS(544,514): 50G and all PAM4.
    pub const RS544: Self = Self { symbols: 544, corrects: 15 };

    /// Probability that a codeword is uncorrectable, with independent bit errors.
    pub fn codeword_loss(self, bit_error_rate: f64) -> f64 {
        self.codeword_loss_of_symbols(any(bit_error_rate, f64::from(Self::SYMBOL_BITS)))
    }

    /// The same from the symbol error rate.
    pub fn codeword_loss_of_symbols(self, symbol_error_rate: f64) -> f64 {
        if symbol_error_rate <= 0.0 {
            return 0.0;
        }
        if symbol_error_rate >= 1.0 {
            return 1.0;
        }
        let odds = symbol_error_rate / (1.0 - symbol_error_rate);
        if symbol_error_rate * f64::from(self.symbols) > f64::from(self.corrects) {
            let mut term = binomial_term(self.symbols, 0, symbol_error_rate);
            let mut below = term;
            for wrong in 1..=self.corrects {
                term *= f64::from(self.symbols - wrong + 1) / f64::from(wrong) * odds;
                below += term;
            }
            return 1.0 - below;
        }
        let mut term = binomial_term(self.symbols, self.corrects + 1, symbol_error_rate);
        let mut above = term;
        for wrong in self.corrects + 2..=self.symbols {
            term *= f64::from(self.symbols - wrong + 1) / f64::from(wrong) * odds;
            above += term;
            if term < above * 1e-17 {
                break;
            }
        }
        above
    }

    /// Codewords that contain a part of a frame, averaged over its position. `interleaved` codewords are sent
    /// side by side.
    pub fn codewords_touched(bytes: f64, interleaved: u32) -> f64 {
        f64::from(interleaved) + bytes / f64::from(Self::PAYLOAD_BYTES)
    }

    /// Probability that a frame is lost at this codeword loss: an uncorrectable codeword destroys all frames
    /// in it.
    pub fn frame_loss(codeword_loss: f64, bytes: f64, interleaved: u32) -> f64 {
        any(codeword_loss, Self::codewords_touched(bytes, interleaved))
    }
}

/// A generation of links, one lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Generation {
    /// Its name.
    pub name: &'static str,
    /// Symbols per second.
    pub baud: f64,
    /// Levels.
    pub modulation: Modulation,
    /// Forward error correction.
    pub code: Option<Code>,
}

impl Generation {
    /// 10GBASE-SR.
    pub const G10: Self = Self { name: "10G", baud: 10.3125e9, modulation: Modulation::Nrz, code: None };
    /// 25GBASE-SR without FEC.
    pub const G25: Self =
        Self { name: "25G without FEC", baud: 25.781_25e9, modulation: Modulation::Nrz, code: None };
    /// 25GBASE-SR with RS(528,514).
    pub const G25_FEC: Self = Self { name: "25G with FEC", code: Some(Code::RS528), ..Self::G25 };
    /// 50GBASE-SR with RS(544,514), which is mandatory there.
    pub const G50_FEC: Self =
        Self { name: "50G with FEC", baud: 26.5625e9, modulation: Modulation::Pam4, code: Some(Code::RS544) };
    /// The four generations of `LinkGuardian`'s Fig. 1.
    pub const ALL: [Self; 4] = [Self::G10, Self::G25, Self::G25_FEC, Self::G50_FEC];

    /// Bit error rate before FEC; `q` is half the swing between the outer levels in standard deviations.
    pub fn bit_error_rate(&self, q: f64) -> f64 {
        match self.modulation {
            Modulation::Nrz => erfc(q / std::f64::consts::SQRT_2) / 2.0,
            // Three eyes of a third each. An outer level has one neighbour, an inner level two: 3/2 errors
            // per symbol. With Gray coding that is one wrong bit of two.
            Modulation::Pam4 => 0.375 * erfc(q / 3.0 / std::f64::consts::SQRT_2),
        }
    }

    /// Frame loss at this bit error rate before FEC.
    pub fn frame_loss(&self, bit_error_rate: f64, bytes: f64) -> f64 {
        match self.code {
            None => frame_loss(bit_error_rate, bytes),
            Some(code) => Code::frame_loss(code.codeword_loss(bit_error_rate), bytes, 1),
        }
    }
}

/// Transmitter, fibre and receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Optics {
    /// Attenuation in dB at which a 10G link has a bit error rate of 10⁻¹².
    pub budget_db: f64,
    /// Growth of noise with the symbol rate: σ ∝ baud^this. 0.5 is white noise. Wider amplifiers have more
    /// noise per hertz, so receivers are closer to 1.
    pub noise_exponent: f64,
}

impl Default for Optics {
    /// 0 dBm sent, −11 dBm required: about the receiver sensitivity of 10GBASE-SR.
    fn default() -> Self {
        Self { budget_db: 11.0, noise_exponent: 1.0 }
    }
}

/// Q at a bit error rate of 10⁻¹².
const Q_REFERENCE: f64 = 7.034_483_825;

/// Operating point of a link at some attenuation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OperatingPoint {
    /// Half the swing relative to the noise.
    pub q: f64,
    /// Bit errors before FEC.
    pub bit_error_rate: f64,
    /// Lost frames.
    pub frame_loss: f64,
}

impl Optics {
    /// Operating point of a link of this generation at an attenuation, for frames of this size.
    pub fn operating_point(
        &self,
        generation: &Generation,
        attenuation_db: f64,
        bytes: f64,
    ) -> OperatingPoint {
        let light = 10_f64.powf((self.budget_db - attenuation_db) / 10.0);
        let noise = (generation.baud / Generation::G10.baud).powf(self.noise_exponent);
        let q = Q_REFERENCE * light / noise;
        let bit_error_rate = generation.bit_error_rate(q);
        OperatingPoint { q, bit_error_rate, frame_loss: generation.frame_loss(bit_error_rate, bytes) }
    }

    /// Attenuation in dB at which frames of this size are lost with probability `loss`.
    pub fn attenuation_for(&self, generation: &Generation, loss: f64, bytes: f64) -> f64 {
        let (mut low, mut high) = (self.budget_db - 60.0, self.budget_db + 60.0);
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if self.operating_point(generation, middle, bytes).frame_loss < loss {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

fn binomial_term(n: u32, k: u32, p: f64) -> f64 {
    let choose: f64 = (1..=k).map(|i| (f64::from(n - k + i) / f64::from(i)).ln()).sum();
    (choose + f64::from(k) * p.ln() + f64::from(n - k) * (-p).ln_1p()).exp()
}
