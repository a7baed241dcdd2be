//! What the agent keeps of the rights that it was started with, whom it becomes, and who owns what it makes.

use std::{
    fs::DirBuilder,
    os::unix::fs::{DirBuilderExt as _, chown},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use caps::{Capability, CapsHashSet};

use crate::{
    agent::{
        Config,
        config::{ServiceConfig, User},
    },
    cli::sink_file::Output,
    probe::privileges,
    segment::Place,
    target::user,
};

/// User and group that the agent becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ids {
    pub uid: u32,
    pub gid: u32,
}

/// Whom the configuration wants the agent to be; none where that is who it is already.
pub(super) fn whom(config: &ServiceConfig) -> anyhow::Result<Option<Ids>> {
    let Some(user) = &config.user else { return Ok(None) };
    let ids = ids(user).context("failed to become another user")?;
    // SAFETY: no preconditions.
    match unsafe { libc::geteuid() } {
        own if own == ids.uid => Ok(None),
        0 => Ok(Some(ids)),
        own => anyhow::bail!(
            "only root can become user {}, and this is user {own}: start the agent as root, or leave out `user` under [service]",
            ids.uid
        ),
    }
}

/// Who that is on this machine.
pub(super) fn ids(user: &User) -> anyhow::Result<Ids> {
    Ok(match user {
        User::Name(name) => {
            let (uid, gid) = user::ids(name).map_err(anyhow::Error::msg)?;
            Ids { uid, gid }
        }
        User::Ids(uid, gid) => Ids { uid: *uid, gid: gid.or_else(|| user::group_of(*uid)).unwrap_or(*uid) },
    })
}

/// Makes the folders that are configured and missing, while that is still allowed, for whoever it will be that writes there.
pub(super) fn make_folders(config: &Config, ids: Ids) -> anyhow::Result<()> {
    folders(config).iter().try_for_each(|folder| {
        make(folder, ids).with_context(|| {
            format!("failed to make the folder `{}` for user {}: make it yourself", folder.display(), ids.uid)
        })
    })
}

/// Every folder that the agent writes to.
fn folders(config: &Config) -> Vec<PathBuf> {
    let above = |path: &Path| path.parent().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_owned);
    let mut all: Vec<PathBuf> = config.record.folder.iter().cloned().collect();
    all.extend(config.report.file.as_deref().and_then(above));
    all.extend(above(&config.control.socket));
    if !config.segments.url.is_empty() {
        all.push(config.segments.spool.clone());
        // What is wrong with it is told when it is used.
        all.extend(Place::parse(&config.segments.url).ok().and_then(|place| place.path()));
    }
    all
}

/// Makes what is missing of a path; what was there stays as it is.
fn make(folder: &Path, ids: Ids) -> std::io::Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
    missing.into_iter().rev().try_for_each(|path| {
        DirBuilder::new().mode(0o700).create(path)?;
        chown(path, Some(ids.uid), Some(ids.gid))
    })
}

/// Gives up what an attached trace does not need, becomes whom it is to be, and says what is left.
pub(super) fn give_up(ids: Option<Ids>) -> anyhow::Result<()> {
    match ids {
        Some(Ids { uid, gid }) => {
            let left = privileges::become_user(uid, gid)
                .with_context(|| format!("failed to become user {uid} and group {gid}"))?;
            tracing::info!("runs as user {uid} and group {gid} from now on, and keeps {}", names(&left));
        }
        None => {
            let keep = [&privileges::UNATTENDED[..], &privileges::FOR_ROOT].concat();
            let left = privileges::keep_only(&keep).context("failed to give up capabilities")?;
            // SAFETY: no preconditions.
            let (uid, more) = match unsafe { libc::geteuid() } {
                0 => (0, "; `user` under [service] would give up root"),
                uid => (uid, ""),
            };
            tracing::info!("runs as user {uid}, and keeps {}{more}", names(&left));
        }
    }
    Ok(())
}

/// Whether the report can be put in its place in the end, found out by trying.
pub(super) fn try_report(config: &Config) -> anyhow::Result<()> {
    if let Some(file) = &config.report.file
        && file.metadata().map_or(true, |found| found.is_file())
    {
        drop(Output::open(file, false)?);
    }
    Ok(())
}

fn names(left: &CapsHashSet) -> String {
    let mut left: Vec<Capability> = left.iter().copied().collect();
    left.sort_by_key(|capability| capability.index());
    if left.is_empty() { "no capability".to_owned() } else { privileges::names(&left) }
}

/// What the agent makes from now on, its report and segments and what its commands make, is its user's alone.
pub(super) fn keep_to_itself() {
    // SAFETY: no preconditions.
    unsafe { libc::umask(0o077) };
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt as _};

    use super::*;
    use crate::agent::config::parse;

    #[test]
    fn only_root_becomes_another_and_names_must_be_known() {
        let config = |user| ServiceConfig { user: Some(user), seccomp: true };
        assert_eq!(whom(&ServiceConfig::default()).unwrap(), None);
        let error = whom(&config(User::Name("no-such-user".to_owned()))).unwrap_err();
        assert!(format!("{error:#}").contains("no user `no-such-user`"), "{error:#}");
        // SAFETY: no preconditions.
        let own = unsafe { libc::geteuid() };
        assert_eq!(whom(&config(User::Ids(own, None))).unwrap(), None);
        let other = whom(&config(User::Ids(4_000_000, Some(7))));
        if own == 0 {
            assert_eq!(other.unwrap(), Some(Ids { uid: 4_000_000, gid: 7 }));
            let alone = whom(&config(User::Ids(4_000_000, None))).unwrap();
            assert_eq!(alone, Some(Ids { uid: 4_000_000, gid: 4_000_000 }), "a user without a group of its own");
        } else {
            assert!(other.unwrap_err().to_string().contains("only root"));
        }
    }

    #[test]
    fn every_folder_that_is_written_to_is_made_for_its_owner_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[record]\nfolder = \"DIR/a/kept\"\n[report]\nfile = \"DIR/a/reports/r.json\"\n\
                    [control]\nsocket = \"DIR/run/agent.sock\"\n[segments]\nurl = \"DIR/place\"\nspool = \"DIR/spool\"\n";
        let text = text.replace("DIR", &folder.path().display().to_string());
        let config = parse("agent.toml", &text).unwrap();
        let own = fs::metadata(folder.path()).unwrap();
        let ids = if own.uid() == 0 { Ids { uid: 4711, gid: 4712 } } else { Ids { uid: own.uid(), gid: own.gid() } };
        fs::create_dir(folder.path().join("spool")).unwrap();
        make_folders(&config, ids).unwrap();
        make_folders(&config, ids).unwrap();
        for name in ["a", "a/kept", "a/reports", "run", "place"] {
            let found = fs::metadata(folder.path().join(name)).unwrap();
            assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (ids.uid, ids.gid, 0o700), "{name}");
        }
        assert_eq!(fs::metadata(folder.path().join("spool")).unwrap().uid(), own.uid(), "it was there");
    }
}
