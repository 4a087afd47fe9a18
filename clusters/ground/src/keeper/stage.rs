//! Sets the stage: the keeper's own mounts and network, the wire, the harness.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use nix::mount::{MsFlags, mount};

use super::{Keeper, children::Children, children::Silence, outside::Given};
use crate::api::Error;
use crate::lacks::{Mechanism, lacks};
use crate::net::{self, CLIENTS_DEVICE, OBSERVER_DEVICE};
use crate::packet::Channel;
use crate::proto::{CLIENTS, FromWire, OBSERVER, ToWire};
use crate::spawn::{Child, Role, SpawnError, spawn};
use crate::{mounts, sys};

/// How long the wire may take to its first answer: it has just been executed.
const WIRE_START: Duration = Duration::from_secs(10);

/// Makes what a run has whatever its nodes. An error here means that the machine lacks something.
pub fn set(
    front: Rc<Channel>,
    run_dir: PathBuf,
    harness_args: &[String],
    owner: Option<(u32, u32)>,
    outside: Given,
) -> Result<Keeper, Error> {
    own_view().map_err(|why| lacks(Mechanism::Mounts, &why))?;
    net::settle_namespace().map_err(|why| lacks(Mechanism::Network, &why))?;
    let clients = net::make_port(CLIENTS_DEVICE, CLIENTS).map_err(|why| lacks(Mechanism::Tap, &why))?;
    let observer = net::make_port(OBSERVER_DEVICE, OBSERVER).map_err(|why| lacks(Mechanism::Tap, &why))?;
    // Closed again at once: each node opens its own. Now it still is a lack of the machine, later a failed run.
    mounts::open_fuse().map_err(|why| lacks(Mechanism::Fuse, &why))?;
    let children = Children::new().map_err(|why| not_started("the keeper", &why))?;
    let wire = start("the wire", &["__wire"], false, None)?;
    for (port, tap) in [(CLIENTS, clients), (OBSERVER, observer)] {
        plug_first(&wire, port, tap).map_err(|why| not_started("the wire", &why))?;
    }
    let args: Vec<&str> = ["__harness"]
        .into_iter()
        .chain(harness_args.iter().map(String::as_str))
        .collect();
    let harness = start("the harness", &args, true, owner)?;
    outside
        .tell(&harness)
        .map_err(|why| not_started("the harness", &why))?;
    Ok(Keeper {
        run_dir,
        owner,
        front,
        wire,
        harness,
        nodes: Vec::new(),
        children,
        outside,
    })
}

/// Our mounts are ours: nothing we mount is seen outside, and what is mounted outside later is not seen here.
fn own_view() -> std::io::Result<()> {
    let nothing: Option<&str> = None;
    let private = mount(
        nothing,
        "/",
        nothing,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        nothing,
    );
    sys::said("making the mounts of / private", private)?;
    mounts::own_proc();
    sys::said("sethostname", nix::unistd::sethostname("ackall"))
}

fn start(name: &str, args: &[&str], stdin: bool, owner: Option<(u32, u32)>) -> Result<Child, Error> {
    let role = Role {
        args,
        namespaces: 0,
        session: false,
        stdin,
        owner,
    };
    spawn(&role).map_err(|error: SpawnError| not_started(name, &error))
}

/// The first cables, before there is a keeper that could watch: waits for the wire alone.
fn plug_first(wire: &Child, port: u8, tap: std::os::fd::OwnedFd) -> Result<(), String> {
    use std::os::fd::AsFd;
    wire.channel
        .send_with(&ToWire::Plug { port }, &[tap.as_fd()])
        .map_err(|error| error.to_string())?;
    match wire.channel.receive_within::<FromWire>(WIRE_START) {
        Ok(Some(FromWire::Done { .. })) => Ok(()),
        Ok(Some(other)) => Err(format!("plugging port {port} in, it answered {other:?}")),
        Ok(None) => Err("it ended at once".into()),
        Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
            Err(Silence::Late(WIRE_START).to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn not_started(name: &str, why: &dyn std::fmt::Display) -> Error {
    Error {
        what: format!("starting {name}"),
        why: why.to_string(),
        next: "are processes, descriptors and memory left (ulimit -u, ulimit -n, free -m)?".into(),
        machine: true,
    }
}
