//! `cargo xtask dist`: a tarball and a Debian package with one static binary, and the bill of its materials.
//!
//! The same commit gives the same bytes: the binary contains no path of the machine, file times are those of
//! the commit, and owners, modes and order of files are fixed.

mod binary;
mod debian;
mod image;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::docs::{self, SHELLS};
use crate::shell::{self, call, command};
use binary::Binary;

/// Documents in every package.
const DOCUMENTS: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Contents of all packages.
struct Contents {
    binary: Binary,
    version: String,
    /// Software bill of materials.
    bill: PathBuf,
    /// Man pages in `man1/`, completions in `completions/`.
    pages: PathBuf,
    /// Time of the commit in seconds since 1970, for all files.
    epoch: String,
}

/// Builds all packages in `target/dist` and tests them.
pub(crate) fn run() -> Result<()> {
    let dist = shell::target_dir()?.join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).with_context(|| format!("cannot clear `{}`", dist.display()))?;
    }
    for document in DOCUMENTS {
        ensure!(shell::root().join(document).is_file(), "{document} does not exist");
    }
    let pages = dist.join("pages");
    let binary = Binary::build()?;
    docs::write_pages(&binary.path, &pages)?;
    let (version, epoch) = (version()?, commit_time()?);
    let bill = dist.join(format!("wiremend-{version}-{}.cdx.json", binary.target));
    fs::write(&bill, format!("{:#}\n", sbom::describe(&binary.target, &epoch)?))?;
    let contents = Contents { binary, version, bill, pages, epoch };

    let tarball = pack_tarball(&dist, &contents)?;
    try_tarball(&dist, &tarball, &contents)?;
    let package = debian::pack(&dist, &contents)?;
    debian::lint(&package)?;
    image::check(&dist, &contents.binary.path)?;
    image::build()?;
    fs::remove_dir_all(&contents.pages).context("cannot remove the pages")?;

    let names = [&tarball, &package, &contents.bill].map(|path| file_name(path));
    let sums = shell::output(command("sha256sum --").args(names).current_dir(&dist))?;
    fs::write(dist.join("SHA256SUMS"), &sums).context("cannot write SHA256SUMS")?;
    print!("{sums}");
    println!("in {}", dist.display());
    Ok(())
}

fn pack_tarball(dist: &Path, contents: &Contents) -> Result<PathBuf> {
    let name = format!("wiremend-{}-{}", contents.version, contents.binary.target);
    let top = dist.join(&name);
    place(&contents.binary.path, &top.join("wiremend"))?;
    for document in DOCUMENTS {
        place(&shell::root().join(document), &top.join(document))?;
    }
    for page in contents.man_pages()? {
        place(&page, &top.join("man/man1").join(file_name(&page)))?;
    }
    for shell in SHELLS {
        place(&contents.completions(shell), &top.join(format!("completions/wiremend.{shell}")))?;
    }
    let tarball = dist.join(format!("{name}.tar.gz"));
    let order = "--sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=gnu";
    let tar = format!("tar {order} --mtime=@{} --create --use-compress-program=gzip", contents.epoch);
    // gzip reads from a pipe, so it stores neither name nor time.
    shell::run(command(&tar).arg("--file").arg(&tarball).arg(&name).current_dir(dist))?;
    fs::remove_dir_all(&top).with_context(|| format!("cannot remove `{}`", top.display()))?;
    Ok(tarball)
}

/// Unpacks the tarball and runs its binary.
fn try_tarball(dist: &Path, tarball: &Path, contents: &Contents) -> Result<()> {
    let trial = dist.join("trial");
    fs::create_dir_all(&trial)?;
    shell::run(command("tar --extract --strip-components=1 --file").arg(tarball).current_dir(&trial))?;
    let program = trial.join("wiremend");
    let version = shell::output(&mut call(&program, "--version"))?;
    ensure!(version.contains(&contents.version), "the packed binary prints version `{}`", version.trim());
    println!("{} (from the tarball)", version.trim());
    shell::output(&mut call(&program, "run tail-packet --json"))?;
    fs::remove_dir_all(&trial).with_context(|| format!("cannot remove `{}`", trial.display()))
}

impl Contents {
    fn man_pages(&self) -> Result<Vec<PathBuf>> {
        let man = self.pages.join("man1");
        let entries = fs::read_dir(&man).with_context(|| format!("cannot read `{}`", man.display()))?;
        Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
    }

    fn completions(&self, shell: &str) -> PathBuf {
        self.pages.join(format!("completions/wiremend.{shell}"))
    }
}

/// Copies a file and creates its directories.
fn place(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file at the root")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
    fs::copy(from, to).with_context(|| format!("cannot copy `{}` to `{}`", from.display(), to.display()))?;
    Ok(())
}

fn file_name(path: &Path) -> &Path {
    path.file_name().expect("a path that we made ends with a name").as_ref()
}

/// Version of the program.
fn version() -> Result<String> {
    let metadata = shell::metadata()?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == "wiremend").context("no package `wiremend`")?;
    Ok(package["version"].as_str().context("`wiremend` has no version")?.to_owned())
}

fn commit_time() -> Result<String> {
    let time = shell::output(&mut command("git -c safe.directory=* log -1 --format=%ct"))?;
    ensure!(time.trim().parse::<u64>().is_ok(), "no commit to take the time from");
    Ok(time.trim().to_owned())
}
