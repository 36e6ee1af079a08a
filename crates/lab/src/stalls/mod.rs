//! How long messages take that lose packets: soft-RoCE of a kernel in a guest, and the simulator with its profile.
//!
//! Each queue pair has one message in flight at a time. Both directions lose frames at random, and a capture shows what each message
//! lost. The simulator runs the same with the same share of losses, and its captures are read in the same way.

mod messages;
mod ping_pong;
mod set_up;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wiremend_report::lab::{Lost, MessageTimes, PingPongRow, StallRow, StallTable};
use wiremend_units::Span;

use self::messages::Message;
pub use self::set_up::Part;
use self::set_up::{DELAY, Mix, SetUp};
use crate::error::Error;
use crate::guest_link::GuestLink;
use crate::guests::GuestFiles;
use crate::lab::Lab;

/// A measurement.
#[derive(Clone, Debug)]
pub struct StallTrial {
    /// Messages of each set-up and mix of losses with the kernel.
    pub messages: u32,
    /// The set-ups.
    pub part: Part,
    /// Seed of the losses.
    pub seed: u64,
    /// Directory for the captures and scenarios; `None`: they are not kept.
    pub out: Option<PathBuf>,
}

/// Messages of the simulator for each of the kernel: they cost little.
const SIMULATED: u32 = 10;

impl StallTrial {
    /// Starts a guest and measures. Calls `progress` with a step of [`Self::steps`] and its finished share.
    pub fn run(
        &self,
        lab: &Lab,
        files: &GuestFiles,
        progress: &dyn Fn(usize, f64),
    ) -> Result<StallTable, Error> {
        let mut link = GuestLink::start(lab, files)?;
        progress(0, 1.0);
        let (mut rows, mut ping_pongs) = (Vec::new(), Vec::new());
        for (number, set_up) in self.part.set_ups().iter().enumerate() {
            let (mut kernel, mut simulated) = (Vec::new(), Vec::new());
            for (mix, letter) in set_up.mixes().iter().zip('a'..) {
                lab.check_stop()?;
                let directory = self.out.as_deref().unwrap_or(link.directory());
                let file = |kind: &str| directory.join(format!("{}{letter}-{kind}", number + 1));
                let simulator = [file("simulated.pcapng"), file("simulated.toml")];
                let pcap = file("kernel.pcapng");
                self.with_kernel(&mut link, set_up, mix, &pcap)?;
                if set_up.is_ping_pong() {
                    ping_pongs.push(self.ping_pong(
                        lab,
                        set_up,
                        mix,
                        [&pcap, &simulator[0], &simulator[1]],
                    )?);
                } else {
                    self.simulate(lab, set_up, mix, &simulator, DELAY)?;
                    kernel.extend(messages::read(&pcap)?);
                    simulated.extend(messages::read(&simulator[0])?);
                }
                if self.out.is_none() {
                    // Captures of long measurements are large. If this fails, the directory is removed later.
                    let _ = fs::remove_file(&pcap).and_then(|()| fs::remove_file(&simulator[0]));
                }
            }
            rows.extend(set_up.losses().iter().filter_map(|lost| row(set_up, *lost, &kernel, &simulated)));
            progress(1 + number, 1.0);
        }
        Ok(StallTable { messages: self.messages, rows, ping_pongs })
    }

    /// The steps, as relative durations.
    pub fn steps(&self) -> Vec<f64> {
        [0.3].into_iter().chain(self.part.set_ups().iter().map(|_| 1.0)).collect()
    }

    fn with_kernel(&self, link: &mut GuestLink, set_up: &SetUp, mix: &Mix, pcap: &Path) -> Result<(), Error> {
        let messages = self.messages * set_up.scale;
        let line = set_up.perftest(messages);
        let mut options = set_up.options(mix);
        options.extend([
            "--seed".to_owned(),
            self.seed.to_string(),
            "--pcap".to_owned(),
            pcap.display().to_string(),
        ]);
        if set_up.is_kernel_requester() {
            link.call(&line, &options)
        } else {
            link.serve(&line, &[set_up.client(messages), options].concat())
        }
    }

    /// Reads the capture of a ping-pong, and simulates it with links on which an iteration takes as long.
    fn ping_pong(
        &self,
        lab: &Lab,
        set_up: &SetUp,
        mix: &Mix,
        [pcap, simulated, scenario]: [&PathBuf; 3],
    ) -> Result<PingPongRow, Error> {
        // Request and reply cross two links each.
        const CROSSINGS: f64 = 4.0;
        let kernel = ping_pong::read(pcap)?;
        let delay = Span::from_ns((kernel.iterations.median_ms * 1e6 / CROSSINGS) as u64);
        self.simulate(lab, set_up, mix, &[simulated.clone(), scenario.clone()], delay)?;
        let simulator = ping_pong::read(simulated)?;
        Ok(PingPongRow { set_up: set_up.name.to_owned(), kernel, simulator })
    }

    fn simulate(
        &self,
        lab: &Lab,
        set_up: &SetUp,
        mix: &Mix,
        [pcap, scenario]: &[PathBuf; 2],
        delay: Span,
    ) -> Result<(), Error> {
        let failed = |why: String| Error::Environment(format!("cannot simulate {}: {why}", set_up.name));
        let messages = self.messages * set_up.scale * SIMULATED;
        fs::write(scenario, set_up.scenario(mix, messages, self.seed, delay))
            .map_err(|error| failed(error.to_string()))?;
        let capture = format!("{}={}", set_up.captured_link(), pcap.display());
        let mut command = Command::new(&lab.program);
        command.arg("run").arg(scenario).args(["--quiet", "--json", "--capture", &capture]);
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(())
    }
}

/// The times of messages that lost this, `None` if there are none.
fn row(set_up: &SetUp, lost: Option<Lost>, kernel: &[Message], simulated: &[Message]) -> Option<StallRow> {
    let times = |messages: &[Message]| {
        let of = messages.iter().filter(|message| lost.is_none_or(|lost| message.lost == lost));
        MessageTimes::new(of.map(|message| message.took_ms).collect())
    };
    let double_waits = [kernel, simulated].map(|messages| {
        let of = messages.iter().filter(|message| lost.is_none_or(|lost| message.lost == lost));
        of.map(|message| u64::from(message.double_waits)).sum()
    });
    let (kernel, simulator) = (times(kernel)?, times(simulated)?);
    Some(StallRow { set_up: set_up.name.to_owned(), lost, kernel, simulator, double_waits })
}
