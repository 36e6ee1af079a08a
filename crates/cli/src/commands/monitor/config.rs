//! `wiremend monitor check-config`, and how files are read.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use wiremend_monitor::{Config, Mode, Protect};

use crate::args::monitor::MonitorCheck as Asked;
use crate::failure::{Answer, Failure};
use crate::terminal;

/// A longer file is none that anybody wrote.
const CONFIG_BYTES_MAX: u64 = 16 << 20;
const PASSWORD_BYTES_MAX: u64 = 512;

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let config = load(&asked.config)?;
    if let Some(file) = &config.redis.password_file {
        password(file)?;
    }
    terminal::print(&meaning(&config))?;
    Ok(Answer::Yes)
}

pub(super) fn load(path: &Path) -> Result<Config, Failure> {
    let text = read(path, CONFIG_BYTES_MAX)?;
    Config::parse(&text).map_err(|error| {
        let colon = if error.place.is_some() { ":" } else { ": " };
        Failure::Input(format!("{}{colon}{error}", path.display()))
    })
}

/// What a file says, without the end of its line.
pub(super) fn password(path: &Path) -> Result<String, Failure> {
    let text = read(path, PASSWORD_BYTES_MAX)?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() || password.chars().any(|c| c.is_control() || c.is_whitespace()) {
        let shown = path.display();
        return Err(Failure::Input(format!("{shown}: a password is one word, alone in its file")));
    }
    Ok(password.to_owned())
}

fn read(path: &Path, bytes_max: u64) -> Result<String, Failure> {
    let shown = path.display();
    let refused = |why: &dyn std::fmt::Display| Failure::Input(format!("{shown}: {why}"));
    let length = fs::metadata(path).map_err(|error| refused(&error))?.len();
    if length > bytes_max {
        return Err(refused(&format!("longer than {bytes_max} bytes")));
    }
    fs::read_to_string(path).map_err(|error| refused(&error))
}

fn meaning(config: &Config) -> String {
    let Config { node, redis, thresholds, conduct, links, .. } = config;
    let mut text = String::new();
    let does = match conduct.mode {
        Mode::Observe => "only observes",
        Mode::Act => "acts",
    };
    let _ = writeln!(text, "`{node}` {does}; it tells others over Redis at {}", redis.address);
    let _ = writeln!(
        text,
        "a link corrupts from a loss of {:e} on, judged over {} frames, and is clean again after {} without an error",
        thresholds.loss,
        thresholds.window_frames,
        thresholds.clean_frames()
    );
    for link in links {
        let by = match link.protect {
            Protect::None => "advice only: nothing here can protect it",
            Protect::Relay => "protected by a relay when it corrupts",
        };
        let _ = writeln!(text, "  {}:{} - {}: {by}", node, link.port, link.peer);
    }
    text
}
