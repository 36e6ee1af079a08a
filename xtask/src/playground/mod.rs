//! `cargo xtask playground`: compiles the simulator for the page in `docs/playground`, and serves the page.

mod server;

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::TaskError;
use crate::shell::{self, command};
use crate::wasm;
pub(crate) use server::Server;

/// The compressed program beside the page. The page decompresses it, so that any file server does.
const COMPRESSED: &str = "wiremend.wasm.gz";
/// Most bytes that a reader shall load.
const COMPRESSED_BYTES_MAX: u64 = 1_500_000;
/// The usual port, so that links to the page stay valid; another one if it is taken.
const PORT: u16 = 8037;

/// Builds the program; then serves the page until Ctrl-C, if `serves`.
pub(crate) fn run(serves: bool) -> Result<(), TaskError> {
    let size = build()?;
    println!("{}: {size} bytes", folder().join(COMPRESSED).display());
    if serves {
        let server = Server::start(&folder(), PORT).or_else(|_| Server::start(&folder(), 0))?;
        println!("the playground is at {} (Ctrl-C ends it)", server.url());
        server.join()?;
    } else {
        println!("`cargo xtask playground --serve` shows the page; any other file server does too");
    }
    Ok(())
}

/// The folder of the page.
pub(crate) fn folder() -> PathBuf {
    shell::root().join("docs/playground")
}

/// Compiles the program into the folder of the page. Returns its compressed size.
pub(crate) fn build() -> Result<u64, TaskError> {
    let target = shell::target_dir()?.join("wasm");
    let missing = || TaskError::MissingProgram(wasm::INSTALL.to_owned());
    let mut cargo = wasm::cargo("rustc").ok_or_else(missing)?;
    cargo.args(["--quiet", "--package=wiremend-playground", "--lib", "--profile=playground"]);
    cargo.args(["--crate-type=cdylib", "--target-dir"]).arg(&target);
    shell::run(&mut cargo)?;
    let program = target.join(wasm::TARGET).join("playground/wiremend_playground.wasm");
    Ok(compress(&program)?)
}

fn compress(program: &PathBuf) -> Result<u64> {
    let unfinished = folder().join(COMPRESSED).with_extension("new");
    let file =
        File::create(&unfinished).with_context(|| format!("cannot write `{}`", unfinished.display()))?;
    shell::run(command("gzip -9 --no-name --stdout").arg(program).stdout(file))?;
    let size = fs::metadata(&unfinished)?.len();
    ensure!(
        size <= COMPRESSED_BYTES_MAX,
        "`{}` has {size} bytes, at most {COMPRESSED_BYTES_MAX} are accepted",
        unfinished.display()
    );
    fs::rename(&unfinished, folder().join(COMPRESSED)).context("the compressed program")?;
    Ok(size)
}
