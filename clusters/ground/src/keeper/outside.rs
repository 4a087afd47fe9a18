//! What the front has handed in of the host: the control socket goes to the harness, listeners to the forwarder.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use nix::unistd::Pid;

use super::{FromFront, Keeper, refused};
use crate::api::Error;
use crate::forward::{FromForwarder, Serve};
use crate::packet::Channel;
use crate::request::ToHarness;
use crate::spawn::{Child, Role, spawn};

/// How long the forwarder may take to serve a listener: at first it has just been executed.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was handed in.
pub struct Given {
    /// Until the harness has it, in the very beginning.
    door: Option<OwnedFd>,
    /// Each until it is served.
    loopback: Vec<Option<OwnedFd>>,
    forwarder: Option<Child>,
}

impl Given {
    /// Takes in what the front announced; none where the front is gone.
    pub fn receive(front: &Channel, door: bool, loopback: usize) -> Option<Given> {
        let next = || match front.receive_with::<FromFront>() {
            Ok(Some((FromFront::Given, mut descriptors))) => descriptors.pop(),
            _ => None,
        };
        let door = if door { Some(next()?) } else { None };
        let loopback = (0..loopback).map(|_| next().map(Some)).collect::<Option<_>>()?;
        Some(Given {
            door,
            loopback,
            forwarder: None,
        })
    }

    /// Gives the harness the control socket, which it holds from then on alone.
    pub fn tell(&self, harness: &Child) -> io::Result<()> {
        match &self.door {
            Some(door) => harness.channel.send_with(&ToHarness::Door, &[door.as_fd()]),
            None => Ok(()),
        }
    }

    pub fn is_forwarder(&self, pid: Pid) -> bool {
        self.forwarder
            .as_ref()
            .is_some_and(|forwarder| forwarder.pid == pid)
    }

    fn forwarder(&mut self) -> Result<Rc<Channel>, String> {
        if self.forwarder.is_none() {
            let role = Role {
                args: &["__forward"],
                namespaces: 0,
                session: false,
                stdin: false,
                owner: None,
            };
            self.forwarder = Some(spawn(&role).map_err(|error| error.to_string())?);
        }
        let channel = self.forwarder.as_ref().map(|forwarder| forwarder.channel.clone());
        channel.ok_or_else(|| "there is none".into())
    }
}

impl Keeper {
    /// From now on what comes in by a listener goes to this address.
    pub(super) fn forward(&mut self, listener: usize, to: SocketAddr) -> Result<(), Error> {
        let what = format!("forwarding listener {listener} to {to}");
        let next = "are processes, descriptors and memory left (ulimit -u, ulimit -n, free -m)?";
        let failed = |why: String| refused(what.clone(), why, next);
        let given = self.outside.loopback.get_mut(listener).and_then(Option::take);
        let given = given.ok_or_else(|| failed("the front has handed none in, or it is served".into()))?;
        let channel = self.outside.forwarder().map_err(failed)?;
        let sent = channel.send_with(&Serve { to }, &[given.as_fd()]);
        sent.map_err(|error| failed(error.to_string()))?;
        // Its messages are answers only; of which node they would be does not matter.
        match self.await_answer::<FromForwarder>(0, &channel, PATIENCE) {
            Ok((FromForwarder::Done, _)) => Ok(()),
            Ok((FromForwarder::Failed { why }, _)) => Err(failed(why)),
            Err(silence) => self.die(format!("the forwarder hangs: {silence}")),
        }
    }
}
